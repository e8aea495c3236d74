"""Every measure, registered by importing its family, in the order of the catalogue.

A measure turns a `Judged` into numbers, or texts, of its queries, and numbers into one, such as the
mean. Tests and tables are not made here.
"""

# Not in the order of the alphabet: it is the catalogue's.
from cranfield.measures import (  # noqa: F401  # isort: skip
    gain,
    precision,
    average_precision,
    interpolated,
    sampled,
    coverage,
    users,
    compatibility,
    cwl,
    cascade,
    ntcir,
    sets,
    review,
    by_group,
    diversity,
)
from cranfield.measures.grammar import (
    find_definition,
    find_measure,
    parse,
    parse_all,
    search_definitions,
)
from cranfield.measures.plan import EXAMPLE, Measure, Plan, find_plan, make_example
from cranfield.measures.registry import Definition, definitions, measure

__all__ = [
    "EXAMPLE",
    "Definition",
    "Measure",
    "Plan",
    "definitions",
    "find_definition",
    "find_measure",
    "find_plan",
    "make_example",
    "measure",
    "parse",
    "parse_all",
    "search_definitions",
]
