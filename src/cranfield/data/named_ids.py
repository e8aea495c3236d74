"""Reads a selection of queries or documents, for `only` and `without`, from data of any kind."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from cranfield.arrays.byte_strings import pair_keys
from cranfield.arrays.ids import IdIndex, Ids, encode_ids
from cranfield.arrays.ranked import Bools, Ints
from cranfield.arrays.slots import PairIndex
from cranfield.data.documents import Documents
from cranfield.data.judging import Judging
from cranfield.data.judgment_columns import JudgmentColumns
from cranfield.data.order import GroupedBlock, group_rows
from cranfield.errors import OptionError
from cranfield.formats import read_rows
from cranfield.formats.block import Block
from cranfield.formats.columns import ColumnsLike, Side
from cranfield.formats.identifiers import normalize_text, to_id_text
from cranfield.formats.shapes import kind_of, kinds_in, to_list
from cranfield.options import is_whole_number

RunMaker = Callable[[Any], Any]  # makes a run of data of any kind
_ROLES = {"queries": "query_id", "docs": "doc_id"}


class NamedDocuments(NamedTuple):
    """A selection of documents, the same for all queries, or for each query."""

    doc_index: IdIndex | None  # the same for all queries; None: for each query
    query_index: IdIndex | None = None
    pair_index: PairIndex | None = None  # of positions in `query_index`, and documents
    origin: Any = None  # what they were read from, if they are used for several runs

    def find_rows(self, grouped_block: GroupedBlock) -> Ints:
        """Return each row's position in the selection, -1 if it is not there: (rows,)."""
        if self.doc_index is not None:
            return self.doc_index.find_rows(grouped_block.block.doc)
        named_row = np.full(len(grouped_block.block), -1)
        assert self.query_index is not None  # noqa: S101 - one of the two is stated
        assert self.pair_index is not None  # noqa: S101
        query_code = self.query_index.find_rows(grouped_block.queries)[grouped_block.group]
        named_query_rows = np.flatnonzero(query_code >= 0)
        docs = grouped_block.block.doc.take(named_query_rows)
        rows, pair_row = self.pair_index.find(
            query_code[named_query_rows], docs, pair_keys(docs.hash(), query_code[named_query_rows])
        )
        named_row[named_query_rows[rows]] = pair_row
        return named_row

    def contains(self, grouped_block: GroupedBlock) -> Bools:
        """Tell whether each row's document is in the selection: (rows,)."""
        is_in_selection: Bools = self.find_rows(grouped_block) >= 0
        return is_in_selection

    def normalize_texts(self) -> "NamedDocuments":
        """Return the same documents, texts in the form in which runs of texts have them."""
        docs: Any = self.doc_index or self.pair_index  # one of the two is stated
        ids = Ids.of_texts([*map(normalize_text, docs.ids.to_texts())])
        if docs is self.doc_index:
            return self._replace(doc_index=IdIndex(ids))
        return self._replace(pair_index=PairIndex(docs.groups, ids))

    @classmethod
    def of_block(cls, block: Block) -> "NamedDocuments":
        """Return the documents of each query of a block, queries without rows among them."""
        first_rows = group_rows(block, Judging(duplicates="first"))
        queries = Ids.concatenate([first_rows.queries, Ids.of([*block.empty_queries])])
        return cls.of_pairs(queries, first_rows.group, first_rows.block.doc)

    @classmethod
    def of_pairs(cls, queries: Ids, group: Ints, docs: Ids) -> "NamedDocuments":
        """Return a selection of pairs: `group` (pairs,) is the position of a document's query."""
        return cls(None, IdIndex(queries), PairIndex(group, docs))


def count_relevant(selections: Sequence[NamedDocuments], qrels: JudgmentColumns) -> int:
    """Count the judged documents of a grade above 0 that are in one of the selections."""
    queries = encode_ids(qrels.query_ids).take(qrels.query)
    groups = group_rows(Block(queries, qrels.docs, {}), Judging(duplicates="each"))
    is_selected = np.any([selection.contains(groups) for selection in selections], axis=0)
    return int(np.count_nonzero(is_selected & (qrels.grade > 0)))


def read_named_documents(
    selection: Any, make_run: RunMaker, exclusion_columns: ColumnsLike | None = None
) -> NamedDocuments:
    """Return the documents that data of any kind name; for the columns, see `_open_collection`."""
    from cranfield.data.qrels import Qrels

    selection = _open_collection(selection, "docs", make_run, exclusion_columns)
    if isinstance(selection, Qrels):
        return NamedDocuments.of_pairs(
            encode_ids(selection.query_ids), selection.query, selection.docs
        )
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


