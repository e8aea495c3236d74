"""The base of all results: tables to read, rows for programs, and every form made from these."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from itertools import accumulate
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, get_args

from cranfield.errors import need, one_of
from cranfield.notes import Note
from cranfield.options import checked, flag, whole
from cranfield.render.latex import to_latex
from cranfield.render.plain import text
from cranfield.render.table import Formulas, Table, delimited, to_html, to_markdown, to_page

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

# The forms that every result has, and the suffix of a file's name that chooses each.
FORMS: Mapping[str, str] = {
    "table": ".txt",
    "markdown": ".md",
    "latex": ".tex",
    "html": ".html",
    "csv": ".csv",
    "tsv": ".tsv",
    "json": ".json",
    "jsonl": ".jsonl",
}
ROWS = ("csv", "tsv", "jsonl")  # the forms that have the rows, and no notes
_Made = TypeVar("_Made")


class Shown(ABC):
    """A result: it has tables to read and rows for programs; every form is made from these.

    Printed, at the prompt and in a notebook, it shows its tables. `to_text`, `to_markdown`,
    `to_latex` and `to_html` return the tables, with rounded numbers; `to_csv`, `to_tsv`,
    `to_jsonl`, `to_arrow`, `to_pandas` and `to_polars` the rows, `to_json` and `to_dict`
    everything, with every digit. The first four take the arguments of `tables` (for example
    `per_query=True`), those with rows the arguments of `rows`; `to_json` of scores includes each
    query's scores with `per_query=True`.

    >>> from cranfield import compare
    >>> scores = {"old": {"q1": 0.5, "q2": 0.25}, "new": {"q1": 0.5, "q2": 0.75}}
    >>> found = compare(scores)
    >>> [(row["system"], row["difference"]) for row in found.rows()]
    [('new', 0.25)]
    >>> found.to_csv().splitlines()[1].startswith("score,,,1,new,old,2,0.625,0.375,difference,0.25")
    True
    """

    forms: ClassVar[Mapping[str, str]] = FORMS  # a result may have more

    def __init_subclass__(cls, **of: Any) -> None:
        """Make tables and rows raise an error if `per_query` is neither True nor False."""
        super().__init_subclass__(**of)
        for name in ("tables", "rows", "_document"):
            if name in vars(cls):
                setattr(cls, name, _refusing(vars(cls)[name]))

    if TYPE_CHECKING:  # each result has them, as a field or a property

        @property
        def header(self) -> Sequence[str]:
            """The names of the columns of `rows`."""

        @property
        def notes(self) -> Sequence[Note]:
            """Remarks on the numbers."""

    @abstractmethod
    def tables(self, *args: Any, **how: Any) -> list[Table]:
        """Return the tables that show it."""

    def rows(self, *args: Any, **how: Any) -> list[dict[str, Any]]:
        """Return its rows, {name of a column: value}; what does not exist is None."""
        return [self.to_dict()]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        return {name: getattr(self, name) for name in self.header}

    def _dicts(self, rows: Iterable[Sequence[Any]]) -> list[dict[str, Any]]:
        """Return rows of values as dicts, by the names in `header`."""
        return [dict(zip(self.header, row, strict=True)) for row in rows]

    # ---- to read --------------------------------------------------------------------------------

    def to_text(self, width: int | None = None, *, color: bool = False, **how: Any) -> str:
        """Return the tables as text, aligned; a table wider than `width` may be turned."""
        if width is not None:
            width = checked("width", width, whole(1))
        colored = checked("color", color, flag)
        tables = self._made("to_text", self.tables, how)
        return "\n".join(self._drawn(one, width, colored) for one in tables)

    def _drawn(self, table: Table, width: int | None, color: bool) -> str:
        """Return one of its tables as text."""
        return text(table, width=width, color=color)

    def to_markdown(self, **how: Any) -> str:
        """Return the tables in GitHub's Markdown."""
        return "\n".join(map(to_markdown, self._made("to_markdown", self.tables, how)))

    def to_latex(self, **how: Any) -> str:
        r"""Return the tables as LaTeX, which needs \usepackage{booktabs}."""
        return "\n".join(map(to_latex, self._made("to_latex", self.tables, how)))

    def to_html(self, *, whole: bool = False, **how: Any) -> str:
        """Return the tables as HTML: a part of a page, or a `whole` document in UTF-8."""
        is_page = checked("whole", whole, flag)
        tables = self._made("to_html", self.tables, how)
        body = "\n".join(map(to_html, tables))
        title = next((line for one in tables for line in one.title), self._page_title)
        return to_page(title, body) if is_page else body

    @property
    def _page_title(self) -> str:
        """The title of a page whose tables have none."""
        return type(self).__name__

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return str(self).rstrip("\n")

    def _repr_html_(self) -> str:
        return self.to_html()

    # ---- for programs ---------------------------------------------------------------------------

    def to_csv(self, formulas: Formulas = "plain", **how: Any) -> str:
        """Return the rows as comma-separated values, below a header; what does not exist is empty.

        formulas="quoted" is for spreadsheets: a name such as =1+1 has an apostrophe before it.
        """
        return self._separated("to_csv", ",", formulas, how)

    def to_tsv(self, formulas: Formulas = "plain", **how: Any) -> str:
        """Return the rows as `to_csv` does, separated by tabs."""
        return self._separated("to_tsv", "\t", formulas, how)

    def _separated(
        self, name: str, delimiter: str, formulas: Formulas, how: Mapping[str, Any]
    ) -> str:
        every = self._made(name, self.rows, how)
        rows = [["" if cell is None else cell for cell in one.values()] for one in every]
        return delimited([self.header, *rows], delimiter, formulas)

    def to_jsonl(self, **how: Any) -> str:
        """Return the rows as JSON lines, an object for each."""
        return "".join(f"{as_json(row)}\n" for row in self._made("to_jsonl", self.rows, how))

    def to_json(self, **how: Any) -> str:
        """Return everything as JSON; with `per_query=True`, also what that adds to the rows."""
        return as_json(self._made("to_json", self._document, how), indent=2) + "\n"

    def _document(self) -> dict[str, Any]:
        return self.to_dict()

    def to_arrow(self, *args: Any, **how: Any) -> "pa.Table":
        """Return the rows as an Arrow table."""
        import pyarrow as pa

        rows = self._made("to_arrow", self.rows, how, *args)
        return pa.table({name: arrow_column([row[name] for row in rows]) for name in self.header})

    def to_pandas(self, **how: Any) -> "pd.DataFrame":
        """Return the rows as a pandas data frame; LibraryError if pandas is not installed."""
        need(["pandas"], "to_pandas()")
        frame: pd.DataFrame = self._made("to_pandas", self.to_arrow, how).to_pandas()
        return frame

    def to_polars(self, **how: Any) -> "pl.DataFrame":
        """Return the rows as a polars data frame; LibraryError if polars is not installed."""
        need(["polars"], "to_polars()")
        import polars as pl

        frame = pl.from_arrow(self._made("to_polars", self.to_arrow, how))
        assert isinstance(frame, pl.DataFrame)  # noqa: S101 - of a table
        return frame

    def _made(
        self, form: str, make: Callable[..., _Made], how: Mapping[str, Any], *args: Any
    ) -> _Made:
        """Return what a form is made from; TypeError, naming the form, for unknown arguments."""
        known = inspect.signature(make).parameters
        if any(one.kind is one.VAR_KEYWORD for one in known.values()):  # to_arrow
            known = inspect.signature(self.rows).parameters
        if any(one.kind is one.VAR_KEYWORD for one in known.values()):
            return make(*args, **how)  # the rows of another result, which knows them
        for name in how:
            if name not in known:
                takes = f"; it takes {', '.join(known)}" if known else ""
                raise TypeError(
                    f"{type(self).__name__}.{form}() got an unexpected keyword argument "
                    f"{name!r}{takes}"
                )
        return make(*args, **how)

    # ---- by name --------------------------------------------------------------------------------

    def in_form(
        self,
        form: str,
        formulas: Formulas = "plain",
        of_tables: Mapping[str, Any] | None = None,
        **how: Any,
    ) -> str:
        """Return the result in one of its forms.

        `how` is for tables and rows, `of_tables` for tables. HTML is a whole document here;
        `formulas` applies to csv and tsv. Raises OptionError for an unknown form or `formulas`.
        """
        one_of("form", form, self.forms)
        one_of("formulas", formulas, get_args(Formulas))
        if form in ("csv", "tsv"):
            how["formulas"] = formulas
        elif form in FORMS and form not in ("json", "jsonl"):
            how |= of_tables or {}
        if form == "html":
            how["whole"] = True
        shown: str = getattr(self, f"to_{'text' if form == 'table' else form.replace('-', '_')}")(
            **how
        )
        return shown


