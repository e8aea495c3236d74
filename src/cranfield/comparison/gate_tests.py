"""GateTest: the tests that a gate may use, by name, and what an extension adds in its own test."""

from typing import TYPE_CHECKING, Any, NamedTuple

from cranfield.arrays.ranked import Floats
from cranfield.extensions import load_entry

if TYPE_CHECKING:
    from cranfield.comparison.margins import Contrast
    from cranfield.comparison.settings import GateSettings


class Limits(NamedTuple):
    """Limits of mean gains, (n_systems,), and p-values against bounds, (n_bounds, n_systems)."""

    lower: Floats
    upper: Floats
    p_above: Floats  # of a mean of at most the bound
    p_below: Floats  # of a mean of at least the bound


class GateTest:
    """A test by sign flips or by Student's t; an extension may bring another."""

    name = title = ""
    holds_always = False  # whether the test holds however few queries differ
    needs_range = False  # whether the least and the greatest score have to be known
    bets: int | None = None  # how many a test by bets makes, for a gate's recipe

    def least_p(self, settings: "GateSettings", n_units: int) -> float:
        """Return the least p-value that `n_units` can give by flips or t, for any differences."""
        flips = settings.make_flips(n_units)
        return 2.0**-n_units if flips is None or flips.is_exact else 1 / (flips.n_drawn + 1)

    def find_test_range(self, contrast: "Contrast") -> Any:
        """Return the range of differences from a baseline, as this test needs it; here None."""

    def find_score_test_range(self, low: float, high: float, number: float) -> Any:
        """Return the range of scores compared with `number`, as this test needs it; here None."""

    def limits(
        self, gains: Floats, bounds: Floats, test_range: Any, alpha: float, weights: Floats | None
    ) -> Limits | None:
        """Return the limits of mean gains, and p-values; None: sign flips or t give them.

        `gains` are (n_queries, n_systems), `bounds` (n_bounds, n_systems), `weights` (n_queries,),
        as `randomization.one_sided_tests` takes them; `test_range` is what a function above gave.
        """
        return None


def find_gate_test(name: str) -> GateTest:
    """Return the gate test of a name.

    >>> find_gate_test("bounded").title
    'bounded test'
    """
    return GateTest() if name in ("randomization", "t") else load_entry("gate test", name)()
