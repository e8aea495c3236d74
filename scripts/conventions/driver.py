"""Functions that the tools' drivers share: read collections from stdin, write values to stdout.

For each of its variants, a driver has the tool's values for a collection as functions without
arguments, so that a measure that raises does not affect the others. It runs in the tool's own
environment, so without cranfield:

    VENV/bin/python run_ranx.py < collections.json > values.json

Collections are {name: {"qrels": {query: {document: grade}}, "run": {query: {document: score}},
"lists": {query: [document, ...]}, "k": [5, 10]}}; the values are {"versions": {package: version},
"variants": {variant: {name: {measure: a number or {"error": "ValueError: ..."}}}}}.
"""

import contextlib
import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import version
from typing import Any


@dataclass(frozen=True)
class Collection:
    """The input of a tool; the fields have the names in the JSON."""

    qrels: dict[str, dict[str, int]]
    run: dict[str, dict[str, float]]
    lists: dict[str, list[str]]
    k: tuple[int, ...]

    def relevant(self, query: str) -> list[str]:
        """Return the documents of a query with a grade above 0."""
        return [document for document, grade in self.qrels.get(query, {}).items() if grade > 0]

    def copy(self) -> "Collection":
        """Return a copy: some tools change their input."""
        return deepcopy(self)


Values = dict[str, Callable[[], Any]]
Variant = Callable[[Collection], Values]


def try_value(compute: Callable[[], Any]) -> float | dict[str, str]:
    """Return the number that a tool returns, or the error that it raises."""
    try:
        number = float(compute())
    except Exception as error:  # noqa: BLE001 - any error of the tool is a result
        return {"error": f"{type(error).__name__}: {error}"[:300]}
    return number if math.isfinite(number) else {"error": "NaN" if math.isnan(number) else "inf"}


def cache_outcome(compute: Callable[[], Any]) -> Callable[[], Any]:
    """Return the same function, computed once; its value or error is kept."""

    @cache
    def find_outcome() -> tuple[Any, Exception | None]:
        try:
            return compute(), None
        except Exception as error:  # noqa: BLE001 - raised again below
            return None, error

    def repeat_outcome() -> Any:
        value, error = find_outcome()
        if error is not None:
            raise error
        return value

    return repeat_outcome


def compute_score(compute_scores: Callable[[], dict[str, Any]], name: str) -> Any:
    """Return one of the values that a call returns."""
    return compute_scores()[name]


def split_scores(names: Iterable[str], compute_scores: Callable[[], dict[str, Any]]) -> Values:
    """Return a value for each name, from one call that returns all of them."""
    cached_scores = cache_outcome(compute_scores)
    return {name: partial(compute_score, cached_scores, name) for name in names}


def mean_of_numbers(numbers: Iterable[float]) -> float:
    """Return the arithmetic mean; NaN without a number."""
    number_list = list(numbers)
    return math.fsum(number_list) / len(number_list) if number_list else math.nan


def mean_of_defined(functions: Iterable[Callable[[], float]]) -> float:
    """Return the mean over the queries for which the tool does not raise."""
    numbers = [try_value(function) for function in functions]
    return mean_of_numbers(number for number in numbers if isinstance(number, float))


def compute_in_child(functions: Values) -> dict[str, Any]:
    """Return the values, computed in a child process: a tool may crash."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with os.fdopen(writer, "w") as stream:
            json.dump({name: try_value(compute) for name, compute in functions.items()}, stream)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        text = stream.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        return {name: {"error": f"the process died of signal {-status}"} for name in functions}
    scores: dict[str, Any] = json.loads(text)
    return scores


def serve(packages: Iterable[str], variants: dict[str, Variant], crashes: bool = False) -> None:
    """Compute every variant's values for the collections of stdin, and write them to stdout.

    With `crashes`, each collection is computed in a separate process.
    """
    collections = {
        name: Collection(fields["qrels"], fields["run"], fields["lists"], tuple(fields["k"]))
        for name, fields in json.load(sys.stdin).items()
    }
    scores_of_variant: dict[str, Any] = {}
    with warnings.catch_warnings(), contextlib.redirect_stdout(sys.stderr):
        warnings.simplefilter("ignore")
        for variant, make_values in variants.items():
            scores_of_variant[variant] = {}
            for name, collection in collections.items():
                functions = make_values(collection.copy())
                if crashes:
                    scores_of_variant[variant][name] = compute_in_child(functions)
                else:
                    scores_of_variant[variant][name] = {
                        name: try_value(compute) for name, compute in functions.items()
                    }
    json.dump(
        {
            "versions": {package: version(package) for package in packages},
            "variants": scores_of_variant,
        },
        sys.stdout,
    )
