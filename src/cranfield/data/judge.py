"""judge: a run meets the judgments. The only rule for queries that are on one side only.

Every query of the qrels counts; one that the run does not answer has no hits and so
scores 0 (`queries="judged"`, as `trec_eval -c`). Or only those in both (`queries="both"`). Queries
that only the run has cannot be scored. All are counted.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, compress, islice

import numpy as np

from cranfield.arrays.grades import levels_of
from cranfield.arrays.ranked import Bools, Floats, Ints, Numbers, Ranked
from cranfield.arrays.rows import changes, sizes, spans
from cranfield.data.judged import Judged, Parts
from cranfield.data.judging import Judging, Ties
from cranfield.data.match import Match, matches
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.data.run_notes import (
    Look,
    are_ranks,
    duplicates_of,
    level_scores,
    mostly,
    nothing_judged,
)
from cranfield.errors import InputError, OptionError
from cranfield.formats.block import Order, Progress, Role
from cranfield.formats.objects import LISTS, Nested
from cranfield.lazy import cached_property
from cranfield.notes import Note
from cranfield.render.numbers import number_of, queries_of


@dataclass(frozen=True)
class Counts:
    """How many queries a result is the mean of, and what was left out of it."""

    queries: int  # averaged
    without_results: int  # of these: the run retrieved nothing for them, they score 0
    without_relevant: int  # of these: no judged document has a grade above 0
    without_judgments: int  # in the run, but not in the qrels: not scored
    without_run: int = 0  # in the qrels, but left out because the run has none (queries="both")
    rows_left_out: int = 0  # of the run and the qrels: they could not be read (errors="skip")
    tied: int = 0  # documents of the run that share their score with another of the same query

    def notes(self) -> list[Note]:
        """Return a note for every count of queries that is not zero."""
        said = [Note("queries", "info", f"{queries_of(self.queries)} averaged.", self.queries)]
        for name, text in (
            ("without_results", "without results: counted as retrieving nothing."),
            ("without_relevant", "without a relevant document (no grade above 0)."),
            ("without_judgments", "of the run left out: not in the qrels."),
            ("without_run", "of the qrels left out: not in the run."),
        ):
            count = getattr(self, name)
            if count:
                text = f"{queries_of(count)} {text}"
                said.append(Note(name.replace("_", "-"), "info", text, count))
        return said


@dataclass(eq=False, repr=False)
class Meeting:
    """What judge returns: the judged run, the queries by name, and how many there are.

    `whole`: whether these are all queries of the run, and not one of them.
    """

    judged: Judged
    query_ids: Sequence[str]
    in_run: Bools  # (n_queries,) which of them the run has
    qrels: Qrels
    run: Run
    match: Match
    judging: Judging
    whole: bool

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        """What else to know of the run and the judgments."""
        return (*map(_hinting, _suspicions(self)), *_notes(self))

    @cached_property
    def counts(self) -> Counts:
        """The number of queries, and what was left out of them."""
        n_queries, match, judged = len(self.query_ids), self.match, self.judged
        return Counts(
            queries=n_queries,
            without_results=n_queries - int(np.count_nonzero(match.n_retrieved)),
            without_relevant=int(np.count_nonzero(judged.n_relevant(judged.above_zero) == 0)),
            without_judgments=len(match.unknown),
            without_run=len(self.qrels.query_ids) - n_queries,
            rows_left_out=match.left_out.count + self.qrels.left_out.count,
            tied=match.placed.n_tied,
        )

    def counts_of(self, rows: Bools) -> Counts:
        """Return the number of some of the queries, and of those without results or relevance."""
        n_retrieved, n_queries = self.match.n_retrieved, int(np.count_nonzero(rows))
        if len(n_retrieved) > len(rows):
            n_retrieved = n_retrieved[self.match.in_run]
        return Counts(
            queries=n_queries,
            without_results=int(np.count_nonzero(n_retrieved[rows] == 0)),
            without_relevant=int(np.count_nonzero(self.judged.n_relevant()[rows] == 0)),
            without_judgments=0,
        )


def judge(
    qrels: Qrels,
    run: Run,
    judging: Judging = Judging(),
    *,
    progress: Progress | None = None,
    costs: bool = False,
    whole: bool = True,
) -> Meeting:
    """Match a run with the judgments and rank it: `judge_all` for one run."""
    every = judge_all(qrels, [run], judging, progress=progress, costs=costs, whole=whole)
    return next(every)


def judge_all(
    qrels: Qrels,
    runs: Sequence[Run],
    judging: Judging = Judging(),
    *,
    progress: Progress | None = None,
    costs: bool = False,
    whole: bool = True,
) -> Iterator[Meeting]:
    """Match runs with the judgments and rank them, one after the other, on all cores.

    With ties="expected", the places that a tied document may have are kept, for measures that
    average over all orders; `depth` cuts such orders, too. `judged_only` drops documents after
    that, and closes the ranks up. `progress` is called with the number of bytes read. `costs`: keep
    what it costs to look at each document, if a run says so. `whole`: that no document is judged
    says something of the run, not only of one query of it; it is refused if one is judged but for
    its spelling.

    Raises InputError if a run cannot be read, or shares no query with the qrels; OptionError for
    an option of `judging` that these judgments or runs do not go with.
    """
    if qrels.in_groups and judging.duplicates == "each":
        raise OptionError(
            "duplicates='each' gives a document several ranks, and these judgments are in groups, "
            "where it has one: take 'first' or 'best'"
        )
    if qrels.in_groups and not judging.ties_by_id:
        raise OptionError(
            f"ties={judging.ties!r} takes one grade for each document, and these judgments are in "
            "groups"
        )
    if qrels.spans is None and judging.overlap != Judging.overlap:
        raise OptionError(
            f"overlap={judging.overlap!r} has no effect: the judgments are not of spans (columns "
            "start and end)"
        )
    runs = [run.against(qrels.spans, judging.overlap) for run in runs]
    for run, match in zip(runs, matches(qrels, runs, judging, progress, costs), strict=True):
        yield _met(qrels, run, match, judging, whole)


def _met(qrels: Qrels, run: Run, match: Match, judging: Judging, whole: bool) -> Meeting:
    if LISTS in (qrels.form, run.form) and whole:
        check_lists(qrels, run, int(np.count_nonzero(match.in_run)) + len(match.unknown))
    if not np.count_nonzero(match.in_run):
        from cranfield.data.spelling import nothing_shared

        raise nothing_shared(qrels, run, match.unknown)
    row, rank, hits = _ranked(qrels, match, judging)
    if len(row) == 0 and whole:
        from cranfield.data.spelling import other_spelling

        other = other_spelling(qrels, run)
        if other is not None:
            raise other
    kept, depth = match.in_run, judging.depth
    n_retrieved, cost = match.n_retrieved[:, None], match.cost
    if cost is not None and judging.ties in ("best", "worst"):
        begins = (np.cumsum(match.n_retrieved) - match.n_retrieved)[qrels.query[row]] - 1
        cost = _moved(cost, begins + match.placed.rank, begins + rank)
    ideal, query_ids, levels = qrels.ideal, qrels.query_ids, None
    if judging.queries == "both" and not kept.all():
        hits, ideal, levels = _of_queries(hits, kept), _of_queries(ideal, kept), kept
        n_retrieved, query_ids = n_retrieved[kept], [*compress(query_ids, kept.tolist())]
        kept = kept[kept]
    if depth is not None:
        hits, n_retrieved, cost = _cut(hits, n_retrieved, cost, depth)

    def parts() -> Parts:
        rank_of = np.zeros(len(qrels), np.int64)
        best = rank.argsort()[::-1] if match.repeated.count else slice(None)  # the last one counts
        rank_of[row[best]] = rank[best] if depth is None else np.where(rank <= depth, rank, 0)[best]
        of = qrels.levels if levels is None else qrels.levels.of_queries(levels)
        return Parts(len(query_ids), of, rank_of[of.row], judging.judged_only, qrels)

    if judging.judged_only:
        hits, n_retrieved, cost = without_unjudged(hits, n_retrieved, cost)
    judged = Judged(
        *(hits, ideal, n_retrieved, qrels.top_grade, qrels.in_groups, parts, cost),
        ties=judging.ties,
        is_cut=depth is not None,
    )
    return Meeting(judged, query_ids, kept, qrels, run, match, judging, whole)


def check_lists(qrels: Qrels, run: Run, n_rankings: int) -> None:
    """Raise InputError unless qrels and run are both lists of ids, and as many of them."""
    for is_lists, is_not in ((qrels.form, run.form), (run.form, qrels.form)):
        if is_lists == LISTS != is_not:
            sides = "the qrels", f"the run {run.name!r}"
            which, other = sides if is_lists is qrels.form else sides[::-1]
            raise InputError(
                f"{which}: lists of ids, whose queries have no names; {other}: {is_not}",
                source=run.source,
                hint="Both are lists of ids, query by query in the same order, or neither is.",
            )
    n_lists = len(qrels.query_ids)
    if n_lists != n_rankings:
        raise unequal_lists(n_lists, n_rankings, run.source)


def unequal_lists(n_lists: int, n_rankings: int, source: str | None = None) -> InputError:
    """Return the error for lists of ids of which there are not as many on both sides."""
    return InputError(
        f"{number_of(n_lists, 'list')} of relevant documents and {number_of(n_rankings, 'ranking')}"
        ": each query has one of both, in the same order",
        source=source,
        hint="A query without relevant documents, or for which nothing was retrieved, has an empty "
        "list.",
    )


def _ranked(qrels: Qrels, match: Match, judging: Judging) -> tuple[Ints, Ints, Ranked]:
    """Return the hits as rows of the qrels, their ranks, and both in order of query and rank."""
    row, rank, ties = match.row, match.placed.rank, judging.ties
    query, first, size = qrels.query[row], match.placed.tie_first, match.placed.tie_size
    if ties in ("best", "worst"):
        rank = _dealt_by_grade(ties, query, rank, qrels.grade[row], first, size)
    n_queries = len(qrels.query_ids)
    keys = rank if n_queries == 1 else query * (int(rank.max(initial=0)) + 1) + rank
    by_key = keys.argsort()
    ordered = row[by_key]
    columns = {name: column[ordered] for name, column in qrels.sampling.items()}
    if ties == "expected":
        columns |= {"tie_first": first[by_key], "tie_size": size[by_key]}
    hits = Ranked(n_queries, query[by_key], rank[by_key], qrels.grade[ordered], columns=columns)
    return row, rank, hits


def _of_queries(ranked: Ranked, keep: Bools) -> Ranked:
    number = np.cumsum(keep) - 1
    rows = ranked.where(keep[ranked.query])
    return replace(rows, n_queries=int(np.count_nonzero(keep)), query=number[rows.query])


def _cut(
    hits: Ranked, n_retrieved: Ints, cost: Floats | None, depth: int
) -> tuple[Ranked, Ints, Floats | None]:
    """Keep the best so many documents of each query."""
    depth = min(depth, 2**62)
    # Of equal scores at that depth, any may be among those kept.
    hits = hits.where(hits.columns.get("tie_first", hits.rank) <= depth)
    if cost is not None:
        cost = cost[spans(0, n_retrieved[:, 0]) < depth]
    return hits, np.minimum(n_retrieved, depth), cost


def without_unjudged(
    hits: Ranked, n_retrieved: Ints, cost: Floats | None
) -> tuple[Ranked, Ints, Floats | None]:
    """Drop what is unjudged or has a negative grade, and close the ranks up."""
    hits = hits.relevant(0)
    if cost is not None:
        cost = cost[(np.cumsum(n_retrieved) - n_retrieved[:, 0])[hits.query] + hits.rank - 1]
    if "tie_first" in hits.columns:
        begins = changes(hits.query, hits.columns["tie_first"])
        lengths = sizes(begins)
        first, size = (np.repeat(each, lengths) for each in (hits.ordinal[begins], lengths))
        hits = replace(hits, columns={**hits.columns, "tie_first": first, "tie_size": size})
    hits = replace(hits, rank=hits.ordinal)
    return hits, hits.count(), cost


def _dealt_by_grade(
    ties: Ties, query: Ints, rank: Ints, grade: Numbers, first: Ints, size: Ints
) -> Ints:
    """Deal the places of equal scores to the hits among them by grade: (hits,) ranks.

    Unjudged documents come after all judged ones in the best order, before them in the worst.
    """
    best = ties == "best"
    order = np.lexsort((rank, by_grade(ties, first, grade), query))
    n_judged = sizes(changes(query[order], first[order]))
    nth = spans(0, n_judged)
    n_above = nth if best else nth + size[order] - np.repeat(n_judged, n_judged)
    dealt = np.empty_like(rank)
    dealt[order] = first[order] + n_above
    return dealt


def _moved(cost: Floats, before: Ints, after: Ints) -> Floats:
    """Return the costs of documents of which some moved to other rows: (documents,).

    The others take up the rows that are left, in their order.
    """
    moved, stays, is_free = np.empty_like(cost), *np.ones((2, len(cost)), np.bool_)
    stays[before] = is_free[after] = False
    moved[after], moved[is_free] = cost[before], cost[stays]
    return moved


def by_grade(ties: Ties, first: Ints, grade: Numbers) -> Ints:
    """Return numbers that rank the documents of a query, lowest first; equal ones keep their order.

    `first` (..., documents) is the first rank of a document's score. Of equal scores, the "best"
    order has the highest grade first, the "worst" the lowest.
    """
    (level,) = levels_of(grade)
    lowest, highest = int(level.min(initial=0)), int(level.max(initial=0))
    within: Ints = highest - level if ties == "best" else level - lowest
    return first * (highest - lowest + 1) + within


def _hinting(note: Note) -> Note:
    if not note.is_grave:
        return note
    sign = "" if note.text.endswith("?") else "."
    return replace(note, text=f"{note.text}{sign} `cranfield check` shows more.")


def _suspicions(met: Meeting) -> Iterator[Note]:
    """Say what looks as if the run were read in another way than it was meant."""
    qrels, run, match = met.qrels, met.run, met.match
    if _ranked_by(met) == "score":
        n_several = int(np.count_nonzero(match.n_retrieved > 1))
        rarely = 2 * n_several < np.count_nonzero(match.n_retrieved)  # most have one document
        if met.judging.ties_by_id and mostly(match.placed.n_level, n_several) and not rarely:
            yield level_scores(match.placed.n_level, n_several)
        if not met.judged.are_whole and _scores_are_grades(run):
            text = "The judgments are fractions and the run's scores grades: are they swapped?"
            yield Note("swapped", "warning", text, 1)
        if run.nested is not None:
            yield from _ranks_in(run.nested, qrels)
        elif match.placed.n_unsorted:
            yield from _against(run)
    if not len(match.row) and np.count_nonzero(match.n_retrieved):
        from cranfield.data.spelling import affix_of

        whole = met.whole and qrels.form != "lists of grades"
        yield nothing_judged(affix_of(qrels, run) if qrels.spans is None else None, whole=whole)


def _ranked_by(met: Meeting) -> Order:
    order = met.judging.order
    return order if met.run.nested is not None else met.run.ranked_by(order)


def _notes(met: Meeting) -> Iterator[Note]:
    qrels, run, match, by = met.qrels, met.run, met.match, _ranked_by(met)
    yield from qrels.notes
    if not qrels.graded:
        yield NO_GRADES
    if not met.judged.are_whole:
        text = f"Grades are fractions, from {qrels.range_of_grades}: taken as they are."
        yield Note("fractions", "info", text)
    if run.form == LISTS:
        text = "Read as lists of ids, one for each query, numbered from 1; rows are tuples."
        yield Note("lists", "info", text, len(met.query_ids))
    for name, left_out in (("the qrels", qrels.left_out), ("the run", match.left_out)):
        if left_out.count:
            yield Note("left-out", "info", left_out.said(name), count=left_out.count)
    for name, repeated, kept in (
        ("the qrels", qrels.repeated, qrels.duplicates),
        ("the run", match.repeated, met.judging.duplicates),
    ):
        if repeated.count:
            yield duplicates_of(name, repeated, kept)
    if qrels.chunks is not None:
        from cranfield.data.chunks import merged_note

        yield merged_note(*qrels.chunks, None)
    if run.made_of is not None:
        yield run.made_of.note(*match.made)
    is_told = run.nested is not None or run.has_lists or run.form == LISTS  # by what it is ranked
    if not is_told and met.judging.order == "score" and by != "score":
        how = "by its rank column" if by == "rank" else "in the order of its rows"
        yield Note("no-scores", "info", f"The run has no scores: ranked {how}.")
    if n_tied := match.placed.n_tied:
        what, how = "rank" if by == "rank" else "score", met.judging.tie_rule
        text = f"{n_tied:,} documents share their {what} with another: {how}."
        yield Note("ties", "info", text, count=n_tied)
    if match.regrouped:
        text = "The run's queries are not in one piece: it was read into memory whole."
        yield Note("apart", "info", text)
    if not met.whole and not len(match.row):
        from cranfield.data.spelling import other_spelling

        other = other_spelling(qrels, run)
        if other is not None:
            yield Note("spelling", "warning", f"{other.problem}.", 1)


NO_GRADES = Note(
    "no-grades", "info", "No grades: every document of the judgments is relevant, grade 1."
)
_BLOCKS_LOOKED_AT = 2


def _ranks_in(nested: Nested, qrels: Qrels) -> Iterator[Note]:
    """Say whether the scores of a dict are ranks: as a rule its first queries show that not.

    The scores of queries without judgments are not looked at: nobody has checked them.
    """
    look = Look()
    for docs in map(nested.get, qrels.query_ids):
        if docs is not None and len(docs) > 1:
            look.several, look.longest = look.several + 1, max(look.longest, len(docs))
            look.like_ranks += are_ranks(np.array([*docs.values()], np.float64))
            if look.several - look.like_ranks > 2 and not look.mostly_ranks:
                return
    yield from look.notes()


_HIGH_GRADE = 10


def _scores_are_grades(run: Run) -> bool:
    """Tell whether the first scores of a run look like grades: small whole numbers."""
    if run.nested is not None:
        every = chain.from_iterable(docs.values() for docs in run.nested.values())
        scores = np.array([*islice(every, 1000)], np.float64)
    else:
        first = next(iter(run.skipping().every_row(["score"])))().value
        scores = np.zeros(0) if first is None else first
    small = (scores >= 0) & (scores <= _HIGH_GRADE) & (scores == np.floor(scores))
    return bool(small.all() and scores.any())  # lists have scores from 0 down


def _against(run: Run) -> Iterator[Note]:
    """Look, in the first blocks of a run, whether ranks contradict scores or are in their place.

    Faults of the rank column itself do not matter: the run is ranked by its scores.
    """
    from cranfield.data.regroup import together

    wanted: list[Role] = ["score", "rank"] if "rank" in run.numbers else ["score"]
    loads = list(islice(run.skipping().every_row(wanted), _BLOCKS_LOOKED_AT + 1))
    look = Look()
    for load in loads[:_BLOCKS_LOOKED_AT]:
        block = together(load())
        if block.value is not None:
            look += Look.at(np.append(block.query.begins(), len(block)), block.value, block.rank)
    yield from look.notes(whole=len(loads) <= _BLOCKS_LOOKED_AT)
