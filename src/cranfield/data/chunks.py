"""Chunks of documents: a run, or judgments, of chunks become those of the documents."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from cranfield.arrays.ids import Ids, decode, encode, encode_ids
from cranfield.arrays.ranked import Ints
from cranfield.arrays.rows import mark_changes, group_sizes, consecutive_numbers
from cranfield.data.judging import Judging
from cranfield.data.order import GroupedBlock, sort_by_document, group_rows, leave_out_rows
from cranfield.data.relevance import Judgments, make_judgments
from cranfield.errors import InputError, OptionError
from cranfield.formats.block import Block, Errors, Keep, FaultyRows, Role
from cranfield.formats.groups import GroupRows
from cranfield.formats.identifiers import to_id_text, with_text_ids
from cranfield.formats.source import describe_sources
from cranfield.notes import Note
from cranfield.render.numbers import format_count

#: {chunk: document}; a regular expression, of which group 1 is the document; or a function.
DocsOfChunks = Mapping[Any, Any] | str | re.Pattern[str] | Callable[[str], Any]


@dataclass(frozen=True)
class Chunks:
    """Which document a chunk belongs to, and which of its chunks ranks a document."""

    document_of: Callable[[str], Any]  # None: of no document
    problem: str  # of a chunk without a document, in errors
    keep: Keep = "first"
    hint: str = ""  # what else to do about such a chunk

    @classmethod
    def of(cls, mapping: DocsOfChunks, keep: Keep = "first") -> "Chunks":
        """Return what a dict, a pattern or a function says; OptionError for anything else."""
        if isinstance(mapping, Mapping):
            where = "the documents of chunks"
            docs = {
                chunk: to_id_text(doc, f"{where}: of {chunk!r}")
                for chunk, doc in with_text_ids(mapping, where).items()
            }
            return cls(docs.get, "has no document in the mapping", keep)
        if isinstance(mapping, str | re.Pattern):
            pattern = _compile_pattern(mapping)
            problem = f"does not match the pattern '{pattern.pattern}'"
            return cls(partial(_first_group, pattern), problem, keep, _whole_id_hint(pattern.pattern))
        if callable(mapping):
            return cls(mapping, "has no document: the function returned None", keep)
        raise OptionError(
            "documents of chunks are {chunk: document}, a regular expression or a function, not "
            f"{mapping!r:.80}"
        )

    @property
    def needed_roles(self) -> tuple[Role, ...]:
        """The columns of a run that decide which chunk is kept, beside what ranks them."""
        return () if self.keep == "first" else ("score",)

    @property
    def dropped_roles(self) -> frozenset[Role]:
        """The columns of a run that say nothing of its documents."""
        return frozenset(("rank",) if self.keep == "sum" else ())

    @property
    def description(self) -> str:
        """What is done, in words."""
        return f"chunks mapped to documents ({self.keep})"

    def prepare_block(self, block: Block, errors: Errors) -> Block:
        """Return a block as it is to be grouped: chunks stay separate."""
        return block

    def grouping_options(self, judging: Judging) -> Judging:
        """Return how chunks are grouped: what is dropped are documents, not chunks."""
        return replace(judging, identical_ids="keep", scores_above=None)

    def document_ids(self, block: Block) -> Ids:
        """Return the documents of a run's rows; of a chunk that has none, its own id."""
        return self.map_chunks(block.doc)[0]

    def make_note(self, n_chunks: int, n_documents: int) -> Note:
        """Say how many chunks became how many documents."""
        return chunks_note(n_chunks, n_documents, self.keep)

    def map_chunks(self, chunks: Ids) -> tuple[Ids, Ints]:
        """Return the document of each chunk, (rows,), and the rows of those that have none.

        These keep the id of the chunk.
        """
        ids = chunks.to_list()
        found = dict.fromkeys(ids, b"")
        for chunk in found:
            text = decode(chunk)
            doc = self.document_of(text)
            found[chunk] = b"" if doc is None else encode(to_id_text(doc, f"the document of {text!r}"))
        lost = np.flatnonzero([not found[chunk] for chunk in ids])
        return Ids.of([found[chunk] or chunk for chunk in ids]), lost

    def missing_document_error(self, block: Block, row: int, is_judged: bool = False) -> InputError:
        """Return the error of a row whose chunk has no document."""
        hint = f"{self.hint}errors='skip' (--errors skip) leaves such rows out, and says how many."
        if is_judged:
            hint = f"Judgments of documents are not mapped: leave --map-qrels out. {hint}"
        return block.row_error(row, f"the chunk {decode(block.doc[row])!r} {self.problem}", hint)

    def convert(self, grouped_block: GroupedBlock, errors: Errors, judging: Judging) -> GroupedBlock:
        """Return a run's block of documents, each in the place of one of its chunks.

        Raises InputError for a chunk without a document, or leaves it out.
        """
        docs, lost = self.map_chunks(grouped_block.block.doc)
        if len(lost):
            error = partial(self.missing_document_error, grouped_block.block, int(lost[0]))
            left = leave_out_rows(grouped_block.block, lost, errors, "chunk", error)
            rest = group_rows(left, self.grouping_options(judging))
            return self.convert(rest._replace(repeated=grouped_block.repeats), errors, judging)
        block, score = grouped_block.block, grouped_block.block.columns.get("score")
        by = {"first": grouped_block.sort_score, "best": score, "sum": None}[self.keep]
        order, new = sort_by_document(docs, grouped_block.group, by)
        kept = np.sort(order[new])
        columns = {**block.columns}
        if self.keep == "sum" and score is not None:
            sums = np.empty(len(block))
            sums[order[new]] = np.bincount(np.cumsum(new) - 1, score[order])
            if np.isnan(summed := sums[kept]).any():
                row = int(kept[np.isnan(summed)][0])
                problem = f"the scores of the chunks of {decode(docs[row])!r} add up to no number"
                raise block.row_error(row, problem, "Infinite scores of both signs have no sum.")
            columns["score"] = sums
        rows = replace(block, doc=docs, columns=columns).take(kept)
        if rows.rank is not None:
            rows = replace(rows, columns={**rows.columns, "rank": _renumber_ranks(rows, grouped_block, kept)})
        rows = replace(rows, left_out=block.left_out, empty=block.empty_queries)
        found = group_rows(rows, judging)
        return found._replace(repeated=grouped_block.repeats, made=(len(block), len(rows)))


