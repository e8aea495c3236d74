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
from cranfield.data.order import GroupedBlock, group_rows, rank_documents, leave_out_rows
from cranfield.errors import OptionError
from cranfield.formats.block import Block, Errors, Role
from cranfield.notes import Note
from cranfield.render.numbers import format_count


class JudgedSpan(NamedTuple):
    """A judged span: characters, or anything else that is counted, from `start` to before `end`."""

    name: bytes  # the document that it is to measures
    start: int
    end: int
    grade: float

    def shared_fraction(self, start: int, end: int) -> float:
        """Return how much of the shorter of two spans both have, 0 to 1."""
        common = min(self.end, end) - max(self.start, start)
        return max(common, 0) / min(self.end - self.start, end - start)


#: {query: {document: its judged spans}}
JudgedSpans = Mapping[bytes, Mapping[bytes, Sequence[JudgedSpan]]]

_REPEAT_SUFFIX = b" (again)"  # behind a span that meets judged ones which spans above it have met


def span_names(docs: Ids, start: Ints, end: Ints) -> Ids:
    """Return what spans of documents are called as documents.

    >>> span_names(Ids.of([b"d1"]), np.array([100]), np.array([250])).to_list()
    [b'd1[100:250]']
    """
    rows = zip(docs.to_list(), start.tolist(), end.tolist(), strict=True)
    return Ids.of([b"%s[%d:%d]" % row for row in rows])


def span_docs(names: Ids) -> Ids:
    """Return the documents of spans that are called so."""
    return Ids.of([name[: name.rindex(b"[")] for name in names.to_list()])


def check_spans(block: Block, errors: Errors) -> Block:
    """Return a block of spans; refuse, or leave out, those that are none."""
    start, end = block.columns["start"], block.columns["end"]
    wrong = np.flatnonzero((start < 0) | (end <= start))
    if len(wrong):
        row = int(wrong[0])
        problem = f"expected 0 <= start < end, got start {start[row]} and end {end[row]}"
        return leave_out_rows(block, wrong, errors, "number", partial(block.row_error, row, problem))
    return block


def name_spans(block: Block) -> Block:
    """Return a block of spans, each with its name for a document."""
    docs = span_names(block.doc, block.columns["start"], block.columns["end"])
    return replace(block, doc=docs)


@dataclass(frozen=True)
class Spans:
    """How a run says which spans it retrieved, and which ones are judged.

    `pattern` finds document, start and end in an id; None: there are columns for them.
    """

    pattern: re.Pattern[str] | None = None
    judged_spans: JudgedSpans | None = None
    overlap: float = 0.5
    dropped_roles: frozenset[Role] = frozenset()

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
    def needed_roles(self) -> tuple[Role, ...]:
        """The columns of a run that say where its spans are."""
        return ("start", "end") if self.pattern is None else ()

    @property
    def description(self) -> str:
        """What is done, in words."""
        return "spans"

    def prepare_block(self, block: Block, errors: Errors) -> Block:
        """Return a block whose documents are spans by name; those of no judgments stay as is."""
        if self.judged_spans is None:
            return block
        if self.pattern is not None:
            block = self._read_spans(block, self.pattern, errors)
        spans = check_spans(replace(block, columns={**block.columns, "of": block.doc}), errors)
        return name_spans(spans)

    def _read_spans(self, block: Block, pattern: re.Pattern[str], errors: Errors) -> Block:
        """Return the block with documents, starts and ends of the ids, which have them all."""
        ids = block.doc.to_list()
        spans = {one: _find_span(decode(one), pattern) for one in dict.fromkeys(ids)}
        lost = np.flatnonzero([spans[one] is None for one in ids])
        if len(lost):
            row = int(lost[0])
            problem = f"the id {decode(ids[row])!r} has no span by the pattern '{pattern.pattern}'"
            hint = "errors='skip' (--errors skip) leaves such rows out, and says how many."
            block = leave_out_rows(block, lost, errors, "span", partial(block.row_error, row, problem, hint))
        found = [span for one in ids if (span := spans[one]) is not None]
        docs, starts, ends = zip(*found, strict=True) if found else ((), (), ())
        columns = {"start": np.array(starts, np.int64), "end": np.array(ends, np.int64)}
        return replace(block, doc=Ids.of(docs), columns={**block.columns, **columns})

    def grouping_options(self, judging: Judging) -> Judging:
        """Return how spans are grouped, before they meet judged ones."""
        return judging

    def document_ids(self, block: Block) -> Ids:
        """Return the spans of a run's rows by name; if these are not known here, the ids."""
        known = {*self.needed_roles} <= {*block.columns}
        return self.prepare_block(block, "skip").doc if known else block.doc

    def convert(self, grouped_block: GroupedBlock, errors: Errors, judging: Judging) -> GroupedBlock:
        """Return a run's block, of whose spans those that meet a judged one are that one.

        Best rank first, each becomes the judged span that it meets, of several the one of the
        highest grade, then that of which it shares most, then the first; a judged span that was met
        above is no longer there to be met.
        """
        if self.judged_spans is None:
            return grouped_block
        block = grouped_block.block
        rank, names = rank_documents(grouped_block, judging).rank, block.doc.to_list()
        of, starts, ends = (
            block.columns[name].to_list() if name == "of" else block.columns[name].tolist()
            for name in ("of", "start", "end")
        )
        n_met = n_again = 0
        for group, query in enumerate(grouped_block.queries.to_list()):
            judged = self.judged_spans.get(query)
            if judged is None:
                continue
            begin, end = int(grouped_block.starts[group]), int(grouped_block.starts[group + 1])
            gone: set[bytes] = set()
            for row in (begin + rank[begin:end].argsort()).tolist():
                here = starts[row], ends[row]
                met = [
                    one
                    for one in judged.get(of[row], ())
                    if one.shared_fraction(*here) >= self.overlap and one.shared_fraction(*here) > 0
                ]
                n_met += bool(met)
                left = [one for one in met if one.name not in gone]
                if left:
                    best = min(left, key=lambda one: (-one.grade, -one.shared_fraction(*here), one[1:]))
                    names[row] = best.name
                    gone.add(best.name)
                elif met:
                    names[row] += _REPEAT_SUFFIX
                    n_again += 1
        found = group_rows(replace(block, doc=Ids.of(names)), judging)
        told = found._replace(repeated=grouped_block.repeats, made=(n_met, n_again), own=block.doc)
        return told._replace(dropped=grouped_block.dropped_counts)

    def make_note(self, n_matched: int, n_repeats: int) -> Note:
        """Say how many retrieved spans met a judged one, and how many of them too late."""
        text = (
            f"{format_count(n_matched, 'span')} retrieved met a judged one (by {self.overlap:g} of the "
            "shorter)."
        )
        if n_repeats:
            text += f" {n_repeats:,} of them met one that spans above had met: these count as unjudged."
        return Note("spans", "info", text, count=n_matched)


def _find_span(text: str, pattern: re.Pattern[str]) -> tuple[bytes, int, int] | None:
    found = pattern.search(text)
    if found is None or not found["doc"]:
        return None
    numbers = found["start"] or "", found["end"] or ""
    if not all(re.fullmatch("[0-9]{1,15}", one) for one in numbers):
        return None
    return encode(found["doc"]), int(numbers[0]), int(numbers[1])
