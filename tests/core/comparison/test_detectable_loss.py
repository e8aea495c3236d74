"""The loss that a gate is likely to show, with the standard deviation that it saw."""

import numpy as np
import pytest
from helpers.gates import gate_differences, make_scores
from scipy import stats

from cranfield import compare, gate

pytestmark = pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")


def draw_hundredths(n: int, seed: int = 1) -> list[float]:
    values: list[float] = np.round(np.random.default_rng(seed).normal(0, 8, n), 3).tolist()
    return values


@pytest.mark.parametrize(
    ("n", "k"), [(25, 0.5119391604), (40, 0.4001507142), (50, 0.3565996554), (200, 0.1764210714)]
)
def test_the_loss_is_that_of_a_one_sided_noncentral_t(n: int, k: float) -> None:
    (verdict,) = gate_differences(draw_hundredths(n), 0.02).verdicts
    assert verdict.sd is not None
    assert verdict.detectable == pytest.approx(k * verdict.sd, abs=1e-10)
    t = stats.t.ppf(0.95, n - 1)
    assert stats.nct.sf(t, n - 1, k * np.sqrt(n)) == pytest.approx(0.8, abs=1e-6)


def test_several_rows_share_alpha_by_holms_first_step() -> None:
    old, new = make_scores([50] * 30), make_scores([50 + d for d in draw_hundredths(30)])
    data = {"old": {"X": old, "Y": old}, "new": {"X": new, "Y": new}}
    result = gate(data, baseline="old", margin=0.02)
    alone = gate({"old": old, "new": new}, baseline="old", margin=0.02, alpha=0.025)
    assert alone.verdicts[0].detectable is not None
    for verdict in result.verdicts:
        assert verdict.detectable == pytest.approx(alone.verdicts[0].detectable)
    loss = f"-{alone.verdicts[0].detectable:.4f}"
    assert f"80%, by the sd seen: a true difference of {loss} (X), {loss} (Y)." in str(result)
    row = result.rows()[0]
    assert row["detectable"] == result.verdicts[0].detectable


def test_for_an_equivalence_it_is_beyond_the_margin() -> None:
    differences = draw_hundredths(30)
    (verdict,) = gate_differences(differences, 0.02).verdicts
    (equivalence,) = gate_differences(differences, 0.02, equivalence=True).verdicts
    assert verdict.detectable is not None
    assert equivalence.detectable == pytest.approx(verdict.detectable + 0.02)


def test_there_is_none_where_no_loss_can_be_shown() -> None:
    for result in (
        gate_differences([-1, 2, 3, -2], 0.02),  # 1 / 16 is above alpha
        gate_differences([0] * 20, 0.02),
        gate_differences(draw_hundredths(30), 0.02, test="bounded", range=(-1, 1)),
    ):
        assert result.verdicts[0].detectable is None
        assert "by the sd seen" not in str(result)


def test_all_of_few_queries_may_differ() -> None:
    result = gate_differences([-1, 2, -3, 1, -2, 1], 0.05)
    (text,) = [note.text for note in result.notes if note.code == "few-changes"]
    assert text.startswith("only 6 queries differ, as there are no more, too few for limits")
    result = gate_differences([-1, 2, -3, 1, -2, 1, 0], 0.05)
    (text,) = [note.text for note in result.notes if note.code == "few-changes"]
    assert text.startswith("only 6 of 7 queries differ, too few")


def test_identical_scores_have_no_interval() -> None:
    scores = make_scores([10, 30, 50, 70] * 5)
    comparison = compare({"old": scores, "new": dict(scores)})
    (line,) = [line for line in str(comparison).splitlines() if line.strip().startswith("new ")]
    assert line.split() == ["new", "0.4000", "0.0000", "-", "1.0000", "0", "0/20/0"]
