"""judge: a run meets the judgments. The only rule for queries that are on one side only.

Every query of the qrels counts; one that the run does not answer has no hits and so
scores 0 (`queries="judged"`, as `trec_eval -c`). Or only those in both (`queries="both"`). Queries
that only the run has cannot be scored. All are counted.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import compress, groupby, islice, repeat
from operator import itemgetter
from typing import Any, Literal, TypedDict, Unpack, get_args

import numpy as np

from cranfield.cached import cached_property
from cranfield.errors import InputError, NothingSharedError, OptionError, one_of
from cranfield.formats.block import Errors, LeftOut, Load, Number, Order, Progress
from cranfield.formats.objects import Nested, by_position, scores_of
from cranfield.ids import Ids, Words, decode, encode, keyed, spread
from cranfield.judged import Judged, Parts, tie_begins
from cranfield.notes import Note
from cranfield.qrels import Qrels
from cranfield.ranked import Bools, Floats, Ints, Ranked
from cranfield.ranking import (
    LARGEST_SINGLE,
    Grouped,
    Placed,
    Precision,
    Ties,
    grouped,
    in_threads,
    placed,
    ranks,
    regrouped,
    single,
    sorting_scores,
    tie_order,
    together,
)
from cranfield.run_notes import (
    against_ranks,
    are_ranks,
    contradicted,
    level_scores,
    mostly,
    nothing_judged,
    other_affix,
    queries_of,
    ranks_as_scores,
    varied,
)
from cranfield.runs import Run

Queries = Literal["judged", "both"]


@dataclass(frozen=True)
class Counts:
    """Which queries a result stands for, and what was left out of it."""

    queries: int  # averaged
    without_results: int  # of these: the run retrieved nothing for them, they score 0
    without_relevant: int  # of these: no judged document has a grade of 1 or more
    without_judgments: int  # in the run, but not in the qrels: not scored
    without_run: int = 0  # in the qrels, but left out because the run has none (queries="both")
    rows_left_out: int = 0  # of the run and the qrels: they could not be read (errors="skip")
    tied: int = 0  # documents of the run that share their score with another of the same query

    def notes(self) -> list[Note]:
        """Return a note for every count of queries that is not zero."""
        said = [Note("queries", "info", f"{queries_of(self.queries)} averaged.", self.queries)]
        for code, count, text in (
            (
                "without-results",
                self.without_results,
                "without results: counted as retrieving nothing.",
            ),
            (
                "without-relevant",
                self.without_relevant,
                "without a relevant document (no grade of 1 or more).",
            ),
            (
                "without-judgments",
                self.without_judgments,
                "of the run left out: not in the qrels.",
            ),
            ("without-run", self.without_run, "of the qrels left out: not in the run."),
        ):
            if count:
                said.append(Note(code, "info", f"{queries_of(count)} {text}", count))
        return said


@dataclass(eq=False, repr=False)
class Meeting:
    """What judge returns: the judged run, the queries by name, and how many there are."""

    judged: Judged
    query_ids: Sequence[str]
    in_run: Bools  # (n_queries,) which of them the run has
    n_answered: int  # queries for which the run retrieved something
    without_judgments: int
    without_run: int
    rows_left_out: int
    tied: int  # documents that share their score with another
    noted: Callable[[], tuple[Note, ...]]  # makes `notes`, which not every caller wants

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        """What else to know of the run and the judgments."""
        return self.noted()

    @cached_property
    def counts(self) -> Counts:
        """The number of queries, and what was left out of them."""
        return Counts(
            queries=len(self.query_ids),
            without_results=len(self.query_ids) - self.n_answered,
            without_relevant=int(np.count_nonzero(self.judged.n_relevant() == 0)),
            without_judgments=self.without_judgments,
            without_run=self.without_run,
            rows_left_out=self.rows_left_out,
            tied=self.tied,
        )


class Options(TypedDict, total=False):
    """How a run is judged: the options of `judge_all`."""

    queries: Queries
    order: Order
    scores: Precision
    ties: Ties
    depth: int | None
    judged_only: bool
    progress: Progress | None
    costs: bool
    whole: bool


def judge(qrels: Qrels, run: Run, **options: Unpack[Options]) -> Meeting:
    """Match a run with the judgments and rank it: `judge_all` for one run."""
    return next(judge_all(qrels, [run], **options))


def judge_all(
    qrels: Qrels,
    runs: Sequence[Run],
    *,
    queries: Queries = "judged",
    order: Order = "score",
    scores: Precision = "double",
    ties: Ties = "document",
    depth: int | None = None,
    judged_only: bool = False,
    progress: Progress | None = None,
    costs: bool = False,
    whole: bool = True,
) -> Iterator[Meeting]:
    """Match runs with the judgments and rank them, one after the other, on all cores.

    `queries`: "judged" scores every query of the qrels, "both" those that are in the run, too.
    `order`: rank by "score", by the run's "rank" column, or as "given". `scores`: "single" rounds
    to 32-bit floats before ranking, as trec_eval 9 and pytrec_eval do. `ties`: equal scores stand
    by "document" id, descending, or "ascending" (as trec_eval has it for preferences); "best" has
    the highest grades first, "worst" the lowest, and unjudged documents, whose grade nobody knows,
    after all judged ones in the one and before them in the other; "expected" keeps the places that
    a tied document may have, for measures that average over all orders. `depth`: keep the best so
    many documents of each query (trec_eval -M), of these orders, too. `judged_only`: then drop
    what is unjudged or has a negative grade, and close the ranks up (trec_eval -J). `progress`
    hears of the bytes read. `costs`: keep what it costs to look at each document, if a run says so.
    `whole`: that no document is judged says something of the run, not only of one query of it; it
    is refused if one is judged but for its spelling.

    Raises InputError if a run cannot be read, or shares no query with the qrels; OptionError for
    an option with a value that it does not know, or that has no meaning beside another.
    """
    one_of("queries", queries, ("judged", "both"))
    one_of("order", order, ("score", "rank", "given"))
    one_of("scores", scores, ("double", "single"))
    one_of("ties", ties, get_args(Ties))
    by_id = ties in ("document", "ascending")
    if ties != "document" and (order == "given" or (order == "rank" and not by_id)):
        raise OptionError(f"ties={ties!r} has no effect with order={order!r}: leave one out")
    is_whole = isinstance(depth, int | np.integer) and not isinstance(depth, bool)
    if depth is not None and (not is_whole or depth < 1):
        raise OptionError(f"depth={depth!r:.40}: expected a whole number, 1 or more")
    if depth is not None and judged_only and not by_id:
        raise OptionError(
            f"ties={ties!r} with depth and judged_only: how many judged documents are kept would "
            "depend on the order of tied ones; leave one out, or cut the measures, as in nDCG@10"
        )
    if qrels.in_groups and not by_id:
        raise OptionError(
            f"ties={ties!r} takes one grade for each document, and these judgments are in groups"
        )
    matches = _matches(qrels, runs, order, scores, ties, progress, costs)
    for run, match in zip(runs, matches, strict=True):
        yield _assemble(qrels, run, match, queries, order, ties, depth, judged_only, whole)


@dataclass(eq=False, repr=False)
class _Match:
    """The hits, in no order, as rows of the qrels with their ranks."""

    n_retrieved: Ints  # (n_queries of the qrels,)
    in_run: Bools  # (n_queries of the qrels,)
    unknown: set[Any] = field(default_factory=set)  # queries of the run without judgments
    row: list[Ints] = field(default_factory=list)
    rank: list[Ints] = field(default_factory=list)
    tie_first: list[Ints] = field(default_factory=list)  # as Placed has it, if the ties need it
    tie_size: list[Ints] = field(default_factory=list)
    n_tied: int = 0
    n_level: int = 0  # of the queries of several documents: all of the same score
    n_unsorted: int = 0  # of these: whose rows do not fall by score
    left_out: LeftOut = field(default_factory=LeftOut)
    regrouped: bool = False  # whether its queries' rows stood apart
    costs: list["_BlockMatch"] = field(default_factory=list)  # the blocks that have some

    @classmethod
    def none(cls, qrels: Qrels) -> "_Match":
        n = len(qrels.query_ids)
        return cls(np.zeros(n, np.int64), np.zeros(n, np.bool_))

    def takes(self, part: "_BlockMatch") -> bool:
        """Take the match of one more block; False if a query was in two places."""
        known = len(self.unknown)
        self.unknown.update(part.unknown)
        twice = len(self.unknown) < known + len(part.unknown)
        if twice or self.in_run[part.queries].any() or len(set(part.queries)) < len(part.queries):
            return False
        self.in_run[part.queries] = True
        self.n_retrieved[part.queries] = part.n_retrieved
        self.row.append(part.row)
        self.places(part.placed)
        self.n_tied += part.placed.n_tied
        self.n_level += part.placed.n_level
        self.n_unsorted += part.placed.n_unsorted
        self.left_out += part.left_out
        if part.cost is not None:
            self.costs.append(part)
        return True

    def cost(self) -> Floats | None:
        """Return the cost of every retrieved document, query after query; None if none is said."""
        if not self.costs:
            return None
        begins = np.cumsum(self.n_retrieved) - self.n_retrieved
        cost = np.ones(int(self.n_retrieved.sum()))
        for part in self.costs:
            counts = self.n_retrieved[part.queries]
            shift = begins[part.queries] - (np.cumsum(counts) - counts)
            cost[np.repeat(shift, counts) + np.arange(counts.sum())] = part.cost
        return cost

    def places(self, placed: Placed) -> None:
        """Take the ranks of some hits."""
        self.rank.append(placed.rank)
        if placed.tie_first is not None and placed.tie_size is not None:
            self.tie_first.append(placed.tie_first)
            self.tie_size.append(placed.tie_size)


def _assemble(
    qrels: Qrels,
    run: Run,
    match: _Match,
    queries: Queries,
    order: Order,
    ties: Ties,
    depth: int | None,
    judged_only: bool,
    whole: bool,
) -> Meeting:
    if not np.count_nonzero(match.in_run):
        raise _nothing_shared(qrels, run, match.unknown)
    n_queries = len(qrels.query_ids)
    row, rank = _joined(match.row), _joined(match.rank)
    n_hits = len(row)
    other = other_spelling(qrels, run) if n_hits == 0 and whole else None
    if other is not None:
        raise other
    query = qrels.query[row]
    if ties not in ("document", "ascending"):
        first, size = _joined(match.tie_first), _joined(match.tie_size)
    if ties in ("best", "worst"):
        rank = _dealt_by_grade(ties, query, rank, qrels.grade[row], first, size)
    keys = rank if n_queries == 1 else query * (int(rank.max(initial=0)) + 1) + rank
    by_key = keys.argsort()
    ordered = row[by_key]
    hits = Ranked(n_queries, query[by_key], rank[by_key], qrels.grade[ordered])
    if qrels.sampling:
        sampling = {name: column[ordered] for name, column in qrels.sampling.items()}
        hits = replace(hits, sampling=sampling)
    if ties == "expected":
        hits = replace(hits, tie_first=first[by_key], tie_size=size[by_key])
    ideal, n_retrieved, query_ids = qrels.ideal, match.n_retrieved[:, None], qrels.query_ids
    n_left, n_answered = 0, int(np.count_nonzero(n_retrieved))
    cost = match.cost()
    kept = None
    if queries == "both" and not match.in_run.all():
        kept = match.in_run
        n_left = int(np.count_nonzero(~match.in_run))
        hits, ideal = _of_queries(hits, match.in_run), _of_queries(ideal, match.in_run)
        n_retrieved = n_retrieved[match.in_run]
        query_ids = [query_ids[i] for i in np.flatnonzero(match.in_run).tolist()]
    if depth is not None:
        depth = min(depth, 2**62)
        # Of equal scores at that depth, any may be among those kept.
        kept_rank = hits.rank if hits.tie_first is None else hits.tie_first
        hits = hits.where(kept_rank <= depth)
        if cost is not None:
            counts = n_retrieved[:, 0]
            at = np.arange(len(cost)) - np.repeat(np.cumsum(counts) - counts, counts)
            cost = cost[at < depth]
        n_retrieved = np.minimum(n_retrieved, depth)

    def parts() -> Parts:
        rank_of = np.zeros(len(qrels), np.int64)
        rank_of[row] = rank if depth is None else np.where(rank <= depth, rank, 0)
        levels = qrels.levels if kept is None else qrels.levels.of_queries(kept)
        return Parts(len(query_ids), levels, rank_of[levels.row], judged_only, qrels)

    if judged_only:
        hits, n_retrieved, cost = without_unjudged(hits, n_retrieved, cost)
    judged = Judged(
        *(hits, ideal, n_retrieved, qrels.top_grade, qrels.in_groups, parts, cost),
        ties=ties,
        is_cut=depth is not None,
    )
    in_run = match.in_run if kept is None else kept[kept]
    left_out = match.left_out.count + qrels.left_out.count

    def noted() -> tuple[Note, ...]:
        suspicious = list(_suspicions(qrels, run, match, order, ties))
        if n_hits == 0 and n_answered:
            suspicious.append(nothing_judged(affix_of(qrels, run), whole=whole and not qrels.notes))
        return (*map(_hinting, suspicious), *_notes(qrels, run, match, order, ties))

    return Meeting(
        judged,
        query_ids,
        in_run,
        n_answered,
        len(match.unknown),
        n_left,
        left_out,
        match.n_tied,
        noted,
    )


def without_unjudged(
    hits: Ranked, n_retrieved: Ints, cost: Floats | None
) -> tuple[Ranked, Ints, Floats | None]:
    """Drop what is unjudged or has a negative grade, and close the ranks up."""
    hits = hits.relevant(0)
    if cost is not None:
        cost = cost[(np.cumsum(n_retrieved) - n_retrieved[:, 0])[hits.query] + hits.rank - 1]
    if hits.tie_first is not None:
        begins = tie_begins(hits.query, hits.tie_first)
        lengths = np.diff(np.append(np.flatnonzero(begins), len(begins)))
        first, size = (np.repeat(each, lengths) for each in (hits.ordinal[begins], lengths))
        hits = replace(hits, tie_first=first, tie_size=size)
    hits = replace(hits, rank=hits.ordinal)
    return hits, hits.count(), cost


def _dealt_by_grade(
    ties: Ties, query: Ints, rank: Ints, grade: Ints, first: Ints, size: Ints
) -> Ints:
    """Deal the places of equal scores to the hits among them by grade: (hits,) ranks.

    Unjudged documents come after all judged ones in the best order, before them in the worst.
    """
    best = ties == "best"
    order = np.lexsort((rank, by_grade(ties, first, grade), query))
    begins = tie_begins(query[order], first[order])
    n_judged = np.diff(np.append(np.flatnonzero(begins), len(begins)))
    nth = np.arange(len(order)) - np.repeat(np.flatnonzero(begins), n_judged)
    n_above = nth if best else nth + size[order] - np.repeat(n_judged, n_judged)
    dealt = np.empty_like(rank)
    dealt[order] = first[order] + n_above
    return dealt


def by_grade(ties: Ties, first: Ints, grade: Ints) -> Ints:
    """Return numbers that rank the documents of a query, lowest first; equal ones keep their order.

    `first` (..., documents) is the first rank of a document's score. Of equal scores, the "best"
    order has the highest grade first, the "worst" the lowest.
    """
    lowest, highest = int(grade.min(initial=0)), int(grade.max(initial=0))
    within: Ints = highest - grade if ties == "best" else grade - lowest
    return first * (highest - lowest + 1) + within


# How equal scores were ranked, as it is said under a table.
_TIES: Mapping[Ties, str] = {
    "document": "ranked by document id",
    "ascending": "ranked by document id, ascending",
    "expected": "averaged over all their orders",
    "best": "ranked by grade, the highest first",
    "worst": "ranked by grade, the lowest first",
}


def _hinting(note: Note) -> Note:
    if not note.is_grave:
        return note
    sign = "" if note.text.endswith("?") else "."
    return replace(note, text=f"{note.text}{sign} `cranfield check` shows more.")


def _suspicions(qrels: Qrels, run: Run, match: _Match, order: Order, ties: Ties) -> Iterator[Note]:
    """Say what looks as if the run were read in another way than it was meant."""
    by = order if run.nested is not None else run.ranked_by(order)
    if by != "score":
        return
    n_several = int(np.count_nonzero(match.n_retrieved > 1))
    rarely = 2 * n_several < np.count_nonzero(match.n_retrieved)  # most have one document
    by_id = ties in ("document", "ascending")
    if by_id and mostly(match.n_level, n_several) and not rarely:
        yield level_scores(match.n_level, n_several)
    if run.nested is not None:
        yield from _ranks_in(run.nested, qrels)
    elif match.n_unsorted:
        yield from _against(run)


def _notes(qrels: Qrels, run: Run, match: _Match, order: Order, ties: Ties) -> Iterator[Note]:
    by = order if run.nested is not None else run.ranked_by(order)
    yield from qrels.notes
    for name, left_out in (("the qrels", qrels.left_out), ("the run", match.left_out)):
        if left_out.count:
            yield Note("left-out", "info", left_out.said(name), count=left_out.count)
    if run.nested is None and order == "score" and by != "score":
        how = "by its rank column" if by == "rank" else "in the order of its rows"
        yield Note("no-scores", "info", f"The run has no scores: ranked {how}.")
    if match.n_tied:
        what = "rank" if by == "rank" else "score"
        yield Note(
            "ties",
            "info",
            f"{match.n_tied:,} documents share their {what} with another: {_TIES[ties]}.",
            count=match.n_tied,
        )
    if match.regrouped:
        text = "The run's queries are not in one piece: it was read into memory whole."
        yield Note("apart", "info", text)


_BLOCKS_LOOKED_AT = 2


def _ranks_in(nested: Nested, qrels: Qrels) -> Iterator[Note]:
    """Say whether the scores of a dict are ranks: as a rule its first queries show that not.

    The scores of queries without judgments are not looked at: nobody has checked them.
    """
    n_like, n_several, longest = 0, 0, 0
    for docs in map(nested.get, qrels.query_ids):
        if docs is not None and len(docs) > 1:
            n_several, longest = n_several + 1, max(longest, len(docs))
            n_like += are_ranks(np.array([*docs.values()], np.float64))
            if n_several - n_like > 2 and not mostly(n_like, n_several):
                return
    yield from ranks_as_scores(n_like, n_several, longest)


def _against(run: Run) -> Iterator[Note]:
    """Look, in the first blocks of a run, whether ranks contradict scores or are in their place.

    Faults of the rank column itself do not matter: the run is ranked by its scores.
    """
    wanted: list[Number] = ["score", "rank"] if "rank" in run.numbers else ["score"]
    loads = list(islice(run.skipping().every_row(wanted), _BLOCKS_LOOKED_AT + 1))
    n_against = n_queries = n_like_ranks = longest = 0
    has_ranks = False  # whether the rank column tells documents apart
    for load in loads[:_BLOCKS_LOOKED_AT]:
        block = together(load())
        starts = np.append(block.query.begins(), len(block))
        counts = np.diff(starts)
        scores = block.value
        if scores is None or not len(block):
            continue
        n_queries += int(np.count_nonzero(counts > 1))
        longest = max(longest, int(counts.max()))
        if block.rank is not None:
            group = np.repeat(np.arange(len(counts)), counts)
            wrong = contradicted(group, block.rank, scores)
            n_against += int(np.count_nonzero(np.bincount(group[wrong])))
            has_ranks = has_ranks or varied(group, block.rank)
        for begin, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
            n_like_ranks += end - begin > 1 and are_ranks(scores[begin:end])
    if n_against:
        yield against_ranks(n_against, n_queries, whole=len(loads) <= _BLOCKS_LOOKED_AT)
    elif not has_ranks:
        yield from ranks_as_scores(n_like_ranks, n_queries, longest)


def affix_of(qrels: Qrels, run: Run) -> str | None:
    """Look, in the first block that has a query of the qrels, for ids that are longer on a side."""
    judged = dict(zip(map(encode, qrels.query_ids), qrels.doc_lists, strict=True))
    for load in run.every_row(()):
        block = load()
        starts = np.append(block.query.begins(), len(block)).tolist()
        queries = block.query.take(block.query.begins()).to_list()
        shared = [i for i, query in enumerate(queries) if query in judged][:_QUERIES_LOOKED_AT]
        for i in shared:
            docs = block.doc.take(slice(starts[i], starts[i + 1])).to_list()
            found = other_affix(judged[queries[i]], map(decode, docs))
            if found is not None:
                return found
        if shared:
            return None
    return None


_QUERIES_LOOKED_AT = 20


def _joined(parts: list[Ints]) -> Ints:
    return parts[0] if len(parts) == 1 else np.concatenate([*parts, np.zeros(0, np.int64)])


def _of_queries(ranked: Ranked, keep: Bools) -> Ranked:
    number = np.cumsum(keep) - 1
    rows = ranked.where(keep[ranked.query])
    return replace(rows, n_queries=int(np.count_nonzero(keep)), query=number[rows.query])


def _nothing_shared(qrels: Qrels, run: Run, unknown: Iterable[Any]) -> InputError:
    theirs = sorted(q if isinstance(q, str) else decode(q) for q in unknown)
    if not theirs:
        return InputError(f"the run {run.name!r} holds no query", source=run.source)
    hint = "Are they of the same collection, and written in the same way?"
    ours = {_plain(query): query for query in qrels.query_ids}
    same = next((query for query in theirs if _plain(query) in ours), None)
    first = qrels.query_ids[0]
    if same is not None:
        first, hint = ours[_plain(same)], _SPELLING
    return NothingSharedError(
        f"the run {run.name!r} and the qrels share no query: "
        f"the run has for instance {same or theirs[0]!r}, the qrels {first!r}",
        source=run.source or qrels.source,
        hint=hint,
    )


_SPELLING = (
    "They are the same but for blanks, capitals, leading zeros or a decimal point: write them "
    "alike. (A column of numbers with gaps becomes 1.0, 2.0, ... in many tools.)"
)


def _plain(text: str) -> str:
    """Return what is left of an id when its spelling is looked over."""
    text = text.strip().casefold()
    number = re.fullmatch(r"0*(\d+)(?:\.0*)?", text)
    return number[1] if number else text


def other_spelling(qrels: Qrels, run: Run) -> NothingSharedError | None:
    """Return what to say if the run's documents are the judged ones, but spelt otherwise.

    Looked for in the first block of the run that has a query of the qrels.
    """
    judged = dict(zip(map(encode, qrels.query_ids), qrels.doc_lists, strict=True))
    for load in run.every_row(()):
        block = load()
        starts = np.append(block.query.begins(), len(block)).tolist()
        queries = block.query.take(block.query.begins()).to_list()
        shared = [i for i, query in enumerate(queries) if query in judged]
        for i in shared:
            query = decode(queries[i])
            spelt = {_plain(doc): doc for doc in judged[queries[i]]}
            for doc in map(decode, block.doc.take(slice(starts[i], starts[i + 1])).to_list()):
                other = spelt.get(_plain(doc), doc)
                if other != doc:  # a row of the same one was left out, by errors="skip"
                    return NothingSharedError(
                        f"the run {run.name!r} and the qrels share no document as they are "
                        f"written: for query {query!r} the run has {doc!r}, the qrels {other!r}",
                        source=run.source,
                        hint=_SPELLING,
                    )
        if shared:
            return None
    return None


# ---- runs in blocks -------------------------------------------------------------------------


def _matches(
    qrels: Qrels,
    runs: Sequence[Run],
    order: Order,
    scores: Precision,
    ties: Ties,
    progress: Progress | None,
    costs: bool,
) -> Iterator[_Match]:
    """Yield each run's match. The blocks of all runs go through the same threads, in order."""
    if all(run.nested is not None for run in runs):  # no threads: Python does not let go of them
        for run in runs:
            yield _match_dicts(qrels, run, order, scores, ties)
        return
    apart: set[int] = set()  # runs of which a query came back: the rest need not be read

    def tasks() -> Iterator[tuple[int, Callable[[], _Match | _BlockMatch]]]:
        for i, run in enumerate(runs):
            if run.nested is not None:
                yield i, partial(_match_dicts, qrels, run, order, scores, ties)
                continue
            for load in run.blocks(order, progress, costs=costs):
                if i in apart:
                    break
                yield i, partial(_matched_block, qrels, order, scores, ties, run.errors, load)

    done = groupby(in_threads(lambda task: (task[0], task[1]()), tasks()), key=itemgetter(0))
    ready = next(done, None)
    for i, run in enumerate(runs):
        match = _Match.none(qrels)
        if ready is not None and ready[0] == i:
            for _, part in ready[1]:
                if isinstance(part, _Match):
                    match = part
                elif i not in apart and not match.takes(part):
                    apart.add(i)
            ready = next(done, None)
        if i in apart:
            ranked = partial(_matched_block, qrels, order, scores, ties, run.errors)
            match = _Match.none(qrels)
            match.regrouped = True
            for whole in in_threads(ranked, regrouped(run.blocks(order, costs=costs))):
                match.takes(whole)
        yield match


