"""gate with human labels: verdicts on a model's labels that people's correct."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.commands import invoke
from scipy import stats

from cranfield import CranfieldWarning, MeasureError, OptionError, gate, prediction_powered

Scores = dict[str, dict[str, float]]


@pytest.fixture
def quiet() -> Iterator[None]:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CranfieldWarning)
        yield


def make_scores(n: int = 60, n_labelled: int = 30, loss: float = 0.0) -> tuple[Scores, Scores]:
    """Return scores of two systems by a model and by people, who like "new" less by `loss`."""
    chance = np.random.default_rng(2)
    model: Scores = {"old": {}, "new": {}}
    human: Scores = {"old": {}, "new": {}}
    for i in range(n):
        old_score = chance.random() / 2 + 0.3
        scores = old_score, old_score + chance.normal(0, 0.15)
        for score, name in zip(scores, model, strict=True):
            model[name][f"q{i:02}"] = float(score)
            if i < n_labelled:
                lost = loss if name == "new" else 0.0
                human[name][f"q{i:02}"] = float(score + chance.normal(0, 0.05) - lost)
    return model, human


@pytest.mark.more
@pytest.mark.parametrize("name", ["gate_human", "gate_human_few"])
def test_verdicts_are_those_of_the_vectors(data: Path, name: str, quiet: None) -> None:
    vector = json.loads((data / "labels" / "numbers.json").read_text())[name]
    expected = vector["expected"]
    for margin, outcome in expected["verdicts"].items():
        result = gate(vector["model"], baseline="old", margin=float(margin), human=vector["human"])
        (verdict,) = result.verdicts
        assert result.outcome == outcome
        assert [verdict.difference, verdict.lower, verdict.upper] == pytest.approx(
            [expected["estimate"], expected["lower"], expected["upper"]], rel=1e-9
        )


def test_limits_are_one_sided_around_the_difference_of_prediction_powered(quiet: None) -> None:
    model, human = make_scores()
    result = gate(model, baseline="old", margin=0.1, human=human, alpha=0.1)
    (verdict,) = result.verdicts
    estimates = prediction_powered(model, human=human, baseline="old")
    mean = estimates.differences["score"]["new"]
    reach = stats.t.ppf(0.9, 29) * mean.error
    assert [verdict.difference, verdict.lower, verdict.upper] == pytest.approx(
        [mean.mean, mean.mean - reach, mean.mean + reach]
    )
    t = (mean.mean + 0.1) / mean.error
    assert verdict.p == pytest.approx(stats.t.sf(t, 29))
    assert verdict.p_worse == pytest.approx(stats.t.cdf(mean.mean / mean.error, 29))
    means = estimates.means["score"]
    assert (verdict.mean, verdict.baseline_mean) == (means["new"].mean, means["old"].mean)
    assert (verdict.n, verdict.changed) == (30, 30)
    assert "By 30 labelled queries beside a model's labels" in str(result)


def test_pass_fail_and_what_would_decide(quiet: None) -> None:
    model, human = make_scores()
    assert gate(model, baseline="old", margin=0.2, human=human).outcome == "PASS"
    result = gate(model, baseline="old", margin=0.02, human=human)
    (verdict,) = result.verdicts
    assert (result.outcome, result.recipe["needed_units"]) == ("UNDECIDED", "labelled queries")
    assert "labelled queries would decide" in str(result) or verdict.queries_needed is None
    model, human = make_scores(loss=0.3)
    assert gate(model, baseline="old", margin=0.05, human=human).outcome == "FAIL"
    assert gate(model, baseline="old", margin=0.05).outcome != "FAIL"  # the model does not see it


def test_few_labels_let_no_system_pass(quiet: None) -> None:
    model, human = make_scores(n_labelled=19)
    result = gate(model, baseline="old", margin=0.3, human=human)
    assert result.verdicts[0].lower is not None
    assert result.verdicts[0].lower > -0.3
    assert result.outcome == "UNDECIDED"
    assert "So few let no system pass" in str(result)
    assert result.verdicts[0].queries_needed == 20


def test_less_is_better_reverses_the_sign(quiet: None) -> None:
    model, human = make_scores()
    rising, falling = (
        gate(model, baseline="old", margin=0.2, human=human, less_is_better=names).verdicts[0]
        for names in ((), ("score",))
    )
    assert falling.difference == -rising.difference
    assert falling.lower == pytest.approx(-(rising.upper or 0))


def test_several_rows_fail_together_by_holm(quiet: None) -> None:
    model, human = make_scores(loss=0.0)
    for scores in (model, human):
        chance = np.random.default_rng(7)
        for name in ("third", "fourth"):
            scores[name] = {
                query: score - 0.01 + chance.normal(0, 0.001)
                for query, score in scores["old"].items()
            }
    result = gate(model, baseline="old", margin=0.005, human=human)
    outcomes = {verdict.system: verdict.outcome for verdict in result.verdicts}
    assert outcomes == {"new": "UNDECIDED", "third": "FAIL", "fourth": "FAIL"}
    assert "by Holm's rule over 3 rows" in str(result)


def test_options_that_do_not_go_with_human_labels_are_refused(quiet: None) -> None:
    model, human = make_scores()
    options: list[dict[str, Any]] = [
        {"test": "t"},
        {"equivalence": True},
        {"at_least": {"score": 0.1}},
        {"clusters": {query: query for query in model["old"]}},
        {"groups": {"old": ["old"], "new": ["new"]}},
    ]
    for option in options:
        (name,) = option
        with pytest.raises(OptionError, match=f"{name} does not go with human labels"):
            gate(model, baseline="old", margin=0.1, human=human, **option)
    with pytest.raises(OptionError, match="the margin is a number"):
        gate(model, baseline="old", margin="2%", human=human)
    with pytest.raises(OptionError, match="add --human"):
        gate(model, baseline="old", margin=0.1, lam=0.5)
    run = {"q1": ["a"], "q2": ["b"]}
    labels = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1, "b": 0}}
    runs = {"old": run, "new": run}
    with pytest.raises(MeasureError, match="is no mean over the queries"):
        gate(labels, runs, "NumRelRet", baseline="old", margin=0.1, human=labels)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Return the files of judgments and runs: people labelled documents, drawn by chance."""
    chance, paths = np.random.default_rng(4), {}
    human_rows, model_rows = ["query_id,doc_id,relevance,probability"], []
    for query in (f"q{i:02}" for i in range(40)):
        for j in range(10):
            relevance = int(chance.random() < 0.4)
            judged = relevance if chance.random() < 0.8 else 1 - relevance
            model_rows.append(f"{query} 0 d{j} {judged}")
            if chance.random() < 0.4:
                human_rows.append(f"{query},d{j},{relevance},0.4")
    texts = {"human.csv": human_rows, "model.qrels": model_rows}
    for name in ("old", "new"):
        texts[f"{name}.run"] = [
            f"q{i:02} Q0 d{j} {rank} {-rank} {name}"
            for i in range(40)
            for rank, j in enumerate(chance.permutation(10), 1)
        ]
    for name, lines in texts.items():
        path = tmp_path / name
        path.write_text("\n".join(lines) + "\n")
        paths[name] = str(path)
    return paths


