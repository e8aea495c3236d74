"""Measures of diversity against pyndeval, the Python form of TREC's ndeval 4.5.

Known differences, each shown by a test of its own below:

- @1: ndeval's loop that divides starts at the second rank, so that its alpha-DCG@1 and ERR-IA@1 are
  a count of subtopics. Here they are divided as at every other cutoff.
- A query without a relevant document: ndeval's nNRBP is not-a-number. Here it is 0.
- Ties: pyndeval ranks equal scores by document id, ascending; ties="ascending" does the same.
- Queries without results: ndeval leaves them out of its result. Here they score 0.
"""

import math
import random
from collections.abc import Iterator
from typing import Any

import pyndeval
import pytest

from cranfield import Qrels, Run, evaluate

CUTOFFS = range(1, 21)
CUT_MEASURES = ("alpha-DCG", "alpha-nDCG", "ERR-IA", "nERR-IA", "P-IA", "strec")
UNCUT_MEASURES = ("NRBP", "nNRBP", "MAP-IA")
NAMES = [*(f"{name}@{k}" for name in CUT_MEASURES for k in CUTOFFS), *UNCUT_MEASURES]
UNDIVIDED_MEASURES = ("alpha-DCG@1", "ERR-IA@1")
# Both add up the same terms, in another order.
TOLERANCE: dict[str, Any] = {"rel": 1e-12, "abs": 0}

Collection = tuple[list[tuple[str, str, str, int]], list[tuple[str, str, float]]]


def make_collection(seed: int, *, with_ties: bool = False, n_relevant: int = 20) -> Collection:
    """Make judgments of up to 6 subtopics, with a subtopic 0 of what is relevant to none."""
    chance = random.Random(seed)
    qrels: list[tuple[str, str, str, int]] = []
    run: list[tuple[str, str, float]] = []
    for query in map(str, range(1, 9)):
        pool = [f"doc-{chance.choice('abc')}-{i}" for i in range(60)]
        judged_docs = chance.sample(pool, n_relevant)
        for subtopic in range(1, chance.randint(2, 7)):
            docs = chance.sample(judged_docs, chance.randint(1, n_relevant))
            qrels += [(query, str(subtopic), doc, chance.choice([0, 1, 1])) for doc in docs]
        qrels += [(query, "0", doc, 0) for doc in chance.sample(pool, 10)]
        retrieved_docs = chance.sample(pool, chance.randint(1, 50))
        scores = [
            chance.choice([1.0, 2.0, 3.0]) if with_ties else chance.gauss(0, 1)
            for _ in retrieved_docs
        ]
        run += [(query, doc, score) for doc, score in zip(retrieved_docs, scores, strict=True)]
    return qrels, run


def score_by_cranfield(
    collection: Collection, measures: list[str], **options: Any
) -> dict[str, dict[str, float]]:
    qrels, run = collection
    names = ("query_id", "subtopic", "doc_id", "relevance")
    scores_of_query: dict[str, dict[str, float]] = {}
    for query, doc, score in run:
        scores_of_query.setdefault(query, {})[doc] = score
    judgments = Qrels(dict(zip(names, row, strict=True)) for row in qrels)
    return evaluate(judgments, Run(scores_of_query), measures, **options).to_dict()


def pair_values(
    collection: Collection, alpha: float = 0.5, beta: float = 0.5, **options: Any
) -> Iterator[tuple[str, str, float, float]]:
    """Yield (query, measure, pyndeval's value, cranfield's value)."""
    from cranfield import parse

    def format_measure(name: str) -> str:
        measure = parse(name)
        parameters = {"alpha": alpha, "beta": beta}
        return str(
            measure(**{k: v for k, v in parameters.items() if k in measure.definition.parameters})
        )

    measure_of_name = {name: format_measure(name) for name in NAMES}
    own_values = score_by_cranfield(collection, list(measure_of_name.values()), **options)
    theirs = pyndeval.ndeval(*collection, measures=NAMES, alpha=alpha, beta=beta)
    for query, values in theirs.items():
        for name, value in values.items():
            yield query, name, value, own_values[query][measure_of_name[name]]