@dataclass(eq=False, repr=False)
class _BlockMatch:
    queries: list[int]  # codes of the judged queries in the block
    n_retrieved: Ints
    unknown: list[bytes]
    row: Ints
    placed: Placed
    left_out: LeftOut
    cost: Floats | None  # of these queries' documents, best rank first


def _matched_block(
    qrels: Qrels, order: Order, scores: Precision, ties: Ties, errors: Errors, load: Load
) -> _BlockMatch:
    """Find a block's judged documents and their ranks. Runs in a thread of its own."""
    block = grouped(load(), errors)
    codes = [qrels.codes.get(query, -1) for query in block.queries]
    code = np.array(codes, np.int64)
    # Where a query comes back in the block, it is read once more, in whole queries: to match its
    # rows now would take as many steps as all judgments of a query, for each of its pieces.
    comes_back = len(set(block.queries)) < len(block.queries)
    rows, judgments = (np.zeros((2, 0), np.int64)) if comes_back else _hits(block, code, qrels)
    empty = [qrels.codes.get(query, -1) for query in block.block.empty]
    queries = [*zip(block.queries, codes, strict=True), *zip(block.block.empty, empty, strict=True)]
    by = sorting_scores(block.block, order, scores)
    return _BlockMatch(
        [c for _, c in queries if c >= 0],
        np.append(np.diff(block.starts)[code >= 0], [0 for c in empty if c >= 0]),
        [query for query, c in queries if c < 0],
        judgments,
        placed(block, by, ties, rows, code >= 0),
        block.block.left_out,
        _costs(block, block.block.cost, code, by, ties),
    )


