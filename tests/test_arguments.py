"""One calling convention: qrels, runs, measures; and what is said of arguments out of place."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cranfield
from cranfield import (
    Comparison,
    Correlation,
    Gate,
    InputError,
    Measure,
    OptionError,
    Qrels,
    Run,
    agreement,
    check,
    compare,
    correlate,
    discriminative_power,
    evaluate,
    explain,
    gate,
    joint_bounds,
    swap_rate,
)

QRELS = {f"q{i}": {"a": 1, "b": i % 2} for i in range(12)}
RUNS = {
    "old": {query: ["x", "a", "b"] for query in QRELS},
    "new": {query: ["a", "x", "b"][: 1 + i % 3] for i, query in enumerate(QRELS)},
}


def gated(*arguments: Any, **more: Any) -> Any:
    return gate(*arguments, baseline="old", margin=0.1, **more)


VERBS: dict[str, Callable[..., Any]] = {
    "evaluate": evaluate,
    "compare": compare,
    "gate": gated,
    "correlate": correlate,
    "discriminative_power": discriminative_power,
    "swap_rate": swap_rate,
    "joint_bounds": joint_bounds,
}
OF_SCORES = {name: VERBS[name] for name in VERBS if name not in ("evaluate", "joint_bounds")}


def numbers(found: Any) -> Any:
    """Return what a verb found, but for what is known of runs alone: how much is judged."""
    if isinstance(found, Comparison):
        rows = found.rows()
        return [{k: v for k, v in row.items() if not k.startswith("unjudged")} for row in rows]
    if isinstance(found, Gate):
        return found.verdicts
    return found.pairs if isinstance(found, Correlation) else found


@pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")  # so few queries differ
@pytest.mark.parametrize("verb", OF_SCORES.values(), ids=OF_SCORES)
def test_scores_take_the_place_of_qrels_and_runs(verb: Callable[..., Any]) -> None:
    measures = "RR P@2"
    of_runs = numbers(verb(QRELS, RUNS, measures))
    assert numbers(verb(qrels=QRELS, runs=RUNS, measures=measures)) == of_runs
    systems = evaluate(QRELS, RUNS, measures)
    for scores in (systems, list(systems.values()), tuple(systems.values()), dict(systems)):
        assert numbers(verb(scores)) == numbers(verb(scores, measures=measures)) == of_runs


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
@pytest.mark.parametrize("measures", ["nDCG@10", "AP RR", Measure("AP"), ["AP", Measure("RR")]])
def test_measures_in_the_place_of_the_runs(verb: Callable[..., Any], measures: Any) -> None:
    with pytest.raises(InputError, match=r"is a measure\nThe order is: qrels, runs, measures"):
        verb(QRELS, measures)


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_qrels_and_runs_in_each_others_place(verb: Callable[..., Any]) -> None:
    qrels, run = Qrels(QRELS), Run(RUNS["new"], "new")
    for wrong in ((run, qrels), (run, RUNS), (QRELS, qrels)):
        with pytest.raises(InputError, match="The order is: qrels, runs, measures"):
            verb(*wrong, "AP")


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_scores_beside_runs(verb: Callable[..., Any]) -> None:
    systems = evaluate(QRELS, RUNS, "AP RR")
    scores = systems["old"]
    for wrong in ((systems, "AP"), (scores, RUNS), ([scores, scores], "AP"), (QRELS, systems)):
        with pytest.raises(InputError, match="Scores take the place of qrels and runs"):
            verb(*wrong)
    with pytest.raises(InputError, match="Scores take the place of qrels and runs"):
        verb({"old": scores, "new": scores}, "AP")
    with pytest.raises(InputError, match="Scores take the place of qrels and runs"):
        verb(["old.txt", "new.txt"], "AP")


@pytest.mark.parametrize("verb", OF_SCORES.values(), ids=OF_SCORES)
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ((QRELS, RUNS), "Leave out the inner parentheses"),
        (("qrels.txt", ["old.run", "new.run"]), "Leave out the inner parentheses"),
        (Qrels(QRELS), "qrels are judgments without runs\nThe order is: qrels, runs, measures"),
        (Run(RUNS["old"]), "qrels are a run without judgments\nThe order is: qrels, runs"),
    ],
    ids=["a pair", "a pair of paths", "judgments alone", "a run alone"],
)
def test_what_cannot_stand_alone(verb: Callable[..., Any], wrong: Any, said: str) -> None:
    for measures in (None, "AP"):
        with pytest.raises(InputError, match=said):
            verb(wrong, measures=measures)


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_a_pair_in_the_place_of_the_qrels(verb: Callable[..., Any]) -> None:
    for pair in ((QRELS, RUNS), ("qrels.txt", ["old.run", "new.run"])):
        with pytest.raises(InputError, match="Leave out the inner parentheses"):
            verb(pair, "AP")


def test_files_of_qrels_and_runs_alone_are_no_scores(write: Callable[[str, str], str]) -> None:
    qrels, run = write("qrels.txt", "q1 0 d1 1\n"), write("a.run", "q1 Q0 d1 1 2.0 t\n")
    for path in (qrels, run):
        with pytest.raises(InputError, match="no runs are given") as refused:
            compare(path, measures="AP")
        assert refused.value.line == 1
        assert refused.value.source == path


def test_a_file_may_have_the_name_of_a_measure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("AP").write_text("q1 Q0 a 1 2.0 t\n")
    assert evaluate(QRELS, "AP", "RR").per_query("RR")["q1"] == 1
    assert list(evaluate(QRELS, ["AP"], "RR")) == ["AP"]


def test_the_other_verbs_have_the_same_order() -> None:
    verbs: tuple[Callable[..., Any], ...] = (explain, check)
    for verb in verbs:
        with pytest.raises(InputError, match="The order is: qrels, runs, measures"):
            verb(QRELS, Qrels(QRELS))
    with pytest.raises(InputError, match="The order is: qrels, runs, measures"):
        agreement(QRELS, QRELS, "AP")


@pytest.mark.parametrize("runs", [RUNS["old"], [RUNS["old"]], [RUNS["old"]] * 3], ids=len)
def test_joint_bounds_are_of_two_runs(runs: Any) -> None:
    with pytest.raises(OptionError, match="two runs"):
        joint_bounds(QRELS, runs, "P@2")


def test_every_verb_that_takes_qrels_takes_runs_and_measures_next() -> None:
    import inspect

    found: dict[str, list[str]] = {}
    for name in cranfield.__all__:
        one = getattr(cranfield, name)
        if inspect.isfunction(one) and "qrels" in (names := [*inspect.signature(one).parameters]):
            found[name] = names
    assert set(found) >= {*VERBS, "check", "explain"}
    for name, names in found.items():
        usual = ["qrels", "runs", "measures"]
        if name == "explain":
            usual = ["qrels", "run", "measure", "query"]
        if name == "check":
            usual = usual[:2]
        assert names[: len(usual)] == usual, name