@pytest.mark.parametrize("alpha", [0.5, 0.0, 0.25, 0.9])
@pytest.mark.parametrize("beta", [0.5, 0.8])
def test_every_measure_equals_pyndeval(alpha: float, beta: float) -> None:
    n_compared = 0
    for seed in range(25):
        for query, name, theirs, own_value in pair_values(make_collection(seed), alpha, beta):
            if name in UNDIVIDED_MEASURES:
                continue
            if math.isnan(theirs):  # nothing is relevant
                assert (name, own_value, query, seed) == ("nNRBP", 0, "5", 15)
                continue
            assert own_value == pytest.approx(theirs, **TOLERANCE), (seed, query, name)
            n_compared += 1
    assert n_compared == 25 * 8 * (len(NAMES) - len(UNDIVIDED_MEASURES)) - 1


def test_ties_by_document_ascending() -> None:
    n_compared = 0
    for seed in range(25):
        for query, name, theirs, own_value in pair_values(
            make_collection(seed, with_ties=True), ties="ascending"
        ):
            if name not in UNDIVIDED_MEASURES:
                assert own_value == pytest.approx(theirs, **TOLERANCE), (seed, query, name)
                n_compared += 1
    assert n_compared == 25 * 8 * (len(NAMES) - len(UNDIVIDED_MEASURES))


def test_at_1_ndeval_does_not_divide() -> None:
    judgments = [("1", "1", "a", 1), ("1", "2", "a", 1), ("1", "3", "b", 1)]
    pair_collection: Collection = (judgments, [("1", "a", 1.0)])
    values: dict[str, Any] = {name: pair for _, name, *pair in pair_values(pair_collection)}
    assert values["alpha-DCG@1"] == [2, 2 / 3]
    assert values["ERR-IA@1"] == [2, 2 / 3]
    assert values["alpha-nDCG@1"] == [1, 1]


def test_the_ideal_ranking_holds_more_than_20_documents_in_both() -> None:
    n_compared = 0
    for seed in range(25):
        for query, name, theirs, own_value in pair_values(
            make_collection(seed, n_relevant=50), 0.1, 0.8
        ):
            if name not in UNDIVIDED_MEASURES:
                assert own_value == pytest.approx(theirs, **TOLERANCE), (seed, query, name)
                n_compared += 1
    assert n_compared == 25 * 8 * (len(NAMES) - len(UNDIVIDED_MEASURES))


def test_a_query_without_relevant_documents() -> None:
    pair_collection: Collection = ([("1", "1", "a", 0), ("2", "1", "a", 1)], [("1", "a", 1.0)])
    values = {
        (query, name): (theirs, own_value)
        for query, name, theirs, own_value in pair_values(pair_collection)
    }
    assert math.isnan(values["1", "nNRBP"][0])
    assert values["1", "nNRBP"][1] == 0
    assert all(pair == (0, 0) for (_, name), pair in values.items() if name != "nNRBP")


def test_a_query_without_results() -> None:
    pair_collection: Collection = ([("1", "1", "a", 1), ("2", "1", "a", 1)], [("1", "a", 1.0)])
    assert list(pyndeval.ndeval(*pair_collection, measures=["MAP-IA"])) == ["1"]
    assert score_by_cranfield(pair_collection, ["MAP-IA"]) == {"1": {"AP_IA": 1}, "2": {"AP_IA": 0}}


def test_grades_count_from_rel_on() -> None:
    qrels, run = make_collection(3)
    graded_qrels = [(q, s, d, g * (1 + len(d + s) % 3)) for q, s, d, g in qrels]
    binary_qrels = [(q, s, d, int(g >= 2)) for q, s, d, g in graded_qrels]
    theirs = pyndeval.ndeval(binary_qrels, run, measures=["alpha-nDCG@10", "MAP-IA"])
    own_values = score_by_cranfield((graded_qrels, run), ["alpha_nDCG(rel=2)@10", "AP_IA(rel=2)"])
    for query, values in theirs.items():
        assert list(own_values[query].values()) == pytest.approx(
            [values["alpha-nDCG@10"], values["MAP-IA"]], **TOLERANCE
        )
