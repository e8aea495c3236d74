"""Every measure, registered by importing its family, in the order of the catalogue."""

from cranfield.measures import gain, precision, sets
from cranfield.measures.registry import (
    Definition,
    Measure,
    definitions,
    evaluated,
    find,
    measure,
    parse,
    parse_all,
)

__all__ = [
    "Definition",
    "Measure",
    "definitions",
    "evaluated",
    "find",
    "gain",
    "measure",
    "parse",
    "parse_all",
    "precision",
    "sets",
]
