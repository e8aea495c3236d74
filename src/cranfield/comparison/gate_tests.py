"""The tests of a gate, by name: what differs between them beside their numbers."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cranfield.extensions import entries, entry

if TYPE_CHECKING:
    from cranfield.comparison.margins import Contrast
    from cranfield.comparison.settings import GateSettings


class GateTest:
    """A test by sign flips or by Student's t; an extension may bring another."""

    name = title = ""
    any_number = False  # whether it holds however few queries differ
    needs_range = False  # whether the least and the greatest score have to be known
    bets: int | None = None  # of a recipe
    shown: Callable[..., Any] | None = None  # the test itself, where it is another

    def least_p(self, settings: "GateSettings", n: int) -> float:
        """Return the least p-value that n queries can give, for any differences."""
        drawn = settings.drawn(n)
        return 2.0**-n if drawn is None or drawn.exact else 1 / (drawn.drawn + 1)

    def reach(self, contrast: "Contrast") -> Any:
        """Return what it has to know of the differences from a baseline."""

    def reach_of_scores(self, low: float, high: float, number: float) -> Any:
        """Return what it has to know of scores that are compared with a number."""

    def check(self, settings: "GateSettings") -> None:
        """Raise OptionError for options that it does not go with."""


def gate_test(name: str) -> GateTest:
    """Return the test of a name."""
    return GateTest() if name in ("randomization", "t") else entry("gate_tests", name)()


NAMES = ("randomization", "t", *entries("gate_tests"))
