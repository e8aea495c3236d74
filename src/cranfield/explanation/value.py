"""Value: a query's value, the steps that it was computed in, and what would change it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from cranfield.explanation.entries import Worksheet
from cranfield.explanation.follow import trace_value
from cranfield.explanation.remark import Remark
from cranfield.explanation.retrieved import add_unjudged, count_visible
from cranfield.explanation.scene import Scene
from cranfield.explanation.worksheet import write_worksheet
from cranfield.extensions import load_entries
from cranfield.measures import Measure
from cranfield.measures.parameters import Depth
from cranfield.notes import Note
from cranfield.scoring.assembly import ideal_ranking_notes

if TYPE_CHECKING:  # the attributes of all remarks
    from cranfield.keywords import RemarkValues
else:
    RemarkValues = object


@dataclass(frozen=True)
class RetrievedDocument:
    """A document of the ranking: `grade` is None if it is unjudged.

    `rank` is that before any document was dropped, `score` what the run says; None if it says none,
    as where it is not ranked by scores.
    """

    rank: int
    document: str
    score: float | None
    grade: float | None


@dataclass(frozen=True, eq=False, repr=False)
class QueryValue(RemarkValues):
    """What there is to know of a query's value: see `Explanation`, which shows it."""

    query: str
    run: str
    measure: Measure
    value: float | str
    worksheet: Worksheet
    retrieved: Sequence[RetrievedDocument]
    n_relevant: int  # documents of the judgments, retrieved or not; 0 of judgments in groups
    missing: Sequence[tuple[str, float]]  # (document, grade) of those that were not retrieved
    options: Mapping[str, Any]  # of `Judging`, those that are not at their defaults
    notes: Sequence[Note]  # what else to know of the data
    cutoff: int | None  # the last rank that counts for this query; None: all do
    remarks: Sequence[Remark] = ()  # what extensions know of it; their fields are attributes, too

    if not TYPE_CHECKING:  # which has RemarkValues

        def __getattr__(self, name):
            for remark in () if name.startswith("_") else vars(self).get("remarks", ()):
                if name in vars(remark):
                    return vars(remark)[name]
            refusal = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(refusal, name=name, obj=self)

    def __dir__(self) -> list[str]:
        """Return the names of all attributes, for completion."""
        return [*{*super().__dir__(), *(name for remark in self.remarks for name in vars(remark))}]

    @property
    def unjudged(self) -> list[tuple[int, str]]:
        """The rank and the name of every unjudged document retrieved."""
        docs = (document for document in self.retrieved if document.grade is None)
        return [(document.rank, document.document) for document in docs]

    @classmethod
    def of(cls, scene: Scene, measure: Measure) -> Self:
        """Explain the value of a scene's query."""
        cutoff = last_rank(scene, measure)
        sheet = write_worksheet(str(measure), trace_value(measure, scene))
        sheet = add_unjudged(sheet, measure, scene, count_visible(len(scene.docs), cutoff))
        docs, scores, grades = scene.ranking.docs, scene.ranking.scores, scene.grades
        doc_scores = [None] * len(docs) if scores is None else scores.tolist()
        level = scene.relevance_level(measure)
        judged_docs = () if scene.qrels.has_groups else scene.ideal_docs
        relevant_docs = [doc for doc in judged_docs if grades[doc] >= level]
        unretrieved = scene.unretrieved_docs
        missing_docs = set(relevant_docs).difference(docs) | unretrieved.intersection(relevant_docs)
        return cls(
            query=scene.query,
            run=scene.run_name,
            measure=measure,
            value=sheet.value_line.value,
            worksheet=sheet,
            retrieved=[
                RetrievedDocument(rank, doc, None if doc in unretrieved else score, grades.get(doc))
                for rank, (doc, score) in enumerate(zip(docs, doc_scores, strict=True), 1)
            ],
            n_relevant=len(relevant_docs),
            missing=[(doc, grades[doc]) for doc in relevant_docs if doc in missing_docs],
            options=scene.judging.changed_options(),
            notes=[*scene.matched_run.notes, *ideal_ranking_notes([measure], scene.qrels)],
            cutoff=cutoff,
            remarks=[kind.of(scene, measure) for kind in load_entries("remark of explain")],
        )


def last_rank(scene: Scene, measure: Measure) -> int | None:
    """Return the last rank that counts, of any group; None if every rank may."""
    if not isinstance(measure.cutoff, Depth):
        return None
    if scene.judged.has_groups:
        return measure.cutoff.n_ranks
    rel = measure.parameters.get("rel", 1)
    return int(measure.cutoff.cutoff_column(scene.judged, rel).flat[0])