def _renumber_ranks(rows: Block, whole: GroupedBlock, kept: Ints) -> Ints:
    """Return ranks 1, 2, 3, ... in the place of those that some rows of a block have."""
    group = whole.group[kept]
    order = np.lexsort((rows.columns["rank"], group))
    closed = np.empty(len(order), np.int64)
    closed[order] = consecutive_numbers(1, group_sizes(mark_changes(group[order])))
    return closed


def _compile_pattern(pattern: str | re.Pattern[str]) -> re.Pattern[str]:
    try:
        found = re.compile(pattern)
    except re.error as error:
        raise OptionError(
            f"the pattern {pattern!r:.80} is no regular expression: {error}"
        ) from None
    if not isinstance(found.pattern, str) or not found.groups:
        raise OptionError(
            f"the pattern {found.pattern!r:.80} has no group: put the document in parentheses, as "
            "in '(.*)#'"
        )
    return found


def _first_group(pattern: re.Pattern[str], chunk: str) -> str | None:
    found = pattern.search(chunk)
    return (found[1] or None) if found else None


def map_judgments(judgments: Judgments, chunks: Chunks, errors: Errors) -> Judgments:
    """Return the judgments of documents: each has the highest grade of its judged chunks.

    Raises InputError for a chunk without a document, or leaves it out; OptionError for judgments
    that are a sample.
    """
    if judgments.columns:
        raise OptionError(
            "judgments that are a sample, or of spans, are not mapped to documents: they say what "
            "was drawn, or which document it is"
        )
    if judgments.groups is not None:
        return _map_groups(judgments, judgments.groups, chunks, errors)
    lengths = np.diff(judgments.starts)
    query = np.repeat(np.arange(len(lengths)), lengths)
    docs = judgments.documents
    if not isinstance(docs, Ids):
        docs = Ids.of_texts([doc for several in docs for doc in several])
    ids, source = judgments.query_ids, describe_sources(judgments.sources) or "the qrels"

    def where(row: int) -> tuple[None, str]:
        return None, f"query {ids[query[row]]!r}, document {decode(docs[row])!r}"

    block = Block(encode_ids(ids).take(query), docs, {"grade": judgments.grade}, source, where)
    docs_of, lost = chunks.map_chunks(docs)
    left_out = FaultyRows()
    if len(lost):
        error = partial(chunks.missing_document_error, block, int(lost[0]), is_judged=True)
        left_out = leave_out_rows(block, lost, errors, "chunk", error).left_out
    good = np.setdiff1d(np.arange(len(query)), lost, assume_unique=True)
    order, new = sort_by_document(docs_of.take(good), query[good], judgments.grade[good] * 1.0)
    kept = good[np.sort(order[new])]
    return replace(
        judgments,
        starts=np.append(0, np.cumsum(np.bincount(query[kept], minlength=len(lengths)))),
        documents=docs_of.take(kept),
        grade=judgments.grade[kept],
        left_out=judgments.left_out + left_out,
        chunks=(len(good), len(kept)),
    )


