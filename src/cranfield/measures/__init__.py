"""Every measure, registered by importing its family, in the order of the catalogue."""

# Not in the order of the alphabet: it is the catalogue's.
from cranfield.measures import (  # isort: skip
    gain,
    precision,
    coverage,
    users,
    cascade,
    ntcir,
    sets,
    review,
    groups,
    diversity,
)
from cranfield.measures.grammar import find, parse, parse_all
from cranfield.measures.registry import Definition, Measure, Plan, definitions, measure

__all__ = [
    "Definition",
    "Measure",
    "Plan",
    "cascade",
    "coverage",
    "definitions",
    "diversity",
    "find",
    "gain",
    "groups",
    "measure",
    "ntcir",
    "parse",
    "parse_all",
    "precision",
    "review",
    "sets",
    "users",
]