def test_the_command_judges_labelled_documents(files: dict[str, str], quiet: None) -> None:
    args = [files[name] for name in ("model.qrels", "old.run", "new.run")]
    args += ["-m", "P@5", "--baseline", files["old.run"], "--human", files["human.csv"]]
    outcome = invoke("gate", *args, "--margin", "0.2", "--format", "json")
    assert outcome.exit_code == 0, outcome.output
    (row,) = json.loads(outcome.stdout)["verdicts"]
    mean = prediction_powered(
        args[0], args[1:3], "P@5", human=files["human.csv"], baseline="old"
    ).differences["P@5"]["new"]
    assert row["difference"] == pytest.approx(mean.mean)
    reach = stats.t.ppf(0.95, 39) * mean.error
    assert row["lower"] == pytest.approx(mean.mean - reach)
    outcome = invoke("gate", *args, "--margin", "0.05")
    assert outcome.exit_code == 3
    assert "labelled documents" in outcome.output.splitlines()[1]
    assert (
        "does not go with human labels"
        in invoke("gate", *args, "--margin", "0.05", "--equivalence").output
    )


def test_stated_columns_are_those_of_the_human_file_too(
    files: dict[str, str], quiet: None, tmp_path: Path
) -> None:
    args = [files[name] for name in ("model.qrels", "old.run", "new.run")]
    args += ["-m", "P@5", "--baseline", files["old.run"], "--margin", "0.2", "--format", "json"]
    renamed_path = tmp_path / "renamed.csv"
    renamed_path.write_text(Path(files["human.csv"]).read_text().replace("relevance", "said"))
    outcomes = [
        invoke("gate", *args, "--human", files["human.csv"]),
        invoke("gate", *args, "--human", str(renamed_path), "--columns", "relevance=said"),
    ]
    verdicts = [json.loads(outcome.stdout)["verdicts"] for outcome in outcomes]
    assert verdicts[0] == verdicts[1]
    renamed_path.write_text("query_id,doc_id,relevance\nq1,d1,good\n")
    message = invoke("gate", *args, "--human", str(renamed_path)).output
    assert "All that was drawn needs a label" in message


