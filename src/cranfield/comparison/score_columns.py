"""Columns of scores: one system under one measure, from dicts and by canonical names."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from cranfield.arrays.ranked import Floats
from cranfield.errors import DuplicateError, InputError, MeasureError
from cranfield.formats.identifiers import as_text
from cranfield.formats.small.score_files import SUMMARIES
from cranfield.measures import Measure, parse
from cranfield.notes import Note

GREATEST = 1e100  # beyond, squares would not be numbers any more


class ScoreColumn(NamedTuple):
    """One system's scores under one measure."""

    system: str
    measure: str
    query_ids: Sequence[str]
    values: Floats


def nested_columns(data: Mapping[Any, Any], notes: list[Note]) -> Iterator[ScoreColumn]:
    """Yield the columns of `{system: {query: value}}`, or of a dict of dicts for each system.

    As in files, `all` is no query, but the value over all: it is left out, and noted.
    """
    names = [as_text(name, "the systems") for name in data]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DuplicateError(f"the system {twice!r} stands twice")
    inner = [
        one for of_system in data.values() if isinstance(of_system, Mapping) for one in of_system
    ]
    if all(map(is_measure, names[:5])) or (inner and all(map(is_measure, inner[:5]))):
        one_level = all(
            isinstance(of_system, Mapping)
            and not any(isinstance(one, Mapping) for one in of_system.values())
            for of_system in data.values()
        )
        if one_level:
            raise InputError(
                "these are scores of one system, by measure and query",
                hint="Name the systems: {'old': scores, 'new': others}.",
            )
    for name, of_system in zip(names, data.values(), strict=True):
        if not isinstance(of_system, Mapping) or not of_system:
            raise InputError(
                f"{name!r}: expected the scores of a system, {{query_id: value}} or {{measure: "
                f"{{query_id: value}}}}, got {of_system!r:.60}"
            )
        nested = any(isinstance(one, Mapping) for one in of_system.values())
        columns = _by_measure(name, of_system) if nested else {None: of_system}
        kept = {
            measure: {query: value for query, value in of_one.items() if query not in SUMMARIES}
            for measure, of_one in columns.items()
        }
        over_all = sum(map(len, columns.values())) - sum(map(len, kept.values()))
        if over_all:
            text = f"{over_all:,} of 'all' left out: the value over all queries."
            notes.append(Note("over-all", "info", text, source=name, count=over_all))
        yield from measure_columns(name, kept)


def _by_measure(system: str, values: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return {measure: {query: value}}, also of {query: {measure: value}} of known measures."""
    for one in values.values():
        if not isinstance(one, Mapping):
            raise InputError(
                f"{system}: expected {{measure: {{query_id: value}}}}, got {one!r:.60}"
            )
    inner = next(iter(values.values()))
    if any(map(is_measure, islice(values, 5))) or not any(map(is_measure, islice(inner, 5))):
        return values
    turned: dict[Any, dict[Any, Any]] = {}
    for query, of_query in values.items():
        for measure, value in of_query.items():
            turned.setdefault(measure, {})[query] = value
    return turned


def _column(system: str, measure: str, pairs: Sequence[tuple[Any, Any]]) -> ScoreColumn:
    query_ids = [as_text(query, system) for query, _ in pairs]
    if len(set(query_ids)) < len(query_ids):
        twice = next(query for query in query_ids if query_ids.count(query) > 1)
        raise DuplicateError(f"{system}: the query {twice!r} stands twice")
    values: list[Any] = [value for _, value in pairs]
    for query, value in zip(query_ids, values, strict=True):
        of_type: object = value
        if isinstance(of_type, bool) or not isinstance(of_type, Real):
            raise InputError(f"{system}: {measure} of query {query!r}: {value!r:.40} is no number")
        if isinstance(value, np.floating):
            value = float(value)  # 16 bits do not hold the limit
        if not -GREATEST <= value <= GREATEST:
            raise no_score(system, measure, query, value)
    return ScoreColumn(system, measure, query_ids, np.array(values, np.float64))


def no_score(system: str, measure: str, query: str, value: object) -> InputError:
    """Return the error of a value that is no score."""
    return InputError(
        f"{system}: {measure} of query {query!r} is {value!r:.40}: expected a number of at most "
        f"{GREATEST:g}"
    )


def measure_columns(
    system: str, values: Mapping[Any, Mapping[str, float]]
) -> Iterator[ScoreColumn]:
    """Yield a system's columns, by the canonical names of its measures."""
    taken: dict[str, Any] = {}
    for measure, of_measure in values.items():
        name = "score" if measure is None else _canonical(str(measure))
        if name in taken:
            raise InputError(
                f"{system}: {taken[name]!r} and {measure!r} are the same measure, {name}"
            )
        taken[name] = measure
        yield _column(system, name, list(of_measure.items()))


def is_measure(text: Any) -> bool:
    """Tell whether a text names a measure."""
    return known_measure(str(text)) is not None


def known_measure(text: str) -> Measure | None:
    """Return the measure that a text names; None if it names none."""
    try:
        return parse(text)
    except MeasureError:
        return None


def _canonical(text: str) -> str:
    return str(known_measure(text) or text)
