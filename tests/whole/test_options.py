"""options: a family of options is checked, named in signatures and help, and recorded."""

import inspect
from dataclasses import dataclass, fields
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, get_type_hints

import click
import numpy as np
import pytest
from click.testing import CliRunner

import cranfield
import cranfield.extensions.keywords as extension_keywords
from cranfield import OptionError, evaluate, explain, keywords
from cranfield.cli.flags import family_options
from cranfield.data.judging import Judging
from cranfield.extensions import FAMILIES
from cranfield.options import (
    Options,
    check_flag,
    check_option,
    finite_number,
    is_whole_number,
    list_options,
    number_check,
    option,
    refuse_unknown_options,
    share_check,
    takes,
    whole_check,
)


@dataclass(frozen=True, kw_only=True)
class Cutting(Options):
    """Options of every kind."""

    manner: Literal["sharp", "blunt"] = option("sharp", "Cut so.")
    end: str | None = option(None, "Cut there.", ("top", "end"))
    depth: int | None = option(None, "Cut at this rank.", whole_check(1, 9))
    level: float = option(0.05, "Cut what is below.", share_check(upper=0.5))
    minimum: float = option(0.0, "Keep so much.", number_check(0))
    repeats: bool = option(False, "Cut again.")


@takes(Cutting, omit=("minimum",))
def cut_rows(rows: list[int], *, repeat: bool = False, **cutting: Any) -> list[int] | None:
    """Cut some rows.

    Args:
        rows: what is cut.
        repeat: whether to go on.
        **cutting: each option of `Cutting`,
            but one.

    Returns:
        what is left.

    """
    refuse_unknown_options(cut_rows, cutting)
    return rows[: Cutting.of(cutting).depth]


NUMBERS: list[tuple[Any, float | None]] = [
    (2, 2),
    (-0.5, -0.5),
    (np.int8(3), 3),
    (np.float16(0.5), 0.5),
    (Fraction(1, 4), 0.25),
    (Decimal("0.5"), 0.5),
    (10**400, None),
    *[(value, None) for value in (True, np.True_, "2", b"2", None, [2], 1j)],
    *[(float(value), None) for value in ("nan", "inf", "-inf")],
    (Decimal("sNaN"), None),
]


@pytest.mark.parametrize(("value", "expected"), NUMBERS, ids=repr)
def test_what_is_a_number(value: Any, expected: float | None) -> None:
    assert finite_number(value) == expected
    assert type(finite_number(value)) in (int, float, type(None))
    if expected is None:
        for check in (number_check(), whole_check(0), share_check()):
            with pytest.raises(OptionError, match=r"^x=.*: expected a (whole )?number"):
                check_option("x", value, check)
    else:
        assert check_option("x", value, number_check()) == expected


def test_what_is_of_a_type_of_whole_numbers() -> None:
    assert all(map(is_whole_number, (0, -3, 10**400, np.uint8(1))))
    assert not any(map(is_whole_number, (True, np.False_, 1.0, "1", None)))


@pytest.mark.parametrize(
    ("check", "right", "wrong", "message"),
    [
        (whole_check(1), (1, 5.0, np.int64(7)), (0, 1.5, -1), "a whole number of at least 1"),
        (whole_check(2, 1000), (2, 1000), (1, 1001), "a whole number from 2 to 1,000"),
        (number_check(), (-1e9, 0), ("x",), "a number"),
        (number_check(0), (0, 0.5), (-0.1,), "a number of at least 0"),
        (number_check(0, 1), (0, 1), (-0.1, 1.1), "a number from 0 to 1"),
        (share_check(), (0.99, 1e-9), (0, 1, 1e-10), "a number above 0 and below 1"),
        (share_check(upper=0.5), (0.05,), (0.5,), "a number above 0 and below 0.5"),
        (check_flag, (True, np.False_), (0, 1, "yes", None), "True or False"),
    ],
)
def test_checks(check: Any, right: Any, wrong: Any, message: str) -> None:
    for right_value in right:
        assert check_option("x", right_value, check) == right_value
        assert type(check_option("x", right_value, check)) in (int, float, bool)
    for wrong_value in wrong:
        with pytest.raises(OptionError) as excinfo:
            check_option("x", wrong_value, check)
        assert str(excinfo.value) == f"x={wrong_value!r}: expected {message}"


