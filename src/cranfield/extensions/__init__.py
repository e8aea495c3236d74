"""What few need: each folder is one capability, an extension. No core module imports one of them.

This table is all that the core knows of extensions: what they add, by name. Places are written as
"folder.module:name", and are imported when they are used. A test (`tests/whole/test_floors.py`)
holds the core to it. What everybody needs does not belong here.
"""

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # "Unpack[keywords.Correlate]" is for type checkers only
    from cranfield.extensions import keywords as keywords
else:
    keywords = None


# Section of `cranfield -h` -> folder.command -> its line there. Its module is folder.NAME_command,
# with _ for -.
COMMANDS = {
    "Evaluate": {
        "labels.nuggets": "Score answers by the nuggets that they support.",
        "tools.conventions": "Compute a number as other tools do: why does mine say 0.82?",
        "lists.describe": "Tell what lists are like: coverage, novelty, diversity.",
        "tools.trec-eval": "Take the place of trec_eval: its options, its output.",
        "demo.demo": "Evaluate a small collection that comes with the package.",
    },
    "Compare": {
        "trend.trend": "Follow quality over time: each run against the one before it.",
        "power.power": "Tell how many queries an experiment needs, or what it can show.",
        "orderings.correlate": "Show how alike measures, or judgments, order the same systems.",
        "orderings.reproduce": "Show how near a second experiment came to the first.",
        "labels.assessors.agreement": "Show how far assessors agree, and whether that matters.",
        "labels.trust.trust": "Show how far a model's labels go, by some of people.",
    },
    "Show": {
        "report.report": "Make one page to look at: tables, charts, rankings side by side.",
        "report.figure": "Draw a picture for a screen, a paper or slides.",
        "report.table": "Make the table of a paper: systems by measures, marked by a test.",
    },
    "Runs and judgments": {
        "fusion.fuse": "Make one run of several.",
        "fusion.tune": "Choose the weights of fusion, and tell what that is worth.",
        "labels.pools.pool": "List what people should label, or draw a part of it.",
        "labels.pools.collect": "Check the labels that people gave, and make judgments of them.",
        "labels.pools.holes": "Show what judgments lack for each run, and what it brought.",
    },
}

# Verb -> families of options that it takes beside its own. Each family of `evaluate` may wrap what
# scores runs; the outermost wrapper comes last.
FAMILIES = {
    "evaluate": ("scale.options:Bucketing", "tools.options:Convening", "whatif.options:Bounding"),
    "explain": ("tools.options:Convening",),
    "compare": ("clusters.options:Clustering", "seeds.options:Grouping"),
    "gate": (
        "seeds.options:Retraining",
        "clusters.options:Clustering",
        "seeds.options:Grouping",
        "labels.human.human_options:HumanOptions",
    ),
    "intervals": ("clusters.options:Clustering",),
}

# Command -> families of options: what each does, when it is given, takes the command's place.
WAYS = {
    "compare": ("collections.way:CollectionSource", "labels.human.way:HumanLabels"),
    "evaluate": ("labels.human.way:HumanLabels",),
}

# Kind of thing -> its name -> its place.
ENTRIES = {
    "gate test": {"bounded": "bounded.test:BoundedTest"},
    "columns of compare": {"unjudged": "whatif.columns:UnjudgedColumns"},
    "remark of explain": {"whatif": "whatif.sentences:WhatIf"},
    # What its measures take. The module declares them, where a name is none of the core's.
    "measures": {"of lists": "lists.list_measures:Lists"},
}

# Value of a pair of systems -> the values that extensions add after it. None where not asked for.
PAIR_VALUES = {
    "superiority": (
        "clusters",  # how many clusters of queries were tested (clusters=)
        "changed_clusters",  # those with a query on which the two differ
        "design_effect",  # variance of the difference / that of independent queries
        "training_low",  # the interval of the difference, trained again with other seeds (groups=)
        "training_high",
        "training_p",
        "training_p_adjusted",
        "training_df",  # degrees of freedom of t
        "training_verdict",
    ),
    "detectable": (
        "unjudged_low",  # the difference, for any grades of unjudged documents (bounds=)
        "unjudged_high",
        "unjudged_method",  # how these two were found
        "unjudged_robust",  # whether the sign is the same for all grades
    ),
}

# Extension -> other extensions that it may import.
USES = {
    "demo": ("report",),
    "labels": ("fusion", "orderings", "whatif"),
    "orderings": ("whatif",),
    "report": ("collections", "trend"),
}


@cache
def load_entry(kind: str, name: str) -> Any:
    """Return a thing that an extension adds, by its kind and name."""
    return _load(ENTRIES[kind][name])


def load_entries(kind: str) -> list[Any]:
    """Return all things of a kind that extensions add, in the order of the table."""
    return [load_entry(kind, name) for name in ENTRIES[kind]]


@cache
def load_families(verb: str) -> tuple[type[Any], ...]:
    """Return the families of options that extensions add to a verb."""
    return tuple(_load(place) for place in FAMILIES[verb])


@cache
def load_ways(command: str) -> tuple[type[Any], ...]:
    """Return the families of options that take the place of what a command does."""
    return tuple(_load(place) for place in WAYS.get(command, ()))


def _load(place: str) -> Any:
    module, name = place.split(":")
    return getattr(import_module(f"cranfield.extensions.{module}"), name)
