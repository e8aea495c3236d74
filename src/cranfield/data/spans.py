"""Spans: matches retrieved spans, or texts, with judged ones, which are documents to measures.

A judged span is a document to all measures, called "d1[100:250]". A retrieved span becomes the
judged span that it meets, unless a span above has; so judgments stay the same for any chunks.
Texts meet judged texts in the same words.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np

from cranfield.arrays.ids import Ids, decode, encode
from cranfield.arrays.ranked import Ints
from cranfield.data.judging import Judging
from cranfield.data.order import GroupedBlock, group_rows, leave_out_rows, rank_documents
from cranfield.errors import InputError, OptionError
from cranfield.formats.block import Block, Errors, Role, Rows
from cranfield.formats.columns import ColumnsOfBoth
from cranfield.formats.stated_columns import TEXTS_HINT, ContainedTexts
from cranfield.notes import Note
from cranfield.render.numbers import format_count


class JudgedSpan(NamedTuple):
    """A judged span: characters, or anything else that is counted, from `start` to before `end`."""

    name: bytes  # the document that it is to measures
    start: int
    end: int
    grade: float

    def shared_fraction(self, start: int, end: int) -> float:
        """Return the share of the shorter span that both spans have, 0 to 1."""
        shared_length = min(self.end, end) - max(self.start, start)
        return max(shared_length, 0) / min(self.end - self.start, end - start)


#: {query: {document: its judged spans}}
JudgedSpans = Mapping[bytes, Mapping[bytes, Sequence[JudgedSpan]]]

_REPEAT_SUFFIX = b" (again)"  # in the name of a span whose judged spans were all met above


def span_names(docs: Ids, start: Ints, end: Ints) -> Ids:
    """Return the names that spans of documents have as documents: (rows,).

    >>> span_names(Ids.of([b"d1"]), np.array([100]), np.array([250])).to_list()
    [b'd1[100:250]']
    """
    rows = zip(docs.to_list(), start.tolist(), end.tolist(), strict=True)
    return Ids.of([b"%s[%d:%d]" % row for row in rows])


def span_docs(names: Ids) -> Ids:
    """Return the documents of spans, of the spans' names: (rows,)."""
    return Ids.of([name[: name.rindex(b"[")] for name in names.to_list()])


def check_spans(block: Block, errors: Errors) -> Block:
    """Return a block of valid spans; refuse, or leave out, the others."""
    start, end = block.columns["start"], block.columns["end"]
    wrong = np.flatnonzero((start < 0) | (end <= start))
    if len(wrong):
        row = int(wrong[0])
        problem = f"expected 0 <= start < end, got start {start[row]} and end {end[row]}"
        return leave_out_rows(
            block, wrong, errors, "number", partial(block.row_error, row, problem)
        )
    return block


def name_spans(block: Block) -> Block:
    """Return a block of spans, each with its name for a document."""
    docs = span_names(block.doc, block.columns["start"], block.columns["end"])
    return replace(block, doc=docs)


