"""Units of saved scores: percentages, ranges of measures, and of which measures less is better."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from helpers.commands import invoke
from helpers.notes import codes

from cranfield import CranfieldWarning, InputError, OptionError, compare, gate

pytestmark = pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")

N = 40
OLD = [0.50 + 0.01 * (i % 7) for i in range(N)]
NEW = [score - 0.05 - 0.01 * (i % 3) for i, score in enumerate(OLD)]  # each query is worse
PERCENT = [100 * score for score in NEW]


def score_by_query(values: list[float]) -> dict[str, float]:
    return {f"q{i:02}": value for i, value in enumerate(values)}


def systems(measure: str = "nDCG@10", **values: list[float]) -> Any:
    return {name: {measure: score_by_query(column)} for name, column in values.items()}


def save(folder: Path, name: str, values: list[float], measure: str = "nDCG@10") -> str:
    path = folder / f"{name}.csv"
    rows = [f"{query},{value!r}" for query, value in score_by_query(values).items()]
    path.write_text("\n".join([f"query_id,{measure}", *rows]) + "\n")
    return str(path)


# ---- ranges -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "use",
    [
        compare,
        lambda scores: gate(scores, baseline="old", margin=0.02),
        lambda scores: gate(scores, at_least={"nDCG@10": 0.8}),
    ],
)
def test_a_score_beyond_the_range_of_its_measure_is_refused(use: Callable[[Any], Any]) -> None:
    with pytest.raises(InputError) as error:
        use(systems(old=OLD, new=PERCENT))
    assert "new: nDCG@10 of query 'q00' is 45: expected a score from 0 to 1" in str(error.value)
    assert "Is it a percentage? --percent divides by 100" in str(error.value)
    assert error.value.query_id == "q00"


def test_a_range_holds_up_to_a_millionth() -> None:
    compare(systems(old=OLD, new=[1 + 1e-6, *NEW[1:]]))
    compare(systems(old=OLD, new=[-1e-6, *NEW[1:]]))
    for beyond in (1 + 2e-6, -2e-6):
        with pytest.raises(InputError, match="expected a score from 0 to 1"):
            compare(systems(old=OLD, new=[beyond, *NEW[1:]]))
    with pytest.raises(InputError, match=r"is -0\.5: expected"):
        compare(systems(old=OLD, new=[-0.5, *NEW[1:]]))


def test_a_measure_without_an_upper_bound_has_its_lower_one_alone() -> None:
    compare(systems("DCG@10", old=OLD, new=PERCENT))
    with pytest.raises(InputError, match="is -1: expected a score from 0 to inf"):
        compare(systems("NumRet", old=[-1.0] * N, new=OLD))
    compare(systems("YAAP", old=[-3.0] * N, new=OLD))


def test_measures_that_are_not_compared_are_not_checked() -> None:
    scores = {"old": {"AP": score_by_query(OLD), "P@5": score_by_query(PERCENT)}}
    assert compare(scores, measures="AP").aligned.measures == ("AP",)
    with pytest.raises(InputError, match="P@5"):
        compare(scores)


def test_a_refusal_names_the_file_and_of_several_systems_in_one_which(tmp_path: Path) -> None:
    new = save(tmp_path, "new", PERCENT)
    with pytest.raises(InputError) as error:
        compare([save(tmp_path, "old", OLD), new])
    assert str(error.value).startswith(f"{new}: new: nDCG@10 of query 'q00' is 45")
    rows = [{"run": name, "query_id": "q1", "AP": 50.0} for name in ("a", "b")]
    (tmp_path / "both.json").write_text(json.dumps(rows))
    with pytest.raises(InputError, match=r"both\.json: a: AP of query 'q1' is 50"):
        compare(tmp_path / "both.json")
    with pytest.raises(InputError, match="a: AP of query 'q1' is 50"):
        compare(pd.DataFrame(rows))


# ---- percent ------------------------------------------------------------------------------------


def test_percent_divides_what_is_in_percent_by_100() -> None:
    fractions = compare(systems(old=OLD, new=NEW))["nDCG@10"]["new"]
    for old in (OLD, [100 * score for score in OLD]):  # also beside scores that are fractions
        comparison = compare(systems(old=old, new=PERCENT), percent=True)
        pair = comparison["nDCG@10"]["new"]
        assert pair.difference == pytest.approx(fractions.difference)
        assert pair.verdict == "worse"
        assert comparison.aligned.recipe["percent"] is True
    judged = gate(systems(old=OLD, new=PERCENT), baseline="old", margin=0.02, percent=True)
    assert judged.outcome == "FAIL"
    (note,) = [note.text for note in judged.notes if note.code == "percent"]
    assert note == "Divided by 100: nDCG@10 of new."


def test_percent_divides_what_is_above_1_of_measures_that_are_shares() -> None:
    small = {
        "AP": score_by_query(PERCENT),
        "P@5": score_by_query([0.5] * N),
        "DCG": score_by_query([30.0] * N),
    }
    values = compare(
        {"new": {**small, "mine": score_by_query([80.0] * N)}}, percent=True
    ).aligned.scores
    assert values[:, 0, 0].tolist() == [PERCENT[0] / 100, 0.5, 30.0, 80.0]


def test_what_is_beyond_the_range_in_percent_too_is_refused() -> None:
    with pytest.raises(InputError, match=r"is 1.2: expected a score from 0 to 1") as error:
        compare(systems(new=[120.0] * N), percent=True)
    assert "Is it a percentage" not in str(error.value)


@pytest.mark.parametrize("verb", ["compare", "gate"])
def test_every_command_takes_percentages(tmp_path: Path, verb: str) -> None:
    files = [save(tmp_path, "new", PERCENT), save(tmp_path, "old", OLD)]
    options = ["--baseline", files[1], *(["--margin", "0.02"] if verb == "gate" else [])]
    options += ["--format", "csv"]
    refusal = invoke(verb, "--saved", *files, *options)
    assert refusal.exit_code == 2
    assert "--percent divides by 100" in refusal.stderr
    percent_outcome = invoke(verb, "--saved", *files, *options, "--percent")
    assert percent_outcome.exit_code == (1 if verb == "gate" else 0), percent_outcome.output
    assert repr(sum(NEW) / N)[:8] in percent_outcome.stdout
    of_runs = invoke("compare", "a.qrels", "b.run", "--percent")
    assert "--percent applies to saved scores only" in of_runs.stderr


# ---- unknown measures ---------------------------------------------------------------------------


def test_an_unknown_measure_in_two_units_is_warned_of() -> None:
    for measure in ("mine", "score"):
        with pytest.warns(CranfieldWarning, match="all scores of old are between 0 and 1, and the"):
            compare(systems(measure, old=OLD, new=PERCENT))
    for columns in ({"old": OLD, "new": NEW}, {"old": PERCENT, "new": PERCENT}):
        assert "unit" not in codes(compare(systems("mine", **columns)))
    assert "unit" not in codes(compare(systems("DCG", old=OLD, new=PERCENT)))
    judged = gate(systems("mine", old=OLD, new=PERCENT), baseline="old", margin=0.02)
    assert "unit" in codes(judged)


def test_the_direction_that_is_assumed_is_said() -> None:
    comparison = compare(systems("latency_ms", old=PERCENT, new=PERCENT))
    (note,) = [note for note in comparison.notes if note.code == "direction"]
    assert note.severity == "info"
    assert note.text.startswith("latency_ms: no measure of cranfield; more is taken as better.")
    assert "--less-is-better" in note.text
    assert "direction" not in codes(compare(systems(old=OLD, new=NEW)))


# ---- less is better -----------------------------------------------------------------------------

FAST = [100.0 + i % 7 for i in range(N)]
SLOW = [time + 50 + i % 3 for i, time in enumerate(FAST)]


def test_less_of_an_unknown_measure_may_be_better() -> None:
    scores = systems("latency_ms", old=FAST, new=SLOW)
    assert compare(scores)["latency_ms"]["new"].verdict == "better"
    comparison = compare(scores, less_is_better="latency_ms")
    pair = comparison["latency_ms"]["new"]
    assert (pair.verdict, pair.wins, pair.losses) == ("worse", 0, N)
    assert pair.difference == pytest.approx(sum(SLOW) / N - sum(FAST) / N)  # as it was given
    assert [system.name for system in comparison["latency_ms"].ranked_systems] == ["old", "new"]
    assert "direction" not in codes(comparison)
    assert "latency_ms: less is better." in str(comparison)
    assert comparison.to_dict()["recipe"]["less_is_better"] == ("latency_ms",)


def test_a_gate_knows_of_what_less_is_better() -> None:
    near = [time + (i % 2) for i, time in enumerate(FAST)]  # half a millisecond slower
    scores = systems(
        "latency_ms",
        old=FAST,
        slow=SLOW,
        near=near,
        fast=[t - 20 - i % 3 for i, t in enumerate(FAST)],
    )
    gate_options: Any = {"baseline": "old", "less_is_better": ["latency_ms"]}
    for margin in (5, "5%"):
        judged = gate(scores, margin=margin, **gate_options)
        assert judged.outcomes == {"slow": "FAIL", "near": "PASS", "fast": "PASS"}
    assert str(judged["fast", "latency_ms"]) == "PASS, better"
    assert judged["near", "latency_ms"].difference == pytest.approx(-0.5)
    assert judged["near", "latency_ms"].mean == pytest.approx(sum(near) / N)
    with pytest.raises(OptionError, match="of which less is better"):
        gate(scores, at_least={"latency_ms": 200}, less_is_better=["latency_ms"])


def test_less_is_better_is_refused_where_it_is_not_so() -> None:
    for measure_name in ("nDCG@10", "ndcg_cut_10", "FallOut@5"):
        with pytest.raises(OptionError, match="a name in the scores that is no measure of cranf"):
            compare(systems(old=OLD, new=NEW), less_is_better=measure_name)
    with pytest.raises(OptionError, match=r"'latency': expected a name "):
        compare(systems("latency_ms", old=FAST, new=SLOW), less_is_better="latency")


def test_options_of_saved_scores_are_refused_beside_runs() -> None:
    judged, runs = {"q1": {"a": 1}}, {"x": {"q1": ["a"]}, "y": {"q1": ["b", "a"]}}
    with pytest.raises(OptionError, match="percent: applies to scores, not to judgments and runs"):
        compare(judged, runs, "RR", percent=True)
    with pytest.raises(OptionError, match="less_is_better: applies to scores"):
        compare(judged, runs, "RR", less_is_better="RR")


def test_percent_leaves_measures_of_which_less_is_better() -> None:
    scores = {"new": {"AP": score_by_query(PERCENT), "latency_ms": score_by_query(SLOW)}}
    values = compare(scores, percent=True, less_is_better="latency_ms").aligned.scores
    assert values[:, 0, 0].tolist() == [PERCENT[0] / 100, SLOW[0]]


def test_the_command_takes_names_of_which_less_is_better(tmp_path: Path) -> None:
    old, new = save(tmp_path, "old", FAST, "latency_ms"), save(tmp_path, "new", SLOW, "latency_ms")
    turn = ["--less-is-better", "latency_ms"]
    gate_arguments = ["gate", "--saved", new, "--baseline", old, "--margin", "5"]
    assert invoke(*gate_arguments).exit_code == 0
    assert invoke(*gate_arguments, *turn).exit_code == 1
    changes_text = invoke("compare", "--saved", old, new, *turn, "--changes", "1").stdout
    assert "0/0/40" in changes_text
    assert "latency_ms   the queries that got worse most" in changes_text
    measure_refusal = invoke("compare", "--saved", old, new, "--less-is-better", "nDCG@10")
    assert measure_refusal.exit_code == 2
    assert "--less-is-better nDCG@10: expected a name in the scores" in measure_refusal.stderr
    of_runs = invoke("compare", "a.qrels", "b.run", *turn)
    assert "--less-is-better applies to saved scores only" in of_runs.stderr
