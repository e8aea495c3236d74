"""List elements: reads ids and numbers in lists of Python and of Arrow, and in texts of lists."""

import json
import math
import re
from collections.abc import Mapping, Set
from numbers import Number
from typing import Any

import numpy as np

from cranfield.arrays.ids import Ids, encode
from cranfield.errors import InputError
from cranfield.formats.batches import ID_TYPE, NUMBER_TYPE, read_ids, read_numbers, refuse_bytes
from cranfield.formats.block import Role
from cranfield.formats.columns import FRACTIONS, Side
from cranfield.formats.identifiers import (
    EXACT_DOUBLES,
    are_ids,
    encode_id,
    is_whole_decimal,
    is_whole_float,
)
from cranfield.formats.json_text import NumberText
from cranfield.formats.shapes import to_list
from cranfield.formats.values import NUMBER, is_list_cell, is_number, to_numbers
from cranfield.notes import Note
from cranfield.options import is_whole_number

INTEGER_TEXT = re.compile(r"[+-]?\d+")
# Several ids, or one: with a comma or a bar, or with blanks between parts that each have a digit.
ONE_OR_SEVERAL = re.compile(r"(?s:.*[,|].*)|[^\s\d]*\d\S*(?:\s+[^\s\d]*\d\S*)+")
_ESCAPE = r"""\\(?:['"\\abfnrtv]|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})"""
_QUOTATION = rf"""'((?:[^'\\]|{_ESCAPE})*)'|"((?:[^"\\]|{_ESCAPE})*)\""""
# An element of a list, and what follows it: as Python writes lists, and without quotation marks;
# as numpy writes arrays, without commas.
_ELEMENTS = (
    re.compile(rf"\s*(?:{_QUOTATION}|(?!\.\.)([\w.+-]+))\s*(?:,|$)"),
    re.compile(rf"\s*(?:{_QUOTATION}|([+-]?\.?\d[\d.e+-]*|None|nan))(?:\s+|$)"),
)


def is_list_text(text: str) -> bool:
    """Tell whether a text is a list as JSON or Python write lists."""
    try:
        return is_list_cell(text) and isinstance(parse_list_text(text.strip(), ""), list)
    except InputError:
        return False


def parse_list_text(text: str, name: str) -> list[Any]:
    """Return the list in a text, written as in JSON or Python; InputError if there is none."""
    try:
        elements = json.loads(text, parse_float=NumberText, parse_int=NumberText)
        return list(elements)
    except (ValueError, RecursionError):
        pass
    text_inside = text[1:-1].strip()
    for pattern in _ELEMENTS:
        matches = [*pattern.finditer(text_inside)]
        if "".join(match[0] for match in matches) == text_inside:
            break
    else:
        raise InputError(
            f"column {name!r} holds no list that can be read: {text!r:.80}",
            hint="""Lists are written ["a", "b"], ['a', 'b'] or a;b. Of a table of pandas: """
            "frame[column].map(lambda cell: json.dumps(list(cell))).",
            kind="text",
        )
    elements = []
    for single, double, bare in (match.groups() for match in matches):
        if bare is None:
            characters = (single or double or "").encode("latin-1", "backslashreplace")
            elements.append(characters.decode("unicode_escape"))
        else:
            elements.append(None if bare in ("None", "nan") else NumberText(bare))
    return elements


def to_ids(cells: Any) -> Ids | None:
    """Return the ids in a list or an Arrow array, (cells,); None if a cell may not be an id."""
    if not isinstance(cells, list) and str(cells.type) == "double":
        numbers = cells.to_numpy(zero_copy_only=False)  # NaN for null
        if not ((np.abs(numbers) < EXACT_DOUBLES) & (numbers == np.rint(numbers))).all():
            return None
        cells = cells.cast("int64")
    if not isinstance(cells, list):
        texts = cells.dictionary if hasattr(cells, "dictionary") else cells
        if not ID_TYPE.fullmatch(str(texts.type)) or cells.null_count:
            return None
        try:
            refuse_bytes(cells, "", "")
        except InputError:
            return None
        ids, is_missing = read_ids(cells)
        return ids if is_missing is None and ids.mark_invalid() is None else None
    types = {*map(type, cells)}
    if types <= {str, NumberText}:
        numbers = (cell for cell in cells if type(cell) is NumberText)
        if NumberText in types and not all(map(INTEGER_TEXT.fullmatch, numbers)):
            return None
        return Ids.of_texts(cells) if are_ids(cells) else None
    are_whole = types == {int} or (types == {float} and all(map(is_whole_float, cells)))
    return Ids.of_texts([*map(str, map(int, cells))]) if are_whole else None


