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
    found = [
        [docs[i] for i in chance.permutation(n_docs)[: chance.integers(0, n_docs)]]
        for _ in range(n_runs)
    ]
    return found, {doc: bool(chance.random() < 0.4) for doc in docs}


def asked(rankings: Sequence[Sequence[str]], truth: Truth) -> list[str]:
    """Return the documents in the order in which the strategy asks for them."""
    questions, found = move_to_front(rankings), []
    try:
        doc = next(questions)
        while True:
            found.append(doc)
            doc = questions.send(truth[doc])
    except StopIteration:
        return found


def moved_to_front(rankings: Sequence[Sequence[str]], truth: Truth) -> list[str]:
    """Priorities of runs: one less after each document that is not relevant."""
    priority, found = [100] * len(rankings), list[str]()
    turn = list(range(len(rankings)))  # who is next among equals
    while True:
        left = [i for i in turn if any(doc not in found for doc in rankings[i])]
        if not left:
            return found
        run = max(left, key=lambda i: priority[i])  # the first of those
        while any(doc not in found for doc in rankings[run]):
            doc = next(doc for doc in rankings[run] if doc not in found)
            found.append(doc)
            if not truth[doc]:
                priority[run] -= 1
                break
        turn = [*range(run + 1, len(rankings)), *range(run + 1)]


@pytest.mark.parametrize("seed", range(60))
def test_it_is_its_slow_loop(seed: int) -> None:
    rankings, truth = lists(seed, n_runs=1 + seed % 5)
    docs = {doc for ranking in rankings for doc in ranking}
    order = asked(rankings, truth)
    assert order == moved_to_front(rankings, truth)
    assert (len(order), {*order}) == (len(docs), docs)


def test_judged_documents_teach_and_are_not_asked_for() -> None:
    """Judged one by one, with the answers merged, the order is that of one pass."""
    for seed in seeds(20):
        rankings, truth = lists(seed)
        known: dict[str, dict[str, bool]] = {"q": {}}
        found = []
        while rest := next_documents({"q": rankings}, known):
            found.append(rest[0][1])
            known["q"][found[-1]] = truth[found[-1]]
        assert found == asked(rankings, truth)


def test_queries_take_turns() -> None:
    runs = {"a": {"q1": ["d1", "d2", "d3"], "q2": ["d1"]}, "b": {"q1": ["d4"], "q2": ["d5"]}}
    found = pool({"q1": {"x": 1}, "q2": {"x": 1}}, runs, by="move-to-front", k=2)
    assert [*found.query_ids] == ["q1", "q2", "q1", "q2", "q1"]
    assert found.n_pooled == 5
    first = pool({"q1": {"x": 1}, "q2": {"x": 1}}, runs, by="move-to-front", k=2, n=3)
    assert [*first.doc_ids] == [*found.doc_ids][:3]
    assert "ask again" in str(first)


def test_it_goes_on_where_relevant_documents_were_found() -> None:
    good, poor = [f"g{i}" for i in range(6)], [f"p{i}" for i in range(6)]
    judged = {"q": {"g0": 1, "g1": 2, "p0": 0}}
    for runs in ({"good": good, "poor": poor}, {"poor": poor, "good": good}):
        named = {name: {"q": docs} for name, docs in runs.items()}
        found = pool(judged, named, by="move-to-front", k=6)
        assert found.doc_ids[0] == "g2"
        assert not {"g0", "g1", "p0"} & {*found.doc_ids}
        again = pool({"q": {**judged["q"], "g2": 1}}, named, by="move-to-front", k=6)
        assert again.doc_ids[0] == "g3"


def test_the_order_of_runs_and_rows_changes_nothing() -> None:
    runs = {f"r{i}": {"q": one} for i, one in enumerate(lists(3, n_runs=4)[0]) if one}
    judged = {"q": {"d1": 1, "d2": 0, "x": 1}}
    found = pool(judged, runs, by="move-to-front").rows()
    assert pool(judged, dict(reversed(runs.items())), by="move-to-front").rows() == found
    assert (
        pool({"q": dict(reversed(judged["q"].items()))}, runs, by="move-to-front").rows() == found
    )
    seeds = {tuple(pool(judged, runs, by="move-to-front", seed=seed).doc_ids) for seed in range(20)}
    assert len(seeds) > 1


def test_what_is_refused() -> None:
    with pytest.raises(InputError, match="nothing is left to label"):
        pool({"q": {"a": 1}}, {"q": ["a"]}, by="move-to-front")
    with pytest.raises(InputError, match="share no query"):
        pool({"q": {"a": 1}}, {"z": ["a"]}, by="move-to-front")
    with pytest.raises(OptionError, match="leave unjudged out"):
        pool({"q": {"a": 1}}, {"q": ["a"]}, by="move-to-front", unjudged=True)
