"""What if: the value of a query with another ranking, or with another judgment.

The values are those of `evaluate` for a run, or judgments, really changed so: see `variants`.
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
from cranfield.extensions.whatif.variants import measure_variants, rerank_query
from cranfield.measures import Measure
from cranfield.measures.parameters import Depth

DEEPEST = 1000  # rank down to which a judgment is tried
_BY_GRADE: Sequence[Ties] = ("best", "worst")
_GRADES = 10  # highest grade up to which every grade is tried


class RankableDocuments:
    """The documents that a ranking of the query may hold, by number: 0, 1, ...

    The documents of `ranking` come first, best first, then `other_docs`, which cost what `costs`
    says, or 1. The number -1 is no document: it fills up a ranking that is shorter than others.
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
        row_of_doc = {doc: row for row, doc in enumerate(scene.qrels.doc_lists[0])}
        # (n_documents + 1,) A document's row of the judgments, -1: unjudged; its cost to look at.
        self.row = np.array([*(row_of_doc.get(doc, -1) for doc in self.doc_ids), -1], np.int64)
        self.cost: Floats | None = None
        if scene.judged.cost is not None:
            ranking_cost = np.zeros(0) if ranking.costs is None else ranking.costs
            self.cost = np.append(
                ranking_cost, [*((costs or {}).get(doc, 1.0) for doc in other_docs), 1.0]
            )

    def judge_rankings(
        self,
        rankings: Ints,
        regraded_document: Ints | None = None,
        grade: float = 0,
        rank_index: Ints | None = None,
    ) -> Judged:
        """Return several rankings of the query as one Judged.

        `rankings` (n, ranks) holds the numbers of documents, best first, -1 only behind the last
        one. With `regraded_document` (n,), that unjudged document of each ranking has the grade
        `grade`. With `rank_index` (ranks,), `rankings` holds the documents at these ranks alone,
        counted from 0: documents at other ranks are unjudged, and a ranking is as long as
        `self.ranking`. Where values are averaged over ties, the ranks stay tied with any
        documents, and a ranking is as long as the scene's.
        """
        scene, judgment_row, is_document = self.scene, self.row[rankings], rankings >= 0
        if regraded_document is not None:
            judgment_row = np.where(
                rankings == regraded_document[:, None], len(scene.qrels), judgment_row
            )
        n_retrieved = np.count_nonzero(is_document, axis=1)[:, None]
        if rank_index is not None:
            n_retrieved = np.full_like(n_retrieved, len(self.ranking.docs))
        averages_ties = scene.judged.ties == "expected"
        return rerank_query(
            scene.judged,
            scene.qrels,
            judgment_row,
            n_retrieved,
            judged_only=scene.judging.judged_only,
            cost=None if self.cost is None else self.cost[rankings[is_document]],
            tie_first=self.ranking.tie_first if averages_ties else None,
            tie_size=self.ranking.tie_size if averages_ties else None,
            extra_grade=None if regraded_document is None else grade,
            rank_index=rank_index,
            ideal_cache=self._ideal_cache,
        )

    def find_needed_ranks(self, rank_index: Ints) -> Ints | None:
        """Return the ranks, counted from 0, at which a document may be judged: (ranks,).

        They are the ranks of judged documents, and `rank_index`. None if all ranks are needed, as
        what it costs to look at their documents counts.
        """
        if self.cost is not None:
            return None
        is_needed = self.row[: len(self.ranking.docs)] >= 0
        is_needed[rank_index] = True
        return np.flatnonzero(is_needed)

    def measure_rankings(
        self, measure: Measure, n_rankings: int, make_judged: Callable[[slice], Judged]
    ) -> Floats:
        """Return the value of each ranking: (n_rankings,). `make_judged` returns some rankings."""
        return measure_variants(
            measure, n_rankings, len(self.doc_ids) + len(self.scene.qrels), make_judged
        )


@dataclass(frozen=True)
class Swap:
    """Two ranks i < j whose documents change places, and what this makes of the value.

    `gain` is by how much the value gets better: it rises, or falls where lower is better.
    """

    i: int
    j: int
    doc_i: str  # at rank i before the swap
    doc_j: str
    value: float
    gain: float


