"""A slow loop of the rules by which a run is judged, and collections for it."""

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

import numpy as np

from cranfield.data.judging import Queries
from helpers import oracle

Row = tuple[str, str, float]


Judgments = dict[str, dict[str, int]]


Options = dict[str, Any]


SLOW_MEASURES: dict[str, Any] = {
    "AP": oracle.ap,
    "RR": oracle.rr,
    "P@3": lambda ranking, grades: oracle.p(ranking, grades, 3),
    "R@3": lambda ranking, grades: oracle.r(ranking, grades, 3),
    "nDCG@3": lambda ranking, grades: oracle.ndcg(ranking, grades, 3),
    "DCG": oracle.dcg,
    "NumRet": lambda ranking, grades: float(len(ranking)),
    "NumRel": lambda ranking, grades: float(oracle.n_relevant(grades, 1)),
}


QUERY_CHOICES: Sequence[Queries] = get_args(Queries)


CHOICES: dict[str, Sequence[Any]] = {
    "queries": QUERY_CHOICES,
    "ties": ("document", "ascending", "given", "expected", "best", "worst"),
    "identical_ids": ("keep", "drop"),
    "scores_above": (None, None, -1.0, 0, 1.0),
    "unretrieved": ("leave-out", "below"),
    "depth": (None, None, 1, 3),
    "judged_only": (False, False, True),
    "scores": ("double", "single"),
    "duplicates": ("first", "best", "each", "once", "joined"),
}


REPEAT_MARK = "\0"  # at the end of an id: a row that has a rank, and does not count


def select_docs(rows: list[Row], query: str, options: Options) -> list[tuple[str, float]]:
    """Return (document, score) of the rows of a query that the options keep, in the run's order."""

    def to_precision(score: float) -> float:
        return float(np.float32(score)) if options["scores"] == "single" else score

    docs = [(doc, to_precision(score)) for q, doc, score in rows if q == query]
    selected_docs: list[tuple[str, float]] = []
    for i, (doc, score) in enumerate(docs):
        positions = [j for j, (other_doc, _) in enumerate(docs) if other_doc == doc]
        best_position = max(positions, key=lambda j: (docs[j][1], -j))
        is_selected = i == (positions[0] if options["duplicates"] == "first" else best_position)
        if is_selected or options["duplicates"] in ("each", "joined"):
            selected_docs.append((doc, score))
        elif options["duplicates"] == "once":
            selected_docs.append((doc + REPEAT_MARK, score))
    if options["identical_ids"] == "drop":
        selected_docs = [
            (doc, score) for doc, score in selected_docs if doc.removesuffix(REPEAT_MARK) != query
        ]
    if options["scores_above"] is not None:
        selected_docs = [
            (doc, score)
            for doc, score in selected_docs
            if score > to_precision(options["scores_above"])
        ]
    return selected_docs


def order_ties(
    tied_docs: list[str], judgments: Mapping[str, int], ties: str
) -> Iterator[list[str]]:
    """Yield the orders of tied documents, over which the measures are averaged."""

    def id_bytes(doc: str) -> bytes:
        return doc.removesuffix(REPEAT_MARK).encode()

    by_id = sorted(tied_docs, key=id_bytes, reverse=True)
    if ties == "expected":
        yield from map(list, itertools.permutations(by_id))
    elif ties == "document":
        yield by_id
    elif ties == "ascending":
        yield sorted(tied_docs, key=id_bytes)
    elif ties == "given":
        yield tied_docs
    else:
        best_first = sorted(by_id, key=lambda doc: judgments.get(doc, -100), reverse=True)
        yield best_first if ties == "best" else best_first[::-1]


def list_rankings(
    docs: list[tuple[str, float]], judgments: Mapping[str, int], options: Options
) -> Iterator[list[str]]:
    """Yield the rankings of a query, over which measures are averaged; one unless expected."""
    levels = sorted({score for _, score in docs}, reverse=True)
    docs_of_level = [[doc for doc, score in docs if score == level] for level in levels]
    for orders_of_level in itertools.product(
        *(order_ties(tied_docs, judgments, options["ties"]) for tied_docs in docs_of_level)
    ):
        docs_above = list(itertools.chain(*orders_of_level))[: options["depth"]]
        docs_below = [doc for doc in judgments if doc not in docs_above]
        if options["unretrieved"] == "leave-out":
            docs_below = []
        for order_below in order_ties(docs_below, judgments, options["ties"]):
            ranking = docs_above + order_below
            if options["judged_only"]:
                ranking = [doc for doc in ranking if judgments.get(doc, -1) >= 0]
            yield ranking


