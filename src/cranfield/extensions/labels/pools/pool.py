"""pool: what people should label: all, a part by chance, or the most useful, as a file."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple, Unpack

import numpy as np

from cranfield.arrays.ids import IdList, Ids, encode, encode_ids
from cranfield.arrays.memory import release_free_memory
from cranfield.arrays.products import block_slices
from cranfield.arrays.ranked import Ints
from cranfield.arrays.rows import mark_changes
from cranfield.data.judging import Judging
from cranfield.data.named_ids import read_named_queries
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run, make_run
from cranfield.data.run_notes import list_order_notes
from cranfield.errors import InputError, OptionError, escape_unprintable
from cranfield.extensions import keywords
from cranfield.extensions.fusion.fuse import fuse
from cranfield.extensions.labels.pools.deciding import find_deciding
from cranfield.extensions.labels.pools.draw import NOT_DRAWN, draw_from_strata, draw_sample
from cranfield.extensions.labels.pools.move_to_front import next_documents
from cranfield.extensions.labels.pools.options import IN_ORDER, PoolMethod, PoolSettings
from cranfield.extensions.labels.pools.pool_result import Pool
from cranfield.extensions.whatif.unjudged import (
    RankedDocuments,
    find_first_rows,
    number_documents,
    rank_run,
)
from cranfield.formats.block import Role
from cranfield.formats.small.texts import (
    DOC_TEXT,
    QUERY_TEXT,
    Texts,
    TextsLike,
    clean_text,
    read_texts,
)
from cranfield.measures import parse
from cranfield.notes import Note, warn_about
from cranfield.options import refuse_unknown_options, takes
from cranfield.progress import Watching, add_progress, watch_steps
from cranfield.render.numbers import format_count, format_signed
from cranfield.scoring.arguments import Reading, arrange_arguments
from cranfield.scoring.evaluate import score_runs
from cranfield.version import __version__

# Options of `Judging` on what is scored, not on how a run is ranked.
NOT_FOR_POOL = ("queries", "judged_only", "unretrieved", "depth", "overlap")


@add_progress
@takes(PoolSettings, Reading, Judging, Watching, omit=NOT_FOR_POOL)
def pool(
    qrels: Any,
    runs: Any,
    *,
    query_texts: TextsLike | None = None,
    doc_texts: TextsLike | None = None,
    **options: "Unpack[keywords.Pool]",
) -> Pool:
    """Return which documents people should label: a pool, a part of it, or what is most useful.

    A pool is what any of the runs has in its first k, for each query of the judgments; or, with a
    given number of documents for each query, the first k of the runs fused. Drawn by
    chance, labels of a part are enough to estimate means and differences without bias: see
    `prediction_powered`, and `statAP` for judgments that are a sample. Exactly n are drawn, each
    with its stated probability (systematic sampling from an order by chance; Madow, Annals of
    Mathematical Statistics 1949). With `strata`, a share is drawn of each query's documents down to
    each rank, at least one of each stratum; the others are rows, too, with relevance -1, as
    `xinfAP` needs them. What is drawn depends on the seed and on what is pooled, not on the order
    of runs or rows.

    With "decide", the unjudged documents of two runs are in the order in which they narrow the
    bounds of the difference (`joint_bounds`), as deep as the measure looks. The notes say how many
    it takes, if they turn out not relevant, until no other judgment can change which run is better.

    "move-to-front" (Cormack, Palmer & Clarke, SIGIR 1998) takes documents of one run while they are
    relevant, then goes on to the next. It learns from the judgments (relevant: grade 1 or more) and
    finds many relevant documents early: judge some, merge them into the judgments, and ask again.
    Queries take turns.

    Args:
        qrels: the judgments, such as a model's labels: their queries are pooled. None: there are
            none yet, and all queries of the runs are.
        runs: one run or several, as `evaluate` takes them.
        query_texts: what the queries ask, for the people who label: a file, a table or a dict
            {id: text}, as for `with_texts`.
        doc_texts: the texts of the documents, in the same forms; title and text where there are
            both.
        **options: each option of `PoolSettings`, of `Reading`, and of `Judging` that says how a run
            is ranked.

    Returns:
        A Pool: its rows are the file to be labelled.

    Raises:
        InputError: nothing is pooled, "decide" without two runs, or what `evaluate` refuses.
        OptionError: an option with an impossible value, or without effect.

    >>> runs = [{"q1": ["d1", "d2", "d3"]}, {"q1": ["d2", "d4", "d1"]}]
    >>> sorted(row["doc_id"] for row in pool({"q1": {"d1": 1}}, runs, k=2, unjudged=True).rows())
    ['d2', 'd4']

    """
    refuse_unknown_options(pool, options)
    settings, judging = PoolSettings.of(options), Judging.of(options)
    reading = Reading.of(options)
    if qrels is None:
        run_of_name = reading.make_runs(runs)
        judgments = _list_queries(run_of_name.values(), settings)
    else:
        judgments, run_or_runs, _ = arrange_arguments(
            qrels, runs, None, None, reading=reading, duplicates=judging.duplicates, verb=pool
        )
        run_of_name = (
            {run_or_runs.name: run_or_runs} if isinstance(run_or_runs, Run) else run_or_runs
        )
    warn_about(list_order_notes(run_of_name.values()))
    make_pool = _order_unjudged if settings.by in IN_ORDER else _draw_pool
    return add_texts(make_pool(judgments, run_of_name, settings, judging), query_texts, doc_texts)


def _list_queries(runs: Iterable[Run], settings: PoolSettings) -> Qrels:
    """Return judgments of no document, of all queries of the runs; OptionError where some count."""
    if settings.by in IN_ORDER or settings.unjudged:
        option_text = "unjudged" if settings.unjudged else f"by={settings.by!r}"
        raise OptionError(f"{option_text} takes judgments, and there are none")
    query_ids = chain.from_iterable(
        read_named_queries(run, make_run).ids.to_texts() for run in runs
    )
    return Qrels({query_id: {} for query_id in query_ids})


def add_texts(bare_pool: Pool, query_texts: TextsLike | None, doc_texts: TextsLike | None) -> Pool:
    """Return a pool with texts beside the ids, and a note on ids that have none."""
    texts: dict[str, Texts] = {}
    notes = [*bare_pool.notes]

    def note_lack(ids: set[str], column: str, id_noun: str) -> None:
        """Add a note if some ids have no text."""
        if n := len(ids) - len(texts[column]):
            text = f"{n:,} of {len(ids):,} {id_noun} have no text.{texts[column].name_columns()}"
            notes.append(Note("no-text", "warning", text, count=n))

    if query_texts is not None:
        ids = {*bare_pool.query_ids}
        texts[QUERY_TEXT] = read_texts(query_texts, ids, role="query", mend=clean_text)
        note_lack(ids, QUERY_TEXT, "queries")
    if doc_texts is not None:
        ids = {*bare_pool.doc_ids}
        texts[DOC_TEXT] = read_texts(doc_texts, ids, role="doc", with_titles=True, mend=clean_text)
        note_lack(ids, DOC_TEXT, "documents")
    return replace(bare_pool, texts=texts, notes=tuple(notes))


def _refuse_empty(rows: Sized, settings: PoolSettings) -> None:
    """Raise InputError if there is no row."""
    if not len(rows):
        raise InputError(
            "nothing is left to label: no run has an unjudged document in its first "
            f"{settings.depth}"
        )


def _draw_pool(
    judgments: Qrels, runs: Mapping[str, Run], settings: PoolSettings, judging: Judging
) -> Pool:
    """Return a pool by depth: all documents, a part drawn by chance, or, with strata, both."""
    source_runs = _choose_runs(runs, settings.by, judging)
    run_judging = judging if source_runs is runs else Judging(ties=judging.ties)
    documents = _find_documents(judgments, source_runs, settings, run_judging)
    _refuse_empty(documents.rank, settings)
    query_row, rank = np.cumsum(mark_changes(documents.query)) - 1, documents.rank
    n_queries = int(query_row[-1]) + 1
    generator = np.random.default_rng(settings.seed)
    shuffle_key = generator.random(len(rank))
    drawing: dict[Role, Any] = {}
    is_drawn = np.ones(len(rank), np.bool_)
    if settings.shares is not None:
        is_drawn, chance, stratum = draw_from_strata(query_row, rank, settings.shares, generator)
        drawing = {"stratum": stratum, "probability": chance}
    elif settings.n is not None:
        whole_queries = settings.draw == "queries"
        by_rank = settings.likely == "rank"
        is_drawn, chance = draw_sample(
            query_row, rank, settings.n, generator, whole_queries=whole_queries, by_rank=by_rank
        )
        drawing = {"query_probability" if whole_queries else "probability": chance}
    # With strata, the pool has the documents that are not drawn, too, behind the others.
    keeps_all = settings.strata is not None
    rows = np.arange(len(rank)) if keeps_all else np.flatnonzero(is_drawn)
    group = query_row[rows] + n_queries * ~is_drawn[rows]
    shuffled_group = group + shuffle_key[rows]  # a single key is sorted in a tenth of the time
    order = shuffled_group.argsort()
    if (np.diff(shuffled_group[order]) <= 0).any():  # two keys are rounded to one
        order = np.lexsort((shuffle_key[rows], group))
    rows = rows[order]
    return Pool(
        IdList(encode_ids(judgments.query_ids).take(documents.query[rows])),
        IdList(documents.docs.take(rows)),
        settings,
        n_queries,
        len(rank),
        {"cranfield": __version__, "runs": list(runs), **judging.changed_options()},
        tuple(_list_notes(settings, len(rank), n_queries, len(judgments.query_ids))),
        {role: column[rows].tolist() for role, column in drawing.items()},
        [None if drawn else NOT_DRAWN for drawn in is_drawn[rows].tolist()] if keeps_all else None,
    )


_TO_LABEL = Note(
    "to-label",
    "info",
    "Fill in the column relevance of the file (-o labels.csv), and read it as judgments.",
)


def _choose_runs(runs: Mapping[str, Run], by: PoolMethod, judging: Judging) -> Mapping[str, Run]:
    """Return the runs whose first documents are pooled: these, or one run fused of them.

    The weight of a document by RBP is that of rank-biased centroids, `rbc` (Moffat, Webber & Zobel,
    SIGIR 2007: their method of summing, by which a pool of a given size is the best of its kind).
    """
    if by not in ("fusion", "rbp"):
        return runs
    stated_options = judging.changed_options()
    if other_options := [name for name in stated_options if name not in _FUSION_OPTIONS]:
        raise OptionError(
            f"{other_options[0]} applies to single runs, and by={by!r} ranks them fused"
        )
    fused_run = fuse(runs, "rrf" if by == "fusion" else "rbc", **stated_options)
    return {fused_run.name: fused_run}


_FUSION_OPTIONS = ("order", "ties", "duplicates")


class _PooledDocuments(NamedTuple):
    """The documents of a pool in the order of query and id."""

    query: Ints  # (documents,) the position of each document's query in the judgments
    rank: Ints  # (documents,) its best rank in any run
    docs: Ids


def _find_documents(
    judgments: Qrels, runs: Mapping[str, Run], settings: PoolSettings, judging: Judging
) -> _PooledDocuments:
    """Return the documents that a run has down to the depth of the settings.

    With `unjudged`, documents that are judged are left out.
    """
    depth, n_queries, no_rank = settings.depth, len(judgments.query_ids), settings.depth + 1
    no_ranks = np.full(len(judgments), no_rank)
    sides = [
        RankedDocuments([], judgments.query, no_ranks, judgments.docs, np.diff(judgments.starts))
    ]
    for run in watch_steps(runs.values(), "pooling"):
        sides.append(rank_run(judgments, run, depth, judging))
        if not len(sides[-1].rank):
            raise _no_document_error(judgments, run, judging)
        release_free_memory()
    rows_per_query, parts = sum(len(side.rank) for side in sides) // n_queries, []
    for codes in block_slices(n_queries, _COLUMNS * rows_per_query):
        rows_of_side = [
            np.flatnonzero((side.query >= codes.start) & (side.query < codes.stop))
            for side in sides
        ]
        side_rows = [*zip(sides, rows_of_side, strict=True)]
        query = np.concatenate([side.query[rows] for side, rows in side_rows])
        ids = Ids.concatenate([side.docs.take(rows).compact() for side, rows in side_rows])
        number = number_documents(query, ids)
        first_row = find_first_rows(number)
        best_rank = np.full(len(first_row), no_rank)
        np.minimum.at(
            best_rank, number, np.concatenate([side.rank[rows] for side, rows in side_rows])
        )
        if settings.unjudged:
            best_rank[number[: len(rows_of_side[0])]] = no_rank
        numbers = np.flatnonzero(best_rank <= depth)
        rows = first_row[numbers]
        order = ids.take(rows).sort_keys().argsort()
        # Few bits are sorted quickly.
        place = (query[rows[order]] - codes.start).astype(np.min_scalar_type(codes.stop))
        order = order[place.argsort(kind="stable")]
        rows = rows[order]
        parts.append((query[rows], best_rank[numbers[order]], ids.take(rows).compact()))
        release_free_memory()
    queries, ranks, docs = zip(*parts, strict=True)
    return _PooledDocuments(np.concatenate(queries), np.concatenate(ranks), Ids.concatenate(docs))


_COLUMNS = 4  # about, of the rows that are looked at together


def _list_top_documents(
    judgments: Qrels, runs: Mapping[str, Run], depth: int, judging: Judging
) -> dict[str, list[Sequence[str]]]:
    """Return the first documents of each run, for each query of the judgments."""
    query_ids = list(judgments.query_ids)
    top_documents: dict[str, list[Sequence[str]]] = {query: [] for query in query_ids}
    for run in watch_steps(runs.values(), "pooling"):
        rankings = run.read_rankings(query_ids, judging)
        tops = [rankings[query].select_query(query).docs[:depth] for query in query_ids]
        if not any(tops):
            raise _no_document_error(judgments, run, judging)
        for query, top in zip(query_ids, tops, strict=True):
            top_documents[query].append(top)
    return top_documents


def _no_document_error(judgments: Qrels, run: Run, judging: Judging) -> InputError:
    """Return the error of a run without a document; raise that of `evaluate` if it has another."""
    score_runs(judgments, {run.name: run}, [parse("P@1")], judging)
    return InputError(f"the run {run.name!r:.80} has no document", source=run.source)


def _order_unjudged(
    judgments: Qrels, runs: Mapping[str, Run], settings: PoolSettings, judging: Judging
) -> Pool:
    """Return a pool of the first unjudged documents in the order in which to judge them."""
    recipe_of_method: dict[str, Any] = {}
    if settings.by == "decide":
        documents, measure, notes = _order_deciding(judgments, runs, settings, judging)
        n_unjudged = Counter(query for query, _ in documents)
        recipe_of_method = {"measure": measure}
    else:
        documents, n_unjudged, notes = _order_by_move_to_front(judgments, runs, settings, judging)
    first_documents = documents[: settings.n]
    if settings.n is not None and settings.n > n_unjudged.total():
        notes.append(_all_drawn_note(n_unjudged.total(), "documents"))
    return Pool(
        [query for query, _ in first_documents],
        [doc for _, doc in first_documents],
        settings,
        len(n_unjudged),
        n_unjudged.total(),
        {
            "cranfield": __version__,
            "runs": list(runs),
            **recipe_of_method,
            **judging.changed_options(),
        },
        tuple(notes),
    )


_QueryDocs = Sequence[tuple[str, str]]  # (query, document)


def _order_deciding(
    judgments: Qrels, runs: Mapping[str, Run], settings: PoolSettings, judging: Judging
) -> tuple[_QueryDocs, str, list[Note]]:
    """Return the unjudged documents that decide between two runs, the measure's name and notes."""
    if len(runs) != 2:
        raise InputError(f"by='decide' takes two runs, and there are {len(runs):,}")
    measure = parse(settings.measure or "nDCG@10")
    decision = find_deciding(judgments, runs, measure, judging)
    n = len(decision.documents)
    first_name, second_name = map(escape_unprintable, runs)
    better_name, worse_name = (
        (first_name, second_name) if decision.difference > 0 else (second_name, first_name)
    )
    better = "higher" if measure.definition.higher_is_better is False else "better"
    text = (
        f"{measure} of {first_name} minus {second_name}: {format_signed(decision.difference)}; "
        f"from {format_signed(decision.low)} to {format_signed(decision.high)} for all ways to "
        f"grade the {n:,} unjudged."
    )
    notes = [Note("bounds", "info", text, count=n)]
    if decision.is_certain:
        text = (
            f"No judgment can change which is {better} on these queries: you need no labels for "
            "it. Whether other queries would say so, compare tells."
        )
    elif not n:
        text = "No judgment can change this difference."
    elif decision.n_needed is None:
        text = "Even if all of them turn out not relevant, the sign may stay open."
    else:
        text = (
            f"If the first {format_count(decision.n_needed, 'turns', 'turn')} out not relevant, no "
            f"other judgment can change that {better_name} is {better} than {worse_name}. Judge "
            "some, merge them (Qrels.merge, convert --merge), and ask again."
        )
    notes.append(Note("decided", "info", text, count=decision.n_needed))
    if n and not decision.is_certain:
        notes.append(_TO_LABEL)
    return decision.documents, str(measure), notes