def find_best_swap(scene: Scene, measure: Measure) -> Swap | None:
    """Return the swap of two of the first 100 ranks that improves the value most, or None.

    A swap improves a value by lowering it if lower is better, else by raising it. Of equal swaps,
    the first by i, then j, is returned. Ranks are those of `scene.docs`. None for a string.
    """
    if measure.definition.is_text:
        return None
    docs, documents = scene.docs, RankableDocuments(scene, scene.measured_ranking)
    kind = _number_kinds(documents, min(len(docs), N_RANKS))
    pairs = np.column_stack(np.triu_indices(len(kind), 1))
    pairs = pairs[kind[pairs[:, 0]] != kind[pairs[:, 1]]]
    last_rank = _find_last_rank(scene, measure)
    if last_rank is not None:  # below it, only the first document of a kind need be tried
        first_of_kind = last_rank + np.unique(kind[last_rank:], return_index=True)[1]
        second_rank = np.append(np.arange(min(last_rank, len(kind))), first_of_kind)
        pairs = pairs[(pairs[:, 0] < last_rank) & np.isin(pairs[:, 1], second_rank)]
    rank_index = documents.find_needed_ranks(np.arange(len(kind)))
    ranks = np.arange(len(docs)) if rank_index is None else rank_index

    def judge_swaps(rows: slice) -> Judged:
        rankings = np.tile(ranks, (rows.stop - rows.start, 1))
        np.put_along_axis(rankings, pairs[rows], pairs[rows, ::-1], axis=1)
        return documents.judge_rankings(rankings, rank_index=rank_index)

    value = documents.measure_rankings(measure, len(pairs), judge_swaps)
    original_value = scene.value(measure)
    lower_is_better = measure.definition.higher_is_better is False
    gain = original_value - value if lower_is_better else value - original_value
    if not (gain > 0).any():
        return None
    best_pair = int(gain.argmax())
    i, j = pairs[best_pair].tolist()
    return Swap(i + 1, j + 1, docs[i], docs[j], float(value[best_pair]), float(gain[best_pair]))


def _find_last_rank(scene: Scene, measure: Measure) -> int | None:
    """Return the rank below which it makes no difference where a document is; None: not known.

    That is the measure's cutoff. Where the ranks of tied documents depend on grades, or are
    averaged over, a document below it may have a rank above. A user's measure may look below its
    cutoff.
    """
    cutoff = measure.cutoff
    if (
        not isinstance(cutoff, Depth)
        or measure.definition.is_user_defined
        or not scene.judging.has_one_tie_order
    ):
        return None
    return cutoff.n_ranks


def _number_kinds(documents: RankableDocuments, n: int) -> Ints:
    """Return the kind of each of the first n documents, a number: (n,).

    Documents of one kind may change places unnoticed: they carry the same judgments, were sampled
    alike, and cost the same.
    """
    qrels, levels = documents.scene.qrels, documents.scene.qrels.levels
    judgments_of_row: dict[int, list[object]] = {}
    for row, *judgment in zip(
        *(column.tolist() for column in (levels.row, levels.group, levels.subgroup, levels.level)),
        strict=True,
    ):
        judgments_of_row.setdefault(row, []).append(tuple(judgment))
    kinds = []
    for i, row in enumerate(documents.row[:n].tolist()):
        sampling = [column[row] for column in qrels.sampling.values()] if row >= 0 else []
        cost = None if documents.cost is None else documents.cost[i]
        kinds.append((row >= 0, *judgments_of_row.get(row, ()), *sampling, cost))
    return np.array([kinds.index(kind) for kind in kinds], np.int64)


@dataclass(frozen=True)
class Tie:
    """Documents that share their score, and the values that the query has in two orders of them.

    `first` is the first rank of that score, as retrieved; `size` how many documents have it, also
    below the rank at which the run was cut; `docs` are the tied documents that were kept.
    """

    first: int
    size: int
    docs: tuple[str, ...]
    lowest: float
    highest: float


