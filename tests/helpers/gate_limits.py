"""Whether the limits of a gate are within the range that differences can have."""

import math

import numpy as np

from cranfield import gate
from cranfield.comparison.settings import GateTestName


def check_limits(measure: str, margin: float | str, test: GateTestName) -> None:
    if measure == "GMAP":
        margin = "2%"
    largest_difference = 5 * math.log(10) if measure == "GMAP" else 1.0
    n_at_end = 0
    for seed, n in [(k, n) for k in range(8) for n in (3, 17)]:
        chance = np.random.default_rng(seed)
        old, new = ((chance.random((2, n)) < 0.3) * 1.0).tolist()
        old[0] = 0.5
        scores = {
            name: {measure: {f"q{i}": x for i, x in enumerate(column)}}
            for name, column in (("old", old), ("new", new))
        }
        (verdict,) = gate(scores, baseline="old", margin=margin, test=test).verdicts
        assert verdict.p is not None
        for limit in (verdict.lower, verdict.upper):
            assert limit is None or abs(limit) <= largest_difference * (1 + 1e-12)
            n_at_end += limit is not None and abs(limit) >= largest_difference * (1 - 1e-12)
        assert (verdict.p <= 0.05) == (
            verdict.lower is not None and verdict.lower > -verdict.margin
        )
    # Without a share, only the t test does not know where differences end.
    assert n_at_end or (test != "t" and (margin == 0.02 or measure == "GMAP"))
