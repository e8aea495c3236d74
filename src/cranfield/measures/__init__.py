"""Every measure, registered by importing its family, in the order of the catalogue."""

# Not in the order of the alphabet: it is the catalogue's.
from cranfield.measures import (  # isort: skip
    gain,
    precision,
    sampled,
    coverage,
    users,
    agreement,
    cwl,
    cascade,
    ntcir,
    sets,
    review,
    groups,
    diversity,
)
from cranfield.measures.grammar import find, parse, parse_all
from cranfield.measures.plan import Measure, Plan
from cranfield.measures.registry import Definition, definitions, measure

__all__ = [
    "Definition",
    "Measure",
    "Plan",
    "agreement",
    "cascade",
    "coverage",
    "cwl",
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
    "sampled",
    "sets",
    "users",
]
