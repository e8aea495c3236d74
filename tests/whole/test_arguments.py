"""One calling convention: qrels, runs, measures; and what is reported on arguments out of place."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.systems import QRELS, RUNS

import cranfield
from cranfield import (
    Comparison,
    Correlation,
    Gate,
    InputError,
    Measure,
    MeasureError,
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
    parse,
    parse_all,
    read_qrels,
    read_run,
    swap_rate,
)
from cranfield.figures import precision_recall


def gate_at_margin(*arguments: Any, **options: Any) -> Any:
    return gate(*arguments, baseline="old", margin=0.1, **options)


VERBS: dict[str, Callable[..., Any]] = {
    "evaluate": evaluate,
    "compare": compare,
    "gate": gate_at_margin,
    "correlate": correlate,
    "discriminative_power": discriminative_power,
    "swap_rate": swap_rate,
    "joint_bounds": joint_bounds,
}
SCORE_VERBS = {name: VERBS[name] for name in VERBS if name not in ("evaluate", "joint_bounds")}


def drop_unjudged_shares(result: Any) -> Any:
    """Return what a verb found, except what is known of runs alone: how much is judged."""
    if isinstance(result, Comparison):
        rows = result.rows()
        return [
            {name: cell for name, cell in row.items() if not name.startswith("unjudged")}
            for row in rows
        ]
    if isinstance(result, Gate):
        return result.verdicts
    return result.pairs if isinstance(result, Correlation) else result


@pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")  # so few queries differ
@pytest.mark.parametrize("verb", SCORE_VERBS.values(), ids=SCORE_VERBS)
def test_scores_take_the_place_of_qrels_and_runs(verb: Callable[..., Any]) -> None:
    measures = "RR P@2"
    numbers_of_runs = drop_unjudged_shares(verb(QRELS, RUNS, measures))
    assert drop_unjudged_shares(verb(qrels=QRELS, runs=RUNS, measures=measures)) == numbers_of_runs
    systems = evaluate(QRELS, RUNS, measures)
    for scores in (systems, list(systems.values()), tuple(systems.values()), dict(systems)):
        assert (
            drop_unjudged_shares(verb(scores))
            == drop_unjudged_shares(verb(scores, measures=measures))
            == numbers_of_runs
        )


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
    """Only where scores may be given are they told their place; their measures may be next."""
    scores_message = "Scores are given instead of qrels and runs"
    systems = evaluate(QRELS, RUNS, "AP RR")
    scores = systems["old"]
    scores_of_name = {"old": scores, "new": scores}
    takes_scores = verb in SCORE_VERBS.values()
    with_measures = [(given, "AP") for given in (systems, [scores, scores], scores_of_name)]
    for wrong in (
        (scores, RUNS),
        (QRELS, systems),
        *([] if takes_scores else [*with_measures, (["old.txt", "new.txt"], "AP")]),
    ):
        with pytest.raises(InputError, match="scores") as excinfo:
            verb(*wrong)
        assert (scores_message in str(excinfo.value)) == takes_scores
        assert ("The order is" in str(excinfo.value)) != takes_scores


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_a_mapping_in_the_place_of_the_measures(verb: Callable[..., Any]) -> None:
    """Its queries would be the measures: q is Q."""
    for measures in (RUNS["new"], {"q": {"a": 1}}, {"AP": 1}):
        with pytest.raises(MeasureError, match="mapping"):
            verb(QRELS, RUNS, measures)
        with pytest.raises(MeasureError, match="mapping"):
            verb("AP", RUNS, measures)
    if verb in SCORE_VERBS.values():
        with pytest.raises(MeasureError, match="mapping"):
            verb(evaluate(QRELS, RUNS, "AP RR"), measures={"AP": 1})


@pytest.mark.parametrize("verb", SCORE_VERBS.values(), ids=SCORE_VERBS)
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ((QRELS, RUNS), "Leave out the inner parentheses"),
        (("qrels.txt", ["old.run", "new.run"]), "Leave out the inner parentheses"),
        (Qrels(QRELS), "qrels are judgments without runs\nThe order is: qrels, runs, measures"),
        (Run(RUNS["old"]), "qrels are a run without judgments\nThe order is: qrels, runs"),
    ],
    ids=["a pair", "a pair of paths", "judgments alone", "a run alone"],
)
def test_what_cannot_stand_alone(verb: Callable[..., Any], wrong: Any, message: str) -> None:
    for measures in (None, "AP"):
        with pytest.raises(InputError, match=message):
            verb(wrong, measures=measures)


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_a_pair_in_the_place_of_the_qrels(verb: Callable[..., Any]) -> None:
    for pair in ((QRELS, RUNS), ("qrels.txt", ["old.run", "new.run"])):
        with pytest.raises(InputError, match="Leave out the inner parentheses"):
            verb(pair, "AP")


def test_files_of_qrels_and_runs_alone_are_no_scores(write: Callable[[str, str], str]) -> None:
    qrels, run = write("qrels.txt", "q1 0 d1 1\n"), write("a.run", "q1 Q0 d1 1 2.0 t\n")
    for path in (qrels, run):
        with pytest.raises(InputError, match="no runs are given") as excinfo:
            compare(path, measures="AP")
        assert excinfo.value.line == 1
        assert excinfo.value.source == path


def test_a_file_may_have_the_name_of_a_measure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("AP").write_text("q1 Q0 a 1 2.0 t\n")
    assert evaluate(QRELS, "AP", "RR").per_query("RR")["q1"] == 1
    assert list(evaluate(QRELS, ["AP"], "RR")) == ["AP"]


@pytest.mark.parametrize(
    ("verb", "arguments"),
    [
        (evaluate, (QRELS, "AP")),
        (explain, (QRELS, "AP")),
        (explain, (QRELS, Qrels(QRELS), "AP")),
        (explain, ((QRELS, RUNS), RUNS)),
        (check, (QRELS, Qrels(QRELS))),
        (check, (Run(RUNS["new"]), QRELS)),
        (precision_recall, (QRELS, "AP", "q1")),
        (joint_bounds, (QRELS, "AP")),
        (agreement, (QRELS, QRELS, "AP")),
    ],
    ids=lambda argument: getattr(argument, "__name__", ""),
)
def test_the_order_is_that_of_the_verb(
    verb: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    parameters = inspect.signature(verb).parameters.values()
    order = [
        parameter.name
        for parameter in parameters
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ]
    with pytest.raises(InputError) as excinfo:
        verb(*arguments)
    assert ", ".join(order) in str(excinfo.value).splitlines()[-1]


def test_what_is_named_is_the_argument() -> None:
    with pytest.raises(InputError, match=r"^run='AP'"):
        explain(QRELS, "AP")
    with pytest.raises(InputError, match=r"^qrels_a are"):
        agreement(Run(RUNS["new"]), QRELS, RUNS)  # type: ignore[arg-type]


@pytest.mark.parametrize("runs", [RUNS["old"], [RUNS["old"]], [RUNS["old"]] * 3], ids=len)
def test_joint_bounds_are_of_two_runs(runs: Any) -> None:
    for measures in ("P@2", RUNS["new"]):
        with pytest.raises((OptionError, MeasureError), match=r"runs.* one list"):
            joint_bounds(QRELS, runs, measures)


@pytest.mark.parametrize("verb", [evaluate, explain])
def test_progress_is_a_function(verb: Callable[..., Any]) -> None:
    with pytest.raises(OptionError, match="progress"):
        verb(QRELS, RUNS["new"], "AP", progress=3)
    with pytest.raises(OptionError, match="progress"):
        check(QRELS, RUNS["new"], progress=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [5, None, [5], ["demo/bm25.run", 5], b"demo/bm25.run"], ids=str)
def test_what_is_no_path_is_refused(wrong: Any) -> None:
    for read in (read_run, read_qrels):
        with pytest.raises(InputError, match="path"):
            read(wrong)


@pytest.mark.parametrize("wrong", [5, None, ["AP"], Measure("AP")], ids=str)
def test_what_is_no_text_is_not_parsed(wrong: Any) -> None:
    for read in (parse, parse_all):
        with pytest.raises(MeasureError, match="expected the text"):
            read(wrong)


def test_a_system_that_there_is_not() -> None:
    systems = evaluate(QRELS, RUNS, "AP")
    with pytest.raises(KeyError, match="'old', 'new'"):
        systems["nope"]
    assert "nope" not in systems
    assert systems.get("nope") is None


def test_rates_may_be_a_file(write: Callable[[str, str], str]) -> None:
    """As on the command line."""
    rates = {1: {1: 3, 0: 1}, 0: {0: 1}}
    path = write("rates.csv", "grade,given,rate\n1,1,3\n1,0,1\n0,0,1\n")
    assert agreement(QRELS, confusion=path).to_dict() == (
        agreement(QRELS, confusion=rates).to_dict()
    )
    with pytest.raises(InputError, match="nowhere"):
        agreement(QRELS, confusion="nowhere.csv")
    with pytest.raises(InputError, match="rates"):
        agreement(QRELS, confusion=5)  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")  # so few queries
def test_a_query_called_as_a_measure_is_a_query() -> None:
    comparison = compare({"A": {"q": 0.5}, "B": {"q": 0.75}})
    assert [(row["system"], row["difference"]) for row in comparison.rows()] == [("B", 0.25)]
    for scores_of_system in (
        {"AP": {"q": 0.5}, "RR": {"q": 0.5}},
        {"q": {"AP": 0.5}, "r": {"AP": 0.5}},
    ):
        with pytest.raises(InputError, match="one system"):
            compare(scores_of_system)


def test_every_verb_that_takes_qrels_takes_runs_and_measures_next() -> None:
    parameter_names: dict[str, list[str]] = {}
    for name in cranfield.__all__:
        function = getattr(cranfield, name)
        if inspect.isfunction(function) and "qrels" in (
            names := [*inspect.signature(function).parameters]
        ):
            parameter_names[name] = names
    assert set(parameter_names) >= {*VERBS, "check", "explain"}
    for name, names in parameter_names.items():
        expected_names = ["qrels", "runs", "measures"]
        if name in ("explain", "conventions"):
            expected_names = ["qrels", "run", "measure", *(["query"] if name == "explain" else [])]
        if name == "describe":  # whose lists need no judgments
            expected_names = ["runs", "measures"]
        if name in ("check", "pool"):
            expected_names = expected_names[:2]
        if name == "tune":  # as `fuse` takes the method, and one measure
            expected_names = ["qrels", "runs", "method", "measure"]
        if name == "reproduce":
            expected_names = ["qrels", "original", "reproduced", "measures"]
        assert names[: len(expected_names)] == expected_names, name


@pytest.mark.parametrize("name", ["metric", "metrics", "measure"])
def test_what_others_call_measures_is_answered_with_measures(name: str) -> None:
    verbs: list[Any] = [evaluate, compare]
    for verb in verbs:
        with pytest.raises(TypeError, match=f"takes measures='AP', not {name}="):
            verb({"q": {"a": 1}}, {"q": ["a"]}, **{name: "AP"})
