"""Difference: shows which documents make the difference of two runs on a query."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import zip_longest
from typing import Any, Literal

import numpy as np

from cranfield.arrays.ranked import Ranked, floored_log, ratio, total
from cranfield.arrays.trace import ITEM, TracedArray
from cranfield.data.judged import Judged
from cranfield.explanation.expressions import to_six_decimals
from cranfield.explanation.follow import base_ranking, is_deep, row_documents, trace_value
from cranfield.explanation.query import check_limit
from cranfield.explanation.remark import N_RANKS
from cranfield.explanation.retrieved import count_visible
from cranfield.explanation.scene import Scene
from cranfield.explanation.sentences import option_lines
from cranfield.explanation.value import last_rank
from cranfield.explanation.words import is_ideal
from cranfield.extensions import load_entries
from cranfield.measures import Measure
from cranfield.notes import Note, format_notes, merge_notes
from cranfield.render.numbers import format_count, format_short
from cranfield.render.shown import Shown
from cranfield.render.table import Table
from cranfield.scoring.scores import format_score

_MAX_ROWS = 20
_TOO_DEEP = "the measure takes too many steps one after the other"


@dataclass(frozen=True)
class Part:
    """A document, where each of the two runs has it, and how it changes the difference.

    For "terms": what it adds to each run's value (`left`, `right`), 0 where it adds nothing, and
    `change`, right - left. For "moved": the left run's value if the document were where the right
    one has it, or neither (`value`), and `change`, that less the left run's value. None and 0 else.
    """

    document: str
    grade: float | None  # None: unjudged
    left_rank: int | None  # None: not retrieved, or dropped
    right_rank: int | None
    left: float | None = None
    right: float | None = None
    value: float | None = None
    change: float = 0.0


@dataclass(frozen=True, eq=False, repr=False)
class Difference(Shown):
    """Which documents make the difference between two runs on a query.

    `method` says how. "terms": the value is a sum of what documents add where they are, and
    everything else is the same in both runs; then the parts' changes add up to `difference`, right
    - left. "moved" elsewhere, for the `reason` given: each document of the first 100 ranks of
    either run alone is put in the left run at the rank where the right one has it, or taken out.
    These changes do not add up, and with ties="expected" there are none, as a document then has no
    rank of its own. `parts` are the documents with a change, the greatest up or down first.
    `lengths` are the numbers of documents that have a rank in each run: of those retrieved, without
    those that were dropped. `first_documents` are those among the first ranks of either run: down
    to the measure's cutoff, if that is 1 to 20, else ten.

    >>> from cranfield import explain
    >>> runs = {"a": {"q1": ["d1", "d2"]}, "b": {"q1": ["d3", "d1"]}}
    >>> page = explain({"q1": {"d1": 1, "d2": 1}}, runs, "P@2", "q1")
    >>> page.method, [(part.document, part.change) for part in page.parts]
    ('terms', [('d2', -0.5)])
    """

    header = ("query_id", *(field.name for field in fields(Part)))

    query: str
    names: tuple[str, str]
    measure: Measure
    left: float
    right: float
    parts: Sequence[Part]
    lengths: tuple[int, int]
    options: Mapping[str, Any]  # of `Judging`, those that are not at their defaults
    notes: Sequence[Note]  # what else to know of the data
    judged: Sequence[Part]  # judged documents, else others, to show where none makes a difference
    first_documents: Sequence[Part]  # of either run
    reason: str  # why not by terms; empty if by terms

    @property
    def method(self) -> Literal["terms", "moved"]:
        """How the difference is explained."""
        return "moved" if self.reason else "terms"

    @property
    def difference(self) -> float:
        """The right run's value less the left one's."""
        return self.right - self.left

    @classmethod
    def of(
        cls, left_scene: Scene, right_scene: Scene, names: tuple[str, ...], measure: Measure
    ) -> "Difference":
        """Explain the difference of one query's two values, which are numbers."""
        values = [trace_value(measure, scene) for scene in (left_scene, right_scene)]
        left_value, right_value = (float(value.flat[0]) for value in values)
        outcomes = [_TOO_DEEP if is_deep(value) else _find_terms(value) for value in values]
        ranks = [
            {doc: i for i, doc in enumerate(scene.docs, 1)} for scene in (left_scene, right_scene)
        ]
        reason = _find_reason(outcomes, names)

        def make_part(doc: str, **numbers: float) -> Part:
            left_rank, right_rank = (rank_of_doc.get(doc) for rank_of_doc in ranks)
            return Part(doc, left_scene.grades.get(doc), left_rank, right_rank, **numbers)

        if reason:
            cost = right_scene.judged.cost
            costs = (
                None if cost is None else dict(zip(right_scene.docs, cost.tolist(), strict=True))
            )
            moves = {
                doc: value
                for kind in load_entries("remark of explain")
                for doc, value in kind.moved(left_scene, right_scene.docs, measure, costs).items()
            }
            parts = [
                make_part(doc, value=value, change=value - left_value)
                for doc, value in moves.items()
            ]
        else:
            a, b = (side.terms for side in outcomes if isinstance(side, _AddedTerms))
            terms_of_doc = ((doc, a.get(doc, 0.0), b.get(doc, 0.0)) for doc in {**a, **b})
            parts = [make_part(doc, left=x, right=y, change=y - x) for doc, x, y in terms_of_doc]
        parts.sort(key=lambda part: -abs(part.change))
        first_docs = _first_documents(left_scene, right_scene, measure)
        scenes = zip(names, (left_scene, right_scene), strict=True)
        named_notes = ((name, note) for name, scene in scenes for note in scene.matched_run.notes)
        return cls(
            query=left_scene.query,
            names=(names[0], names[1]),
            measure=measure,
            left=left_value,
            right=right_value,
            parts=[part for part in parts if part.change],
            lengths=(len(left_scene.docs), len(right_scene.docs)),
            options=left_scene.judging.changed_options(),
            notes=merge_notes(named_notes, n_sources=2),
            judged=[make_part(doc) for doc in _list_judged(left_scene, right_scene)],
            first_documents=[*map(make_part, first_docs)],
            reason=reason,
        )

    def tables(self, limit: int | None = _MAX_ROWS) -> list[Table]:
        """Return the parts as a table, the first `limit` of them (None: all).

        Where there are none, the documents of `judged`, and where each run has them. Below these,
        the other documents among the first ranks of either run, as far as `limit` goes.

        Raises OptionError if `limit` is not a whole number of 1 or more.
        """
        check_limit(limit)
        left_name, right_name = self.names
        shown_parts = (self.parts or self.judged)[:limit]
        part_docs = {part.document for part in self.parts or self.judged}
        all_extra_parts = [part for part in self.first_documents if part.document not in part_docs]
        extra_parts = all_extra_parts[: None if limit is None else limit - len(shown_parts)]
        header = ["document", "grade", f"rank in {left_name}", f"rank in {right_name}"]
        if self.parts and self.method == "terms":
            header += [f"adds to {left_name}", f"adds to {right_name}", "change"]
        elif self.parts:
            header += [f"{left_name} with it there", "change"]
        rows = []
        for part in [*shown_parts, *extra_parts]:
            numbers = (part.grade, part.left_rank, part.right_rank)
            texts = ("-" if number is None else format_short(number) for number in numbers)
            cells = [part.document, *texts]
            if part.left is not None:
                cells += [f"{part.left:.6f}", f"{part.right:.6f}", f"{part.change:+.6f}"]
            elif part.value is not None:
                cells += [f"{part.value:.6f}", f"{part.change:+.6f}"]
            rows.append([*cells, *[""] * (len(header) - len(cells))])
        value_texts = [format_score(self.measure, value) for value in (self.left, self.right)]
        title = [
            f"{self.measure}, query {self.query}: {value_texts[1]} ({right_name}) - "
            f"{value_texts[0]} ({left_name}) = {self.difference:+.4f}"
        ]
        rules = frozenset({len(shown_parts)} if shown_parts and extra_parts else ())
        n_extra = len(extra_parts)
        notes = self._sentences(len(shown_parts), n_extra, len(all_extra_parts) - n_extra)
        # A table with two labels is not turned on its side.
        return [Table(header, rows, [*notes], 2, ruled_rows=rules, title=title)]

    def _sentences(self, n_visible: int, n_extra: int, n_hidden: int) -> Iterator[str]:
        """Yield the sentences below the table, and the difference.

        `n_visible` of `parts`, or of `judged`, are shown; of the other first documents, `n_extra`
        are, `n_hidden` are not.
        """
        if n_extra:
            ending = f"; {n_hidden:,} more are not shown" * bool(n_hidden)
            yield f"Below the line: other documents among the first ranks of either run{ending}."
        yield from format_notes(self.notes)
        n_more = len(self.parts or self.judged) - n_visible
        if n_more and self.parts:
            count_text = format_count(n_more, "more document makes", "more documents make")
            yield f"{count_text} a difference."
        elif n_more:
            yield f"{format_count(n_more, 'more judged document')}."
        if self.left == self.right:
            yield "Both values are the same."
        if self.reason:
            yield f"Not by terms: {self.reason}."
            yield self._move_sentence()
        elif self.parts:
            yield (
                "By terms: the value is the sum of what each document adds at its rank, and "
                "all else is the same in both runs. So the changes add up: "
                f"{total(np.array([part.change for part in self.parts])):+.6f}."
            )
        else:
            yield "Every document adds the same to both runs."
        if self.measure.definition.aggregation == "geometric":
            a, b = floored_log(np.array([self.left, self.right])).tolist()
            yield (
                f"Over all queries {self.measure} is a geometric mean, to which this query adds by "
                f"its logarithm: {b:.6f} - {a:.6f} = {b - a:+.6f}, "
                f"a ratio of {math.exp(b - a):.4f}."
            )
        if self.options.get("judged_only"):
            yield "Ranks are those after unjudged documents were dropped."
        yield from option_lines(self.options)
        subtraction = f"{self.right!r} - {self.left!r}"
        yield f"{self.names[1]} - {self.names[0]} = {subtraction} = {self.difference!r}"

    def _move_sentence(self) -> str:
        """Return the sentence on the documents that were moved, or on why none was."""
        left_name, right_name = self.names
        if self.options.get("ties") == "expected":
            return "With ties=expected no document has a rank to move to."
        ranks = f" of the first {N_RANKS} ranks" * (max(self.lengths) > N_RANKS)
        if not self.parts:
            place = f"put alone where {right_name} has it"
            return f"No document{ranks}, {place}, changes the value of {left_name}."
        is_removed = any(part.right_rank is None for part in self.parts)
        removal_text = f"; taken out, where {right_name} does not have it (-)" * is_removed
        return (
            f"By moving: the value of {left_name} with this one document{ranks} where {right_name} "
            f"has it, the others in their order{removal_text}. Only {left_name} is changed, and "
            "these changes do not add up."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all but `judged` and `first_documents` as plain values."""
        return {
            "query": self.query,
            "measure": str(self.measure),
            "runs": list(self.names),
            "values": [self.left, self.right],
            "difference": self.difference,
            "method": self.method,
            "reason": self.reason,
            "documents": [asdict(part) for part in self.parts],
            "retrieved": list(self.lengths),
            "options": dict(self.options),
            "notes": [note.to_dict() for note in self.notes],
        }

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each document that makes a difference: the query and all of its Part."""
        return [{"query_id": self.query, **asdict(part)} for part in self.parts]


def _list_judged(left_scene: Scene, right_scene: Scene) -> list[str]:
    """Return the judged documents that were retrieved, the best first.

    If there are none, all judged documents; without any, the documents retrieved.
    """
    judged_docs = sorted(left_scene.grades, key=lambda doc: -left_scene.grades[doc])
    retrieved_docs = dict.fromkeys([*left_scene.docs, *right_scene.docs])
    return [doc for doc in judged_docs if doc in retrieved_docs] or judged_docs or [*retrieved_docs]


def _first_documents(left_scene: Scene, right_scene: Scene, measure: Measure) -> list[str]:
    """Return the documents among the first ranks of either run, rank after rank."""
    lists = []
    for scene in (left_scene, right_scene):
        n = count_visible(len(scene.docs), last_rank(scene, measure))
        lists.append(scene.docs[:n])
    pairs = zip_longest(*lists)
    return [*dict.fromkeys(doc for pair in pairs for doc in pair if doc is not None)]


# ---- documents that add to a value one by one ---------------------------------------------------


@dataclass(frozen=True)
class _AddedTerms:
    """What each document adds to a value, and the value's steps that must be the same in both runs.

    `common_steps` are (operation, constant), the last one first; a sum of two such values is
    ("both", the number of steps of the first), followed by the steps of each.
    """

    terms: Mapping[str, float]  # by document, after all steps
    common_steps: tuple[tuple[Any, float], ...]


_NOT_ADDITIVE: Mapping[Any, str] = {
    Ranked.first: "only the first of some documents counts",
    Ranked.maximum: "only the highest of some numbers counts",
    np.divide: "the value is divided by a number that also depends on the ranking",
    np.multiply: "the value is a product of two numbers that depend on the ranking",
}
_OPERATION_TEXTS: Mapping[Any, str] = {
    np.divide: "divided by",
    np.multiply: "multiplied by",
    np.add: "added to",
    np.subtract: "combined by a subtraction with",
}


def _find_reason(outcomes: Sequence[_AddedTerms | str], names: Sequence[str]) -> str:
    """Return why two values, of these outcomes of `_find_terms`, do not differ by terms; or ""."""
    left_terms, right_terms = outcomes
    if isinstance(left_terms, str) or isinstance(right_terms, str):
        return left_terms if isinstance(left_terms, str) else str(right_terms)
    if left_terms.common_steps == right_terms.common_steps:
        return ""
    pairs = zip(left_terms.common_steps, right_terms.common_steps, strict=False)
    for (left_op, left_number), (right_op, right_number) in pairs:
        if left_op == right_op != "both" and left_number != right_number:
            left_text = f"{to_six_decimals(left_number)} in {names[0]}"
            right_text = f"{to_six_decimals(right_number)} in {names[1]}"
            operation_text = _OPERATION_TEXTS[left_op]
            return f"what documents add is {operation_text} {left_text}, and {right_text}"
    return "the two values are not computed by the same steps"


def _find_terms(value: Any) -> _AddedTerms | str:
    """Return what each document of the ranking adds to a value, or why the value is no such sum."""
    if not isinstance(value, TracedArray):
        return "no document of the ranking adds to it"
    op, inputs = value.step.op, value.step.inputs
    first_input: Any = inputs[0] if inputs else None
    if op in (Ranked.total, Ranked.count):
        if first_input.grouping is not None:
            return "the value is added up group by group"
        if base_ranking(first_input).step.op not in ("hits", Judged.every):
            if is_ideal(first_input):
                return "the value is added up over the ideal ranking"
            return "the value is added up over places among equal scores"
        documents = row_documents(first_input)
        numbers = [1.0] * len(documents)
        if op is Ranked.total:
            numbers = np.broadcast_to(inputs[1], (len(documents),)).tolist()
        term_of_doc: dict[str, float] = {}
        for doc, term in zip(documents, numbers, strict=True):
            if doc is not None:
                term_of_doc[doc] = float(term)
            elif term:
                return "ranks beyond the last document add to it"
        return _AddedTerms(term_of_doc, ())
    if op == ITEM:
        return _find_terms(first_input)
    op = np.divide if op is ratio else op
    if op not in _OPERATION_TEXTS:
        return _NOT_ADDITIVE.get(op, "the value is not a sum of what documents add")
    left_terms, right_terms = map(_find_terms, inputs)
    if isinstance(left_terms, _AddedTerms) and isinstance(right_terms, _AddedTerms):
        if op not in (np.add, np.subtract):
            return _NOT_ADDITIVE[op]
        sign = 1.0 if op is np.add else -1.0
        a, b = left_terms.terms, right_terms.terms
        sums = {doc: a.get(doc, 0.0) + sign * b.get(doc, 0.0) for doc in {**a, **b}}
        left_steps, right_steps = left_terms.common_steps, right_terms.common_steps
        return _AddedTerms(sums, (("both", float(len(left_steps))), *left_steps, *right_steps))
    is_left = isinstance(left_terms, _AddedTerms)
    added_terms, constant_input = (left_terms, inputs[1]) if is_left else (right_terms, inputs[0])
    if not isinstance(added_terms, _AddedTerms):
        return left_terms if isinstance(left_terms, str) else added_terms
    constant = np.asarray(constant_input).flat[0].item()
    if op is np.divide and added_terms is right_terms:
        return _NOT_ADDITIVE[op]
    if op is np.divide:
        pairs = added_terms.terms.items()
        scaled_terms = {doc: term / constant if constant else 0.0 for doc, term in pairs}
    else:
        factor = constant if op is np.multiply else 1.0
        factor = -1.0 if op is np.subtract and added_terms is right_terms else factor
        scaled_terms = {doc: factor * term for doc, term in added_terms.terms.items()}
    return _AddedTerms(scaled_terms, ((op, constant), *added_terms.common_steps))