def _costs(
    block: Grouped, cost: Floats | None, code: Ints, by: Floats | None, ties: Ties
) -> Floats | None:
    """Return the costs of the judged queries' documents, in the order of the ranking."""
    if cost is None:
        return None
    wrong = np.flatnonzero(~((cost >= _LEAST_COST) & (cost <= _MOST_COST)))
    if len(wrong):
        value = cost[wrong[0]].item()
        raise block.block.error(
            int(wrong[0]), f"expected a cost from {_LEAST_COST:g} to {_MOST_COST:g}, got {value!r}"
        )
    rows = np.flatnonzero(code[block.group] >= 0)
    return cost[rows[np.lexsort((ranks(block, by, ties, rows), block.group[rows]))]]


_LEAST_COST, _MOST_COST = 1e-9, 1e15  # so that they can be added up, and divided by


def _hits(block: Grouped, code: Ints, qrels: Qrels) -> tuple[Ints, Ints]:
    """Return the block's rows that are judged, and the rows of their judgments."""
    groups = np.flatnonzero(code >= 0)
    counts = np.diff(qrels.starts)[code[groups]]
    begins = np.repeat(qrels.starts[code[groups]] - (np.cumsum(counts) - counts), counts)
    judgments = begins + np.arange(len(begins))
    keys = keyed(qrels.doc_hashes[judgments], np.repeat(groups, counts))
    by_key = np.argsort(keys)
    keys, judgments = keys[by_key], judgments[by_key]
    rows = np.flatnonzero(_marked(block.keys, keys))
    at = np.searchsorted(keys, block.keys[rows])
    rows_found, judgments_found = [], []
    for _ in range(_MOST_STEPS):
        if len(rows) == 0:
            break
        # Keys that are equal belong to the same query and document, but for a rare coincidence:
        # look at the ids; where they differ, the next judgment may have the same key.
        inside = at < len(keys)
        rows, at = rows[inside], at[inside]
        equal_key = keys[at] == block.keys[rows]
        rows, at = rows[equal_key], at[equal_key]
        same = block.block.doc.compare(rows, qrels.docs, judgments[at]) == 0
        same &= qrels.query[judgments[at]] == code[block.group[rows]]
        rows_found.append(rows[same])
        judgments_found.append(judgments[at[same]])
        rows, at = rows[~same], at[~same] + 1
    else:
        left = judgments[np.isin(keys, block.keys[rows], kind="sort")]
        rows, left = _looked_up(block, code, qrels, rows, left)
        rows_found.append(rows)
        judgments_found.append(left)
    none = np.zeros(0, np.int64)
    return np.concatenate([*rows_found, none]), np.concatenate([*judgments_found, none])