def test_changed_counts_queries_where_people_labelled_documents(
    files: dict[str, str], quiet: None
) -> None:
    runs = {name: files[f"{name}.run"] for name in ("old", "new")}
    top = {
        name: {
            tuple(line.split()[0:3:2])
            for line in Path(path).read_text().splitlines()
            if int(line.split()[3]) <= 5
        }
        for name, path in runs.items()
    }
    rows = [line.split(",") for line in Path(files["human.csv"]).read_text().splitlines()[1:]]
    relevant = {(query, doc) for query, doc, relevance, _ in rows if relevance == "1"}
    expected = {query for query, _ in relevant & (top["old"] ^ top["new"])}
    result = gate(
        files["model.qrels"],
        [*runs.values()],
        "P@5",
        baseline="old",
        margin=0.12,
        human=files["human.csv"],
    )
    (verdict,) = result.verdicts
    assert verdict.changed == len(expected) < verdict.n
    assert verdict.queries_needed is not None
    assert verdict.queries_needed > len(rows)
    assert f"{verdict.queries_needed:,} labelled documents would decide" in str(result)


def test_as_many_labels_as_would_decide_are_near_the_bound(quiet: None) -> None:
    model, human = make_scores(loss=0.01)
    result = gate(model, baseline="old", margin=0.064, human=human)
    (verdict,) = result.verdicts
    assert (result.outcome, verdict.queries_needed) == ("UNDECIDED", verdict.n)
    assert "may be near the bound: more labelled queries may not decide" in str(result)


def test_what_is_proposed_lets_a_system_pass_at_all(files: dict[str, str], quiet: None) -> None:
    lines = Path(files["human.csv"]).read_text().splitlines()
    few_lines = [line.replace(",0.4", ",0.08") for line in lines[1::5]]  # a fifth of the drawn
    Path(files["human.csv"]).write_text("\n".join([lines[0], *few_lines]) + "\n")
    args: Any = [files["model.qrels"], [files["old.run"], files["new.run"]], "P@5"]
    result = gate(*args, baseline="old", margin=0.44, human=files["human.csv"])
    (verdict,) = result.verdicts
    (note,) = [note for note in result.notes if note.code == "few-documents"]
    assert note.count is not None
    assert note.count < 30
    assert result.outcome == "UNDECIDED"
    assert verdict.queries_needed is not None
    assert verdict.queries_needed >= len(few_lines) * 30 / note.count  # so that it looks at 30
