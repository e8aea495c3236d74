"""Chunks: maps a run, or judgments, of chunks to a run, or judgments, of their documents."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from cranfield.arrays.ids import Ids, decode, encode, encode_ids
from cranfield.arrays.ranked import Ints
from cranfield.arrays.rows import consecutive_numbers, group_sizes, mark_changes
from cranfield.data.judging import Judging
from cranfield.data.order import GroupedBlock, group_rows, leave_out_rows, sort_by_document
from cranfield.data.relevance import Judgments, make_judgments
from cranfield.errors import InputError, OptionError
from cranfield.formats.block import Block, Errors, FaultyRows, Keep, Role
from cranfield.formats.groups import GroupRows
from cranfield.formats.identifiers import normalize_id, to_id_text, with_text_ids
from cranfield.formats.source import describe_sources
from cranfield.notes import Note
from cranfield.render.numbers import format_count

#: {chunk: document}; a regular expression, of which group 1 is the document; "plain"; a function.
DocsOfChunks = Mapping[Any, Any] | str | re.Pattern[str] | Callable[[str], Any]
PLAIN = "plain"  # the word for `normalize_id`


@dataclass(frozen=True)
class Chunks:
    """The document of each chunk, and the rule that ranks a document by its chunks."""

    document_of: Callable[[str], Any]  # None: of no document
    problem: str  # of a chunk without a document, in errors
    keep: Keep = "first"
    hint: str = ""  # what else to do about such a chunk

    @classmethod
    def of(cls, mapping: DocsOfChunks, keep: Keep = "first") -> "Chunks":
        """Return the chunks of a dict, a pattern or a function; OptionError for anything else."""
        if isinstance(mapping, Mapping):
            mapping_name = "the documents of chunks"
            docs = {
                chunk: to_id_text(doc, f"{mapping_name}: of {chunk!r}")
                for chunk, doc in with_text_ids(mapping, mapping_name).items()
            }
            return cls(docs.get, "has no document in the mapping", keep)
        if isinstance(mapping, str) and mapping == PLAIN:
            return cls(normalize_id, "is blank", keep)
        if isinstance(mapping, str | re.Pattern):
            pattern = _compile_pattern(mapping)
            problem = f"does not match the pattern '{pattern.pattern}'"
            return cls(
                partial(_first_group, pattern), problem, keep, _whole_id_hint(pattern.pattern)
            )
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
        """The mapping in words."""
        return f"chunks mapped to documents ({self.keep})"

    def prepare_block(self, block: Block, errors: Errors) -> Block:
        """Return a block before it is grouped: unchanged, as chunks stay separate."""
        return block

    def grouping_options(self, judging: Judging) -> Judging:
        """Return the options for grouping chunks: documents are dropped, not chunks."""
        return replace(judging, identical_ids="keep", scores_above=None)

    def document_ids(self, block: Block) -> Ids:
        """Return the documents of a run's rows, (rows,); a chunk's own id if it has no document."""
        return self.map_chunks(block.doc)[0]

    def make_note(self, n_chunks: int, n_documents: int) -> Note:
        """Return the note on the numbers of chunks and of documents."""
        return chunks_note(n_chunks, n_documents, self.keep)

    def map_chunks(self, chunks: Ids) -> tuple[Ids, Ints]:
        """Return the document of each chunk, (rows,), and the rows of chunks without a document.

        A chunk without a document keeps its own id.
        """
        ids = chunks.to_list()
        document_of_chunk = dict.fromkeys(ids, b"")
        for chunk in document_of_chunk:
            text = decode(chunk)
            doc = self.document_of(text)
            if doc is not None:
                doc_id = to_id_text(doc, f"the document of {text!r}")
                document_of_chunk[chunk] = encode(doc_id)
        lost_rows = np.flatnonzero([not document_of_chunk[chunk] for chunk in ids])
        return Ids.of([document_of_chunk[chunk] or chunk for chunk in ids]), lost_rows

    def missing_document_error(self, block: Block, row: int, is_judged: bool = False) -> InputError:
        """Return the error of a row whose chunk has no document."""
        hint = f"{self.hint}errors='skip' (--errors skip) leaves such rows out, and says how many."
        if is_judged:
            hint = f"Judgments of documents are not mapped: leave --map-qrels out. {hint}"
        return block.row_error(row, f"the chunk {decode(block.doc[row])!r} {self.problem}", hint)

    def convert(
        self, grouped_block: GroupedBlock, errors: Errors, judging: Judging
    ) -> GroupedBlock:
        """Return a run's block of documents, each ranked by one of its chunks, or by their sum.

        Raises InputError for a chunk without a document, or leaves it out.
        """
        block, repeats = grouped_block.block, grouped_block.repeats
        docs, lost_rows = self.map_chunks(block.doc)
        if len(lost_rows):
            error = partial(self.missing_document_error, block, int(lost_rows[0]))
            block = leave_out_rows(block, lost_rows, errors, "chunk", error)
            grouped_block = group_rows(block, self.grouping_options(judging))
            return self.convert(grouped_block._replace(repeats=repeats), errors, judging)
        score = block.columns.get("score")
        sort_score = {"first": grouped_block.sort_score, "best": score, "sum": None}[self.keep]
        order, is_first = sort_by_document(docs, grouped_block.group, sort_score)
        chosen_rows = np.sort(order[is_first])
        columns = {**block.columns}
        if self.keep == "sum" and score is not None:
            sums = np.empty(len(block))
            sums[order[is_first]] = np.bincount(np.cumsum(is_first) - 1, score[order])
            if np.isnan(chosen_sums := sums[chosen_rows]).any():
                row = int(chosen_rows[np.isnan(chosen_sums)][0])
                problem = f"the scores of the chunks of {decode(docs[row])!r} add up to no number"
                raise block.row_error(row, problem, "Infinite scores of both signs have no sum.")
            columns["score"] = sums
        doc_block = replace(block, doc=docs, columns=columns).take(chosen_rows)
        if doc_block.rank is not None:
            group = grouped_block.group[chosen_rows]
            order = np.lexsort((doc_block.rank, group))
            rank = np.empty(len(order), np.int64)  # 1, 2, 3, ... within each group
            rank[order] = consecutive_numbers(1, group_sizes(mark_changes(group[order])))
            doc_block = replace(doc_block, columns={**doc_block.columns, "rank": rank})
        doc_block = replace(doc_block, left_out=block.left_out, empty_queries=block.empty_queries)
        counts = len(block), len(doc_block)
        return group_rows(doc_block, judging)._replace(repeats=repeats, conversion_counts=counts)


def _compile_pattern(pattern: str | re.Pattern[str]) -> re.Pattern[str]:
    try:
        compiled_pattern = re.compile(pattern)
    except re.error as error:
        raise OptionError(
            f"the pattern {pattern!r:.80} is no regular expression: {error}"
        ) from None
    if not isinstance(compiled_pattern.pattern, str) or not compiled_pattern.groups:
        raise OptionError(
            f"the pattern {compiled_pattern.pattern!r:.80} has no group: put the document in "
            "parentheses, as in '(.*)#'"
        )
    return compiled_pattern


def _first_group(pattern: re.Pattern[str], chunk: str) -> str | None:
    match = pattern.search(chunk)
    return (match[1] or None) if match else None


def map_judgments(judgments: Judgments, chunks: Chunks, errors: Errors) -> Judgments:
    """Return the judgments of documents: each has the highest grade of its judged chunks.

    Raises InputError for a chunk without a document, or leaves it out; OptionError for judgments
    that are a sample, or of spans.
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
        docs = Ids.of_texts([doc for query_docs in docs for doc in query_docs])
    ids, source = judgments.query_ids, describe_sources(judgments.sources) or "the qrels"

    def locate_row(row: int) -> tuple[None, str]:
        return None, f"query {ids[query[row]]!r}, document {decode(docs[row])!r}"

    block = Block(encode_ids(ids).take(query), docs, {"grade": judgments.grade}, source, locate_row)
    docs_of, lost_rows = chunks.map_chunks(docs)
    left_out = FaultyRows()
    if len(lost_rows):
        error = partial(chunks.missing_document_error, block, int(lost_rows[0]), is_judged=True)
        left_out = leave_out_rows(block, lost_rows, errors, "chunk", error).left_out
    good_rows = np.setdiff1d(np.arange(len(query)), lost_rows, assume_unique=True)
    order, is_first = sort_by_document(
        docs_of.take(good_rows), query[good_rows], judgments.grade[good_rows] * 1.0
    )
    chosen_rows = good_rows[np.sort(order[is_first])]
    return replace(
        judgments,
        starts=np.append(0, np.cumsum(np.bincount(query[chosen_rows], minlength=len(lengths)))),
        documents=docs_of.take(chosen_rows),
        grade=judgments.grade[chosen_rows],
        judges=judgments.judges.take(chosen_rows),
        left_out=judgments.left_out + left_out,
        chunk_counts=(len(good_rows), len(chosen_rows)),
    )


