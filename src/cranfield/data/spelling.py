"""Finds ids of a run and of the qrels that differ only in spelling, for errors and notes."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from cranfield.arrays.ids import decode, encode
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.data.run_notes import SPELLING, describe_affix, no_common_query_error, normalize_id
from cranfield.errors import InputError, NothingSharedError
from cranfield.formats.block import FaultyRows
from cranfield.notes import Note
from cranfield.render.numbers import format_query_count

_MAX_QUERIES = 20


def find_affix(qrels: Qrels, run: Run) -> str | None:
    """Return a sentence on ids that are longer on one side, by the first block with judgments."""
    for _, judged, docs in islice(_read_shared_queries(qrels, run), _MAX_QUERIES):
        affix = describe_affix(judged, docs)
        if affix is not None:
            return affix
    return None


def spelling_mismatch_error(qrels: Qrels, run: Run) -> NothingSharedError | None:
    """Return the error if the run has the judged documents, but spelt otherwise; else None.

    Compared are ids in the first block of the run that has a query of the qrels.
    """
    for query, judged, docs in _read_shared_queries(qrels, run):
        doc_of_plain_id = {normalize_id(doc): doc for doc in judged}
        for doc in docs:
            judged_doc = doc_of_plain_id.get(normalize_id(doc), doc)
            if judged_doc != doc:  # else a row of the same document was left out
                return NothingSharedError(
                    f"the run {run.name!r} and the qrels share no document as they are "
                    f"written: for query {query!r} the run has {doc!r}, the qrels {judged_doc!r}",
                    source=run.source,
                    hint=SPELLING,
                    query_id=query,
                )
    return None


def _read_shared_queries(
    qrels: Qrels, run: Run
) -> Iterator[tuple[str, Sequence[str], Iterator[str]]]:
    """Yield (query, judged documents, the run's), of the run's first block with a judged query."""
    docs_of_query = dict(zip(map(encode, qrels.query_ids), qrels.doc_lists, strict=True))
    for load in run.read_columns(()):
        block = load()
        starts = np.append(block.query.find_changes(), len(block)).tolist()
        queries = block.query.take(block.query.find_changes()).to_list()
        shared_positions = [i for i, query in enumerate(queries) if query in docs_of_query]
        for i in shared_positions:
            docs = run.read_doc_ids(block.take(slice(starts[i], starts[i + 1]))).to_list()
            yield decode(queries[i]), docs_of_query[queries[i]], map(decode, docs)
        if shared_positions:
            return


def query_spelling_notes(
    missing_queries: Sequence[str], unjudged_queries: Collection[Any]
) -> Iterator[Note]:
    """Yield a note if queries that the run lacks are in it, but spelt otherwise.

    `unjudged_queries` are in the run and not in the qrels, as text or bytes.
    """
    if not missing_queries or not unjudged_queries:
        return
    query_of_plain_id = {normalize_id(query): query for query in missing_queries}
    run_queries = (query if isinstance(query, str) else decode(query) for query in unjudged_queries)
    respelt_pairs = [
        (query_of_plain_id[normalize_id(query)], query)
        for query in run_queries
        if normalize_id(query) in query_of_plain_id
    ]
    if respelt_pairs:
        judged_query, run_query = min(respelt_pairs)
        n = len({query for query, _ in respelt_pairs})
        text = (
            f"{format_query_count(n)} of the qrels, of {len(missing_queries):,} that the run "
            "lacks, differ only in "
            f"how they are written: {judged_query!r:.80} in the qrels, {run_query!r:.80} in the "
            "run. Such rows "
            "count for nothing: write blanks, capitals, leading zeros and 1 or 1.0 alike."
        )
        yield Note("query-spelling", "warning", text, n, count=n, query_id=judged_query)


def no_shared_query_error(
    qrels: Qrels, run: Run, unjudged_queries: Iterable[Any], left_out: FaultyRows
) -> InputError:
    """Return the error of a run whose queries, `unjudged_queries`, are all unjudged.

    `left_out` counts the rows of the run that could not be used.
    """
    run_queries = sorted(
        query if isinstance(query, str) else decode(query) for query in unjudged_queries
    )
    if not run_queries:
        hint = f"{left_out.describe('the run')}." if left_out.count else None
        return InputError(f"the run {run.name!r} holds no query", source=run.source, hint=hint)
    source = run.source or qrels.source
    return no_common_query_error(run.name, run_queries, "the qrels", qrels.query_ids, source)
