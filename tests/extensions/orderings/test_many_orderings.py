"""Orderings of many queries: the tests of pairs are those of a comparison."""

import numpy as np
import pytest

from cranfield import compare, correlate, discriminative_power
from cranfield.comparison.flips import MANY_UNITS, Flips, PairedScores
from cranfield.comparison.pair_tests import p_values
from cranfield.comparison.randomization import sign_flip_p_values

N = MANY_UNITS + 1_000


def scores_of(*shifts: float) -> dict[str, dict[str, float]]:
    """Return scores of N queries; the means of systems differ by the shifts, and chance."""
    source = np.random.default_rng(7)
    common = source.random(N)
    return {
        f"s{i}": {f"q{q}": v for q, v in enumerate((common + source.normal(by, 0.2, N)).tolist())}
        for i, by in enumerate(shifts)
    }


def test_p_is_that_of_a_comparison() -> None:
    systems = scores_of(0.0, 0.003, 0.1)
    values = np.array([[one[q] for q in sorted(one)] for one in systems.values()]).T
    paired = PairedScores(values, np.array([1, 2]), np.array([0, 0]))
    pairs = compare(systems, baseline="s0", flips=20_000).results[0].pairs
    found = p_values(paired, Flips(N, 20_000))
    assert [pair.method for pair in pairs] == ["sequential", "bound"]
    assert found.tolist() == pytest.approx([pair.p for pair in pairs], rel=1e-12)
    of_all = sign_flip_p_values(paired, Flips(N, 20_000))
    assert abs(found[0] - of_all[0]) < 5 * 0.03 * of_all[0]  # five standard errors


def test_up_to_7000_queries_all_flips_are_drawn() -> None:
    paired = PairedScores.from_differences(np.random.default_rng(1).normal(0.1, 1, (MANY_UNITS, 2)))
    flips = Flips(MANY_UNITS, 2_000)
    assert p_values(paired, flips).tolist() == sign_flip_p_values(paired, flips).tolist()


def test_few_flips_are_enough_where_none_is_needed() -> None:
    systems = scores_of(0.0, 0.1, 0.2)
    found = discriminative_power(systems, flips=10)["score"]
    assert (found.significant, found.holm, found.needed) == (3, 3, None)
    # Of these, no difference is clear, and 10 flips leave none after the correction.
    none = discriminative_power(scores_of(0.0, 0.0, 0.0), flips=10)["score"]
    assert (none.holm, none.needed) == (0, 59)


def test_the_text_says_that_fewer_may_be_drawn() -> None:
    systems = scores_of(0.0, 0.0, 0.1)
    measured = {name: {"first": scores, "second": scores} for name, scores in systems.items()}
    assert "up to 1,000 flips" in str(correlate(measured, flips=1_000))