def find_ties(scene: Scene, measure: Measure) -> list[Tie]:
    """Return the ties that mattered to the value, the ties with the greatest effect first.

    The two orders of a tie are by grade, the highest first and unjudged documents last; and the
    other way round. A cut by `depth` comes after that: it may keep other documents of the score.
    No tie is returned if equal scores are ranked by grade or averaged over, and for a string.
    """
    if not scene.judging.has_one_tie_order or measure.definition.is_text:
        return []
    full_ranking, depth = scene.full_ranking, len(scene.ranking.docs)
    if not depth:
        return []
    # Down to the end of the tie that a cut by `depth` goes through.
    end = int(full_ranking.tie_first[depth - 1] + full_ranking.tie_size[depth - 1]) - 1
    ranking = full_ranking.take(slice(end))
    documents = RankableDocuments(scene, ranking)
    grades = grade_documents(scene.grades, ranking.docs)
    orders = [
        grade_sort_keys(order_name, ranking.tie_first, grades).argsort(kind="stable")
        for order_name in _BY_GRADE
    ]
    edges = [0, *(np.flatnonzero(np.diff(ranking.tie_first)) + 1).tolist(), end]
    tie_slices = [
        slice(*pair) for pair in pairwise(edges) if len(set(grades[slice(*pair)].tolist())) > 1
    ]
    rankings = np.tile(np.arange(end), (2 * len(tie_slices), 1))
    for i, tie_slice in enumerate(tie_slices):
        rankings[2 * i : 2 * i + 2, tie_slice] = [order[tie_slice] for order in orders]
    value = documents.measure_rankings(
        measure, len(rankings), lambda rows: documents.judge_rankings(rankings[rows, :depth])
    )
    scene_docs, docs = set(scene.docs), ranking.docs[:depth]
    ties = [
        Tie(
            tie_slice.start + 1,
            tie_slice.stop - tie_slice.start,
            tuple(filter(scene_docs.__contains__, docs[tie_slice])),
            low,
            high,
        )
        for tie_slice, (low, high) in zip(
            tie_slices, np.sort(value.reshape(-1, 2)).tolist(), strict=True
        )
        if low != high
    ]
    return sorted(ties, key=lambda tie: tie.lowest - tie.highest)


@dataclass(frozen=True)
class Judgment:
    """An unjudged document at a rank of the retrieved ones: the value if it had this grade."""

    doc: str
    rank: int
    grade: float
    value: float
    change: float  # the value less the value without the judgment


@dataclass(frozen=True)
class Judgments:
    """The judgment that would raise the value most, and the judgment that would lower it most.

    `grades` are the grades that were tried, unless they are all from 0 to the highest, or none.
    """

    up: Judgment | None
    down: Judgment | None
    grades: tuple[float, ...] = ()