def read_named_queries(
    selection: Any, make_run: RunMaker, exclusion_columns: ColumnsLike | None = None
) -> IdIndex:
    """Return the queries that ids, judgments, a run, a table, a file or a dict name."""
    from cranfield.data.qrels import Qrels

    selection = _open_collection(selection, "queries", make_run, exclusion_columns)
    if isinstance(selection, Documents):
        block = selection._read_all(())
        ids = block.query.take(block.query.find_changes()).to_list()
        return IdIndex(Ids.of([*dict.fromkeys([*ids, *block.empty_queries])]))
    if isinstance(selection, Qrels):
        return IdIndex(encode_ids(selection.query_ids))
    return IdIndex(Ids.of_texts([*dict.fromkeys(_read_ids(selection, "queries"))]))


def _open_collection(
    selection: Any,
    selection_name: str,
    make_run: RunMaker,
    exclusion_columns: ColumnsLike | None = None,
) -> Any:
    """Return the run, the judgments or the ids in a file or a table; other data unchanged.

    With `exclusion_columns`, be they empty, it is read as exclusions, by these columns. Raises
    OptionError for a text that is no file, a file of the other ids, and columns without a table.
    """
    from cranfield.data.qrels import Qrels, read_qrels
    from cranfield.formats.files import guess_side
    from cranfield.formats.small.listed_ids import read_id_list

    if kind_of(selection) == "series" and kinds_in(selection) == {"list"}:
        selection = dict(selection.items())
    if kind_of(selection) in ("iterator", "set", "tuple"):
        selection = [*selection]
    is_path = isinstance(selection, str | os.PathLike)
    is_handle = kind_of(selection) == "file"
    if is_path or is_handle:
        text = "-" if is_handle else os.fspath(selection)
        if not (os.path.exists(text) or text == "-" or any(sign in text for sign in "*?[:")):
            places = f"a list, {text.split()!r:.80}, or below {_ROLES[selection_name]} in a file"
            raise OptionError(f"{text!r:.80}: no such file; ids go into {places}")
        can_be_read_twice = selection.seekable() if is_handle else text != "-"
        role_and_ids = read_id_list(selection) if can_be_read_twice else None
        if role_and_ids is not None:
            if role_and_ids[0] != _ROLES[selection_name]:
                ids_word = f"ids below {role_and_ids[0]}, not below {_ROLES[selection_name]}"
                raise OptionError(f"{text!r:.80}: the file lists {ids_word}")
            return role_and_ids[1]
    elif isinstance(selection, Qrels | Documents) or not (
        kind_of(selection) == "table" or kinds_in(selection) & {"dict", "tuple", "row"}
    ):
        if "excluded_ids" in (exclusion_columns or {}):
            raise OptionError("columns= is for a table: what was given has no columns")
        return selection
    if exclusion_columns is not None:
        rows = read_rows(selection, Side.EXCLUDED, columns=exclusion_columns, is_path=is_path)
        return make_run(rows)
    if is_path and guess_side(selection) is Side.RUN:
        return make_run(selection)
    return (read_qrels if is_path or is_handle else Qrels)(selection, duplicates="first")


def _read_ids(selection: Any, selection_name: str) -> list[str]:
    """Return ids as texts; raise OptionError for anything but ids."""
    is_list = isinstance(selection, Iterable) and kind_of(selection) not in ("text", "scalar")
    ids = ([[]] if kind_of(selection) == "sparse" else to_list(selection)) if is_list else [None]
    if ids and kinds_in(ids) <= {"list", "tuple", "set", "array"}:
        raise OptionError(
            f"{selection_name} (without=): no queries: dict(enumerate(lists, 1)) if they "
            "are 1, 2, ...; from 0, of a sparse matrix, dict(enumerate(matrix.tolil().rows))"
        )
    if not all(is_whole_number(identifier) or isinstance(identifier, str) for identifier in ids):
        raise OptionError(
            f"{selection_name}={selection!r:.80}: expected ids, as ['d1', 'd2']; or judgments, a "
            "run, a table, a "
            "file, tuples (query, document) or a dict of lists"
        )
    return [to_id_text(identifier, selection_name) for identifier in ids]
