"""The Python reference: every public name is on one page, described, with an example."""

import re
from collections import Counter
from functools import cache
from typing import Any

import griffe
import pytest
from api_pages import (
    HOMES,
    INTERNAL,
    PAGES,
    SOURCE,
    list_members,
    list_names,
    read_docstring,
    split_docstring,
)

from cranfield import demo, figures, pytrec_eval

NAMES = [name for page in PAGES for name in list_names(page)]
# Examples of these are elsewhere: of errors where they are raised, of the adapters and annotations
# in docs/how-to/adapters.md and docs/background/own-measures.md, of Spark in
# docs/background/scale.md, which are executed, too.
NO_EXAMPLE = re.compile(
    r"\w+Error$|CranfieldProvider$|^spark\.|(Cutoff|Rel|RecallPoint)$|supported_\w+$"
)


@cache
def load_package() -> Any:
    return griffe.load("cranfield", search_paths=[str(SOURCE)])


def find_object(name: str) -> Any:
    api_object = load_package()[name if "." in name else f"{HOMES[name]}.{name}"]
    return api_object.final_target if api_object.is_alias else api_object


def public_names(module: Any) -> set[str]:
    """Return the public names that a module has of its own, or gives as its own."""
    return {
        name
        for name, member in vars(module).items()
        if not name.startswith("_")
        and (
            getattr(member, "__module__", "").startswith(module.__name__)
            or name in getattr(module, "__all__", ())
        )
    }


def test_members_that_are_left_out_exist() -> None:
    full_name_of_member = {name.rpartition(".")[2]: name for name in NAMES}
    for name, members in INTERNAL.items():
        assert set(members.split()) <= set(list_members(find_object(full_name_of_member[name])))


def test_every_public_name_is_on_one_page() -> None:
    counts = Counter(NAMES)
    assert set(counts.values()) == {1}
    assert set(HOMES) == {name for name in counts if "." not in name}
    assert {f"figures.{name}" for name in public_names(figures)} <= set(counts)
    assert {f"demo.{name}" for name in public_names(demo)} <= set(counts)
    assert {f"compat.pytrec_eval.{name}" for name in public_names(pytrec_eval)} <= set(counts)


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_has_a_sentence_and_an_example(name: str) -> None:
    text = read_docstring(find_object(name))
    assert text.partition("\n")[0].endswith((".", ":")), text
    assert ">>> " in text or NO_EXAMPLE.search(name) or find_object(name).is_attribute


@pytest.mark.parametrize("name", NAMES)
def test_every_member_has_a_sentence(name: str) -> None:
    for member in list_members(find_object(name)).values():
        if (member.is_function or "property" in member.labels) and not member.name.startswith("_"):
            assert read_docstring(member), member.path


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_is_described(name: str) -> None:
    function = find_object(name)
    if not function.is_function:
        return
    text = read_docstring(function)
    described_names = {
        parameter.name
        for section in split_docstring(function)
        if section.kind.value == "parameters"
        for parameter in section.value
    }
    takes_options = any("takes(" in str(mark.value) for mark in function.decorators)
    for parameter in function.parameters:
        is_options = parameter.kind.value == "variadic keyword" and takes_options
        if parameter.name.startswith("_") or is_options:
            continue
        is_mentioned = re.search(rf"`[^`\n]*\b{parameter.name}\b[^`\n]*`", text)
        assert parameter.name in {word.lstrip("*") for word in described_names} or is_mentioned, (
            parameter.name
        )