@dataclass(frozen=True)
class Spans:
    """How the spans of a run are read, and the judged spans that they may meet.

    `pattern` finds document, start and end in an id; None: there are columns for them.
    """

    pattern: re.Pattern[str] | None = None
    judged_spans: JudgedSpans | None = None
    overlap: float = 0.5  # the least share of the shorter span with which two spans meet
    dropped_roles: frozenset[Role] = frozenset()  # columns that documents lack, as of `Chunks`
    description: ClassVar = "spans"

    @classmethod
    def of(cls, pattern: str | re.Pattern[str]) -> "Spans":
        """Return the spans of a pattern; OptionError if it is none with doc, start and end."""
        try:
            compiled_pattern = re.compile(pattern)
        except (re.error, TypeError) as error:
            problem = f"the pattern {pattern!r:.80} is no regular expression: {error}"
            raise OptionError(problem) from None
        lacking_groups = [
            name for name in ("doc", "start", "end") if name not in compiled_pattern.groupindex
        ]
        if lacking_groups or not isinstance(compiled_pattern.pattern, str):
            raise OptionError(
                f"the pattern {compiled_pattern.pattern!r:.80} has no group called "
                f"{' or '.join(lacking_groups)}: "
                r"write it as in '^(?P<doc>.*):(?P<start>\d+)-(?P<end>\d+)$'"
            )
        return cls(compiled_pattern)

    @property
    def needed_roles(self) -> tuple[Role, ...]:
        """The columns of a run that say where its spans are."""
        return ("start", "end") if self.pattern is None else ()

    def prepare_block(self, block: Block, errors: Errors) -> Block:
        """Return a block of spans by name, documents in "of"; unchanged without judged spans."""
        if self.judged_spans is None:
            return block
        if self.pattern is not None:
            block = self._read_spans(block, self.pattern, errors)
        spans = check_spans(replace(block, columns={**block.columns, "of": block.doc}), errors)
        return name_spans(spans)

    def _read_spans(self, block: Block, pattern: re.Pattern[str], errors: Errors) -> Block:
        """Return the block with columns of documents, starts and ends, read from the ids."""
        ids = block.doc.to_list()
        spans = {span_id: _find_span(decode(span_id), pattern) for span_id in dict.fromkeys(ids)}
        lost_rows = np.flatnonzero([spans[span_id] is None for span_id in ids])
        if len(lost_rows):
            row = int(lost_rows[0])
            problem = f"the id {decode(ids[row])!r} has no span by the pattern '{pattern.pattern}'"
            hint = "errors='skip' (--errors skip) leaves such rows out, and says how many."
            error = partial(block.row_error, row, problem, hint)
            block = leave_out_rows(block, lost_rows, errors, "span", error)
        id_spans = [span for span_id in ids if (span := spans[span_id]) is not None]
        docs, starts, ends = zip(*id_spans, strict=True) if id_spans else ((), (), ())
        columns = {"start": np.array(starts, np.int64), "end": np.array(ends, np.int64)}
        return replace(block, doc=Ids.of(docs), columns={**block.columns, **columns})

    def grouping_options(self, judging: Judging) -> Judging:
        """Return the options for grouping spans, before they meet judged spans."""
        return judging

    def document_ids(self, block: Block) -> Ids:
        """Return the names of a run's valid spans; all ids without columns, or judged spans."""
        has_columns = {*self.needed_roles} <= {*block.columns}
        return self.prepare_block(block, "skip").doc if has_columns else block.doc

    def convert(
        self, grouped_block: GroupedBlock, errors: Errors, judging: Judging
    ) -> GroupedBlock:
        """Return a run's block, in which documents that meet a judged one have its name.

        Best rank first, a document becomes the first of the judged ones that it meets. Each is met
        only once: a document below keeps its own name, marked.
        """
        block, list_matches = grouped_block.block, self._make_finder(grouped_block.block)
        if list_matches is None:
            return grouped_block
        rank, names = rank_documents(grouped_block, judging).rank, block.doc.to_list()
        n_matched = n_repeats = 0
        for group, query in enumerate(grouped_block.queries.to_list()):
            begin, end = int(grouped_block.starts[group]), int(grouped_block.starts[group + 1])
            used_names: set[bytes] = set()
            for row in (begin + rank[begin:end].argsort()).tolist():
                judged_names = list_matches(query, row)
                n_matched += bool(judged_names)
                unused_names = [name for name in judged_names if name not in used_names]
                if unused_names:
                    names[row] = unused_names[0]
                    used_names.add(unused_names[0])
                elif judged_names:
                    names[row] += _REPEAT_SUFFIX
                    n_repeats += 1
        grouped_spans = group_rows(replace(block, doc=Ids.of(names)), judging)
        return grouped_spans._replace(
            repeats=grouped_block.repeats,
            conversion_counts=(n_matched, n_repeats),
            tie_ids=block.doc,
            dropped_counts=grouped_block.dropped_counts,
        )

    def _make_finder(self, block: Block) -> Callable[[bytes, int], list[bytes]] | None:
        """Return a function that lists what a query's row meets: the highest grade, share first."""
        if self.judged_spans is None:
            return None
        judged_spans, docs = self.judged_spans, block.columns["of"].to_list()
        starts, ends = block.columns["start"].tolist(), block.columns["end"].tolist()

        def list_matches(query: bytes, row: int) -> list[bytes]:
            start, end, spans = starts[row], ends[row], judged_spans.get(query, {})
            span_keys = (
                (-span.grade, -fraction, span[1:], span.name)
                for span in spans.get(docs[row], ())
                if (fraction := span.shared_fraction(start, end)) > 0 and fraction >= self.overlap
            )
            return [name for *_, name in sorted(span_keys)]

        return list_matches

    def make_note(self, n_matched: int, n_repeats: int) -> Note:
        """Return the note on the retrieved spans that met a judged span, and that came too late."""
        spans = format_count(n_matched, "span")
        text = f"{spans} retrieved met a judged one (by {self.overlap:g} of the shorter)."
        if n_repeats:
            text += f" {n_repeats:,} of them met one that spans above had met: "
            text += "these count as unjudged."
        return Note("spans", "info", text, count=n_matched)


