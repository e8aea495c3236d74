"""Scene: one query, the run's ranking and the judgments, with the names of the documents."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from cranfield.cached import cached_property
from cranfield.errors import InputError
from cranfield.evaluation import Judging
from cranfield.formats.block import Progress
from cranfield.judge import Meeting, judge, other_spelling
from cranfield.judged import Judged
from cranfield.measures.registry import nearest
from cranfield.notes import Note
from cranfield.qrels import Qrels
from cranfield.ranked import Floats, Ints
from cranfield.runs import Ranking, Run


@dataclass(frozen=True, eq=False)
class Scene:
    """One query of a run, as a measure sees it, and the documents' names, which it does not see.

    `docs` are those retrieved, best rank first, as they were ranked; where unjudged documents were
    dropped, without these. `ideal` are the judged ones, the highest grade first; equal grades by
    document id, descending. `grades` are the judgments ({document: grade}; of judgments in groups,
    the best of any).
    """

    query: str
    run: str
    qrels: Qrels  # of this query alone
    options: Judging
    meeting: Meeting
    docs: Sequence[str]
    ranking: Ranking  # as retrieved, before anything was dropped; cut at `depth`
    whole: Ranking  # not cut
    costs: Mapping[str, float]  # of these documents; empty where they play no part
    grades: Mapping[str, int]

    @property
    def judged(self) -> Judged:
        """What a measure receives: the query is the only one."""
        return self.meeting.judged

    @cached_property
    def ideal(self) -> Sequence[str]:
        """The judged documents, in the order of `judged.ideal`."""
        # Of a sample, a document's stratum stands beside its grade: there the order is the file's.
        docs = list(self.grades) if self.qrels.sampling else sorted(self.grades, reverse=True)
        return sorted(docs, key=lambda doc: -self.grades[doc])

    @property
    def group_names(self) -> Sequence[str]:
        """The judgment groups, in their order."""
        return self.qrels.levels.names

    @cached_property
    def ideal_of_groups(self) -> Sequence[str]:
        """The judged documents group by group, the highest grade first: as Judged.groups has it."""
        levels, docs = self.qrels.levels, self.qrels.doc_lists[0]
        if not self.qrels.in_groups:
            return self.ideal
        best = np.lexsort((-levels.level, levels.group))
        return [docs[row] for row in levels.row[best].tolist()]

    @property
    def scores(self) -> Floats | None:
        """The scores of `ranking.docs`; None if the run is not ranked by any."""
        return self.ranking.scores

    @classmethod
    def of(
        cls,
        qrels: Qrels,
        run: Run,
        query: str,
        options: Judging,
        *,
        costs: bool = False,
        progress: Progress | None = None,
    ) -> "Scene":
        """Judge one query of a run. InputError if the judgments do not have the query.

        `options` are those of `evaluate`; `costs`: whether the measure takes those of the run.
        """
        if query not in qrels.query_ids:
            near = _alike(query, qrels.query_ids) or nearest(query, qrels.query_ids)
            guess = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
            raise InputError(
                f"the qrels have no query {query!r:.80}.{guess}",
                source=qrels.source,
                hint=f"They have {len(qrels.query_ids):,}, the first is {qrels.query_ids[0]!r}.",
            )
        order = options.get("order", "score")
        alone, its = qrels.of([query]), run.of(query, order, progress, costs=costs)
        # Other queries may have judged documents: that this one has none is no reason to refuse it.
        meeting = judge(alone, its, costs=costs, whole=False, **options)
        other = None if len(meeting.judged.hits.rank) else other_spelling(alone, its)
        if other is not None:
            note = Note("spelling", "warning", f"{other.problem}.", 1)
            notes = (*meeting.notes, note)
            meeting = replace(meeting, noted=lambda: notes)
        ties = options.get("ties", "document")
        ranking = its.ranking(order, options.get("scores", "double"), ties)
        docs, starts = alone.doc_lists[0], alone.starts
        grades = dict(zip(docs, alone.grade[starts[0] :].tolist(), strict=True))
        if ties in ("best", "worst"):
            ranking = _by_grade(ranking, grades, ties == "best")
        costs_of: dict[str, float] = {}
        if meeting.judged.cost is not None:
            uncut = cast(Judging, {**options, "depth": None, "judged_only": False})
            all_costs = judge(alone, its, costs=True, whole=False, **uncut).judged.cost
            assert all_costs is not None  # noqa: S101 - some were said
            costs_of = dict(zip(ranking.docs, all_costs.tolist(), strict=True))
        whole, depth = ranking, options.get("depth") or len(ranking.docs)
        first = slice(0, int(depth))
        ranking = Ranking(
            ranking.docs[first],
            ranking.tie_first[first],
            ranking.tie_size[first],
            None if ranking.scores is None else ranking.scores[first],
        )
        kept = ranking.docs
        if options.get("judged_only"):
            kept = [doc for doc in kept if grades.get(doc, -1) >= 0]
        return cls(query, run.name, alone, options, meeting, kept, ranking, whole, costs_of, grades)


def _alike(query: str, others: Sequence[str]) -> list[str]:
    """Return the first ids that are the same but for blanks, capitals or leading zeros."""

    def bare(text: str) -> str:
        return re.sub(r"(?<!\d)0+(?=\d)", "", text.strip().casefold())

    return [other for other in others if bare(other) == bare(query)][:3]


def _by_grade(ranking: Ranking, grades: Mapping[str, int], best: bool) -> Ranking:
    """Rank equal scores by grade, as `judge` does: the highest first, unjudged ones last."""
    lowest = min([*grades.values(), 0]) - 1
    known = np.array([grades.get(doc, lowest) for doc in ranking.docs], np.int64)
    order: Ints = np.lexsort((-known if best else known, ranking.tie_first))
    return Ranking(
        [ranking.docs[i] for i in order.tolist()],
        ranking.tie_first[order],
        ranking.tie_size[order],
        None if ranking.scores is None else ranking.scores[order],
    )
