"""What if: the value of a query if its ranking, or one judgment, were another one.

Each variant is a query of its own in a Judged, and the measure is called as ever, on as many of
them as memory allows: its values are those that `evaluate` has for a run, or judgments, really
changed so.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from cranfield.explanation.scene import Scene
from cranfield.judge import without_unjudged
from cranfield.judged import Judged, Parts
from cranfield.measures import Measure
from cranfield.preferences import Levels
from cranfield.qrels import Qrels
from cranfield.ranked import Floats, Ints, Ranked

_ROWS = 1 << 17  # of retrieved and judged documents in one Judged: they stay in the cache
_FIRST = 100  # ranks of which two are swapped, or a document moved
_DEEPEST = 1000  # rank down to which a judgment is tried
_GRADES = 10  # highest grade up to which every grade is tried


# ---- variants of a query ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Documents:
    """The documents that a ranking of the query may hold, by number: 0, 1, ...

    The number -1 is none: it fills up a ranking that is shorter than others.
    """

    names: Sequence[str]
    row: Ints  # (n_documents + 1,) where its judgment stands in the qrels; -1: unjudged
    cost: Floats | None  # (n_documents + 1,) of looking at it
    tie_first: Ints | None  # (n_retrieved,) of each place, as Ranked has it
    tie_size: Ints | None

    @classmethod
    def of(
        cls,
        scene: Scene,
        docs: Sequence[str],
        others: Sequence[str] = (),
        costs: Mapping[str, float] | None = None,
    ) -> "Documents":
        """Give numbers to documents that the run ranks, best first, and to others.

        `costs` are those of the others; 1 where nothing is said.
        """
        names = [*docs, *others]
        rows = {doc: row for row, doc in enumerate(scene.qrels.doc_lists[0])}
        cost = None
        if scene.judged.cost is not None:
            known = {**(costs or {}), **{doc: scene.costs[doc] for doc in docs}}
            cost = np.array([*(known.get(doc, 1.0) for doc in names), 1.0])
        first = size = None
        if scene.judged.ties == "expected":
            ranks = {doc: rank for rank, doc in enumerate(scene.ranking.docs)}
            places = np.array([ranks[doc] for doc in docs], np.int64)
            first, size = scene.ranking.tie_first[places], scene.ranking.tie_size[places]
        row = np.array([*(rows.get(doc, -1) for doc in names), -1], np.int64)
        return cls(names, row, cost, first, size)


class _Tiled(Qrels):
    """The judgments of one query, over and over, each time as a query of its own."""

    def __init__(self, one: Qrels, n: int, new: int | None) -> None:  # not of data
        """Repeat them n times; `new` is the grade of one more document, which stands last."""
        self._one, self._n = one, n
        grade = one.grade if new is None else np.append(one.grade, new)
        sampling = one.sampling
        if new is not None:  # of no stratum that matters: see `judgments`
            sampling = {name: np.append(column, 1) for name, column in sampling.items()}
        self.query_ids = one.query_ids * n
        self.starts = np.arange(n + 1) * len(grade)
        self.grade = np.tile(grade, n)
        self.__dict__["sampling"] = {name: np.tile(each, n) for name, each in sampling.items()}
        self.__dict__["top_grade"] = max(one.top_grade, new or 0)

    @property
    def levels(self) -> Levels:
        if not self._one.in_groups:
            return super().levels
        one, each = self._one.levels, np.arange(self._n)
        n_groups, n_docs = len(one.query), len(self._one)
        return Levels(
            np.repeat(each, n_groups),
            np.add.outer(each * n_groups, one.group).ravel(),
            np.tile(one.subgroup, self._n),
            np.add.outer(each * n_docs, one.row).ravel(),
            np.tile(one.level, self._n),
            [*one.names] * self._n,
            None if one.weight is None else np.tile(one.weight, self._n),
        )

    def _best_ranking(self, greedy: tuple[float, int] | None) -> Ints:
        return np.tile(self._one._best_ranking(greedy), self._n)


def values(
    scene: Scene,
    measure: Measure,
    documents: Documents,
    rankings: Ints,
    judged: Ints | None = None,
    grade: int = 0,
) -> Floats:
    """Return the value that each of several rankings of the query would have: (n,).

    `rankings` (n, ranks) holds the numbers of documents, best first, -1 only behind the last one.
    With `judged` (n,), in each ranking that unjudged document has the grade `grade`; which is no
    matter of judgments in groups. Where values are averaged over ties, the places stay tied
    whatever stands there, and the rankings are as long as the scene's.
    """
    one, options, n = scene.judged, scene.options, len(rankings)
    new = None if judged is None else grade
    qrels = _Tiled(scene.qrels, n, new)
    n_rows = int(qrels.starts[1])
    rows = documents.row[rankings]
    if judged is not None:
        rows = np.where(rankings == judged[:, None], n_rows - 1, rows)
    query, place = (rows >= 0).nonzero()
    row = query * n_rows + rows[query, place]
    columns = {name: column[row] for name, column in qrels.sampling.items()}
    if documents.tie_first is not None and documents.tie_size is not None:
        columns |= {
            "tie_first": documents.tie_first[place],
            "tie_size": documents.tie_size[place],
        }
    hits = Ranked(
        *(n, query, place + 1, qrels.grade[row]),
        columns=columns,
    )
    there = rankings >= 0
    n_retrieved = np.count_nonzero(there, axis=1)[:, None]
    cost = None if documents.cost is None else documents.cost[rankings[there]]
    judged_only = options.get("judged_only", False)

    def parts() -> Parts:
        rank, levels = np.zeros(len(qrels), np.int64), qrels.levels
        rank[row] = place + 1
        return Parts(n, levels, rank[levels.row], judged_only, qrels)

    if judged_only:
        hits, n_retrieved, cost = without_unjudged(hits, n_retrieved, cost)
    ideal = qrels.ideal if new is not None else _tiled(one.ideal, n)
    found = measure.values(
        Judged(
            *(hits, ideal, n_retrieved, qrels.top_grade, one.in_groups, parts, cost),
            # Other equal scores stand as the rankings say.
            ties="expected" if one.ties == "expected" else "document",
            is_cut=one.is_cut,
        )
    )
    return found[:, 0]


def _tiled(ideal: Ranked, n: int) -> Ranked:
    """Return the rows of one query as those of n."""
    return Ranked(
        *(n, np.repeat(np.arange(n), len(ideal.query))),
        *(np.tile(ideal.rank, n), np.tile(ideal.grade, n)),
        columns={name: np.tile(column, n) for name, column in ideal.columns.items()},
    )


def _all_values(
    scene: Scene, measure: Measure, n: int, length: int, some: Callable[[slice], Floats]
) -> Floats:
    """Return the values of n variants, which `some` finds: so many at a time as memory allows."""
    depth = measure.parameters.get("depth")  # of ranks that are looked at, whatever is retrieved
    padded = depth if isinstance(depth, int) else 0
    size = max(1, _ROWS // (length + len(scene.qrels) + padded + 1))
    parts = (slice(begin, min(begin + size, n)) for begin in range(0, n, size))
    return np.concatenate([np.zeros(0), *map(some, parts)])


def _value(scene: Scene, measure: Measure) -> float:
    return float(measure.values(scene.judged)[0, 0])


# ---- two ranks swapped ------------------------------------------------------------------------


@dataclass(frozen=True)
class Swap:
    """Two ranks i < j whose documents change places, and what this makes of the value.

    `gain` is by how much the value gets better: it rises, or falls where lower is better.
    """

    i: int
    j: int
    doc_i: str  # as it is ranked now
    doc_j: str
    value: float
    gain: float


def best_swap(scene: Scene, measure: Measure) -> Swap | None:
    """Return the swap of two of the first 100 ranks that improves the value most, None if none.

    Improves: lowers it if lower is better, else raises it. Of equal ones, the first by i, then j.
    Ranks are those of `scene.docs`. None for a text.
    """
    if measure.definition.is_text:
        return None
    documents = Documents.of(scene, scene.docs)
    n_docs = len(scene.docs)
    kinds = _kinds(scene, documents, min(n_docs, _FIRST))
    above, below = np.triu_indices(len(kinds), 1)
    differ = kinds[above] != kinds[below]
    above, below = above[differ], below[differ]

    def some(part: slice) -> Floats:
        rankings = np.tile(np.arange(n_docs), (part.stop - part.start, 1))
        each = np.arange(len(rankings))
        rankings[each, above[part]], rankings[each, below[part]] = below[part], above[part]
        return values(scene, measure, documents, rankings)

    found = _all_values(scene, measure, len(above), n_docs, some)
    now = _value(scene, measure)
    gain = now - found if measure.definition.higher_is_better is False else found - now
    if not (gain > 0).any():
        return None
    best = int(gain.argmax())
    i, j = int(above[best]), int(below[best])
    return Swap(
        *(i + 1, j + 1, scene.docs[i], scene.docs[j], float(found[best]), float(gain[best]))
    )


def _kinds(scene: Scene, documents: Documents, n: int) -> Ints:
    """Give the first n documents a number each; those of one may change places unnoticed: (n,).

    They carry the same judgments, were sampled alike, and cost the same.
    """
    levels = scene.qrels.levels
    held: dict[int, list[tuple[float, ...]]] = {}
    columns = (levels.row, levels.group, levels.subgroup, levels.level)
    for row, *judgment in zip(*(column.tolist() for column in columns), strict=True):
        held.setdefault(row, []).append(tuple(judgment))
    sampling = [column.tolist() for column in scene.qrels.sampling.values()]
    cost = None if documents.cost is None else documents.cost.tolist()
    numbers: dict[object, int] = {}
    kinds = []
    for i, row in enumerate(documents.row[:n].tolist()):
        sampled = [column[row] for column in sampling] if row >= 0 else []
        kind = (row >= 0, *held.get(row, ()), *sampled, cost and cost[i])
        kinds.append(numbers.setdefault(kind, len(numbers)))
    return np.array(kinds, np.int64)


# ---- equal scores -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Tie:
    """Documents that share their score, and the values that the query has in two orders of these.

    `first` is the first rank of that score, as retrieved, `size` how many have it, also below the
    rank at which the run was cut; `docs` are those of them that were kept.
    """

    first: int
    size: int
    docs: tuple[str, ...]
    lowest: float
    highest: float


def ties(scene: Scene, measure: Measure) -> list[Tie]:
    """Return the ties that mattered to the value, those with the greatest effect first.

    The two orders: by grade, the highest first and unjudged documents last; and the other way
    round; all other documents stay where they are. A cut by `depth` comes after that: it may keep
    other documents of the score. If a higher grade is not always the better one
    to have first, other orders may have lower and higher values. None are returned if equal scores
    are not ranked by document id, and for a text.
    """
    if scene.judged.ties not in ("document", "ascending") or measure.definition.is_text:
        return []
    whole, depth = scene.whole, len(scene.ranking.docs)
    if not depth:
        return []
    # Down to the end of the tie that a cut by `depth` goes through.
    end = int(whole.tie_first[depth - 1] + whole.tie_size[depth - 1]) - 1
    docs, kept = whole.docs[:end], set(scene.docs)
    documents = Documents.of(scene, docs)
    graded = _graded(scene, documents)
    rankings, found = [], []
    edges = [0, *(np.flatnonzero(np.diff(whole.tie_first[:end])) + 1).tolist(), end]
    for begin, stop in pairwise(edges):
        its = graded[begin:stop]
        if len(set(its.tolist())) < 2:
            continue
        for by in (-its, its):
            ranking = np.arange(end)
            ranking[begin:stop] = begin + by.argsort(kind="stable")
            rankings.append(ranking[:depth])
        found.append(slice(begin, stop))

    def some(part: slice) -> Floats:
        return values(scene, measure, documents, np.array(rankings[part]))

    both = _all_values(scene, measure, len(rankings), depth, some).reshape(-1, 2)
    every = [
        Tie(
            at.start + 1,
            at.stop - at.start,
            tuple(doc for doc in docs[at.start : min(at.stop, depth)] if doc in kept),
            min(pair),
            max(pair),
        )
        for at, pair in zip(found, both.tolist(), strict=True)
        if pair[0] != pair[1]
    ]
    return sorted(every, key=lambda tie: tie.lowest - tie.highest)


def _graded(scene: Scene, documents: Documents) -> Ints:
    """Return the grades; unjudged documents have one below all: (n_documents,)."""
    grade = scene.qrels.grade
    lowest = min(int(grade.min(initial=0)), 0) - 1
    return np.append(grade, lowest)[documents.row[:-1]]


# ---- one more judgment ------------------------------------------------------------------------


@dataclass(frozen=True)
class Judgment:
    """An unjudged document at a rank of those retrieved: the value if it had this grade."""

    doc: str
    rank: int
    grade: int
    value: float
    change: float  # the value less that of now


@dataclass(frozen=True)
class Judgments:
    """The one judgment that would raise the value most, and the one that would lower it most.

    `grades` are those that were tried, if they are not all from 0 to the highest; else none.
    """

    up: Judgment | None
    down: Judgment | None
    grades: tuple[int, ...] = ()


def unjudged(scene: Scene, k: int | None = None) -> list[tuple[int, str]]:
    """Return the ranks and names of the unjudged documents retrieved down to rank k, or of all.

    As retrieved: before unjudged ones were dropped.
    """
    docs = enumerate(scene.ranking.docs[:k], 1)
    return [(rank, doc) for rank, doc in docs if doc not in scene.grades]


def judgments(scene: Scene, measure: Measure) -> Judgments:
    """Return which judgment of one unjudged document would move the value most, up and down.

    Tried are all that were retrieved down to rank 1,000, with every grade from 0 to the highest of
    the collection, or 1; if that is above 10, with 0, 1, the highest, and the grades between them
    that the query's documents have, eight of these at most, evenly chosen. The document then counts
    as judged in everything: the ideal ranking, the number of relevant documents, and which are
    dropped if only judged ones are looked at. Of equal ones, the highest-ranked document with the
    lowest grade.

    None where no such judgment changes the value so; and where none can be tried, as it takes more
    than a grade: of judgments in groups; of a sample, by measures of samples; and if dropped
    documents have a cost, which is then not known. None for a text.
    """
    nothing = Judgments(None, None)
    judged_only = scene.options.get("judged_only", False)
    if (
        measure.definition.is_text
        or scene.judged.in_groups
        or (scene.qrels.sampling and measure.bounds == "refused")
        or (judged_only and scene.judged.cost is not None)
    ):
        return nothing
    open_ranks = np.array([rank for rank, _ in unjudged(scene, _DEEPEST)], np.int64)
    docs = scene.ranking.docs
    documents = Documents.of(scene, docs)
    grades = _tried(scene)

    def of(grade: int) -> Floats:
        def some(part: slice) -> Floats:
            given = open_ranks[part] - 1
            rankings = _ranked_again(scene, documents, given, grade)
            return values(scene, measure, documents, rankings, given, grade)

        return _all_values(scene, measure, len(open_ranks), len(docs), some)

    found = np.column_stack([of(grade) for grade in grades])
    now = _value(scene, measure)

    def the(best: int) -> Judgment | None:
        row, column = divmod(best, len(grades))
        rank, value = int(open_ranks[row]), float(found[row, column])
        return Judgment(docs[rank - 1], rank, grades[column], value, value - now)

    return Judgments(
        the(int(found.argmax())) if (found > now).any() else None,
        the(int(found.argmin())) if (found < now).any() else None,
        () if grades[-1] <= _GRADES else tuple(grades),
    )


def _tried(scene: Scene) -> Sequence[int]:
    """Return the grades that `judgments` tries, ascending: all, or of many a few."""
    top = max(scene.judged.top_grade, 1)
    if top <= _GRADES:
        return range(top + 1)
    between = sorted({grade for grade in scene.grades.values() if 1 < grade < top})
    most = _GRADES - 2  # with 0, 1 and the highest as many as from 0 to 10
    if len(between) > most:
        between = [between[i * (len(between) - 1) // (most - 1)] for i in range(most)]
    return [0, 1, *between, top]


def _ranked_again(scene: Scene, documents: Documents, given: Ints, grade: int) -> Ints:
    """Return the ranking once for each of the documents `given` (n,) a grade: (n, ranks).

    Only where grades rank equal scores, it changes.
    """
    rankings = np.tile(np.arange(len(documents.names)), (len(given), 1))
    if scene.judged.ties not in ("best", "worst"):
        return rankings
    graded = np.tile(_graded(scene, documents), (len(given), 1))
    graded[np.arange(len(given)), given] = grade
    best = scene.judged.ties == "best"
    lowest, highest = int(graded.min(initial=0)), int(graded.max(initial=0))
    keys = scene.ranking.tie_first * (highest - lowest + 1)
    order: Ints = (keys + (highest - graded if best else graded - lowest)).argsort(
        axis=1, kind="stable"
    )
    return order


# ---- a document where another ranking has it --------------------------------------------------


@dataclass(frozen=True)
class Move:
    """A document and its ranks in two rankings: the value with it at the other one's rank.

    None: the ranking does not have it.
    """

    doc: str
    rank_here: int | None
    rank_there: int | None
    value: float
    change: float  # the value less that of now


def moved(
    scene: Scene,
    other_ranking: Sequence[str],
    measure: Measure,
    costs: Mapping[str, float] | None = None,
) -> list[Move]:
    """Return what each document that stands elsewhere in another ranking makes of the value.

    Of all within the first 100 ranks of either, one by one: taken out of the scene's ranking, so
    that those below close up; and put in at the rank that the other ranking has it, so that those
    below move down, at the end of a ranking that is not so long. The greatest change comes first.
    Ranks are those of `scene.docs`. The ranking gets a document shorter or longer if only one of
    the two has it, whatever depth the scene was cut at. `costs` are those of documents that only
    the other ranking has; 1 where nothing is said.

    None are returned for a text, and if the value is an average over equal scores: where a
    document would stand among these is not said by a rank.
    """
    if measure.definition.is_text or scene.judged.ties == "expected":
        return []
    here, there = (
        {doc: rank for rank, doc in enumerate(docs, 1)} for docs in (scene.docs, other_ranking)
    )
    docs = [
        doc
        for doc in dict.fromkeys([*scene.docs[:_FIRST], *other_ranking[:_FIRST]])
        if here.get(doc) != there.get(doc)
    ]
    n_docs = len(here)
    others = [doc for doc in docs if doc not in here]
    documents = Documents.of(scene, scene.docs, others, costs)
    numbers = {doc: number for number, doc in enumerate(documents.names)}

    def changed(doc: str) -> Iterator[int]:
        order = [number for number in range(n_docs) if number != numbers[doc]]
        if doc in there:
            order.insert(there[doc] - 1, numbers[doc])
        yield from order
        yield from [-1] * (n_docs + 1 - len(order))

    def some(part: slice) -> Floats:
        rankings = np.array([list(changed(doc)) for doc in docs[part]], np.int64)
        return values(scene, measure, documents, rankings)

    found = _all_values(scene, measure, len(docs), n_docs + 1, some)
    now = _value(scene, measure)
    moves = [
        Move(doc, here.get(doc), there.get(doc), value, value - now)
        for doc, value in zip(docs, found.tolist(), strict=True)
    ]
    return sorted(moves, key=lambda move: -abs(move.change))