def read_column(cells: Any, role: Role) -> Any:
    """Return the numbers in a list or an Arrow array, (cells,); None if a cell is not a number."""
    if isinstance(cells, list):
        return to_numbers("score" if role in FRACTIONS else role, list(map(parse_number, cells)))
    if not NUMBER_TYPE.fullmatch(str(cells.type)) or str(cells.type) == "bool":
        return None
    numbers, is_wrong = read_numbers(cells, role)
    return numbers if is_wrong is None else None


def refuse_object(cell: Any, name: str) -> list[Any]:
    """Return [cell]; InputError for an object instead of an id or a list of ids."""
    if isinstance(cell, Mapping):
        raise InputError(
            f"column {name!r} holds objects, expected a list of ids: {dict(cell)!r:.80}",
            hint="Write the ids as a list, and their scores or grades as a list in another column, "
            "`scores` or `grades`. Or state which field of the objects has the ids: "
            "columns={'doc_id': ...}.",
            kind="columns",
        )
    return [cell]


def parse_id(cell: Any, name: str) -> bytes:
    """Return an id's bytes, from a string, a whole number or Decimal; InputError for others."""
    if isinstance(cell, NumberText) and not INTEGER_TEXT.fullmatch(cell):
        cell = parse_number(cell)
    if is_whole_number(cell) or is_whole_decimal(cell) or is_whole_float(cell):
        return encode(str(int(cell)))
    encoded_id = encode_id(cell)
    if encoded_id is None:
        if cell is None or cell == "" or (isinstance(cell, float) and math.isnan(cell)):
            problem = f"an id in column {name!r} is empty or missing"
        else:
            text = str(cell) if isinstance(cell, NumberText) else repr(cell)
            problem = f"expected a string or a whole number in column {name!r}, got {text:.80}"
        raise InputError(problem, kind="id")
    return encoded_id


def read_padded_ids(ids: Any) -> Any:
    """Return ids in a list or an Arrow array, (ids,), if all are whole numbers from -1 on; or None.

    These are numbers, no texts.
    """
    if isinstance(ids, list) and not _are_numbers(ids):
        return None
    numbers = read_column(ids, "score")
    is_padded = numbers is not None and ((numbers >= -1) & (numbers == np.floor(numbers))).all()
    return numbers if is_padded else None


def _are_numbers(ids: Any) -> bool:
    return all(issubclass(id_type, Number | NumberText) for id_type in {*map(type, ids)})


def strip_fillers(ids: Any, source: str | None = None) -> Any:
    """Return a list without the -1 at its end, where all its ids are whole numbers from -1 on.

    Any other list is returned unchanged. Raises InputError where an id follows -1.
    """
    may_be_number = type(next(iter(ids), "")) is not str
    has_filler = may_be_number and _are_numbers(ids) and (-1 in ids or "-1" in ids)
    numbers = read_padded_ids([*ids]) if has_filler else None
    if numbers is None or isinstance(ids, Set):  # which has no order
        return ids if numbers is None else ids - {-1}
    n_ids = int(np.argmax(numbers == -1))
    if (numbers[n_ids:] != -1).any():
        raise InputError(
            f"-1 fills up some lists, and is between ids in {ids!r:.80}",
            source=source,
            hint="Leave it out: [[i for i in row if i != -1] for row in ids].",
        )
    return ids[:n_ids]


def strip_padding(
    lists_of_query: Mapping[Any, Any], side: Side
) -> tuple[Mapping[Any, Any], tuple[Note, ...]]:
    """Return {query: ids} without the -1 that fills up lists, and a note on it if there was any."""
    stripped_lists, n_fillers = {**lists_of_query}, 0
    for query, ids in lists_of_query.items():
        docs = to_list(ids) if isinstance(ids, tuple | np.ndarray) else ids
        if isinstance(docs, list | Set):
            stripped_lists[query] = strip_fillers(docs, side.name_in_errors)
            n_fillers += len(docs) - len(stripped_lists[query])
    return (stripped_lists, (padding_note(side, n_fillers),)) if n_fillers else (lists_of_query, ())


def padding_note(side: Side, n_fillers: int) -> Note:
    """Return the note on numbers that fill up the lists of a side."""
    text = f"Lists of {side.name_in_errors} are filled up with -1, {n_fillers:,} in all: left out."
    return Note("padding", "info", text, count=n_fillers)


def parse_number(cell: Any) -> Any:
    """Return the number in a cell, which may be a text; without one, the text itself, or None."""
    if isinstance(cell, str):
        text = cell.strip()
        if INTEGER_TEXT.fullmatch(text):
            return int(text)
        return float(text) if NUMBER.fullmatch(text.encode("utf-8", "replace")) else cell
    return cell if is_number(cell) and not isinstance(cell, bool) else None
