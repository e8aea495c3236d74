"""What if: the value of a query if its ranking, or one judgment, were another one.

The values are those that `evaluate` has for a run, or judgments, really changed so: see `variants`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from cranfield.arrays.ranked import Floats, Ints, Ranked
from cranfield.data.judge import grade_sort_keys
from cranfield.data.judged import Judged
from cranfield.data.judging import Ties
from cranfield.data.ranking import Ranking
from cranfield.explanation.remark import N_RANKS
from cranfield.explanation.scene import Scene, grade_documents
from cranfield.extensions.whatif.completions import find_reachable_grade
from cranfield.extensions.whatif.variants import rerank_query, measure_variants
from cranfield.measures import Measure
from cranfield.measures.parameters import Depth

DEEPEST = 1000  # rank down to which a judgment is tried
_BY_GRADE: Sequence[Ties] = ("best", "worst")
_GRADES = 10  # highest grade up to which every grade is tried


class RankableDocuments:
    """The documents that a ranking of the query may hold, by number: 0, 1, ...

    Those of a `ranking` come first, best first, then `others`, which cost what `costs` says, or 1.
    The number -1 is none: it fills up a ranking that is shorter than others.
    """

    def __init__(
        self,
        scene: Scene,
        ranking: Ranking,
        other_docs: Sequence[str] = (),
        costs: Mapping[str, float] | None = None,
    ) -> None:
        self.scene, self.ranking, self.doc_ids = scene, ranking, [*ranking.docs, *other_docs]
        self._ideal_cache: dict[object, Ranked] = {}
        rows = {doc: row for row, doc in enumerate(scene.qrels.doc_lists[0])}
        # (n_documents + 1,) The row of its judgment, -1: unjudged; what it costs to look at it.
        self.row = np.array([*(rows.get(doc, -1) for doc in self.doc_ids), -1], np.int64)
        self.cost: Floats | None = None
        if scene.judged.cost is not None:
            here = np.zeros(0) if ranking.costs is None else ranking.costs
            self.cost = np.append(here, [*((costs or {}).get(doc, 1.0) for doc in other_docs), 1.0])

    def judge_rankings(
        self,
        rankings: Ints,
        regraded_document: Ints | None = None,
        grade: float = 0,
        rank_index: Ints | None = None,
    ) -> Judged:
        """Return several rankings of the query as one Judged.

        `rankings` (n, ranks) holds the numbers of documents, best first, -1 only behind the last
        one. With `given` (n,), in each ranking that unjudged document has the grade `grade`. With
        `places`, it holds those at these ranks alone, counted from 0: those at the other ranks are
        unjudged, and the rankings are as long as this one. Where values are averaged over ties, the
        places stay tied with any documents, and the rankings are as long as the scene's.
        """
        scene, rows, there = self.scene, self.row[rankings], rankings >= 0
        if regraded_document is not None:
            rows = np.where(rankings == regraded_document[:, None], len(scene.qrels), rows)
        n_retrieved = np.count_nonzero(there, axis=1)[:, None]
        if rank_index is not None:
            n_retrieved = np.full_like(n_retrieved, len(self.ranking.docs))
        tied = scene.judged.ties == "expected"
        return rerank_query(
            *(scene.judged, scene.qrels, rows, n_retrieved),
            judged_only=scene.judging.judged_only,
            cost=None if self.cost is None else self.cost[rankings[there]],
            tie_first=self.ranking.tie_first if tied else None,
            tie_size=self.ranking.tie_size if tied else None,
            extra_grade=None if regraded_document is None else grade,
            rank_index=rank_index,
            ideal_cache=self._ideal_cache,
        )

    def find_needed_ranks(self, rank_index: Ints) -> Ints | None:
        """Return the ranks, counted from 0, at which something may be judged: (ranks,).

        They are those of judged documents, and `here`. None if all ranks are needed, as what it
        costs to look at their documents counts.
        """
        if self.cost is not None:
            return None
        known = self.row[: len(self.ranking.docs)] >= 0
        known[rank_index] = True
        return np.flatnonzero(known)

    def measure_rankings(self, measure: Measure, n_rankings: int, make_judged: Callable[[slice], Judged]) -> Floats:
        """Return the value of each of n rankings: (n,). `judged` returns some of them."""
        return measure_variants(measure, n_rankings, len(self.doc_ids) + len(self.scene.qrels), make_judged)


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


def find_best_swap(scene: Scene, measure: Measure) -> Swap | None:
    """Return the swap of two of the first 100 ranks that improves the value most, None if none.

    Improves: lowers it if lower is better, else raises it. Of equal ones, the first by i, then j.
    Ranks are those of `scene.docs`. None for a string.
    """
    if measure.definition.is_text:
        return None
    docs, documents = scene.docs, RankableDocuments(scene, scene.measured_ranking)
    kinds = _number_kinds(documents, min(len(docs), N_RANKS))
    pairs = np.column_stack(np.triu_indices(len(kinds), 1))
    pairs = pairs[kinds[pairs[:, 0]] != kinds[pairs[:, 1]]]
    last = _find_last_rank(scene, measure)
    if last is not None:  # below it, only the first of a kind need be tried
        firsts = last + np.unique(kinds[last:], return_index=True)[1]
        tried = np.append(np.arange(min(last, len(kinds))), firsts)
        pairs = pairs[(pairs[:, 0] < last) & np.isin(pairs[:, 1], tried)]
    places = documents.find_needed_ranks(np.arange(len(kinds)))
    ranks = np.arange(len(docs)) if places is None else places

    def swapped(some: slice) -> Judged:
        rankings = np.tile(ranks, (some.stop - some.start, 1))
        np.put_along_axis(rankings, pairs[some], pairs[some, ::-1], axis=1)
        return documents.judge_rankings(rankings, rank_index=places)

    found = documents.measure_rankings(measure, len(pairs), swapped)
    now = scene.value(measure)
    gain = now - found if measure.definition.higher_is_better is False else found - now
    if not (gain > 0).any():
        return None
    best = int(gain.argmax())
    i, j = pairs[best].tolist()
    return Swap(i + 1, j + 1, docs[i], docs[j], float(found[best]), float(gain[best]))


def _find_last_rank(scene: Scene, measure: Measure) -> int | None:
    """Return the rank below which it makes no difference where a document is; None: not known.

    That is the measure's cutoff. Where the places of tied documents are dealt by grade, or averaged
    over, a document below it may have one above. One's own measure may look below its cutoff.
    """
    cutoff = measure.cutoff
    if not isinstance(cutoff, Depth) or measure.definition.is_user_defined or not scene.judging.has_one_tie_order:
        return None
    return cutoff.n_ranks


def _number_kinds(documents: RankableDocuments, n: int) -> Ints:
    """Give the first n documents a number each; those of one may change places unnoticed: (n,).

    They carry the same judgments, were sampled alike, and cost the same.
    """
    qrels, levels = documents.scene.qrels, documents.scene.qrels.levels
    carried: dict[int, list[object]] = {}
    for row, *judgment in zip(
        *(one.tolist() for one in (levels.row, levels.group, levels.subgroup, levels.level)),
        strict=True,
    ):
        carried.setdefault(row, []).append(tuple(judgment))
    kinds = []
    for i, row in enumerate(documents.row[:n].tolist()):
        sampled = [column[row] for column in qrels.sampling.values()] if row >= 0 else []
        cost = None if documents.cost is None else documents.cost[i]
        kinds.append((row >= 0, *carried.get(row, ()), *sampled, cost))
    return np.array([kinds.index(kind) for kind in kinds], np.int64)


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


def find_ties(scene: Scene, measure: Measure) -> list[Tie]:
    """Return the ties that mattered to the value, those with the greatest effect first.

    The two orders: by grade, the highest first and unjudged documents last; and the other way
    round. A cut by `depth` comes after that: it may keep other documents of the score. None are
    returned if equal scores are ranked by grade or averaged over, and for a string.
    """
    if not scene.judging.has_one_tie_order or measure.definition.is_text:
        return []
    whole, depth = scene.full_ranking, len(scene.ranking.docs)
    if not depth:
        return []
    # Down to the end of the tie that a cut by `depth` goes through.
    end = int(whole.tie_first[depth - 1] + whole.tie_size[depth - 1]) - 1
    first = whole.take(slice(end))
    documents = RankableDocuments(scene, first)
    grades = grade_documents(scene.grades, first.docs)
    orders = [grade_sort_keys(how, first.tie_first, grades).argsort(kind="stable") for how in _BY_GRADE]
    edges = [0, *(np.flatnonzero(np.diff(first.tie_first)) + 1).tolist(), end]
    tied = [slice(*pair) for pair in pairwise(edges) if len(set(grades[slice(*pair)].tolist())) > 1]
    rankings = np.tile(np.arange(end), (2 * len(tied), 1))
    for i, at in enumerate(tied):
        rankings[2 * i : 2 * i + 2, at] = [order[at] for order in orders]
    found = documents.measure_rankings(
        measure, len(rankings), lambda some: documents.judge_rankings(rankings[some, :depth])
    )
    kept, docs = set(scene.docs), first.docs[:depth]
    every = [
        Tie(at.start + 1, at.stop - at.start, tuple(filter(kept.__contains__, docs[at])), low, high)
        for at, (low, high) in zip(tied, np.sort(found.reshape(-1, 2)).tolist(), strict=True)
        if low != high
    ]
    return sorted(every, key=lambda tie: tie.lowest - tie.highest)


@dataclass(frozen=True)
class Judgment:
    """An unjudged document at a rank of those retrieved: the value if it had this grade."""

    doc: str
    rank: int
    grade: float
    value: float
    change: float  # the value less that of now


@dataclass(frozen=True)
class Judgments:
    """The one judgment that would raise the value most, and the one that would lower it most.

    `grades` are those that were tried, if they are not all from 0 to the highest; else none.
    """

    up: Judgment | None
    down: Judgment | None
    grades: tuple[float, ...] = ()


def untried_reason(scene: Scene, measure: Measure) -> str:
    """Return why `judgments` tries none, as they need more than a grade; empty if it tries some."""
    if scene.judged.has_groups:
        return "the judgments are in groups, and a document has a grade in each"
    if scene.qrels.sampling and measure.bounds == "refused":
        return "the judgments are a sample, and how one more would be drawn is not known"
    if scene.judging.judged_only and scene.judged.cost is not None:
        return "what it costs to look at it is not known once it was dropped"
    if len({*scene.ranking.docs}) < len(scene.ranking.docs):
        return "a document counts at several ranks"
    return ""


def find_judgments(scene: Scene, measure: Measure) -> Judgments:
    """Return which judgment of one unjudged document would move the value most, up and down.

    Tried are all that were retrieved down to rank 1,000, with every grade from 0 to the highest of
    the collection, or 1; if that is above 10, or some grades are fractions, with 0, 1, the highest,
    and the grades between them that the query's documents have, eight of these at most, evenly
    chosen. The document then counts
    as judged in everything: the ideal ranking, the number of relevant documents, and which are
    dropped if only judged ones are looked at. Of equal ones, the highest-ranked document with the
    lowest grade.

    None where no such judgment changes the value so; where none can be tried (see `untried`); and
    for a string.
    """
    if measure.definition.is_text or untried_reason(scene, measure):
        return Judgments(None, None)
    docs = scene.ranking.docs
    documents = RankableDocuments(scene, scene.ranking)
    unjudged = [i for i, doc in enumerate(docs[:DEEPEST]) if doc not in scene.grades]
    last = None if scene.judging.judged_only else _find_last_rank(scene, measure)
    if last is not None:  # below it, the same grade has the same effect at any rank
        above = [i for i in unjudged if i < last]
        unjudged = unjudged[: len(above) + 1]
    given = np.array(unjudged, np.int64)
    grades = _choose_grades(scene)

    def regraded(grade: float, some: slice) -> Judged:
        dealt = scene.judged.ties in _BY_GRADE  # to other places, by the grade
        places = None if dealt else documents.find_needed_ranks(given[some])
        ranks = np.arange(len(docs)) if places is None else places
        rankings = np.tile(ranks, (some.stop - some.start, 1))
        if dealt:
            every = np.tile(grade_documents(scene.grades, docs), (len(rankings), 1))
            every[np.arange(len(rankings)), given[some]] = grade
            keys = grade_sort_keys(scene.judged.ties, scene.ranking.tie_first, every)
            rankings = keys.argsort(axis=1, kind="stable")
        return documents.judge_rankings(rankings, given[some], grade, places)

    tried = [documents.measure_rankings(measure, len(given), partial(regraded, grade)) for grade in grades]
    found = np.column_stack(tried)
    now = scene.value(measure)

    def the(best: int) -> Judgment:
        row, column = divmod(best, len(grades))
        at, value = int(given[row]), float(found[row, column])
        return Judgment(docs[at], at + 1, grades[column], value, value - now)

    return Judgments(
        the(int(found.argmax())) if (found > now).any() else None,
        the(int(found.argmin())) if (found < now).any() else None,
        () if isinstance(grades, range) else tuple(grades),
    )


def _choose_grades(scene: Scene) -> Sequence[float]:
    """Return the grades that `judgments` tries, ascending: all, or of many a few."""
    top = find_reachable_grade(scene.judged)
    whole = scene.judged.has_whole_grades
    if top <= _GRADES and whole:
        return range(int(top) + 1)
    least = 1 if whole else 0
    between = sorted({grade for grade in scene.grades.values() if least < grade < top})
    most = _GRADES - 2  # with 0, 1 and the highest as many as from 0 to 10
    if len(between) > most:
        between = [between[i * (len(between) - 1) // (most - 1)] for i in range(most)]
    return sorted({0, *([1] if top > 1 else []), *between, top})


def measure_moves(
    scene: Scene,
    other_ranking: Sequence[str],
    measure: Measure,
    costs: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """Return the value with each document alone put where another ranking has it: {id: value}.

    Moved is each document of the first 100 ranks of either that the other has elsewhere: taken out
    of the scene's ranking, so that those below move up; and put in at the rank that the other
    ranking has it, so that those below move down, at the end of a ranking that is not so long.
    Ranks are those of `scene.docs`. The ranking gets a document shorter or longer if only one of
    the two has it, at any depth of the scene. `costs` are those of documents that only the other
    has.

    None are moved for a string, and if the value is an average over equal scores: where a document
    would be among these is not known by its rank.
    """
    if measure.definition.is_text or scene.judged.ties == "expected":
        return {}
    here, there = (
        {doc: rank for rank, doc in enumerate(docs, 1)} for docs in (scene.docs, other_ranking)
    )
    near = dict.fromkeys([*scene.docs[:N_RANKS], *other_ranking[:N_RANKS]])
    docs = [doc for doc in near if here.get(doc) != there.get(doc)]
    others = [doc for doc in docs if doc not in here]
    documents = RankableDocuments(scene, scene.measured_ranking, others, costs)
    numbers = {doc: number for number, doc in enumerate(documents.doc_ids)}
    n_docs = len(here)

    def moved_there(some: slice) -> Judged:
        rankings = np.full((some.stop - some.start, n_docs + 1), -1)
        for ranking, doc in zip(rankings, docs[some], strict=True):
            order = [number for number in range(n_docs) if number != numbers[doc]]
            if doc in there:
                order.insert(there[doc] - 1, numbers[doc])
            ranking[: len(order)] = order
        return documents.judge_rankings(rankings)

    found = documents.measure_rankings(measure, len(docs), moved_there)
    return dict(zip(docs, found.tolist(), strict=True))