def choose_queries(
    qrels: Judgments, rows: list[Row], run_queries: set[str], options: Options
) -> list[str]:
    """Return the ids of the queries that are averaged, sorted; `run_queries` are the run's."""

    def has_results(query: str) -> bool:
        return bool(select_docs(rows, query, options))

    def has_relevant(query: str) -> bool:
        return any(grade > 0 for grade in qrels[query].values())

    queries_of_choice = {
        "judged": set(qrels),
        "both": set(qrels) & run_queries,
        "relevant": {q for q in qrels if has_relevant(q)},
        "relevant-and-both": {q for q in qrels if has_relevant(q) and q in run_queries},
        "retrieved": {q for q in qrels if has_results(q)},
        "relevant-and-retrieved": {q for q in qrels if has_relevant(q) and has_results(q)},
        "run": {q for q in run_queries if has_results(q)},
    }
    return sorted(queries_of_choice[options["queries"]], key=str.encode)


def compute_scores(
    qrels: Judgments, rows: list[Row], run_queries: set[str], options: Options
) -> dict[str, dict[str, float]]:
    """Return {query: {measure: score}} by the slow loop."""
    scores_of_query = {}
    for query in choose_queries(qrels, rows, run_queries, options):
        judgments, docs = qrels.get(query, {}), select_docs(rows, query, options)
        grades = [*judgments.values()]
        if options["duplicates"] == "joined":
            doc_ids = [doc for doc, _ in docs]
            grades += [judgments[doc] for doc in judgments for _ in range(doc_ids.count(doc) - 1)]
        grades.sort(reverse=True)
        rankings = [
            [judgments.get(doc) for doc in ranked_ids]
            for ranked_ids in list_rankings(docs, judgments, options)
        ]
        scores_of_query[query] = {
            name: sum(slow_measure(ranking, grades) for ranking in rankings) / len(rankings)
            for name, slow_measure in SLOW_MEASURES.items()
        }
    return scores_of_query


def make_collection(seed: int, *, repeat_docs: bool) -> tuple[Judgments, list[Row], set[str]]:
    """Return judgments, the rows of a run, and its queries, of which some have no rows.

    Few scores, of which two are the same as 32-bit floats; a query's id may be a document's. Rows
    of a query may be apart. `repeat_docs`: documents may occur more than once.
    """
    chance = random.Random(seed)
    queries = ["q1", "q10", "q2", "é", "Q", "q3"]
    docs = ["d1", "d10", "d2", "Z", *queries[:3]]
    qrels = {
        query: {doc: chance.choice([-1, 0, 0, 1, 2]) for doc in chance.sample(docs, 3)}
        for query in chance.sample(queries, chance.randint(1, 4))
    }
    scores = [1.0, 1.0 + 1e-9, 1.0, 2.0, 0.0, -1.0]
    rows = []
    for query in (run_queries := chance.sample(queries, chance.randint(1, 5))):
        n = chance.randint(0, 4)
        retrieved_docs = chance.choices(docs, k=n) if repeat_docs else chance.sample(docs, n)
        rows += [(query, doc, chance.choice(scores)) for doc in retrieved_docs]
    if chance.random() < 0.5:  # apart, each query's rows in their order
        row_queries = [query for query, *_ in rows]
        chance.shuffle(row_queries)
        rows_of_query = {query: [row for row in rows if row[0] == query] for query in run_queries}
        rows = [rows_of_query[query].pop(0) for query in row_queries]
    return qrels, rows, set(run_queries)


def nest_rows(rows: list[Row], run_queries: set[str]) -> dict[str, dict[str, float]]:
    scores_of_query: dict[str, dict[str, float]] = {query: {} for query in sorted(run_queries)}
    for query, doc, score in rows:
        scores_of_query[query][doc] = score
    return scores_of_query


OPTION_CASES: list[Options] = [
    {"ties": "given"},
    {"ties": "given", "scores": "single", "scores_above": 0},
    {"identical_ids": "drop"},
    {"identical_ids": "drop", "scores_above": 0, "ties": "best"},
    {"unretrieved": "below"},
    {"unretrieved": "below", "depth": 2},
    {"unretrieved": "below", "depth": 2, "judged_only": True, "ties": "given"},
    {"unretrieved": "below", "ties": "expected", "identical_ids": "drop"},
    {"unretrieved": "below", "ties": "worst", "scores_above": 0},
]
