"""Shown: the base of all results, which makes every form of output from tables and rows."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from itertools import accumulate
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, get_args

from cranfield.errors import check_choice, require_libraries
from cranfield.notes import Note
from cranfield.options import check_flag, check_option, whole_check
from cranfield.render.latex import to_latex
from cranfield.render.plain import to_text
from cranfield.render.table import Formulas, Table, to_delimited, to_html, to_markdown, to_page
from cranfield.render.typed_names import write_tables_as_typed

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
ROW_FORMS = ("csv", "tsv", "jsonl")  # the forms that have the rows, and no notes
_Source = TypeVar("_Source")


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
    >>> result = compare(scores)
    >>> [(row["system"], row["difference"]) for row in result.rows()]
    [('new', 0.25)]
    >>> header, line = result.to_csv().splitlines()
    >>> line.startswith("score,,,1,new,old,2,0.625,0.375,difference,0.25")
    True
    """

    forms: ClassVar[Mapping[str, str]] = FORMS  # a result may have more

    def __init_subclass__(cls, **class_arguments: Any) -> None:
        """Make tables, rows and _document check their options that are True or False."""
        super().__init_subclass__(**class_arguments)
        for name in ("tables", "rows", "_document"):
            if name in vars(cls):
                setattr(cls, name, _check_flags(vars(cls)[name]))

    if TYPE_CHECKING:  # each result has them, as a field or a property

        @property
        def header(self) -> Sequence[str]:
            """The names of the columns of `rows`."""

        @property
        def notes(self) -> Sequence[Note]:
            """Remarks on the numbers."""

    @abstractmethod
    def tables(self, *args: Any, **arguments: Any) -> list[Table]:
        """Return the tables that show the result."""

    def rows(self, *args: Any, **arguments: Any) -> list[dict[str, Any]]:
        """Return the rows of the result, {column: value}; what does not exist is None."""
        return [self.to_dict()]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        return {name: getattr(self, name) for name in self.header}

    def _rows_as_dicts(self, rows: Iterable[Sequence[Any]]) -> list[dict[str, Any]]:
        """Return rows of values as dicts, by the names in `header`."""
        return [dict(zip(self.header, row, strict=True)) for row in rows]

    # ---- to read --------------------------------------------------------------------------------

    def to_text(self, width: int | None = None, *, color: bool = False, **arguments: Any) -> str:
        """Return the tables as text, aligned; a table wider than `width` may be turned."""
        if width is not None:
            width = check_option("width", width, whole_check(1))
        use_color = check_option("color", color, check_flag)
        tables = self._typed_tables("to_text", arguments)
        return "\n".join(self._draw_table(table, width, use_color) for table in tables)

    def _typed_tables(self, form: str, arguments: Mapping[str, Any]) -> list[Table]:
        """Return the tables, in which measures are called as they were typed."""
        tables = self._check_and_call(form, self.tables, arguments)
        return write_tables_as_typed(tables, self._measure_names, self._system_names)

    @property
    def _measure_names(self) -> Iterable[str]:
        """The names of the measures in the tables: attributes of the result, or in its rows."""
        names = [*getattr(self, "measures", ()), getattr(self, "measure", "")]
        if not any(names) and "measure" in self.header:
            names = [row["measure"] for row in self.rows()]
        return [name if isinstance(name, str) else str(name) for name in names]

    @property
    def _system_names(self) -> Iterable[str]:
        """The names of the systems that are attributes of the result."""
        attributes = (getattr(self, attribute, None) for attribute in ("name", "run", "baseline"))
        names = (*attributes, *getattr(self, "names", ()), *getattr(self, "systems", ()))
        return [name for name in names if isinstance(name, str)]

    def _draw_table(self, table: Table, width: int | None, color: bool) -> str:
        """Return a table of the result as text."""
        return to_text(table, width=width, color=color)

    def to_markdown(self, **arguments: Any) -> str:
        """Return the tables in GitHub's Markdown."""
        return "\n".join(map(to_markdown, self._typed_tables("to_markdown", arguments)))

    def to_latex(self, **arguments: Any) -> str:
        r"""Return the tables as LaTeX, which needs \usepackage{booktabs}, upright ones graphicx."""
        return "\n".join(map(to_latex, self._typed_tables("to_latex", arguments)))

    def to_html(self, *, full_page: bool = False, **arguments: Any) -> str:
        """Return the tables as HTML: a part of a page, or with `full_page` a document in UTF-8."""
        full_page = check_option("full_page", full_page, check_flag)
        tables = self._typed_tables("to_html", arguments)
        body = "\n".join(map(to_html, tables))
        title = next((line for table in tables for line in table.title), self._page_title)
        return to_page(title, body) if full_page else body

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

    def to_csv(self, formulas: Formulas = "plain", **arguments: Any) -> str:
        """Return the rows as comma-separated values, below a header; what does not exist is empty.

        formulas="quoted" is for spreadsheets: a name such as =1+1 has an apostrophe before it.
        """
        return self._to_delimited("to_csv", ",", formulas, arguments)

    def to_tsv(self, formulas: Formulas = "plain", **arguments: Any) -> str:
        """Return the rows as `to_csv` does, separated by tabs."""
        return self._to_delimited("to_tsv", "\t", formulas, arguments)

    def _to_delimited(
        self, name: str, delimiter: str, formulas: Formulas, arguments: Mapping[str, Any]
    ) -> str:
        row_dicts = self._check_and_call(name, self.rows, arguments)
        rows = [
            ["" if cell is None else cell for cell in row_dict.values()] for row_dict in row_dicts
        ]
        return to_delimited([self.header, *rows], delimiter, formulas)

    def to_jsonl(self, **arguments: Any) -> str:
        """Return the rows as JSON lines, an object for each."""
        return "".join(
            f"{as_json(row)}\n" for row in self._check_and_call("to_jsonl", self.rows, arguments)
        )

    def to_json(self, **arguments: Any) -> str:
        """Return everything as JSON; with `per_query=True`, also what that adds to the rows."""
        return as_json(self._check_and_call("to_json", self._document, arguments), indent=2) + "\n"

    def _document(self) -> dict[str, Any]:
        return self.to_dict()

    def to_arrow(self, *args: Any, **arguments: Any) -> "pa.Table":
        """Return the rows as an Arrow table."""
        import pyarrow as pa

        rows = self._check_and_call("to_arrow", self.rows, arguments, *args)
        return pa.table({name: arrow_column([row[name] for row in rows]) for name in self.header})

    def to_pandas(self, **arguments: Any) -> "pd.DataFrame":
        """Return the rows as a pandas data frame; LibraryError if pandas is not installed."""
        require_libraries(["pandas"], "to_pandas()")
        frame: pd.DataFrame = self._check_and_call(
            "to_pandas", self.to_arrow, arguments
        ).to_pandas()
        return frame

    def to_polars(self, **arguments: Any) -> "pl.DataFrame":
        """Return the rows as a polars data frame; LibraryError if polars is not installed."""
        require_libraries(["polars"], "to_polars()")
        import polars as pl

        frame = pl.from_arrow(self._check_and_call("to_polars", self.to_arrow, arguments))
        assert isinstance(frame, pl.DataFrame)  # noqa: S101 - of a table
        return frame

    def _check_and_call(
        self, form: str, make: Callable[..., _Source], arguments: Mapping[str, Any], *args: Any
    ) -> _Source:
        """Call `make` for the method `form` ("to_csv"); TypeError for arguments that it lacks."""
        parameters = inspect.signature(make).parameters
        if _takes_any(parameters):  # to_arrow
            parameters = inspect.signature(self.rows).parameters
        if _takes_any(parameters):
            return make(*args, **arguments)  # the rows of another result, which checks them
        for name in arguments:
            if name not in parameters:
                parameters_of_form = inspect.signature(getattr(self, form)).parameters
                all_parameters = *parameters_of_form.values(), *parameters.values()
                names = [
                    p.name
                    for p in all_parameters
                    if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
                ]
                hint = f"; it takes {', '.join(names)}" if names else ""
                raise TypeError(
                    f"{type(self).__name__}.{form}() got an unexpected keyword argument "
                    f"{name!r}{hint}"
                )
        return make(*args, **arguments)

    # ---- by name --------------------------------------------------------------------------------

    def in_form(
        self,
        form: str,
        formulas: Formulas = "plain",
        of_tables: Mapping[str, Any] | None = None,
        **arguments: Any,
    ) -> str:
        """Return the result in one of its forms.

        `arguments` are for tables and rows, `of_tables` for tables. HTML is a whole document here;
        `formulas` applies to csv and tsv. Raises OptionError for an unknown form or `formulas`.
        """
        check_choice("form", form, self.forms)
        check_choice("formulas", formulas, get_args(Formulas))
        if form in ("csv", "tsv"):
            arguments["formulas"] = formulas
        elif form in FORMS and form not in ("json", "jsonl"):
            arguments |= of_tables or {}
        if form == "html":
            arguments["full_page"] = True
        method = f"to_{'text' if form == 'table' else form.replace('-', '_')}"
        rendering: str = getattr(self, method)(**arguments)
        return rendering


