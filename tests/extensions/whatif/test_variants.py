"""Variants of a query: every one is looked at once, and has the value of data changed so."""

import random

import numpy as np
import pytest
from helpers.profile import seeds

from cranfield import Measure, Qrels, Run, evaluate, parse_all
from cranfield.data.judge import judge
from cranfield.data.judged import Judged
from cranfield.extensions.whatif import variants as builder
from cranfield.extensions.whatif.variants import (
    make_rankings,
    measure_variants,
    pack_variants,
    regrade_ideal,
    repeat_ranking,
    split_variants,
)


@pytest.mark.parametrize("seed", seeds(20))
def test_a_block_holds_every_variant_once_and_few_rows(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    monkeypatch.setattr(builder, "ROWS", 10)
    parts = [(i, chance.randint(0, 9), chance.randint(1, 15)) for i in range(9)]
    blocks = [*pack_variants(parts)]
    variant_list = [
        (part, i) for block in blocks for part, rows in block for i in range(*rows.indices(99))
    ]
    assert variant_list == [(part, i) for part, n, _ in parts for i in range(n)]
    rows = {part: n_rows for part, _, n_rows in parts}
    for block in blocks:
        sizes = [rows[part] * (variants.stop - variants.start) for part, variants in block]
        assert sum(sizes) - rows[block[-1][0]] < 10  # without the last variant
    assert [variants for block in pack_variants([("a", 7, 4)]) for _, variants in block] == [
        *split_variants(7, 4)
    ]
    assert [variants.stop - variants.start for variants in split_variants(7, 4)] == [2, 2, 2, 1]


def test_other_grades_are_other_judgments() -> None:
    docs = ["a", "b", "c", "d", "e"]
    qrels, run = Qrels({"q": {"a": 0, "b": 1, "c": 2, "d": 3}}), Run({"q": docs[::-1]})
    chance = np.random.default_rng(0)
    grades = chance.integers(-1, 4, (50, 4))
    grades[:, 0] = 3  # the highest of the collection stays
    run_hits = judge(qrels, run).judged.hits
    rows = 5 - run_hits.rank  # the run has e, d, c, b, a
    hits = repeat_ranking(run_hits, 50, grades[:, rows])
    ideal = regrade_ideal(qrels.ideal, grades)
    judged = Judged(hits, ideal, np.full((50, 1), 5), 3)
    for measure in parse_all("AP nDCG nDCG(gain='exp2')@3 bpref Rprec ERR"):
        expected = [
            evaluate({"q": dict(zip(docs, row, strict=False))}, run, measure)[measure]
            for row in grades.tolist()
        ]
        assert measure.values(judged)[:, 0].tolist() == expected, measure


def test_values_do_not_depend_on_the_size_of_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    grades = np.random.default_rng(1).integers(0, 3, (40, 6))

    def judged(variants: slice) -> Judged:
        ranked = make_rankings([grades[variants]])
        return Judged(ranked, regrade_ideal(ranked, ranked.grade[None]), _sixes(variants), 2)

    def measure_values() -> list[float]:
        values: list[float] = measure_variants(Measure("nDCG"), 40, 12, judged).tolist()
        return values

    full_values = measure_values()
    monkeypatch.setattr(builder, "ROWS", 30)
    assert measure_values() == full_values
    assert len(set(full_values)) > 10


def _sixes(variants: slice) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    return np.full((variants.stop - variants.start, 1), 6)
