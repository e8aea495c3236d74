"""Declarations of measures: what is refused, how they are pickled, and without docstrings."""

import copy
import importlib
import math
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from helpers.folders import ROOT
from helpers.profile import sample_cases

from cranfield import MeasureError, Names, Traits, definitions, measure, parse
from cranfield.measures import registry

SAID = "Something.\n\nFormula: 1\nSource: this test\n"


def declare(name: Any = "Declared", **arguments: Any) -> None:
    def kernel(judged: Any) -> Any:
        return judged.n_retrieved

    kernel.__doc__ = SAID
    measure(name, **arguments)(kernel)


@pytest.mark.parametrize(
    "arguments",
    [
        {"names": (3,)},
        {"names": ("a b",)},
        {"names": ("a@5",)},
        {"names": ("a,b",)},
        {"names": ("a;b",)},
        {"names": ("hit-rate",)},  # of Success, except for the hyphen
        {"names": ("f(x)",)},
        {"names": ("a-l2",)},
        {"names": ("",)},
        {"names": Names(variants={"a b": {}})},
        {"traits": "by_grade"},
        {"aggregation": "median"},
        {"range": 3},
        {"range": (0,)},
        {"range": (1, 0)},
        {"range": ("0", "1")},
        {"higher_is_better": "yes"},
        {"perfect": 3},
        {"perfect_cut": None},
    ],
    ids=lambda declaration: next(iter(declaration)),
)
def test_an_argument_that_is_none_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(MeasureError, match=r"@measure\('Declared'\)"):
        declare(**arguments)
    assert "Declared" not in registry.DEFINITIONS
    assert not {"x", "xyz", "a b"} & registry.VARIANTS.keys()


@pytest.mark.parametrize(
    "arguments",
    [
        {"bounds": "foo"},
        {"linear": "foo"},
        {"by_grade": "foo"},
        {"takes_groups": "foo"},
        {"of_sets": "yes"},
        {"fractions": 3},
        {"fractions": True},
        {"takes_cost": "foo"},
        {"averages_ties": None},
        {"fits": "foo"},
    ],
    ids=str,
)
def test_a_trait_that_is_none_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(MeasureError, match=next(iter(arguments))):
        Traits(**arguments)


@pytest.mark.parametrize("names", ["xyz", 3, None])
def test_a_text_is_no_list_of_names(names: Any) -> None:
    """Each of its letters would be one."""
    for declare_names in (Names, lambda names: declare(names=names)):
        with pytest.raises(MeasureError, match=f"names={names!r}"):
            declare_names(names)


@pytest.mark.parametrize("text", ["nDCG", "CWL", "AP", "RelString"])
def test_a_definition_is_pickled_by_its_name(text: str) -> None:
    definition = parse(
        f"{text}@5" if parse(text).definition.cutoff == "required" else text
    ).definition
    assert pickle.loads(pickle.dumps(definition)) is definition  # noqa: S301 - made here
    assert copy.copy(definition) is definition
    assert copy.deepcopy(definition) is definition
    assert copy.deepcopy({"of": [definition]})["of"] == [definition]


def test_every_definition_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(definitions())) == definitions()  # noqa: S301 - made here


OF_OTHERS = """
import pickle, sys
measure = pickle.loads(bytes.fromhex(sys.argv[1]))
print(measure, measure({"a": 1}, ["a", "b"]))
"""


def test_a_measure_of_a_module_is_known_to_other_processes() -> None:
    sys.modules.pop("helpers.own_measure", None)
    importlib.import_module("helpers.own_measure")  # which declares it, for this test alone
    text = pickle.dumps(parse("OwnFirst")).hex()
    for folder, status in ((ROOT / "tests", 0), (ROOT, 1)):
        paths = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": paths}
        process = subprocess.run(
            [sys.executable, "-c", OF_OTHERS, text], env=environment, capture_output=True, text=True
        )
        assert process.returncode == status
        if status == 0:
            assert process.stdout == "OwnFirst 1.0\n"
        else:
            assert "declare measures for other processes in a module" in process.stderr


def test_a_definition_that_another_has_replaced_is_not_pickled() -> None:
    """Its name would give the other one."""
    declare("PickledOnce")
    before = parse("PickledOnce").definition
    declare("PickledOnce")
    with pytest.raises(pickle.PicklingError):
        pickle.dumps(before)
    assert copy.copy(before) is before


def python(*arguments: str) -> str:
    """Run Python without docstrings; return what it prints."""
    # Files of bytecode without docstrings would be of use to nobody.
    process = subprocess.run(
        [sys.executable, "-B", "-OO", *arguments], capture_output=True, text=True, check=True
    )
    return process.stdout


@pytest.mark.parametrize("arguments", [(), ("nDCG", "CWL")], ids=["all", "some"])
def test_without_docstrings_the_catalogue_says_so(arguments: tuple[str, ...]) -> None:
    page = python("-m", "cranfield", "measures", *arguments)
    assert page.count("-OO") == 1
    assert "Formula" not in page
    assert "()" not in page


def test_without_docstrings_an_explanation_has_no_empty_formula() -> None:
    page = python("-m", "cranfield", "explain", "--grades", "3 0 1", "-m", "AP")
    assert "()" not in page
    assert f"AP = A / B = {1 + 2 / 3:.6f} / 2" in page
    assert "AP: its formula and its source are missing here (python -OO, or" in page


PAGES = ("-h", "--help", "evaluate -h", "evaluate --help", "figure -h", "figure spread -h")


# Some, as each starts a process.
@pytest.mark.parametrize("command", sample_cases(PAGES))
def test_without_docstrings_the_help_says_so(command: str) -> None:
    page = python("-m", "cranfield", *command.split())
    assert page.count("(python -OO, or PYTHONOPTIMIZE=2, takes documentation away.") == 1


OWN = """
from cranfield import evaluate, explain, measure
@measure("Own", names=("own_one",))
def own(judged):
    '''Gone.'''
    return judged.n_relevant() * 1.0
print(evaluate({"q": {"a": 1}}, {"q": ["a"]}, "own_one")["Own"])
print(explain({"q": {"a": 1}}, {"q": ["a"]}, "Own").to_dict()["formula"] == "")
"""


def test_without_docstrings_a_measure_of_ones_own_works() -> None:
    assert python("-c", OWN).split() == ["1.0", "True"]


def test_the_range_of_values_in_words() -> None:
    ranges: list[Any] = [(0, 1), (0, None), (-math.inf, None), (-math.inf, 1)]
    texts = [replace(parse("AP").definition, range=pair).range_text for pair in ranges]
    assert texts == ["from 0 to 1", "from 0 up", "any number", "up to 1"]
