"""Spans of documents: judged ones are documents of their own, which retrieved ones meet.

A judged span is a document to all measures, called "d1[100:250]". A retrieved span becomes the
judged one that it meets, if no span above it has; so the judgments stay the same for any chunks.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from cranfield.arrays.ids import Ids, decode, encode
from cranfield.arrays.ranked import Ints
from cranfield.data.judging import Judging
from cranfield.data.order import Grouped, grouped, placed, without
from cranfield.errors import OptionError
from cranfield.formats.block import Block, Errors, Role
from cranfield.notes import Note
from cranfield.render.numbers import number_of


class JudgedSpan(NamedTuple):
    """A judged span: characters, or anything else that is counted, from `start` to before `end`."""

    name: bytes  # the document that it is to measures
    start: int
    end: int
    grade: float

    def shared(self, start: int, end: int) -> float:
        """Return how much of the shorter of two spans both have, 0 to 1."""
        common = min(self.end, end) - max(self.start, start)
        return max(common, 0) / min(self.end - self.start, end - start)


#: {query: {document: its judged spans}}
JudgedSpans = Mapping[bytes, Mapping[bytes, Sequence[JudgedSpan]]]

_AGAIN = b" (again)"  # behind a span that meets judged ones which spans above it have met


def span_names(docs: Ids, start: Ints, end: Ints) -> Ids:
    """Return what spans of documents are called as documents.

    >>> span_names(Ids.of([b"d1"]), np.array([100]), np.array([250])).to_list()
    [b'd1[100:250]']
    """
    rows = zip(docs.to_list(), start.tolist(), end.tolist(), strict=True)
    return Ids.of([b"%s[%d:%d]" % row for row in rows])


def docs_of_spans(names: Ids) -> Ids:
    """Return the documents of spans that are called so."""
    return Ids.of([name[: name.rindex(b"[")] for name in names.to_list()])


def checked_spans(block: Block, errors: Errors) -> Block:
    """Return a block of spans; refuse, or leave out, those that are none."""
    start, end = block.columns["start"], block.columns["end"]
    wrong = np.flatnonzero((start < 0) | (end <= start))
    if len(wrong):
        row = int(wrong[0])
        problem = f"expected 0 <= start < end, got start {start[row]} and end {end[row]}"
        return without(block, wrong, errors, "number", partial(block.error, row, problem))
    return block


def named_spans(block: Block) -> Block:
    """Return a block of spans, each with its name for a document."""
    docs = span_names(block.doc, block.columns["start"], block.columns["end"])
    return replace(block, doc=docs)


@dataclass(frozen=True)
class Spans:
    """How a run says which spans it retrieved, and which ones are judged.

    `pattern` finds document, start and end in an id; None: there are columns for them.
    """

    pattern: re.Pattern[str] | None = None
    judged: JudgedSpans | None = None
    overlap: float = 0.5
    drops: frozenset[Role] = frozenset()

    @classmethod
    def of(cls, pattern: str | re.Pattern[str]) -> "Spans":
        """Return what a pattern says; OptionError for one without the groups doc, start, end."""
        try:
            found = re.compile(pattern)
        except (re.error, TypeError) as error:
            problem = f"the pattern {pattern!r:.80} is no regular expression: {error}"
            raise OptionError(problem) from None
        lacking = [name for name in ("doc", "start", "end") if name not in found.groupindex]
        if lacking or not isinstance(found.pattern, str):
            raise OptionError(
                f"the pattern {found.pattern!r:.80} has no group called {' or '.join(lacking)}: "
                r"write it as in '^(?P<doc>.*):(?P<start>\d+)-(?P<end>\d+)$'"
            )
        return cls(found)

    @property
    def needs(self) -> tuple[Role, ...]:
        """The columns of a run that say where its spans are."""
        return ("start", "end") if self.pattern is None else ()

    @property
    def said(self) -> str:
        """What is done, in words."""
        return "spans"

    def prepared(self, block: Block, errors: Errors) -> Block:
        """Return a block whose documents are spans by name; those of no judgments stay as is."""
        if self.judged is None:
            return block
        if self.pattern is not None:
            block = self._found(block, self.pattern, errors)
        spans = checked_spans(replace(block, columns={**block.columns, "of": block.doc}), errors)
        return named_spans(spans)

    def _found(self, block: Block, pattern: re.Pattern[str], errors: Errors) -> Block:
        """Return the block with documents, starts and ends of the ids, which have them all."""
        ids = block.doc.to_list()
        spans = {one: _span_in(decode(one), pattern) for one in dict.fromkeys(ids)}
        lost = np.flatnonzero([spans[one] is None for one in ids])
        if len(lost):
            row = int(lost[0])
            problem = f"the id {decode(ids[row])!r} has no span by the pattern '{pattern.pattern}'"
            hint = "errors='skip' (--errors skip) leaves such rows out, and says how many."
            block = without(block, lost, errors, "span", partial(block.error, row, problem, hint))
        found = [span for one in ids if (span := spans[one]) is not None]
        docs, starts, ends = zip(*found, strict=True) if found else ((), (), ())
        columns = {"start": np.array(starts, np.int64), "end": np.array(ends, np.int64)}
        return replace(block, doc=Ids.of(docs), columns={**block.columns, **columns})

    def before(self, judging: Judging) -> Judging:
        """Return how spans are grouped, before they meet judged ones."""
        return judging

    def documents(self, block: Block) -> Ids:
        """Return the spans of a run's rows by name; if these are not known here, the ids."""
        known = {*self.needs} <= {*block.columns}
        return self.prepared(block, "skip").doc if known else block.doc

    def merged(self, whole: Grouped, errors: Errors, judging: Judging) -> Grouped:
        """Return a run's block, of whose spans those that meet a judged one are that one.

        Best rank first, each becomes the judged span that it meets, of several the one of the
        highest grade, then that of which it shares most, then the first; a judged span that was met
        above is no longer there to be met.
        """
        if self.judged is None:
            return whole
        block = whole.block
        rank, names = placed(whole, judging).rank, block.doc.to_list()
        of, starts, ends = (
            block.columns[name].to_list() if name == "of" else block.columns[name].tolist()
            for name in ("of", "start", "end")
        )
        n_met = n_again = 0
        for group, query in enumerate(whole.queries.to_list()):
            judged = self.judged.get(query)
            if judged is None:
                continue
            begin, end = int(whole.starts[group]), int(whole.starts[group + 1])
            gone: set[bytes] = set()
            for row in (begin + rank[begin:end].argsort()).tolist():
                here = starts[row], ends[row]
                met = [
                    one
                    for one in judged.get(of[row], ())
                    if one.shared(*here) >= self.overlap and one.shared(*here) > 0
                ]
                n_met += bool(met)
                left = [one for one in met if one.name not in gone]
                if left:
                    best = min(left, key=lambda one: (-one.grade, -one.shared(*here), one[1:]))
                    names[row] = best.name
                    gone.add(best.name)
                elif met:
                    names[row] += _AGAIN
                    n_again += 1
        found = grouped(replace(block, doc=Ids.of(names)), judging)
        told = found._replace(repeated=whole.repeated, made=(n_met, n_again), own=block.doc)
        return told._replace(dropped=whole.dropped)

    def note(self, met: int, again: int) -> Note:
        """Say how many retrieved spans met a judged one, and how many of them too late."""
        text = (
            f"{number_of(met, 'span')} retrieved met a judged one (by {self.overlap:g} of the "
            "shorter)."
        )
        if again:
            text += f" {again:,} of them met one that spans above had met: these count as unjudged."
        return Note("spans", "info", text, count=met)


def _span_in(text: str, pattern: re.Pattern[str]) -> tuple[bytes, int, int] | None:
    found = pattern.search(text)
    if found is None or not found["doc"]:
        return None
    numbers = found["start"] or "", found["end"] or ""
    if not all(re.fullmatch("[0-9]{1,15}", one) for one in numbers):
        return None
    return encode(found["doc"]), int(numbers[0]), int(numbers[1])
