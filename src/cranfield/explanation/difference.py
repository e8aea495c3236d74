"""Two runs on one query: which documents make the difference."""

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
from cranfield.explanation.follow import base_ranking, row_documents, trace_value, is_deep
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

    For "terms": what it adds to each run's value, 0 where it adds nothing, and `change`, right -
    left. For "moved": the left run's value if the document were where the right one has it
    (`value`), and `change`, that less the left run's value.
    """

    document: str
    grade: float | None  # None: unjudged
    left_rank: int | None  # None: not retrieved
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
    rank of its own. The greatest comes first. `lengths` are the numbers of documents that the runs
    retrieved, of those kept; ranks are among these. `beside` are the documents among the first
    ranks of either run: down to the measure's cutoff, if that is no deeper than 20, else ten.

    >>> from cranfield import explain
    >>> runs = {"a": {"q1": ["d1", "d2"]}, "b": {"q1": ["d3", "d1"]}}
    >>> found = explain({"q1": {"d1": 1, "d2": 1}}, runs, "P@2", "q1")
    >>> found.method, [(part.document, part.change) for part in found.parts]
    ('terms', [('d2', -0.5)])
    """

    header = ("query_id", *(one.name for one in fields(Part)))

    query: str
    names: tuple[str, str]
    measure: Measure
    left: float
    right: float
    parts: Sequence[Part]
    lengths: tuple[int, int]
    options: Mapping[str, Any]
    notes: Sequence[Note]  # what else to know of the data
    judged: Sequence[Part]  # documents to be shown where none makes a difference
    first_documents: Sequence[Part]  # other documents among the first ranks of either run
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
        cls, left: Scene, right: Scene, names: tuple[str, ...], measure: Measure
    ) -> "Difference":
        """Explain the difference of one query's two values, which are numbers."""
        values = [trace_value(measure, scene) for scene in (left, right)]
        ours, other = (float(value.flat[0]) for value in values)
        terms = [_TOO_DEEP if is_deep(one) else _find_terms(one) for one in values]
        ranks = [{doc: i for i, doc in enumerate(scene.docs, 1)} for scene in (left, right)]
        reason = _find_reason(terms, names)

        def part(doc: str, **numbers: float) -> Part:
            here, there = (of.get(doc) for of in ranks)
            return Part(doc, left.grades.get(doc), here, there, **numbers)

        if reason:
            cost = right.judged.cost
            costs = None if cost is None else dict(zip(right.docs, cost.tolist(), strict=True))
            moves = {
                doc: value
                for kind in load_entries("remark of explain")
                for doc, value in kind.moved(left, right.docs, measure, costs).items()
            }
            parts = [part(doc, value=one, change=one - ours) for doc, one in moves.items()]
        else:
            mine, theirs = (one.terms for one in terms if isinstance(one, _AddedTerms))
            both = ((doc, mine.get(doc, 0.0), theirs.get(doc, 0.0)) for doc in {**mine, **theirs})
            parts = [part(doc, left=a, right=b, change=b - a) for doc, a, b in both]
        parts.sort(key=lambda part: -abs(part.change))
        first = _first_documents(left, right, measure)
        scenes = zip(names, (left, right), strict=True)
        noted = ((name, one) for name, scene in scenes for one in scene.meeting.notes)
        return cls(
            *(left.query, (names[0], names[1]), measure, ours, other),
            *([one for one in parts if one.change], (len(left.docs), len(right.docs))),
            *(left.judging.changed_options(), merge_notes(noted, n_sources=2)),
            judged=[part(doc) for doc in _list_judged(left, right)],
            beside=[*map(part, first)],
            reason=reason,
        )

    def tables(self, limit: int | None = _MAX_ROWS) -> list[Table]:
        """Return the parts as a table, the first `limit` of them (None: all).

        Where there are none, the judged documents, and where each run has them. Below these, the
        other documents among the first ranks of either run, as far as `limit` goes.

        Raises OptionError if `limit` is not a whole number of 1 or more.
        """
        check_limit(limit)
        left, right = self.names
        first = (self.parts or self.judged)[:limit]
        above = {one.document for one in self.parts or self.judged}
        others = [one for one in self.first_documents if one.document not in above]
        beside = others[: None if limit is None else limit - len(first)]
        header = ["document", "grade", f"rank in {left}", f"rank in {right}"]
        if self.parts and self.method == "terms":
            header += [f"adds to {left}", f"adds to {right}", "change"]
        elif self.parts:
            header += [f"{left} with it there", "change"]
        cells = []
        for one in [*first, *beside]:
            known = (one.grade, one.left_rank, one.right_rank)
            cell = [one.document, *("-" if each is None else format_short(each) for each in known)]
            if one.left is not None:
                cell += [f"{one.left:.6f}", f"{one.right:.6f}", f"{one.change:+.6f}"]
            elif one.value is not None:
                cell += [f"{one.value:.6f}", f"{one.change:+.6f}"]
            cells.append([*cell, *[""] * (len(header) - len(cell))])
        values = [format_score(self.measure, value) for value in (self.left, self.right)]
        title = [
            f"{self.measure}, query {self.query}: {values[1]} ({right}) - {values[0]} ({left}) = "
            f"{self.difference:+.4f}"
        ]
        # With two labels it is not turned on its side.
        rules = frozenset({len(first)} if first and beside else ())
        notes = [*self._sentences(len(first), len(beside), len(others) - len(beside))]
        return [Table(header, cells, notes, 2, ruled_rows=rules, title=title)]

    def _sentences(self, n_visible: int, n_others: int, n_hidden: int) -> Iterator[str]:
        """Yield what else to know, in sentences, and the difference.

        `n_others` of the documents that make none are shown, `n_hidden` are not.
        """
        if n_others:
            more = f"; {n_hidden:,} more are not shown" * bool(n_hidden)
            yield f"Below the line: other documents among the first ranks of either run{more}."
        yield from format_notes(self.notes)
        hidden = len(self.parts or self.judged) - n_visible
        if hidden and self.parts:
            more = format_count(hidden, "more document makes", "more documents make")
            yield f"{more} a difference."
        elif hidden:
            yield f"{format_count(hidden, 'more judged document')}."
        if self.left == self.right:
            yield "Both values are the same."
        if self.reason:
            yield f"Not by terms: {self.reason}."
            yield self._move_sentence()
        elif self.parts:
            yield (
                "By terms: the value is the sum of what each document adds at its rank, and "
                "all else is the same in both runs. So the changes add up: "
                f"{total(np.array([one.change for one in self.parts])):+.6f}."
            )
        else:
            yield "Every document adds the same to both runs."
        if self.measure.definition.aggregation == "geometric":
            left, right = floored_log(np.array([self.left, self.right])).tolist()
            yield (
                f"Over all queries {self.measure} is a geometric mean, to which this query adds by "
                f"its logarithm: {right:.6f} - {left:.6f} = {right - left:+.6f}, a ratio of "
                f"{math.exp(right - left):.4f}."
            )
        if self.options.get("judged_only"):
            yield "Ranks are those after unjudged documents were dropped."
        yield from option_lines(self.options)
        values = f"{self.right!r} - {self.left!r}"
        yield f"{self.names[1]} - {self.names[0]} = {values} = {self.difference!r}"

    def _move_sentence(self) -> str:
        left, right = self.names
        if self.options.get("ties") == "expected":
            return "With ties=expected no document has a rank to move to."
        of = f" of the first {N_RANKS} ranks" * (max(self.lengths) > N_RANKS)
        if not self.parts:
            return f"No document{of}, put alone where {right} has it, changes the value of {left}."
        out = f"; taken out, where {right} does not have it (-)"
        return (
            f"By moving: the value of {left} with this one document{of} where {right} has it, the "
            f"others in their order{out * any(one.right_rank is None for one in self.parts)}. Only "
            f"{left} is changed, and these changes do not add up."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "query": self.query,
            "measure": str(self.measure),
            "runs": list(self.names),
            "values": [self.left, self.right],
            "difference": self.difference,
            "method": self.method,
            "reason": self.reason,
            "documents": [asdict(one) for one in self.parts],
            "retrieved": list(self.lengths),
            "options": dict(self.options),
            "notes": [one.to_dict() for one in self.notes],
        }

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each document that makes a difference: all of its Part."""
        return [{"query_id": self.query, **asdict(one)} for one in self.parts]


def _list_judged(left: Scene, right: Scene) -> list[str]:
    """Return the judged documents that were retrieved, the best first.

    If there are none, all judged ones; if there are none of these, what was retrieved.
    """
    judged = sorted(left.grades, key=lambda doc: -left.grades[doc])
    retrieved = dict.fromkeys([*left.docs, *right.docs])
    return [doc for doc in judged if doc in retrieved] or judged or [*retrieved]


def _first_documents(left: Scene, right: Scene, measure: Measure) -> list[str]:
    """Return the documents among the first ranks of either run, rank after rank."""
    docs = [
        scene.docs[: count_visible(len(scene.docs), last_rank(scene, measure))] for scene in (left, right)
    ]
    pairs = zip_longest(*docs)
    return [*dict.fromkeys(doc for pair in pairs for doc in pair if doc is not None)]


# ---- documents that add to a value one by one ---------------------------------------------------


@dataclass(frozen=True)
class _AddedTerms:
    """What each document adds, and what is common to all runs if all these numbers are."""

    terms: Mapping[str, float]
    common_steps: tuple[tuple[Any, float], ...]  # (operation, with what), the last one first


_NOT_ADDITIVE: Mapping[Any, str] = {  # what does not add up
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


def _find_reason(terms: Sequence[_AddedTerms | str], names: Sequence[str]) -> str:
    """Return why two values do not differ by what documents add to them; empty if they do."""
    left, right = terms
    if isinstance(left, str) or isinstance(right, str):
        return left if isinstance(left, str) else str(right)
    if left.common_steps == right.common_steps:
        return ""
    for (op, one), (other_op, other) in zip(left.common_steps, right.common_steps, strict=False):
        if op == other_op != "both" and one != other:
            how = _OPERATION_TEXTS[op]
            return (
                f"what documents add is {how} {to_six_decimals(one)} in {names[0]}, and {to_six_decimals(other)} in "
                f"{names[1]}"
            )
    return "the two values are not computed by the same steps"


def _find_terms(value: Any) -> _AddedTerms | str:
    """Return what each document of the ranking adds to the value; or why it does not add up so."""
    if not isinstance(value, TracedArray):
        return "no document of the ranking adds to it"
    op, inputs = value.step.op, value.step.inputs
    first: Any = inputs[0] if inputs else None
    if op in (Ranked.total, Ranked.count):
        if first.home is not None:
            return "the value is added up group by group"
        if base_ranking(first).step.op not in ("hits", Judged.every):
            over = "the ideal ranking" if is_ideal(first) else "places among equal scores"
            return f"the value is added up over {over}"
        documents = row_documents(first)
        numbers = [1.0] * len(documents)
        if op is Ranked.total:
            numbers = np.broadcast_to(inputs[1], (len(documents),)).tolist()
        found: dict[str, float] = {}
        for doc, number_ in zip(documents, numbers, strict=True):
            if doc is not None:
                found[doc] = float(number_)
            elif number_:
                return "ranks beyond the last document add to it"
        return _AddedTerms(found, ())
    if op == ITEM:
        return _find_terms(first)
    op = np.divide if op is ratio else op
    if op not in _OPERATION_TEXTS:
        return _NOT_ADDITIVE.get(op, "the value is not a sum of what documents add")
    left, right = map(_find_terms, inputs)
    if isinstance(left, _AddedTerms) and isinstance(right, _AddedTerms):
        if op not in (np.add, np.subtract):
            return _NOT_ADDITIVE[op]
        sign = 1.0 if op is np.add else -1.0
        mine, theirs = left.terms, right.terms
        both = {doc: mine.get(doc, 0.0) + sign * theirs.get(doc, 0.0) for doc in {**mine, **theirs}}
        return _AddedTerms(both, (("both", float(len(left.common_steps))), *left.common_steps, *right.common_steps))
    known, beside = (left, inputs[1]) if isinstance(left, _AddedTerms) else (right, inputs[0])
    if not isinstance(known, _AddedTerms):
        return left if isinstance(left, str) else known
    other = np.asarray(beside).flat[0].item()
    if op is np.divide and known is right:
        return _NOT_ADDITIVE[op]
    if op is np.divide:
        its = {doc: one / other if other else 0.0 for doc, one in known.terms.items()}
    else:
        factor = {np.multiply: other, np.subtract: -1.0 if known is right else 1.0}.get(op, 1.0)
        its = {doc: factor * one for doc, one in known.terms.items()}
    return _AddedTerms(its, ((op, other), *known.common_steps))
