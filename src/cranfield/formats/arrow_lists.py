"""Lists in Arrow's columns, flattened; and lists of structs.

Spark's recommendForAllUsers writes a row for each user, with a list of structs <item, rating>. Each
field that is needed is read as a separate list.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cranfield.arrays.ranked import Bools, Ints
from cranfield.formats.block import Role
from cranfield.formats.columns import COLUMNS, IDS, ColumnsLike, What, plain_name
from cranfield.formats.header import stated_roles

if TYPE_CHECKING:
    import pyarrow as pa


class Field(NamedTuple):
    """A field of the structs in a column of lists."""

    column: str
    name: str

    @property
    def public(self) -> str:
        """Its name for users."""
        return f"{self.column}.{self.name}"


def fields_of(
    schema: "pa.Schema", what: What, stated: ColumnsLike | None
) -> tuple[dict[str, Field], ColumnsLike | None]:
    """Return the fields to read from lists of structs, and the role of each, as if stated.

    They belong to the column that is stated for the documents, or has a usual name for several
    documents, as `recommendations`; or else to the only such column of a table without documents.
    """
    several = {
        one.name: [field.name for field in one.type.value_type]
        for one in schema
        if is_list(one.type) and str(one.type.value_type).startswith("struct<")
    }
    if not several:
        return {}, stated
    given = stated_roles(stated, what, schema.names)
    column = _column(schema.names, several, given.get("doc"), what)
    if column is None:
        return {}, stated
    found: dict[str, Field] = {}
    roles: dict[str, str | int | None] = {}
    numbers: list[Role] = ["score", "rank", "cost"] if what is What.RUN else ["grade"]
    for role in ("doc", *numbers):
        wanted = given.get(role)
        if role in given and wanted not in several[column] and wanted != column:
            if role == "doc":
                return {}, stated
            continue  # a separate column, or none
        field = wanted if wanted in several[column] else _named(several[column], role, what)
        if field is not None:
            one = Field(column, str(field))
            found[one.public], roles[COLUMNS[role].public] = one, one.public
        elif role == "doc":
            return {}, stated
    others = {COLUMNS[role].public: its for role, its in given.items()}
    return found, {**others, **roles}


def _column(
    names: list[str], several: Mapping[str, list[str]], wanted: str | int | None, what: What
) -> str | None:
    """Return the column of structs with documents and their numbers as fields; None without one."""
    if isinstance(wanted, int):
        wanted = names[wanted - 1] if wanted <= len(names) else None
    if wanted is not None:
        if wanted in several:
            return wanted
        holding = [name for name, fields in several.items() if wanted in fields]
        return holding[0] if len(holding) == 1 and wanted not in names else None
    own = COLUMNS["doc"].lists[what]
    called = [name for name in several if plain_name(name) in own]
    if called:
        return called[0] if len(called) == 1 else None
    plain = {plain_name(name) for name in names}
    of_any = {
        *COLUMNS["doc"].names,
        *(name for one in COLUMNS["doc"].lists.values() for name in one),
    }
    only = list(several)
    return only[0] if len(only) == 1 and plain.isdisjoint(of_any) else None


def _named(fields: list[str], role: Role, what: What) -> str | None:
    """Return the field with a usual name of the role; for a run, a rating is a score, too."""
    known = [*COLUMNS[role].names, *COLUMNS[role].lists.get(what, ())]
    known += ["id", "_id"] if role in IDS else ["rating"] if role == "score" else []
    plain = {plain_name(field): field for field in fields}
    return next((plain[name] for name in known if name in plain), None)


def is_list(kind: "pa.DataType") -> bool:
    """Tell whether a column of this type holds lists."""
    import pyarrow as pa

    tests = ("list", "large_list", "fixed_size_list", "list_view", "large_list_view")
    return any(getattr(pa.types, f"is_{one}")(kind) for one in tests)


def listed(column: "pa.Array") -> "tuple[pa.Array, Ints, Bools | None] | None":
    """Return the elements of all lists, the length of each list, and which lists are null.

    A null list has length 0; the third value is None if no list is null. None for a column that
    does not hold lists.
    """
    import pyarrow as pa

    kind = column.type
    if not is_list(kind):
        return None
    if pa.types.is_fixed_size_list(kind):
        lengths = np.full(len(column), kind.list_size, np.int64)
    elif "view" in str(kind).partition("<")[0]:
        lengths = np.array(np.from_dlpack(column.sizes.cast(pa.int64())))
    else:
        lengths = np.diff(np.from_dlpack(column.offsets.cast(pa.int64())))
    none = None
    if column.null_count:
        nulls = column.is_null().cast(pa.uint8())
        none = np.from_dlpack(nulls).astype(np.bool_)
        lengths[none] = 0
    return column.flatten(), lengths, none


def field_of(column: "pa.Array", name: str) -> "pa.Array":
    """Return lists of one field of lists of structs."""
    import pyarrow as pa

    found = listed(column)
    assert found is not None  # noqa: S101 - `fields_of` has looked at its type
    values, lengths, none = found
    at = [field.name for field in values.type].index(name)
    ends = np.append(0, np.cumsum(lengths))
    bounds = pa.Array.from_buffers(pa.int64(), len(ends), [None, pa.py_buffer(ends)])
    mask = None if none is None else column.is_null()
    return pa.LargeListArray.from_arrays(bounds, values.flatten()[at], mask=mask)