@dataclass(frozen=True)
class Texts(Spans):
    """The judged texts of each query, and whether texts meet that contain one another."""

    description: ClassVar = "texts"
    needed_roles: ClassVar = ()
    judged_texts: Mapping[bytes, Sequence[bytes]] = field(default_factory=dict)
    are_contained: bool = False

    @classmethod
    def of_rows(cls, qrels_rows: Rows, run_rows: Rows, columns: ColumnsOfBoth | None) -> "Texts":
        """Return the judged texts of a table; InputError unless both sides hold texts."""
        if not (qrels_rows.holds_texts and run_rows.holds_texts):
            names = ", ".join(rows.name_of_role["doc"] for rows in (qrels_rows, run_rows))
            raise InputError(f"not both columns hold texts: {names:.120}", hint=TEXTS_HINT)
        judged_texts: dict[bytes, list[bytes]] = {}
        for load in qrels_rows.blocks((), "skip"):
            block = load()
            for query, text in zip(block.query.to_list(), block.doc.to_list(), strict=True):
                judged_texts.setdefault(query, []).append(text)
        return cls(judged_texts=judged_texts, are_contained=isinstance(columns, ContainedTexts))

    def _make_finder(self, block: Block) -> Callable[[bytes, int], list[bytes]]:
        """Return the same for judged texts, in their order; a row that would meet one, itself."""
        docs = block.doc.to_list()

        def list_matches(query: bytes, row: int) -> list[bytes]:
            doc, judged_texts = docs[row], self.judged_texts.get(query, ())
            matches = [text for text in judged_texts if text in doc or doc in text]
            if self.are_contained:
                return matches
            return [doc] if matches and doc not in matches else []

        return list_matches

    def make_note(self, n_matched: int, n_repeats: int) -> Note:
        """Return the note on equal texts, or the counts of texts that contain a judged text."""
        texts, words = format_count(n_matched, "retrieved text"), "by containing it or within it"
        if self.are_contained:
            too_late = f"; {n_repeats:,} of them one that texts above had met" * (n_repeats > 0)
            text = f"{texts} met an expected one, {words}{too_late}."
            return Note("texts", "info", text, count=n_matched)
        if n_matched:
            text = f"{texts} would meet an expected one, {words}: texts='contain' (--texts contain)"
            return Note("texts-contain", "warning", f"{text} counts these", count=n_matched)
        text = "Documents are texts: equal except for white space is the same."
        return Note("texts", "info", text)


def _find_span(text: str, pattern: re.Pattern[str]) -> tuple[bytes, int, int] | None:
    match = pattern.search(text)
    if match is None or not match["doc"]:
        return None
    numbers = match["start"] or "", match["end"] or ""
    if not all(re.fullmatch("[0-9]{1,15}", number) for number in numbers):
        return None
    return encode(match["doc"]), int(numbers[0]), int(numbers[1])
