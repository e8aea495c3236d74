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
    generator = np.random.default_rng(7)
    common = generator.random(N)
    return {
        f"s{i}": {
            f"q{q}": score
            for q, score in enumerate((common + generator.normal(shift, 0.2, N)).tolist())
        }
        for i, shift in enumerate(shifts)
    }


def test_p_is_that_of_a_comparison() -> None:
    systems = scores_of(0.0, 0.003, 0.1)
    score_columns = np.array(
        [[query_scores[q] for q in sorted(query_scores)] for query_scores in systems.values()]
    ).T
    score_pairs = PairedScores(score_columns, np.array([1, 2]), np.array([0, 0]))
    pairs = compare(systems, baseline="s0", flips=20_000).results[0].pairs
    p = p_values(score_pairs, Flips(N, 20_000))
    assert [pair.method for pair in pairs] == ["sequential", "bound"]
    assert p.tolist() == pytest.approx([pair.p for pair in pairs], rel=1e-12)
    sign_flip_p = sign_flip_p_values(score_pairs, Flips(N, 20_000))
    assert abs(p[0] - sign_flip_p[0]) < 5 * 0.03 * sign_flip_p[0]  # five standard errors


def test_up_to_7000_queries_all_flips_are_drawn() -> None:
    score_pairs = PairedScores.from_differences(
        np.random.default_rng(1).normal(0.1, 1, (MANY_UNITS, 2))
    )
    flips = Flips(MANY_UNITS, 2_000)
    assert p_values(score_pairs, flips).tolist() == sign_flip_p_values(score_pairs, flips).tolist()


def test_few_flips_are_enough_where_none_is_needed() -> None:
    systems = scores_of(0.0, 0.1, 0.2)
    power = discriminative_power(systems, flips=10)["score"]
    assert (power.significant, power.holm, power.needed) == (3, 3, None)
    # Of these, no difference is clear, and 10 flips leave none after the correction.
    no_power = discriminative_power(scores_of(0.0, 0.0, 0.0), flips=10)["score"]
    assert (no_power.holm, no_power.needed) == (0, 59)


def test_the_text_says_that_fewer_may_be_drawn() -> None:
    systems = scores_of(0.0, 0.0, 0.1)
    scores_of_measures = {
        name: {"first": scores, "second": scores} for name, scores in systems.items()
    }
    assert "up to 1,000 flips" in str(correlate(scores_of_measures, flips=1_000))
