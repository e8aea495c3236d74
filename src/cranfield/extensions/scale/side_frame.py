"""SideFrame: the columns that are needed of the DataFrame with the judgments, or with the run."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cranfield.errors import InputError, OptionError
from cranfield.extensions.scale.tasks import SINGLE_SYSTEM
from cranfield.extensions.scale.totals import column_of_name, quote_name
from cranfield.formats.block import Errors, Role
from cranfield.formats.columns import IDS, TEXTS, ColumnsLike, Side, plain_name
from cranfield.formats.fields import Fields, choose_fields
from cranfield.formats.header import list_columns, take_columns
from cranfield.formats.stated_columns import missing_column_error
from cranfield.formats.systems import SYSTEMS
from cranfield.notes import Note, warn_about
from cranfield.options import check_option, level_check
from cranfield.render.numbers import format_names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ROWS_PER_BUCKET = 1_000_000
_DOCUMENTS_PER_ARRAY = 100  # about as many, as recommenders return
_ROWS_WORTH_A_BUCKET = 20_000  # with fewer, starting a task takes longer than its work
_WHOLE_NUMBERS = r"tinyint|smallint|int|bigint"
_ID_TYPES = (
    rf"{_WHOLE_NUMBERS}|(string|(var)?char).*|binary|decimal\(\d+,0\)",
    "text or whole numbers",
)
_NUMBER_TYPES = rf"{_WHOLE_NUMBERS}|float|double|boolean|decimal\(.*\)", "numbers"
_FAULT_OF_ID = "{0} IS NULL OR CAST({0} AS string) = ''".format
_FAULT_OF_NUMBER = "{0} IS NULL OR isnan(CAST({0} AS double))".format


@dataclass(frozen=True, kw_only=True)
class SideFrame:
    """The DataFrame of one side, with the columns that are needed.

    `rows` has the columns `system`, `query` and `docs` (an array of ids), all texts, and `is_lost`:
    whether errors="skip" leaves the row out. `expressions` are these columns in SQL by their names.
    """

    frame: "DataFrame"
    rows: "DataFrame"
    expressions: Mapping[str, str]
    query_column: str
    doc_column: str
    grade_column: str | None
    user_columns: ColumnsLike | None
    has_arrays: bool  # or texts of several documents: a row is a query

    @classmethod
    def from_frame(
        cls,
        frame: "DataFrame",
        side: Side,
        user_columns: ColumnsLike | None,
        errors: Errors,
        keep: Sequence[str],
        system_columns: Sequence[str],
    ) -> "SideFrame":
        """Find the columns, by their names or as stated.

        InputError for a column that is missing or of another type. Without `system_columns`,
        columns that may be those of systems stay, too.
        """
        for name in (*keep, *system_columns):
            if name not in frame.columns:
                raise missing_column_error(frame.columns, name).locate(side.name_in_errors)
        names = [name for name in frame.columns if name not in {*keep, *system_columns}]
        fields, field_columns = _find_fields(frame, names, side, user_columns)
        column_names = [*names, *fields]
        arrays = {name for name, dtype in frame.dtypes if dtype.startswith("array")}.union(fields)
        cells: list[object] = [[] if name in arrays else None for name in column_names]
        source, cell_of_column = side.name_in_errors, cells.__getitem__
        positions = take_columns(column_names, side, field_columns, source, cell_of_column)
        if positions["query"] == positions["doc"]:  # each row is a query, without an id
            frame = number_rows(frame)
            return cls.from_frame(frame, side, user_columns, errors, keep, system_columns)
        lists = list_columns(column_names, positions, side, field_columns, cell_of_column)
        name_of_role = lists or {role: column_names[i] for role, i in positions.items()}
        if judge_names := [name_of_role.pop(role) for role in sorted(TEXTS & name_of_role.keys())]:
            text = "Scores of Spark do not say which judgments are a model's: not read "
            warn_about([Note("judges-lost", "warning", f"{text}{format_names(judge_names)}.")])
        path_of_role = {role: fields.get(name, (name,)) for role, name in name_of_role.items()}
        paths = [".".join(map(quote_name, path)) for path in path_of_role.values()]
        faults = []
        dtypes = frame.selectExpr(*paths).dtypes
        for (role, name), path, (_, dtype) in zip(name_of_role.items(), paths, dtypes, strict=True):
            is_array = role != "query" and name in arrays
            _check_column_type(role, name, dtype, source, is_array and bool(lists))
            if errors == "skip" and (role != "rank" or "score" not in name_of_role):
                fault = _FAULT_OF_ID if role in IDS else _FAULT_OF_NUMBER
                faults.append(f"exists({path}, x -> {fault('x')})" if is_array else fault(path))
        table_columns = dict.fromkeys(path[0] for path in path_of_role.values())
        if not system_columns:
            table_columns |= dict.fromkeys(name for name in names if plain_name(name) in SYSTEMS)
        query, doc = paths[:2]
        if name_of_role["doc"] not in arrays:
            doc = f"split({doc}, ';')" if lists else f"array({doc})"
        elif dict(frame.dtypes).get(name_of_role["doc"]) == "array<double>":
            doc = f"CAST({doc} AS array<bigint>)"  # whole numbers
        system = quote_name(system_columns[0]) if system_columns else repr(SINGLE_SYSTEM)
        expressions = {
            "system": f"CAST({system} AS string)",
            "query": f"CAST({query} AS string)",
            "docs": f"CAST({doc} AS array<string>)",
            # A list that is null holds no judgment, or is that of a query without an answer.
            "is_lost": f"coalesce({' OR '.join(faults) or 'false'}, {side is Side.QRELS})",
        }
        return cls(
            frame=frame.select(*map(column_of_name, (*table_columns, *keep, *system_columns))),
            rows=frame.selectExpr(*(f"{sql} AS {name}" for name, sql in expressions.items())),
            expressions=expressions,
            query_column=name_of_role["query"],
            doc_column=name_of_role["doc"],
            grade_column=None if lists else name_of_role.get("grade"),
            user_columns=user_columns,
            has_arrays=bool(lists),
        )

    def find_highest_grade(self) -> float:
        """Return the highest grade, at least 0, by a Spark job; OptionError without grades."""
        if self.grade_column is None:
            raise OptionError("top_grade: state the highest grade, on which a measure depends")
        highest = f"max(try_cast({quote_name(self.grade_column)} AS double))"  # "10" is above "9"
        (row,) = self.frame.selectExpr(highest).collect()
        return float(check_option("top_grade", max(row[0] or 0.0, 0.0), level_check()))

    def find_systems(self, by: str, errors: Errors) -> list[str]:
        """Return a run's systems, by a Spark job; InputError for none, or, if strict, for nulls."""
        systems = [row[0] for row in self.frame.select(column_of_name(by)).distinct().collect()]
        system_names = sorted(str(system) for system in systems if system is not None)
        if len(system_names) < len(systems) and errors == "strict":
            raise InputError(
                f"the run has rows without a system: {by} is null",
                hint="errors='skip' leaves them out.",
            )
        if not system_names:
            raise InputError(f"the run has no system in {by}: state systems=[...] if it is empty")
        return system_names

    def count_buckets(self) -> int:
        """Return into how many buckets the rows are divided, by a Spark job that counts them."""
        n_rows = int(self.frame.count()) * (_DOCUMENTS_PER_ARRAY if self.has_arrays else 1)
        usual = int(self.frame.sparkSession.conf.get("spark.sql.shuffle.partitions", "200") or 200)
        n_worthwhile = min(usual, math.ceil(n_rows / _ROWS_WORTH_A_BUCKET))
        return max(1, n_worthwhile, math.ceil(n_rows / _ROWS_PER_BUCKET))