def _order_by_move_to_front(
    judgments: Qrels, runs: Mapping[str, Run], settings: PoolSettings, judging: Judging
) -> tuple[_QueryDocs, Counter[str], list[Note]]:
    """Return the first documents by move-to-front, {query: number of all unjudged}, and notes."""
    if judgments.groups is not None:
        raise OptionError(f"by={settings.by!r} learns from documents' grades, not from groups")
    run_of_name = {name: runs[name] for name in sorted(runs, key=encode)}
    rankings = _list_top_documents(judgments, run_of_name, settings.depth, judging)
    generator = np.random.default_rng(settings.seed)
    for query in sorted(rankings, key=encode):  # so that no run comes first in every query
        rankings[query] = [
            rankings[query][i] for i in generator.permutation(len(run_of_name)).tolist()
        ]
    relevant = {
        query: {doc: grade >= 1 for doc, grade in judged.items()}
        for query, judged in judgments.to_dict().items()
    }
    n_unjudged = Counter[str]()
    for query, lists in rankings.items():
        if n_unjudged_docs := len({*chain.from_iterable(lists)} - relevant.get(query, {}).keys()):
            n_unjudged[query] = n_unjudged_docs
    documents = next_documents(rankings, relevant, settings.n)
    _refuse_empty(documents, settings)
    text = (
        "Judge some, merge them (Qrels.merge, convert --merge), and ask again: the order changes "
        "with each judgment. Until then, these count as not relevant."
    )
    notes = [Note("ask-again", "info", text), _TO_LABEL]
    n_missing = sum(not any(lists) for lists in rankings.values())
    return documents, n_unjudged, [*_empty_query_notes(n_missing, len(rankings)), *notes]


