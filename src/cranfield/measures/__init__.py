"""Every measure, registered by importing its family, in the order of the catalogue."""

# Not in the order of the alphabet: it is the catalogue's.
from cranfield.measures import gain, precision, coverage, users, cwl, sets, groups  # isort: skip
from cranfield.measures.grammar import find, parse, parse_all
from cranfield.measures.registry import Definition, Measure, Plan, definitions, measure

__all__ = [
    "Definition",
    "Measure",
    "Plan",
    "coverage",
    "cwl",
    "definitions",
    "find",
    "gain",
    "groups",
    "measure",
    "parse",
    "parse_all",
    "precision",
    "sets",
    "users",
]
