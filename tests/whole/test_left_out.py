"""Every verb and command that reads runs takes `without`, with the numbers of runs without that."""

import inspect
import json
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import invoke

import cranfield
from cranfield import CranfieldWarning
from cranfield.cli import COMMANDS, load_command
from cranfield.options import refuse_unknown_options

pytestmark = pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")

Scores = dict[str, dict[str, float]]

QUERIES = [f"q{i}" for i in range(8)]
QRELS = {query: {f"d{(i + k) % 7}": k % 3 for k in range(5)} for i, query in enumerate(QUERIES)}
SECOND_QRELS = {
    query: {doc: (grade + 1) % 3 for doc, grade in docs.items()} for query, docs in QRELS.items()
}
RUNS: dict[str, Scores] = {
    name: {
        query: {f"d{k}": float((k * step + i) % 11) for k in range(9)}
        for i, query in enumerate(QUERIES)
    }
    for name, step in {"old": 3, "new": 5, "last": 4}.items()
}
SEEN = {query: [f"d{(2 * i) % 9}", f"d{(i + 4) % 9}", "d99"] for i, query in enumerate(QUERIES)}


def remove_seen(run: Scores) -> Scores:
    """Return a run without what was seen, document by document."""
    return {
        query: {doc: score for doc, score in docs.items() if doc not in SEEN[query]}
        for query, docs in run.items()
    }


LEFT_RUNS = {name: remove_seen(run) for name, run in RUNS.items()}
PAIR, LEFT_PAIR = ({name: runs[name] for name in ("old", "new")} for runs in (RUNS, LEFT_RUNS))
Verb = Callable[..., Any]  # takes {name: run} and the options


def verbs() -> Mapping[str, Verb]:
    """Return each function that takes `columns`, called on {name: run}."""
    collections = {"first": QRELS, "second": SECOND_QRELS}
    return {
        "evaluate": lambda runs, **options: cranfield.evaluate(QRELS, runs, "AP nDCG@3", **options),
        "compare": lambda runs, **options: cranfield.compare(QRELS, runs, "AP", **options),
        "gate": lambda runs, **options: cranfield.gate(
            QRELS, runs, "AP", baseline="old", **options
        ),
        "explain": lambda runs, **options: cranfield.explain(
            QRELS, runs["old"], "AP", "q1", **options
        ),
        "check": lambda runs, **options: cranfield.check(QRELS, runs, **options),
        "holes": lambda runs, **options: cranfield.holes(QRELS, runs, "nDCG@3", **options),
        "pool": lambda runs, **options: cranfield.pool(QRELS, runs, k=3, **options),
        "fuse": lambda runs, **options: cranfield.fuse(runs, "rrf", **options),
        "tune": lambda runs, **options: cranfield.tune(QRELS, runs, "sum", "AP", **options).run,
        "agreement": lambda runs, **options: cranfield.agreement(
            QRELS, SECOND_QRELS, runs, measures="AP", **options
        ),
        "conventions": lambda runs, **options: cranfield.conventions(
            QRELS, runs["new"], "AP", **options
        ),
        "joint_bounds": lambda runs, **options: cranfield.joint_bounds(
            QRELS, {name: runs[name] for name in ("old", "new")}, "P@3", **options
        ),
        "compare_collections": lambda runs, **options: cranfield.compare_collections(
            {name: (qrels, runs) for name, qrels in collections.items()}, "AP", **options
        ),
        "correlate": lambda runs, **options: cranfield.correlate(
            collections, runs, "AP", **options
        ),
        "discriminative_power": lambda runs, **options: cranfield.discriminative_power(
            QRELS, runs, "AP nDCG@3", **options
        ),
        "swap_rate": lambda runs, **options: cranfield.swap_rate(
            QRELS, runs, "AP nDCG@3", **options
        ),
        "reproduce": lambda runs, **options: cranfield.reproduce(
            QRELS,
            {name: runs[name] for name in ("old", "new")},
            {"old": runs["last"], "new": runs["new"]},
            "AP",
            **options,
        ),
        "prediction_powered": lambda runs, **options: cranfield.prediction_powered(
            QRELS, runs, "AP", human=SECOND_QRELS, **options
        ),
    }
