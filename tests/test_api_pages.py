"""The pages of the Python API: every public name is there, with all that a reader needs."""

import inspect
import re
from collections import Counter

import pytest
from api_pages import PAGES, api_pages, found, names_of
from griffe import Docstring, DocstringSectionKind, parse_google

import cranfield
from cranfield import Measure

NAMES = [name for page in PAGES for name in names_of(page)]
FUNCTIONS = [name for name in NAMES if inspect.isfunction(found(name))]


def test_every_public_name_is_on_one_page() -> None:
    public = {
        name
        for name in cranfield.__all__
        if not isinstance(getattr(cranfield, name), Measure) and name != "__version__"
    }
    counts = Counter(name for name in NAMES if "." not in name)
    assert counts == dict.fromkeys(public, 1)


@pytest.mark.parametrize("name", NAMES)
def test_every_name_has_a_sentence(name: str) -> None:
    first = (inspect.getdoc(found(name)) or "").partition("\n")[0]
    assert first.endswith((".", ":", "?")) or not first, first
    assert first or hasattr(found(name), "__metadata__"), name


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_is_described(name: str) -> None:
    function = found(name)
    sections = parse_google(Docstring(inspect.getdoc(function) or ""), warnings=False)
    described = {
        one.name.lstrip("*")
        for section in sections
        if section.kind is DocstringSectionKind.parameters
        for one in section.value
    }
    told = set(re.findall(r"`(\w+)", inspect.getdoc(function) or ""))  # in a sentence
    own = {one for one in inspect.signature(function).parameters if not one.startswith("_")}
    assert own <= described | told


def test_options_of_a_family_are_parameters() -> None:
    page = api_pages()["gate.md"]
    assert "- `flips`: how many flips of signs" in page
    assert "flips=100000" in page
