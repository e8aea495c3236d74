"""An import of all names."""

from typing import Any

import cranfield
from cranfield import AP, evaluate


def test_a_star_imports_measures_too() -> None:
    names: dict[str, Any] = {}
    exec("from cranfield import *", names)  # noqa: S102 - what people type
    assert names["AP"] == AP
    assert names["evaluate"] is evaluate
    missing = {definition.name for definition in cranfield.definitions()} - names.keys()
    assert not missing


def test_a_star_imports_the_usual_names_of_measures() -> None:
    names: dict[str, Any] = {"map": map}
    exec("from cranfield import *", names)  # noqa: S102 - what people type
    for name, own_name in {
        "MAP": "AP",
        "MRR": "RR",
        "F1": "F",
        "NDCG": "nDCG",
        "HitRate": "Success",
        "Precision": "P",
        "Recall": "R",
        "precision": "P",
        "recall": "R",
    }.items():
        assert names[name] == cranfield.Measure(own_name), name
    assert names["F1"]([1, 1, 0], k=3) == 2 * (2 / 3) * 1 / (2 / 3 + 1)
    hidden_names = {"map", "sum", "min", "max", "list", "dict", "set", "print"} & {*dir(cranfield)}
    assert not hidden_names