def _map_groups(
    judgments: Judgments, groups: GroupRows, chunks: Chunks, errors: Errors
) -> Judgments:
    block = groups.build_block()
    named_so = Block(block.query, block.doc, {}, describe_sources(judgments.sources) or "the qrels")
    docs, lost = chunks.map_chunks(block.doc)
    left_out = FaultyRows()
    if len(lost):
        error = partial(chunks.missing_document_error, named_so, int(lost[0]), is_judged=True)
        left_out = leave_out_rows(named_so, lost, errors, "chunk", error).left_out
    document = dict(zip(block.doc.to_list(), docs.to_list(), strict=True))
    gone = {block.doc[int(row)] for row in lost}
    found: dict[str, dict[str, list[dict[str, float]]]] = {}
    for query, parts_of in groups.groups.items():
        for name, parts in parts_of.items():
            for part in parts:
                levels: dict[str, float] = {}
                for chunk, level in part.items():
                    if encode(chunk) not in gone:
                        doc = decode(document[encode(chunk)])
                        levels[doc] = max(level, levels.get(doc, level))
                if levels:
                    found.setdefault(query, {}).setdefault(name, []).append(levels)
    made = make_judgments(GroupRows(found, groups.weights, groups.left_out + left_out, groups), errors)
    return replace(
        made,
        repeated=judgments.repeats,
        duplicates=judgments.duplicates,
        notes=judgments.notes,
        chunks=(len(block) - len(lost), len(made.grade)),
    )


def prefix_pattern(sign: str) -> str:
    """Return the pattern of a document's id: all before the first such sign, or all there is.

    >>> before_sign("#"), [re.search(before_sign("#"), one)[1] for one in ("d1#2", "d1")]
    ('^([^#]*)', ['d1', 'd1'])
    """
    return f"^([^{re.escape(sign) if sign in '^]-' else sign}]*)"


def _whole_id_hint(pattern: str) -> str:
    """Return how to write a pattern such as `^(.*)#` for ids that are documents already."""
    found = re.match(r"\^?\(\.[*+]\??\)\\?([^\w\s\\(\[.$])", pattern)
    if found is None:
        return ""
    return f"Is it a document already? '{prefix_pattern(found[1])}' takes such an id as it is. "


def chunks_note(n_chunks: int, n_documents: int, keep: Keep | None) -> Note:
    """Say how many chunks became how many documents; `keep` is None for judgments."""
    how = {
        "first": "takes the place of its first-ranked chunk",
        "best": "takes the place of its best-scored chunk",
        "sum": "has the sum of its chunks' scores",
        None: "has the highest grade of its chunks",
    }[keep]
    what = "judged" if keep is None else "retrieved"
    became = f"{format_count(n_chunks, 'chunk')} {what} became {format_count(n_documents, 'document')}"
    text = f"{became}: each {how}."
    return Note("map-docs", "info", text, count=n_chunks)