def _map_groups(
    judgments: Judgments, groups: GroupRows, chunks: Chunks, errors: Errors
) -> Judgments:
    block = groups.build_block()
    source = describe_sources(judgments.sources) or "the qrels"
    named_block = Block(block.query, block.doc, {}, source)
    docs, lost_rows = chunks.map_chunks(block.doc)
    left_out = FaultyRows()
    if len(lost_rows):
        row = int(lost_rows[0])
        error = partial(chunks.missing_document_error, named_block, row, is_judged=True)
        left_out = leave_out_rows(named_block, lost_rows, errors, "chunk", error).left_out
    document_of_chunk = dict(zip(block.doc.to_list(), docs.to_list(), strict=True))
    lost_chunks = {block.doc[int(row)] for row in lost_rows}
    mapped_groups: dict[str, dict[str, list[dict[str, float]]]] = {}
    for query, subgroups_of_group in groups.groups.items():
        for group, subgroups in subgroups_of_group.items():
            for subgroup in subgroups:
                levels: dict[str, float] = {}
                for chunk, level in subgroup.items():
                    if encode(chunk) not in lost_chunks:
                        doc = decode(document_of_chunk[encode(chunk)])
                        levels[doc] = max(level, levels.get(doc, level))
                if levels:
                    mapped_groups.setdefault(query, {}).setdefault(group, []).append(levels)
    left_out = groups.left_out + left_out
    groups = GroupRows(mapped_groups, groups.weights, left_out, groups)
    group_judgments = make_judgments(groups, errors)
    return replace(
        group_judgments,
        repeats=judgments.repeats,
        duplicates=judgments.duplicates,
        notes=judgments.notes,
        chunk_counts=(len(block) - len(lost_rows), len(group_judgments.grade)),
    )