def _refusing(make: Callable[..., _Made]) -> Callable[..., _Made]:
    """Return a method that checks each of its options that is True or False by default."""
    defaults = getattr(make, "__kwdefaults__", None) or {}
    flags = [name for name, default in defaults.items() if isinstance(default, bool)]

    @wraps(make)
    def checking(*args: Any, **how: Any) -> _Made:
        for name in how.keys() & flags:
            how[name] = checked(name, how[name], flag)
        return make(*args, **how)

    return checking if flags else make


def as_json(content: Any, indent: int | None = None) -> str:
    """Return content as JSON; an id that is not valid UTF-8 is escaped."""
    import json

    shown = json.dumps(content, ensure_ascii=False, indent=indent)
    try:
        shown.encode()
    except UnicodeEncodeError:
        return json.dumps(content, indent=indent)
    return shown


def arrow_column(values: Sequence[Any]) -> "pa.Array":
    """Return a column of Arrow: numbers or truth values if all values are, else texts.

    Bytes that are not valid UTF-8 become replacement characters. pa.array() is not used: it imports
    pandas if that is installed.
    """
    from array import array

    import pyarrow as pa

    known = [one for one in values if one is not None]
    n_null = len(values) - len(known)
    buffers = [pa.py_buffer(_bits([one is not None for one in values])) if n_null else None]
    data: Any
    if known and all(isinstance(one, bool) for one in known):
        kind, data = pa.bool_(), _bits(list(map(bool, values)))
    elif known and all(isinstance(one, int) for one in known):
        kind, data = pa.int64(), array("q", [one or 0 for one in values])
    elif known and all(isinstance(one, int | float) for one in known):
        kind, data = pa.float64(), array("d", [one or 0.0 for one in values])
    else:
        texts = ["" if one is None else str(one) for one in values]
        encoded = [one.encode("utf-8", "surrogateescape") for one in texts]
        parts = [one.decode("utf-8", "replace").encode() for one in encoded]
        kind, data = pa.large_string(), b"".join(parts)
        buffers.append(pa.py_buffer(array("q", accumulate(map(len, parts), initial=0))))
    return pa.Array.from_buffers(kind, len(values), [*buffers, pa.py_buffer(data)], n_null)


def _bits(values: Sequence[bool]) -> bytes:
    """Return truth values as bits, the first one lowest."""
    whole = int("0" + "".join("01"[one] for one in reversed(values)), 2)
    return whole.to_bytes(len(values) // 8 + 1, "little")