def untried_reason(scene: Scene, measure: Measure) -> str:
    """Return why `find_judgments` can try no judgment, whose effect is not known; else ""."""
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

    Unjudged documents retrieved down to rank 1,000 are tried with every grade from 0 to the highest
    of the collection, or 1; if that is above 10, or some grades are fractions, with 0, the highest,
    1 if it is lower, and the grades between them that the query's documents have, eight of these at
    most, evenly chosen. The document then counts as judged everywhere: in the ideal ranking, in the
    number of relevant documents, and where only judged documents are looked at. Of equal judgments,
    the one of the highest-ranked document with the lowest grade is returned.

    None where no such judgment changes the value so; where none can be tried (see
    `untried_reason`); and for a string.
    """
    if measure.definition.is_text or untried_reason(scene, measure):
        return Judgments(None, None)
    docs = scene.ranking.docs
    documents = RankableDocuments(scene, scene.ranking)
    unjudged_ranks = [i for i, doc in enumerate(docs[:DEEPEST]) if doc not in scene.grades]
    last_rank = None if scene.judging.judged_only else _find_last_rank(scene, measure)
    if last_rank is not None:  # below it, the same grade has the same effect at any rank
        ranks_above = [i for i in unjudged_ranks if i < last_rank]
        unjudged_ranks = unjudged_ranks[: len(ranks_above) + 1]
    regraded_document = np.array(unjudged_ranks, np.int64)
    grades = _choose_grades(scene)

    def judge_with_grade(grade: float, rows: slice) -> Judged:
        moves_ties = scene.judged.ties in _BY_GRADE  # to other ranks, by the grade
        rank_index = None if moves_ties else documents.find_needed_ranks(regraded_document[rows])
        ranks = np.arange(len(docs)) if rank_index is None else rank_index
        rankings = np.tile(ranks, (rows.stop - rows.start, 1))
        if moves_ties:
            grade_matrix = np.tile(grade_documents(scene.grades, docs), (len(rankings), 1))
            grade_matrix[np.arange(len(rankings)), regraded_document[rows]] = grade
            sort_key = grade_sort_keys(scene.judged.ties, scene.ranking.tie_first, grade_matrix)
            rankings = sort_key.argsort(axis=1, kind="stable")
        return documents.judge_rankings(rankings, regraded_document[rows], grade, rank_index)

    values_of_grade = [
        documents.measure_rankings(
            measure, len(regraded_document), partial(judge_with_grade, grade)
        )
        for grade in grades
    ]
    value_matrix = np.column_stack(values_of_grade)
    original_value = scene.value(measure)

    def make_judgment(flat_index: int) -> Judgment:
        row, column = divmod(flat_index, len(grades))
        document, value = int(regraded_document[row]), float(value_matrix[row, column])
        return Judgment(docs[document], document + 1, grades[column], value, value - original_value)

    return Judgments(
        make_judgment(int(value_matrix.argmax()))
        if (value_matrix > original_value).any()
        else None,
        make_judgment(int(value_matrix.argmin()))
        if (value_matrix < original_value).any()
        else None,
        () if isinstance(grades, range) else tuple(grades),
    )


def _choose_grades(scene: Scene) -> Sequence[float]:
    """Return the grades that `find_judgments` tries, ascending: all grades, or some of many."""
    top_grade = find_reachable_grade(scene.judged)
    has_whole_grades = scene.judged.has_whole_grades
    if top_grade <= _GRADES and has_whole_grades:
        return range(int(top_grade) + 1)
    lowest_grade = 1 if has_whole_grades else 0
    middle_grades = sorted(
        {grade for grade in scene.grades.values() if lowest_grade < grade < top_grade}
    )
    max_middle = _GRADES - 2  # with 0, 1 and the highest as many as from 0 to 10
    if len(middle_grades) > max_middle:
        middle_grades = [
            middle_grades[i * (len(middle_grades) - 1) // (max_middle - 1)]
            for i in range(max_middle)
        ]
    return sorted({0, *([1] if top_grade > 1 else []), *middle_grades, top_grade})


def measure_moves(
    scene: Scene,
    other_ranking: Sequence[str],
    measure: Measure,
    costs: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """Return the value with each document alone put where another ranking has it: {id: value}.

    Each document of the first 100 ranks of either ranking that the other has elsewhere, or lacks,
    is moved: taken out of the scene's ranking, so that the documents below move up; and put in at
    its rank in the other ranking, so that those below move down, or at the end of a shorter one.
    Ranks are those of `scene.docs`. The ranking gets a document shorter or longer if only one of
    the two has it, at any depth of the scene. `costs` are those of documents that only the other
    ranking has.

    No document is moved for a string, and if the value is an average over equal scores: where a
    document would be among these is not known by its rank.
    """
    if measure.definition.is_text or scene.judged.ties == "expected":
        return {}
    rank_of_doc, other_rank_of_doc = (
        {doc: rank for rank, doc in enumerate(docs, 1)} for docs in (scene.docs, other_ranking)
    )
    top_docs = dict.fromkeys([*scene.docs[:N_RANKS], *other_ranking[:N_RANKS]])
    docs = [doc for doc in top_docs if rank_of_doc.get(doc) != other_rank_of_doc.get(doc)]
    new_docs = [doc for doc in docs if doc not in rank_of_doc]
    documents = RankableDocuments(scene, scene.measured_ranking, new_docs, costs)
    number_of_doc = {doc: number for number, doc in enumerate(documents.doc_ids)}
    n_docs = len(rank_of_doc)

    def judge_moves(rows: slice) -> Judged:
        rankings = np.full((rows.stop - rows.start, n_docs + 1), -1)
        for ranking, doc in zip(rankings, docs[rows], strict=True):
            order = [number for number in range(n_docs) if number != number_of_doc[doc]]
            if doc in other_rank_of_doc:
                order.insert(other_rank_of_doc[doc] - 1, number_of_doc[doc])
            ranking[: len(order)] = order
        return documents.judge_rankings(rankings)

    value = documents.measure_rankings(measure, len(docs), judge_moves)
    return dict(zip(docs, value.tolist(), strict=True))
