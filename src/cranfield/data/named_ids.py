"""What ids, judgments, a run, a table, a file or a dict name: queries, or documents of queries."""

import os
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from cranfield.arrays.byte_strings import pair_keys
from cranfield.arrays.ids import Ids, IdIndex, encode_ids
from cranfield.arrays.ranked import Bools, Ints
from cranfield.arrays.slots import PairIndex
from cranfield.data.documents import Documents
from cranfield.data.judging import Judging
from cranfield.data.order import GroupedBlock, group_rows
from cranfield.errors import OptionError
from cranfield.formats import read_rows
from cranfield.formats.block import Block
from cranfield.formats.columns import ColumnsLike, Side
from cranfield.formats.frames import is_table
from cranfield.formats.identifiers import to_id_text
from cranfield.options import is_whole_number

RunMaker = Callable[[Any], Any]  # makes a run of data of any kind
_ROLES = {"queries": "query_id", "docs": "doc_id"}


class NamedDocuments(NamedTuple):
    """Documents: of all queries, or of each."""

    doc_index: IdIndex | None
    query_index: IdIndex | None = None
    pair_index: PairIndex | None = None

    def find_rows(self, grouped_block: GroupedBlock) -> Ints:
        """Return which of the named documents each row has, -1 for none: (rows,)."""
        if self.doc_index is not None:
            return self.doc_index.find_rows(grouped_block.block.doc)
        at = np.full(len(grouped_block.block), -1)
        assert self.query_index is not None  # noqa: S101 - one of the two is stated
        assert self.pair_index is not None  # noqa: S101
        code = self.query_index.find_rows(grouped_block.queries)[grouped_block.group]
        known = np.flatnonzero(code >= 0)
        docs = grouped_block.block.doc.take(known)
        rows, there = self.pair_index.find(code[known], docs, pair_keys(docs.hash(), code[known]))
        at[known[rows]] = there
        return at

    def contains(self, grouped_block: GroupedBlock) -> Bools:
        """Tell whether each row's document is one of them: (rows,)."""
        named: Bools = self.find_rows(grouped_block) >= 0
        return named

    @classmethod
    def of_block(cls, block: Block) -> "NamedDocuments":
        """Return the documents of each query that a block has rows of, or names."""
        first = group_rows(block, Judging(duplicates="first"))
        queries = Ids.concatenate([first.queries, Ids.of([*block.empty_queries])])
        return cls.of_pairs(queries, first.group, first.block.doc)

    @classmethod
    def of_pairs(cls, queries: Ids, group: Ints, docs: Ids) -> "NamedDocuments":
        """Return documents by the places of their queries: both (pairs,)."""
        return cls(None, IdIndex(queries), PairIndex(group, docs))


def read_named_documents(
    selection: Any, make_run: RunMaker, exclusion_columns: ColumnsLike | None = None
) -> NamedDocuments:
    """Return the documents that ids, judgments, a run, a table, a file or a dict name."""
    from cranfield.data.qrels import Qrels

    selection = _open_collection(selection, "docs", make_run, exclusion_columns)
    if isinstance(selection, Qrels):
        return NamedDocuments.of_pairs(encode_ids(selection.query_ids), selection.query, selection.docs)
    if isinstance(selection, Documents):
        return NamedDocuments.of_block(selection._read_all(()))
    if isinstance(selection, Mapping):
        lists = {
            to_id_text(query, "docs"): [*dict.fromkeys(_read_ids(docs, f"docs[{query!r:.40}]"))]
            for query, docs in selection.items()
        }
        group = np.repeat(np.arange(len(lists)), [*map(len, lists.values())])
        docs = Ids.of_texts([*chain.from_iterable(lists.values())])
        return NamedDocuments.of_pairs(Ids.of_texts([*lists]), group, docs)
    return NamedDocuments(IdIndex(Ids.of_texts([*dict.fromkeys(_read_ids(selection, "docs"))])))


def read_named_queries(selection: Any, make_run: RunMaker) -> IdIndex:
    """Return the queries that ids, judgments, a run, a table, a file or a dict name."""
    from cranfield.data.qrels import Qrels

    selection = _open_collection(selection, "queries", make_run)
    if isinstance(selection, Documents):
        block = selection._read_all(())
        ids = block.query.take(block.query.find_changes()).to_list()
        return IdIndex(Ids.of([*dict.fromkeys([*ids, *block.empty_queries])]))
    if isinstance(selection, Qrels):
        return IdIndex(encode_ids(selection.query_ids))
    return IdIndex(Ids.of_texts([*dict.fromkeys(_read_ids(selection, "queries"))]))


def _open_collection(
    given: Any, what: str, as_run: RunMaker, exclusion_columns: ColumnsLike | None = None
) -> Any:
    """Return the run, the judgments or the ids in a file or a table; other data unchanged."""
    from cranfield.data.qrels import Qrels, read_qrels
    from cranfield.formats.files import guess_side
    from cranfield.formats.small.listed_ids import read_id_list

    is_path = isinstance(given, str | os.PathLike)
    are_rows = isinstance(given, list) and isinstance(next(iter(given), None), Mapping)
    if is_path:
        text = os.fspath(given)
        if not (os.path.exists(text) or text == "-" or any(one in text for one in "*?[:")):
            raise OptionError(
                f"{what}={text!r:.80}: no such file; ids go into a list, [{text!r:.80}]"
            )
        listed = None if text == "-" else read_id_list(text)
        if listed is not None:
            if listed[0] != _ROLES[what]:
                raise OptionError(f"{what}={text!r:.80}: the file lists ids below {listed[0]}")
            return listed[1]
    elif isinstance(given, Qrels | Documents) or not (are_rows or is_table(given)):
        if exclusion_columns:
            raise OptionError("columns= is for a table: what was given has no columns")
        return given
    if exclusion_columns is not None:
        rows = read_rows(given, Side.EXCLUDED, columns=exclusion_columns, is_path=is_path)
        return as_run(rows)
    if is_path and guess_side(given) is Side.RUN:
        return as_run(given)
    return (read_qrels if is_path else Qrels)(given, duplicates="first")


def _read_ids(given: Any, what: str) -> list[str]:
    """Return ids as texts; refuse what is no list of ids."""
    is_list = isinstance(given, Iterable) and not isinstance(given, str | bytes)
    ids = [*given] if is_list else [None]
    if not all(is_whole_number(identifier) or isinstance(identifier, str) for identifier in ids):
        raise OptionError(
            f"{what}={given!r:.80}: expected ids, as ['d1', 'd2']; or judgments, a run, a table, a "
            "file or a dict of lists"
        )
    return [to_id_text(identifier, what) for identifier in ids]
