"""The pages of the measures: each measure has a place, a formula and arithmetic that is right."""

import math
from collections import Counter

import pytest
from measure_pages import FORMULAS, WEIGHTS, find_families

from cranfield.measures import Definition, definitions, make_example

DEFINITIONS = [*definitions(), *definitions("lists"), *definitions("run")]
MEASURES = [pytest.param(definition, id=definition.name) for definition in definitions()]


def test_every_measure_is_on_one_page() -> None:
    counts = Counter(name for names in find_families().values() for name in names)
    assert counts == {definition.name: 1 for definition in DEFINITIONS}
    assert set(FORMULAS) == {definition.name for definition in definitions()}
    assert set(WEIGHTS) <= set(find_families())


@pytest.mark.parametrize("definition", MEASURES)
def test_the_arithmetic_gives_the_value(definition: Definition) -> None:
    measure, value = make_example(definition)
    arithmetic = FORMULAS[definition.name].get("worked")
    if isinstance(value, str):
        assert arithmetic is None
        return
    assert arithmetic is not None
    names = {"log2": math.log2, "log": math.log, "exp": math.exp}
    assert eval(arithmetic, names) == pytest.approx(value, rel=1e-12), measure  # noqa: S307 # our own


@pytest.mark.more
@pytest.mark.parametrize("definition", MEASURES)
def test_the_formula_can_be_shown(definition: Definition) -> None:
    convert = pytest.importorskip("latex2mathml.converter").convert
    formula = FORMULAS[definition.name]
    texts = [formula["latex"], *formula.get("where", "").split("$")[1::2]]
    for text in texts:
        assert "\\" not in convert(text).replace("&#x0005C;", ""), text