def _empty_query_notes(n: int, n_judged: int) -> list[Note]:
    """Return a warning if n of the judged queries have no document in any run."""
    text = (
        f"{n:,} of {n_judged:,} queries of the judgments have no document in any run: do all name "
        "queries in the same way?"
    )
    return [Note("nothing-pooled", "warning", text, n)] if n else []


def _all_drawn_note(n: int, unit_plural: str) -> Note:
    """Return the note that all n documents, or queries, are to be labelled."""
    text = f"All {n:,} {unit_plural} are to be labelled: there are no more."
    return Note("all-drawn", "info", text, count=n)


def _list_notes(settings: PoolSettings, n_pooled: int, n_queries: int, n_judged: int) -> list[Note]:
    """Return notes on queries without rows, what to do with rows, what they do not suffice for."""
    notes = []
    draws_queries = settings.by == "chance" and settings.draw == "queries"
    if draws_queries and n_queries < n_judged and not settings.unjudged:
        text = (
            f"{n_judged - n_queries:,} of {n_judged:,} queries of the judgments have no pooled "
            "document, and cannot be drawn: a mean estimated from the labels is that of the "
            "others. Leave these queries out of the judgments for it."
        )
        notes.append(Note("nothing-pooled", "warning", text, n_judged - n_queries))
    elif not settings.unjudged:
        notes += _empty_query_notes(n_judged - n_queries, n_judged)
    n_all = n_pooled if settings.draw == "documents" else n_queries
    if settings.n is not None and settings.n >= n_all:
        notes.append(_all_drawn_note(n_all, settings.draw))
    note = _TO_LABEL
    if settings.strata is not None:
        instruction = (
            "Fill in the column relevance where it is empty, leave -1 (not drawn), and read the "
            "file as judgments: for xinfAP and statAP. Labels of other tools need this file, too: "
            "cranfield collect --pool."
        )
        note = Note(note.code, note.severity, instruction)
    elif settings.by == "chance" and not settings.unjudged:
        instruction = f"{note.text[:-1]}: --human labels.csv, beside those of a model."
        note = Note(note.code, note.severity, instruction)
    notes.append(note)
    if draws_queries and not settings.unjudged:
        text = (
            "Enough for measures of retrieved documents, such as P@10. nDCG, AP and R depend on "
            "relevant documents that no run found, too: these need labels, or such measures are "
            "estimated too high."
        )
        notes.append(Note("retrieved-alone", "info", text))
    return notes
