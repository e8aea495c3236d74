"""What ids, judgments, a run, a table, a file or a dict name: queries, or documents of queries."""

import os
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from cranfield.arrays.byte_strings import keyed
from cranfield.arrays.ids import Ids, Places, ids_of
from cranfield.arrays.ranked import Bools, Ints
from cranfield.arrays.slots import Slots
from cranfield.data.documents import Documents
from cranfield.data.judging import Judging
from cranfield.data.order import Grouped, grouped
from cranfield.errors import OptionError
from cranfield.formats import rows_of
from cranfield.formats.block import Block
from cranfield.formats.columns import ColumnsLike, What
from cranfield.formats.frames import is_table
from cranfield.formats.identifiers import as_text
from cranfield.options import is_whole

AsRun = Callable[[Any], Any]  # makes a run of data of any kind
_ROLES = {"queries": "query_id", "docs": "doc_id"}


class NamedDocuments(NamedTuple):
    """Documents: of all queries, or of each."""

    docs: Places | None
    queries: Places | None = None
    pairs: Slots | None = None

    def rows(self, group: Grouped) -> Ints:
        """Return which of the named documents each row has, -1 for none: (rows,)."""
        if self.docs is not None:
            return self.docs.of(group.block.doc)
        at = np.full(len(group.block), -1)
        assert self.queries is not None  # noqa: S101 - one of the two is stated
        assert self.pairs is not None  # noqa: S101
        code = self.queries.of(group.queries)[group.group]
        known = np.flatnonzero(code >= 0)
        docs = group.block.doc.take(known)
        rows, there = self.pairs.among(code[known], docs, keyed(docs.hash(), code[known]))
        at[known[rows]] = there
        return at

    def among(self, group: Grouped) -> Bools:
        """Tell whether each row's document is one of them: (rows,)."""
        named: Bools = self.rows(group) >= 0
        return named

    @classmethod
    def of_block(cls, block: Block) -> "NamedDocuments":
        """Return the documents of each query that a block has rows of, or names."""
        first = grouped(block, Judging(duplicates="first"))
        queries = Ids.joined([first.queries, Ids.of([*block.empty])])
        return cls.of_pairs(queries, first.group, first.block.doc)

    @classmethod
    def of_pairs(cls, queries: Ids, group: Ints, docs: Ids) -> "NamedDocuments":
        """Return documents by the places of their queries: both (pairs,)."""
        return cls(None, Places(queries), Slots(group, docs))


def named_documents(
    given: Any, as_run: AsRun, exclusion_columns: ColumnsLike | None = None
) -> NamedDocuments:
    """Return the documents that ids, judgments, a run, a table, a file or a dict name."""
    from cranfield.data.qrels import Qrels

    given = _open(given, "docs", as_run, exclusion_columns)
    if isinstance(given, Qrels):
        return NamedDocuments.of_pairs(ids_of(given.query_ids), given.query, given.docs)
    if isinstance(given, Documents):
        return NamedDocuments.of_block(given._whole(()))
    if isinstance(given, Mapping):
        lists = {
            as_text(query, "docs"): [*dict.fromkeys(_texts(docs, f"docs[{query!r:.40}]"))]
            for query, docs in given.items()
        }
        group = np.repeat(np.arange(len(lists)), [*map(len, lists.values())])
        docs = Ids.of_texts([*chain.from_iterable(lists.values())])
        return NamedDocuments.of_pairs(Ids.of_texts([*lists]), group, docs)
    return NamedDocuments(Places(Ids.of_texts([*dict.fromkeys(_texts(given, "docs"))])))


def named_queries(given: Any, as_run: AsRun) -> Places:
    """Return the queries that ids, judgments, a run, a table, a file or a dict name."""
    from cranfield.data.qrels import Qrels

    given = _open(given, "queries", as_run)
    if isinstance(given, Documents):
        block = given._whole(())
        ids = block.query.take(block.query.begins()).to_list()
        return Places(Ids.of([*dict.fromkeys([*ids, *block.empty])]))
    if isinstance(given, Qrels):
        return Places(ids_of(given.query_ids))
    return Places(Ids.of_texts([*dict.fromkeys(_texts(given, "queries"))]))


def _open(
    given: Any, what: str, as_run: AsRun, exclusion_columns: ColumnsLike | None = None
) -> Any:
    """Return the run, the judgments or the ids in a file or a table; other data unchanged."""
    from cranfield.data.qrels import Qrels, read_qrels
    from cranfield.formats.files import what_is
    from cranfield.formats.small.listed_ids import listed_ids

    is_path = isinstance(given, str | os.PathLike)
    are_rows = isinstance(given, list) and isinstance(next(iter(given), None), Mapping)
    if is_path:
        text = os.fspath(given)
        if not (os.path.exists(text) or text == "-" or any(one in text for one in "*?[:")):
            raise OptionError(
                f"{what}={text!r:.80}: no such file; ids go into a list, [{text!r:.80}]"
            )
        listed = None if text == "-" else listed_ids(text)
        if listed is not None:
            if listed[0] != _ROLES[what]:
                raise OptionError(f"{what}={text!r:.80}: the file lists ids below {listed[0]}")
            return listed[1]
    elif isinstance(given, Qrels | Documents) or not (are_rows or is_table(given)):
        if exclusion_columns:
            raise OptionError("columns= is for a table: what was given has no columns")
        return given
    if exclusion_columns is not None:
        rows = rows_of(given, What.EXCLUDED, columns=exclusion_columns, is_path=is_path)
        return as_run(rows)
    if is_path and what_is(given) is What.RUN:
        return as_run(given)
    return (read_qrels if is_path else Qrels)(given, duplicates="first")


def _texts(given: Any, what: str) -> list[str]:
    """Return ids as texts; refuse what is no list of ids."""
    is_list = isinstance(given, Iterable) and not isinstance(given, str | bytes)
    ids = [*given] if is_list else [None]
    if not all(is_whole(identifier) or isinstance(identifier, str) for identifier in ids):
        raise OptionError(
            f"{what}={given!r:.80}: expected ids, as ['d1', 'd2']; or judgments, a run, a table, a "
            "file or a dict of lists"
        )
    return [as_text(identifier, what) for identifier in ids]
