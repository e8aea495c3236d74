"""Strategies that learn from judgments which run to take the next document from.

Each query is on its own. A run has a value; the next document is the first unjudged one of the run
with the highest value, and whether it is relevant changes values. Of runs with the same value, the
strategy stays with one while its documents are relevant, and goes on to the next after one that is
not.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

Rankings = Sequence[Sequence[str]]  # a query's documents in each run, the best first
Asked = Generator[str, bool, None]  # yields documents, and is sent whether each is relevant


def documents_in_turn(
    rankings: Rankings, learn: Callable[[list[float], int, str, bool], None]
) -> Asked:
    """Yield each document of some rankings once, from the ranking with the highest value.

    After each, `learn` changes the values: it takes them, the number of the ranking, the document
    and whether it is relevant.
    """
    n = len(rankings)
    values, lists, left = [0.0] * n, [iter(one) for one in rankings], [*range(n)]
    known, last, relevant = set[str](), -1, False
    while left:
        best = max(values[i] for i in left)
        ahead = [i for i in left if values[i] == best]
        turn = [(i - last - (not relevant)) % n for i in ahead]  # 0: the present one, or the next
        at = ahead[turn.index(min(turn))]
        doc = next((one for one in lists[at] if one not in known), None)
        if doc is None:
            left.remove(at)
        else:
            known.add(doc)
            last, relevant = at, (yield doc)
            learn(values, at, doc, relevant)


def move_to_front(rankings: Rankings) -> Asked:
    """Yield documents of one run until one is not relevant, which puts the run behind the others.

    Source: Cormack, Palmer & Clarke, SIGIR 1998 (local move-to-front pooling)
    """

    def learn(values: list[float], at: int, _: str, relevant: bool) -> None:
        values[at] -= not relevant

    return documents_in_turn(rankings, learn)


def bandit(rankings: Rankings) -> Asked:
    """Yield documents of the runs whose last judged document was relevant, before other runs'.

    The value of a run is the mean of a beta distribution that knows only the last judgment of a
    document that the run has: 2/3 if it was relevant, 1/3 if not, 1/2 before any, here less 1/2.

    Source: Losada, Parapar & Barreiro, IPM 2017 (maximum mean, not stationary, with rate 0)
    """
    holders: dict[str, list[int]] = {}
    for i, one in enumerate(rankings):
        for doc in dict.fromkeys(one):
            holders.setdefault(doc, []).append(i)

    def learn(values: list[float], _: int, doc: str, relevant: bool) -> None:
        for i in holders[doc]:
            values[i] = 1 / 6 if relevant else -1 / 6

    return documents_in_turn(rankings, learn)


STRATEGIES: Mapping[str, Callable[[Rankings], Asked]] = {
    "move-to-front": move_to_front,
    "bandit": bandit,
}


def next_documents(
    strategy: Callable[[Rankings], Asked],
    rankings: Mapping[str, Rankings],
    relevant: Mapping[str, Mapping[str, bool]],
    n: int | None = None,
) -> list[tuple[str, str]]:
    """Return the first n unjudged documents, or all, in the order in which to judge them.

    Each is (query, document).

    The queries take turns. `relevant` tells of each query's judged documents whether they are: the
    strategy learns from these. Documents in the answer count as not relevant until they are judged.

    >>> next_documents(move_to_front, {"q": [["a", "b", "c"], ["d", "e"]]}, {"q": {"a": True}})
    [('q', 'b'), ('q', 'd'), ('q', 'c'), ('q', 'e')]
    """
    asked = {
        query: _unjudged(strategy(lists), relevant.get(query, {}))
        for query, lists in rankings.items()
    }
    found: list[tuple[str, str]] = []
    while asked and (n is None or len(found) < n):
        for query, docs in [*asked.items()]:
            doc = next(docs, None)
            if doc is None:
                del asked[query]
            else:
                found.append((query, doc))
    return found[:n]


def answered(asked: Asked, is_relevant: Callable[[str], bool]) -> Iterator[str]:
    """Yield all documents that a strategy asks for, when it is told whether each is relevant."""
    doc = next(asked, None)
    while doc is not None:
        yield doc
        try:
            doc = asked.send(is_relevant(doc))
        except StopIteration:
            return


def _unjudged(asked: Asked, relevant: Mapping[str, bool]) -> Iterator[str]:
    """Yield the documents of a strategy that are not judged, and tell it of those that are."""
    every = answered(asked, lambda doc: relevant.get(doc, False))
    return (doc for doc in every if doc not in relevant)