def _takes_any(parameters: Mapping[str, inspect.Parameter]) -> bool:
    """Tell whether a function takes keyword arguments of any name."""
    return any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def _check_flags(make: Callable[..., _Source]) -> Callable[..., _Source]:
    """Return the method, with a check of each option that is True or False by default."""
    defaults = getattr(make, "__kwdefaults__", None) or {}
    flags = [name for name, default in defaults.items() if isinstance(default, bool)]

    @wraps(make)
    def check_and_make(*args: Any, **arguments: Any) -> _Source:
        for name in arguments.keys() & flags:
            arguments[name] = check_option(name, arguments[name], check_flag)
        return make(*args, **arguments)

    return check_and_make if flags else make


def as_json(document: Any, indent: int | None = None) -> str:
    """Return plain values as JSON; if an id is not valid UTF-8, all beyond ASCII is escaped."""
    import json

    json_text = json.dumps(document, ensure_ascii=False, indent=indent)
    try:
        json_text.encode()
    except UnicodeEncodeError:
        return json.dumps(document, indent=indent)
    return json_text


def arrow_column(cells: Sequence[Any]) -> "pa.Array":
    """Return cells as a column of Arrow: numbers or truth values if all are, else texts, or null.

    Bytes that are not valid UTF-8 become replacement characters. pa.array() is not used: it imports
    pandas if that is installed.
    """
    from array import array

    import pyarrow as pa

    non_null = [cell for cell in cells if cell is not None]
    n_null = len(cells) - len(non_null)
    buffers = [pa.py_buffer(_pack_bits([cell is not None for cell in cells])) if n_null else None]
    buffer: Any
    if non_null and all(isinstance(cell, bool) for cell in non_null):
        kind, buffer = pa.bool_(), _pack_bits(list(map(bool, cells)))
    elif non_null and all(isinstance(cell, int) for cell in non_null):
        kind, buffer = pa.int64(), array("q", [cell or 0 for cell in cells])
    elif non_null and all(isinstance(cell, int | float) for cell in non_null):
        kind, buffer = pa.float64(), array("d", [cell or 0.0 for cell in cells])
    else:
        texts = ["" if cell is None else str(cell) for cell in cells]
        encodings = [text.encode("utf-8", "surrogateescape") for text in texts]
        utf8_texts = [encoding.decode("utf-8", "replace").encode() for encoding in encodings]
        kind, buffer = pa.large_string(), b"".join(utf8_texts)
        buffers.append(pa.py_buffer(array("q", accumulate(map(len, utf8_texts), initial=0))))
    return pa.Array.from_buffers(kind, len(cells), [*buffers, pa.py_buffer(buffer)], n_null)


def _pack_bits(flags: Sequence[bool]) -> bytes:
    """Return truth values as bits, the first one lowest."""
    bit_number = int("0" + "".join("01"[bit] for bit in reversed(flags)), 2)
    return bit_number.to_bytes(len(flags) // 8 + 1, "little")