def test_a_family_checks_its_options() -> None:
    cutting = Cutting(depth=np.int64(5), end="end", level=0.1)  # type: ignore[arg-type] # numpy's
    assert cutting.to_dict() == {
        "manner": "sharp",
        "end": "end",
        "depth": 5,
        "level": 0.1,
        "minimum": 0.0,
        "repeats": False,
    }
    assert type(cutting.depth) is int
    assert cutting.changed_options() == {"end": "end", "depth": 5, "level": 0.1}
    assert Cutting(end=None, depth=None) == Cutting() == Cutting.of({}) == Cutting.of({"x": 1})
    assert Cutting.of({"depth": 3, "other": 1}) == Cutting(depth=3)
    wrong_options: list[dict[str, Any]] = [
        {"manner": "dull"},
        {"manner": None},
        {"end": "middle"},
        {"depth": 10},
        {"level": None},
        {"minimum": -1},
        {"repeats": 1},
    ]
    for wrong_option in wrong_options:
        with pytest.raises(OptionError, match=f"^{next(iter(wrong_option))}="):
            Cutting(**wrong_option)


def test_a_function_names_the_options_it_takes() -> None:
    assert str(inspect.signature(cut_rows)) == (
        "(rows, *, repeat=False, manner='sharp', end=None, depth=None, level=0.05, "
        "repeats=False) -> list[int] | None"
    )
    docstring = inspect.getdoc(cut_rows)
    assert docstring is not None
    assert "    repeat: whether to go on.\n    manner: cut so.\n    end: cut there.\n" in docstring
    assert "**cutting" not in docstring
    assert "    repeats: cut again.\n\nReturns:\n" in docstring
    assert cut_rows([1, 2, 3], depth=2) == [1, 2]
    for option_name in ("minimum", "rows_", "cutting"):
        with pytest.raises(TypeError) as excinfo:
            cut_rows([1], **{option_name: True})
        assert str(excinfo.value) == (
            f"cut_rows() got an unexpected keyword argument {option_name!r}; its options are "
            "repeat, manner, end, depth, level, repeats"
        )


def test_a_command_has_the_options_of_a_family() -> None:
    cuttings: list[Any] = []

    def keep(cutting: Cutting) -> None:
        cuttings.append(cutting)

    decorator = family_options(Cutting, without=("minimum",), depth={"names": ("-d", "--depth")})
    command = click.command()(decorator("cutting")(keep))
    typed_options = ["--manner", "blunt", "--end", "top", "-d", "3", "--level", "0.2", "--repeats"]
    for arguments in ([], typed_options):
        assert CliRunner().invoke(command, arguments).exit_code == 0
    expected_cutting = Cutting(manner="blunt", end="top", depth=3, level=0.2, repeats=True)
    assert cuttings == [Cutting(), expected_cutting]
    help_text = CliRunner().invoke(command, ["--help"]).output
    for option_text in (
        "[sharp|blunt]",
        "[top|end]",
        "-d, --depth N",
        "[default: 0.05]",
        "Cut so.",
    ):
        assert option_text in help_text
    assert "--minimum" not in help_text
    for option_, value in (("--depth", "0"), ("--level", "0.9")):
        exception = CliRunner().invoke(command, [option_, value]).exception
        assert isinstance(exception, OptionError)
        assert str(exception).startswith(f"{option_[2:]}={value}: expected a")


def test_how_runs_are_judged_is_said_once() -> None:
    names = [field.name for field in fields(Judging)]
    assert list(keywords.Judging.__annotations__) == names
    for function in (evaluate, explain):
        parameters = inspect.signature(function).parameters
        for parsed_option in list_options(Judging):
            assert parameters[parsed_option.name].default == parsed_option.default
            assert f"        {parsed_option.name}: " in str(function.__doc__)
    recipe = evaluate({"q": {"a": 1}}, {"q": ["a"]}, "AP", depth=3).recipe
    assert {name: recipe[name] for name in names} == Judging(depth=3).to_dict()


VERBS = (*FAMILIES, "check", "correlate", "trend", "tune", "pool", "agreement")


@pytest.mark.parametrize("verb", VERBS)
def test_type_checkers_know_the_options_of_functions(verb: str) -> None:
    function = inspect.unwrap(getattr(cranfield, verb))
    home = extension_keywords if ".extensions." in function.__module__ else keywords
    stated_options = getattr(home, verb.title()).__annotations__.keys()
    parameters = inspect.signature(function).parameters.values()
    keyword_names = {
        parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY
    }
    assert keyword_names - {*(function.__kwdefaults__ or {})} <= stated_options
    assert verb not in FAMILIES or stated_options - {"queries"} <= keyword_names


@pytest.mark.parametrize("verb", VERBS)
def test_annotations_are_found_when_it_runs(verb: str) -> None:
    """The types of keywords are for type checkers only."""
    assert "return" in get_type_hints(inspect.unwrap(getattr(cranfield, verb)))
