"""Every measure, registered by importing its family, in the order of the catalogue."""

# Not in the order of the alphabet: it is the catalogue's.
from cranfield.measures import by_group as groups
from cranfield.measures import (
    cascade,
    coverage,
    cwl,
    diversity,
    gain,
    ntcir,
    precision,
    review,
    sampled,
    sets,
    users,
)
from cranfield.measures import compatibility as agreement
from cranfield.measures.grammar import find, parse, parse_all, search
from cranfield.measures.plan import EXAMPLE, Measure, Plan, example_of
from cranfield.measures.registry import Definition, definitions, measure

__all__ = [
    "EXAMPLE",
    "Definition",
    "Measure",
    "Plan",
    "agreement",
    "cascade",
    "coverage",
    "cwl",
    "definitions",
    "diversity",
    "example_of",
    "find",
    "gain",
    "groups",
    "measure",
    "ntcir",
    "parse",
    "parse_all",
    "precision",
    "review",
    "sampled",
    "search",
    "sets",
    "users",
]