def prefix_pattern(sign: str) -> str:
    """Return a pattern of the document in an id: the text before the first `sign`, or the whole id.

    >>> prefix_pattern("#"), [re.search(prefix_pattern("#"), chunk)[1] for chunk in ("d1#2", "d1")]
    ('^([^#]*)', ['d1', 'd1'])
    """
    return f"^([^{re.escape(sign) if sign in '^]-' else sign}]*)"


def _whole_id_hint(pattern: str) -> str:
    """Return a hint how to write a pattern such as `^(.*)#` where ids may be documents already."""
    match = re.match(r"\^?\(\.[*+]\??\)\\?([^\w\s\\(\[.$])", pattern)
    if match is None:
        return ""
    return f"Is it a document already? '{prefix_pattern(match[1])}' takes such an id as it is. "


def chunks_note(n_chunks: int, n_documents: int, keep: Keep | None) -> Note:
    """Return the note on the numbers of chunks and of documents; `keep` is None for judgments."""
    action = {
        "first": "takes the place of its first-ranked chunk",
        "best": "takes the place of its best-scored chunk",
        "sum": "has the sum of its chunks' scores",
        None: "has the highest grade of its chunks",
    }[keep]
    verb = "judged" if keep is None else "retrieved"
    chunk_count, document_count = (
        format_count(n_chunks, "chunk"),
        format_count(n_documents, "document"),
    )
    text = f"{chunk_count} {verb} became {document_count}: each {action}."
    if n_chunks == n_documents:  # which may be documents that were written in another way
        text = f"Ids of {document_count} {verb} were mapped: no two became one."
    return Note("map-docs", "info", text, count=n_chunks)