def number_rows(frame: "DataFrame") -> "DataFrame":
    """Return a DataFrame with the numbers of its rows in front, as the ids of queries."""
    return frame.selectExpr("monotonically_increasing_id() AS query_id", "*")


def _check_column_type(
    role: Role, name: str, column_type: str, source: str, has_lists: bool
) -> None:
    """Raise InputError unless a column, or its arrays, has ids or numbers, by its type in SQL."""
    cell = column_type.removeprefix("array<").removesuffix(">") if has_lists else column_type
    if role == "doc" and has_lists and cell == "double":
        return
    pattern, expected = _ID_TYPES if role in IDS else _NUMBER_TYPES
    if not re.fullmatch(pattern, cell):
        casts = ("long", "string") if role in IDS else ("double",)
        remedies = (f'.cast("{column_type.replace(cell, cast)}")' for cast in casts)
        raise InputError(
            f"column {name!r} holds {column_type:.80}, expected {expected}",
            source=source,
            hint="explode makes a row of each element."
            if cell.startswith("array")
            else f"Cast it before: {' or '.join(remedies)}",
            kind="columns",
        )


def _find_fields(
    frame: "DataFrame", names: Sequence[str], side: Side, user_columns: ColumnsLike | None
) -> tuple[Fields, ColumnsLike | None]:
    """Return the fields of structs in arrays, and the columns by role: see `choose_fields`."""
    from pyspark.sql.types import ArrayType, StructType

    fields_of_column = {
        field.name: field.dataType.elementType.names
        for field in frame.schema
        if isinstance(field.dataType, ArrayType)
        and isinstance(field.dataType.elementType, StructType)
    }
    return choose_fields(names, fields_of_column, side, user_columns)
