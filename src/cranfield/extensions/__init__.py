"""What few need: each folder is one capability. No core module imports one of them.

This table is all that the core knows: what extensions add, by name, imported when it is used.
"""

from functools import cache
from importlib import import_module
from typing import Any

# Families of options that a verb takes beside its own; of scoring, the outermost comes last.
_FAMILIES = {
    "evaluate": (
        "scale.options:Dealing",
        "tools.options:Convening",
        "whatif.options:Bounding",
    ),
}

# What has a name that users type, by what it is: name -> place.
_ENTRIES = {
    "gate_tests": {"bounded": "bounded.test:Bounded"},
    "pair": {  # values of a pair of systems: name -> what it is, and what asks for it
        "clusters": "how many clusters of queries were tested (clusters=)",
        "changed_clusters": "those with a query on which the two differ (clusters=)",
        "design_effect": "variance of the difference / that of independent queries (clusters=)",
        "training_low": "trained again with other seeds (groups=)",
        "training_high": "trained again with other seeds (groups=)",
        "training_p": "trained again with other seeds (groups=)",
        "training_p_adjusted": "trained again with other seeds (groups=)",
        "training_df": "degrees of freedom of t (groups=)",
        "training_verdict": "trained again with other seeds (groups=)",
        "unjudged_low": "the difference, for any grades of unjudged documents (bounds=)",
        "unjudged_high": "the difference, for any grades of unjudged documents (bounds=)",
        "unjudged_method": "how these were found (bounds=)",
        "unjudged_robust": "whether the sign is the same for all grades (bounds=)",
    },
    "compare": {"unjudged": "whatif.columns:Unjudged"},
    "explain": {"whatif": "whatif.sentences:WhatIf"},
}


def entries(kind: str) -> tuple[str, ...]:
    """Return the names of a kind of thing that extensions bring."""
    return tuple(_ENTRIES.get(kind, ()))


@cache
def entry(kind: str, name: str) -> Any:
    """Return one of them."""
    return _load(_ENTRIES[kind][name])


@cache
def families(verb: str) -> tuple[type[Any], ...]:
    """Return the families of options that extensions add to a verb."""
    return tuple(_load(one) for one in _FAMILIES.get(verb, ()))


def _load(place: str) -> Any:
    module, name = place.split(":")
    return getattr(import_module(f"cranfield.extensions.{module}"), name)