_MOST_STEPS = 8  # so many different documents hardly ever have one key


def _looked_up(
    block: Grouped, code: Ints, qrels: Qrels, rows: Ints, judgments: Ints
) -> tuple[Ints, Ints]:
    """Return those of the block's `rows` that are among `judgments`, and the rows of these."""
    query, docs = qrels.query[judgments].tolist(), qrels.docs.take(judgments).to_list()
    place = dict(zip(zip(query, docs, strict=True), judgments.tolist(), strict=True))
    codes, docs = code[block.group[rows]].tolist(), block.block.doc.take(rows).to_list()
    at = np.array([place.get(pair, -1) for pair in zip(codes, docs, strict=True)], np.int64)
    return rows[at >= 0], at[at >= 0]


def _marked(keys: Words, wanted: Words) -> Bools:
    """Tell which keys may be among `wanted`: all that are, and hardly any other."""
    bits = np.uint64(64 - max(16, len(wanted).bit_length() + 3))
    mark = np.zeros(1 << (64 - int(bits)), np.bool_)
    mark[(spread(wanted) >> bits).view(np.int64)] = True
    marked: Bools = mark[(spread(keys) >> bits).view(np.int64)]
    return marked


# ---- dicts ----------------------------------------------------------------------------------


def _match_dicts(qrels: Qrels, run: Run, order: Order, scores: Precision, ties: Ties) -> _Match:
    """Match a dict of dicts, which is turned round: look the judged documents up in the run.

    The scores alone are sorted; a document's rank is one more than the number of scores above its
    own. Only where a judged document's score is shared, the ids are looked at.
    """
    if order == "rank":
        raise OptionError("order='rank': a run in memory has no rank column")
    match = _Match.none(qrels)
    match.left_out = run.left_out
    by_id = ties in ("document", "ascending")
    nested: Nested = run.nested or {}
    starts = qrels.starts.tolist()
    for code, (query, docs) in enumerate(zip(qrels.query_ids, qrels.doc_lists, strict=True)):
        ranking: Mapping[str, Any] | None = nested.get(query)
        if ranking is None:
            continue
        if order == "given":
            ranking = by_position(query, list(ranking))
        match.in_run[code] = True
        match.n_retrieved[code] = len(ranking)
        if not ranking:
            continue
        every, values = scores_of(query, ranking)
        found = np.fromiter(map(ranking.get, docs, repeat(np.nan)), np.float64, len(docs))
        rows = (found == found).nonzero()[0]
        wide = bool(values[-1] > LARGEST_SINGLE or values[0] < -LARGEST_SINGLE)
        if scores == "single":
            values = single(values, wide)
        equal = values[1:] == values[:-1]
        any_tied = np.count_nonzero(equal)
        if any_tied:  # of n equal scores in a row, n - 1 have an equal one before them
            n_ties = int(equal[0]) + np.count_nonzero(equal[1:] > equal[:-1])
            match.n_tied += int(any_tied + n_ties)
            match.n_level += int(any_tied == len(equal))
        if len(rows) == 0:
            continue
        found = found.take(rows)
        if scores == "single":
            found = single(found, wide)
        above = beyond = len(values) - values.searchsorted(found, "right")
        if any_tied:
            hits = [docs[i] for i in rows.tolist()]
            every = single(every, wide) if scores == "single" else every
            above = above + _tied_above(ranking, every, values, hits, found, ties)
        match.row.append(rows + starts[code])
        if by_id:
            match.rank.append(above + 1)
        else:
            size = len(values) - beyond - values.searchsorted(found, "left")
            match.places(Placed(above + 1, 0, tie_first=beyond + 1, tie_size=size))
    if np.count_nonzero(match.in_run) < len(nested):
        match.unknown.update(nested.keys() - set(qrels.query_ids))
    return match


