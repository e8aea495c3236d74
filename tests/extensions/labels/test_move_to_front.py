"""Move-to-front: against a loop from its definition."""

from collections.abc import Sequence

import numpy as np
import pytest
from helpers.profile import seeds

from cranfield import InputError, OptionError, pool
from cranfield.extensions.labels.pools.move_to_front import move_to_front, next_documents

Truth = dict[str, bool]


def lists(seed: int, n_runs: int = 3, n_docs: int = 12) -> tuple[list[list[str]], Truth]:
    """Return rankings of some of the documents, and which are relevant."""
    chance = np.random.default_rng(seed)
    docs = [f"d{i}" for i in range(n_docs)]
    rankings = [
        [docs[i] for i in chance.permutation(n_docs)[: chance.integers(0, n_docs)]]
        for _ in range(n_runs)
    ]
    return rankings, {doc: bool(chance.random() < 0.4) for doc in docs}


def ask_order(rankings: Sequence[Sequence[str]], truth: Truth) -> list[str]:
    """Return the documents in the order in which the strategy asks for them."""
    questions, docs = move_to_front(rankings), []
    try:
        doc = next(questions)
        while True:
            docs.append(doc)
            doc = questions.send(truth[doc])
    except StopIteration:
        return docs


def moved_to_front(rankings: Sequence[Sequence[str]], truth: Truth) -> list[str]:
    """Priorities of runs: one less after each document that is not relevant."""
    priority, docs = [100] * len(rankings), list[str]()
    turn = list(range(len(rankings)))  # who is next among equals
    while True:
        open_runs = [i for i in turn if any(doc not in docs for doc in rankings[i])]
        if not open_runs:
            return docs
        run = max(open_runs, key=lambda i: priority[i])  # the first of those
        while any(doc not in docs for doc in rankings[run]):
            doc = next(doc for doc in rankings[run] if doc not in docs)
            docs.append(doc)
            if not truth[doc]:
                priority[run] -= 1
                break
        turn = [*range(run + 1, len(rankings)), *range(run + 1)]


@pytest.mark.parametrize("seed", range(60))
def test_it_is_its_slow_loop(seed: int) -> None:
    rankings, truth = lists(seed, n_runs=1 + seed % 5)
    docs = {doc for ranking in rankings for doc in ranking}
    order = ask_order(rankings, truth)
    assert order == moved_to_front(rankings, truth)
    assert (len(order), {*order}) == (len(docs), docs)


def test_judged_documents_teach_and_are_not_asked_for() -> None:
    """Judged one by one, with the answers merged, the order is that of one pass."""
    for seed in seeds(20):
        rankings, truth = lists(seed)
        relevance: dict[str, dict[str, bool]] = {"q": {}}
        docs = []
        while unjudged := next_documents({"q": rankings}, relevance):
            docs.append(unjudged[0][1])
            relevance["q"][docs[-1]] = truth[docs[-1]]
        assert docs == ask_order(rankings, truth)


def test_queries_take_turns() -> None:
    runs = {"a": {"q1": ["d1", "d2", "d3"], "q2": ["d1"]}, "b": {"q1": ["d4"], "q2": ["d5"]}}
    asked_pool = pool({"q1": {"x": 1}, "q2": {"x": 1}}, runs, by="move-to-front", k=2)
    assert [*asked_pool.query_ids] == ["q1", "q2", "q1", "q2", "q1"]
    assert asked_pool.n_pooled == 5
    first_docs = pool({"q1": {"x": 1}, "q2": {"x": 1}}, runs, by="move-to-front", k=2, n=3)
    assert [*first_docs.doc_ids] == [*asked_pool.doc_ids][:3]
    assert "ask again" in str(first_docs)


def test_it_goes_on_where_relevant_documents_were_found() -> None:
    good, poor = [f"g{i}" for i in range(6)], [f"p{i}" for i in range(6)]
    judged = {"q": {"g0": 1, "g1": 2, "p0": 0}}
    for runs in ({"good": good, "poor": poor}, {"poor": poor, "good": good}):
        runs_of_name = {name: {"q": docs} for name, docs in runs.items()}
        asked_pool = pool(judged, runs_of_name, by="move-to-front", k=6)
        assert asked_pool.doc_ids[0] == "g2"
        assert not {"g0", "g1", "p0"} & {*asked_pool.doc_ids}
        next_pool = pool({"q": {**judged["q"], "g2": 1}}, runs_of_name, by="move-to-front", k=6)
        assert next_pool.doc_ids[0] == "g3"


def test_the_order_of_runs_and_rows_changes_nothing() -> None:
    runs = {f"r{i}": {"q": ranking} for i, ranking in enumerate(lists(3, n_runs=4)[0]) if ranking}
    judged = {"q": {"d1": 1, "d2": 0, "x": 1}}
    rows = pool(judged, runs, by="move-to-front").rows()
    assert pool(judged, dict(reversed(runs.items())), by="move-to-front").rows() == rows
    assert pool({"q": dict(reversed(judged["q"].items()))}, runs, by="move-to-front").rows() == rows
    seeds = {tuple(pool(judged, runs, by="move-to-front", seed=seed).doc_ids) for seed in range(20)}
    assert len(seeds) > 1


def test_what_is_refused() -> None:
    with pytest.raises(InputError, match="nothing is left to label"):
        pool({"q": {"a": 1}}, {"q": ["a"]}, by="move-to-front")
    with pytest.raises(InputError, match="share no query"):
        pool({"q": {"a": 1}}, {"z": ["a"]}, by="move-to-front")
    with pytest.raises(OptionError, match="leave unjudged out"):
        pool({"q": {"a": 1}}, {"q": ["a"]}, by="move-to-front", unjudged=True)
