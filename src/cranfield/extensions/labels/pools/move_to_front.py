"""Move-to-front, for `pool`: which document to judge next, learned from the judgments so far.

Each query is on its own. A run goes on while its documents are relevant; one that is not puts the
run behind those with no more misses.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

Rankings = Sequence[Sequence[str]]  # a query's documents in each run, the best first
Questions = Generator[str, bool, None]  # yields documents, and is sent whether each is relevant


def move_to_front(rankings: Rankings) -> Questions:
    """Yield each document of some rankings once, from the ranking with the fewest misses so far.

    A miss is a document that is not relevant. Of rankings with the same number of misses, the
    strategy stays with the present one after a relevant document, and else goes on to the next.

    Source: Cormack, Palmer & Clarke, SIGIR 1998 (local move-to-front pooling)
    """
    n = len(rankings)
    readers, open_runs, n_misses = [iter(docs) for docs in rankings], [*range(n)], [0] * n
    asked_docs, last_run, relevant = set[str](), -1, False
    while open_runs:
        # 0: the present ranking after a relevant document, and the one behind it after a miss
        turn = {i: (i - last_run - (not relevant)) % n for i in open_runs}
        run = min(open_runs, key=lambda i: (n_misses[i], turn[i]))
        doc = next((doc for doc in readers[run] if doc not in asked_docs), None)
        if doc is None:
            open_runs.remove(run)
        else:
            asked_docs.add(doc)
            last_run, relevant = run, (yield doc)
            n_misses[run] += not relevant


def next_documents(
    rankings: Mapping[str, Rankings],
    relevant: Mapping[str, Mapping[str, bool]],
    n: int | None = None,
) -> list[tuple[str, str]]:
    """Return the first n unjudged documents, or all, in the order in which to judge them.

    Each is (query, document).

    The queries take turns. `relevant` tells of each query's judged documents whether they are: the
    strategy learns from these. Documents in the answer count as not relevant until they are judged.

    >>> next_documents({"q": [["a", "b", "c"], ["d", "e"]]}, {"q": {"a": True}})
    [('q', 'b'), ('q', 'd'), ('q', 'c'), ('q', 'e')]
    """
    docs_of_query = {
        query: _list_unjudged(move_to_front(docs), relevant.get(query, {}))
        for query, docs in rankings.items()
    }
    documents: list[tuple[str, str]] = []
    while docs_of_query and (n is None or len(documents) < n):
        for query, docs in [*docs_of_query.items()]:
            doc = next(docs, None)
            if doc is None:
                del docs_of_query[query]
            else:
                documents.append((query, doc))
    return documents[:n]


def ask_all(questions: Questions, is_relevant: Callable[[str], bool]) -> Iterator[str]:
    """Yield all documents that the strategy asks for, when it is told whether each is relevant."""
    doc = next(questions, None)
    while doc is not None:
        yield doc
        try:
            doc = questions.send(is_relevant(doc))
        except StopIteration:
            return


def _list_unjudged(questions: Questions, relevant: Mapping[str, bool]) -> Iterator[str]:
    """Yield the documents that are not judged, and tell the strategy of those that are."""
    docs = ask_all(questions, lambda doc: relevant.get(doc, False))
    return (doc for doc in docs if doc not in relevant)