def _tied_above(
    ranking: Iterable[str],
    every: Floats,
    values: Floats,
    docs: list[str],
    found: Floats,
    ties: Ties,
) -> Ints:
    """Count, for each hit, the documents of the same score that stand above it.

    `every` are the scores of the ranking, `values` the same in order; `docs` and `found` (hits,)
    are the hits and their scores.
    """
    first = np.searchsorted(values, found, side="left")
    beyond = np.searchsorted(values, found, side="right")
    shared = beyond - first > 1
    above = np.zeros(len(found), np.int64)
    if not shared.any():
        return above
    wanted = np.sort(found[shared])
    wanted = wanted[np.append(True, wanted[1:] != wanted[:-1])]  # np.unique takes 8 ms to import
    tied = wanted[np.minimum(np.searchsorted(wanted, every), len(wanted) - 1)] == every
    numbers = tie_order(Ids.of_texts([*compress(ranking, tied), *compress(docs, shared)]), ties)
    n_tied = int(np.count_nonzero(tied))
    theirs, mine = numbers[:n_tied], numbers[n_tied:]
    if len(wanted) == 1:
        above[shared] = np.searchsorted(np.sort(theirs), mine)
        return above
    by_number = np.argsort(theirs)
    row = by_number[np.searchsorted(theirs[by_number], mine)]  # each hit among the tied
    order = np.lexsort((theirs, every[tied]))
    position = np.empty(n_tied, np.int64)
    position[order] = np.arange(n_tied)
    above[shared] = position[row] - np.searchsorted(every[tied][order], found[shared])
    return above
