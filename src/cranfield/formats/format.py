"""Format: how one kind of file is recognised, read and written; `files` has the table of all."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import IO

from cranfield.formats.block import Block, Role, Rows
from cranfield.formats.columns import ColumnsLike, Side
from cranfield.formats.source import Source
from cranfield.formats.stated_columns import states_numbers
from cranfield.formats.text import LONGEST_LINE, find_data, long_line_error


@dataclass(frozen=True)
class InputFile:
    """A file to read: its source, its first lines, and its columns as the user states them."""

    source: Source
    side: Side
    sample: bytes  # the first lines, with a line of data if there is one: see `files._read_sample`
    user_columns: ColumnsLike | None = None

    @property
    def has_numbered_columns(self) -> bool:
        """Whether the user states a column by its number."""
        return states_numbers(self.user_columns)

    def refuse_long_line(self) -> None:
        """Raise InputError if the first line of data is longer than a line may be."""
        begin = find_data(self.sample) or 0
        end = self.sample.find(b"\n", begin)
        if (end if end >= 0 else len(self.sample)) - begin >= LONGEST_LINE:
            raise long_line_error(self.source, self.sample.rfind(b"\n", 0, begin) + 1)


@dataclass(frozen=True)
class OutputFile:
    """A file to write: its path, and what the rows are that will be written."""

    path: str
    side: Side
    tag: str = ""  # the system's name, for a TREC run
    is_text: bool = True  # False: some ids are not UTF-8, and columns of text cannot hold them

    @property
    def suffix(self) -> str:
        """The suffix of the file's name."""
        return Source(self.path).suffix


@dataclass(frozen=True)
class Capacity:
    """Which columns a format can hold, for a run or for judgments.

    `row_description` is for the documentation. `roles` are the columns that it can hold besides the
    ids of query and document; None: any. `is_first_role_only`: it holds only the first of these
    that the data have. `needs_rank`: it has a rank, even if the run has none.
    """

    row_description: str
    roles: Sequence[Role] | None = None
    is_first_role_only: bool = False
    needs_rank: bool = False

    def select_roles(self, roles: Iterable[Role]) -> frozenset[Role]:
        """Return the roles, among those of a table's columns, that this format can hold."""
        if self.roles is None:
            return frozenset(roles)
        writable_roles = [role for role in self.roles if role in frozenset(roles)]
        return frozenset(writable_roles[:1] if self.is_first_role_only else writable_roles)


@dataclass(frozen=True)
class Format:
    """One way in which files hold runs or judgments; `files.FORMATS` has them all.

    Args:
        name: the name for users: `format=`, `--run-format`.
        title: the name in the documentation.
        write: writes blocks of rows. The blocks of a run have ranks where the format needs them.
        read: returns the rows of a file in this format, detected or stated.
        sniff: returns the rows of a file that looks as if it were in this format; None if it does
            not.
        magic: the first bytes of a file in this format, if it is not text.
        suffixes: the endings of names of files in this format.
        is_decided_by_suffix: whether the suffix alone decides that a file is in this format. If
            not, as for `.txt`, its lines decide.
        qrels, runs: which columns of judgments and of runs it can hold; None if it cannot hold any.
        aliases: other names for judgments in this format.
        holds_empty_queries: whether it can hold a query without rows.

    """

    name: str
    title: str
    write: Callable[[IO[bytes], Iterable[Block], OutputFile], None]
    read: Callable[[InputFile], Rows]
    sniff: Callable[[InputFile], Rows | None] = lambda file: None
    magic: Sequence[bytes] = ()
    suffixes: Sequence[str] = ()
    is_decided_by_suffix: bool = True
    qrels: Capacity | None = None
    runs: Capacity | None = None
    aliases: Sequence[str] = ()
    holds_empty_queries: bool = False

    def capacity(self, side: Side) -> Capacity | None:
        """Return which columns of a side it can hold, exclusions as qrels; None if it cannot."""
        return self.runs if side is Side.RUN else self.qrels

    @property
    def is_for_groups(self) -> bool:
        """Whether it is for judgments in groups only."""
        return self.qrels is not None and "group" in (self.qrels.roles or ())
