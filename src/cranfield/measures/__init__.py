"""Every measure, registered by importing its family, in the order of the catalogue."""

from cranfield.measures import gain, precision, sets
from cranfield.measures.grammar import find, parse, parse_all
from cranfield.measures.registry import Definition, Measure, definitions, evaluated, measure

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
