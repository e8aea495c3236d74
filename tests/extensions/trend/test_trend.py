"""Trends: steps and the best before by slow loops, breaks, refusals and notes."""

import json
import math
import random
import re
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.commands import invoke
from helpers.weeks import WEEKS, make_weeks

from cranfield import (
    CranfieldWarning,
    InputError,
    MeasureError,
    OptionError,
    Qrels,
    Trend,
    compare,
    evaluate,
    figures,
    trend,
)
from cranfield.comparison.alignment import align_columns
from cranfield.comparison.compare import compare_scores
from cranfield.comparison.result import Pair
from cranfield.comparison.score_columns import Columns
from cranfield.comparison.settings import Settings
from cranfield.comparison.system_pairs import SystemPairs

FEW = 1_000  # flips
pytestmark = pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")

# The vectors of 10 queries.
VECTORS = {
    "w1": [0.2, 0.5, 0, 0.7, 0.4, 0.9, 0.3, 0.6, 0.1, 0.8],
    "w2": [0.3, 0.6, 0.1, 0.7, 0.5, 1, 0.4, 0.6, 0.3, 0.8],
    "w3": [0.5, 0.8, 0.2, 0.8, 0.7, 1, 0.7, 0.8, 0.4, 0.9],
    "w4": [0.4, 0.6, 0.1, 0.8, 0.4, 1, 0.5, 0.8, 0.2, 0.7],
}


def score_queries(scores: list[float], first: int = 0) -> dict[str, float]:
    """Return {query id: score} of scores in order."""
    return {f"q{i:02}": score for i, score in enumerate(scores, first)}


VECTOR_WEEKS = {week: score_queries(scores) for week, scores in VECTORS.items()}


def draw_weeks(n_weeks: int, n_queries: int = 30, seed: int = 1) -> dict[str, dict[str, float]]:
    """Return the scores of weeks in which nothing changes but noise."""
    generator = random.Random(seed)
    merits = [generator.uniform(0.2, 0.8) for _ in range(n_queries)]
    return {
        f"w{week:02}": score_queries([merit + generator.gauss(0, 0.1) for merit in merits])
        for week in range(1, n_weeks + 1)
    }


def steps_of(history: Trend, measure: str = "score") -> list[Pair]:
    """Return the steps of a measure, which breaks and the first entry lack."""
    return [entry.step for entry in history[measure].entries if entry.step is not None]


def note_texts(history: Any, code: str) -> list[str]:
    """Return the notes of a code as they are printed."""
    return [str(note) for note in history.notes if note.code == code]


# ---- numbers ------------------------------------------------------------------------------------


def flip_means(differences: list[list[float]]) -> Any:
    """Return |t| of each pair (columns) under each flip of the queries' signs (rows)."""
    columns = np.array(differences).T
    sizes = []
    for signs in product((1, -1), repeat=len(columns)):
        differences_of_flip = columns * np.array(signs)[:, None]
        error = differences_of_flip.std(axis=0, ddof=1) / math.sqrt(len(columns))
        sizes.append(np.abs(differences_of_flip.mean(axis=0) / error))
    return np.array(sizes)


def test_the_vectors() -> None:
    history = trend(VECTOR_WEEKS)
    against = history["score"].against
    expected_steps = [
        (0.08, 1 / 30, 0.125, 2 / 128, (7, 3, 0)),
        (0.15, 0.1, 0.2, 2 / 512, (9, 1, 0)),
        (-0.13, -0.2, -0.05, 2 / 128, (0, 3, 7)),
    ]
    for step, (difference, low, high, p, counts) in zip(
        steps_of(history), expected_steps, strict=True
    ):
        assert step.difference == pytest.approx(difference, abs=1e-12)
        assert step.low == pytest.approx(low)
        assert step.high == pytest.approx(high)
        assert (step.p, (step.wins, step.ties, step.losses)) == (p, counts)
    assert against is not None
    assert (against.other, against.p_adjusted) == ("w3", 36 / 1024)
    assert against.verdict == "worse"


def test_the_best_before_by_the_definition_of_max_t() -> None:
    """Step-down: ordered by |t|, the greatest |t| of each flip among those not yet rejected."""
    weeks = draw_weeks(5, n_queries=10)
    last = list(weeks["w05"].values())
    earlier = {week: list(weeks[week].values()) for week in list(weeks)[:-1]}
    sizes = flip_means(
        [[a - b for a, b in zip(last, scores, strict=True)] for scores in earlier.values()]
    )
    best = max(earlier, key=lambda week: sum(earlier[week]))
    order = sorted(range(len(earlier)), key=lambda i: -sizes[0, i])
    expected_p = 0.0
    for place, i in enumerate(order):
        greatest = sizes[:, order[place:]].max(axis=1)
        expected_p = max(expected_p, float(np.mean(greatest >= sizes[0, i] - 1e-9)))
        if list(earlier)[i] == best:
            break
    against = trend(weeks)["score"].against
    assert against is not None
    assert against.other == best
    assert against.p_adjusted == pytest.approx(expected_p, abs=1e-12)


def test_steps_are_what_compare_says_of_two_entries() -> None:
    weeks = draw_weeks(4)
    history = trend(weeks, flips=FEW)["score"]
    for (name, scores), (next_name, next_scores) in pairwise(weeks.items()):
        pair = compare({name: scores, next_name: next_scores}, flips=FEW)["score"][next_name]
        step = next(e.step for e in history.entries if e.name == next_name)
        assert step is not None
        assert (step.p, step.low, step.high) == (pair.p, pair.low, pair.high)


def test_of_equal_means_the_best_is_the_latest() -> None:
    weeks = draw_weeks(4)
    weeks["w02"] = weeks["w01"] = dict.fromkeys(weeks["w01"], 0.9)
    against = trend(weeks, flips=FEW)["score"].against
    assert against is not None
    assert against.other == "w02"


def test_where_less_is_better_the_best_is_the_lowest() -> None:
    weeks = {name: {"latency": scores} for name, scores in VECTOR_WEEKS.items()}
    history = trend(weeks, less_is_better="latency")["latency"]
    assert history.against is not None
    assert (history.against.other, history.against.verdict) == ("w1", "worse")
    assert [e.step.verdict for e in history.entries if e.step] == ["worse", "worse", "better"]


def test_a_direction_is_refused_where_it_is_known_or_names_nothing() -> None:
    weeks = {name: {"nDCG@10": scores} for name, scores in list(VECTOR_WEEKS.items())[:3]}
    for name in ("nDCG@10", "typo"):
        with pytest.raises(OptionError, match=f"less_is_better='{name}': expected a name"):
            trend(weeks, less_is_better=name)


def test_less_is_better_is_said_in_the_table_and_the_picture() -> None:
    weeks = {name: {"latency_ms": scores} for name, scores in VECTOR_WEEKS.items()}
    history = trend(weeks, less_is_better="latency_ms")
    assert "latency_ms: less is better." in history.to_text().splitlines()
    pytest.importorskip("altair")
    chart = json.dumps(figures.over_time(history).spec)
    assert "latency_ms (less is better)" in chart
    assert "less is better." not in trend(VECTOR_WEEKS).to_text()


def test_of_means_that_differ_by_rounding_alone_the_best_is_the_latest() -> None:
    first, second = [0.1, 0.2, 0.3] * 4, [0.1] * 4 + [0.2] * 4 + [0.3] * 4
    assert sum(first) != sum(second)
    for weeks in ((first, second), (second, first)):
        scores = [*weeks, [0.05] * 12]
        history = trend({f"w{i}": score_queries(week) for i, week in enumerate(scores)})["score"]
        assert history.against is not None
        assert history.against.other == "w1"


def test_notes_are_on_pairs_that_are_shown() -> None:
    """The last differs from w1 on three queries, by much; that pair is no step, nor the best."""
    weeks = draw_weeks(5)
    first_week = dict(weeks["w05"])
    for query in list(first_week)[:3]:
        first_week[query] -= 0.4
    weeks["w01"] = first_week
    weeks["w03"] = {query: score + 0.2 for query, score in weeks["w03"].items()}
    history = trend(weeks, flips=FEW)
    assert history["score"].against is not None
    assert history["score"].against.other == "w03"
    assert not any("w05 - w01" in note.text for note in history.notes)


def test_entries_may_have_numbers_as_names() -> None:
    history = trend({1: VECTOR_WEEKS["w1"], 2: VECTOR_WEEKS["w2"]})["score"]
    assert [entry.name for entry in history.entries] == ["1", "2"]


def test_the_correction_of_the_last_comparison_is_in_its_document() -> None:
    for baseline, correction in ((None, "maxt"), ("w2", "none")):
        document = json.loads(trend(VECTOR_WEEKS, baseline=baseline).to_json())
        assert document["settings"]["correction"] == "none"  # of the steps
        assert document["against_correction"] == correction


def test_a_stated_baseline_is_not_corrected() -> None:
    against = trend(VECTOR_WEEKS, baseline="w2")["score"].against
    pair = compare({"w2": VECTOR_WEEKS["w2"], "w4": VECTOR_WEEKS["w4"]})["score"]["w4"]
    assert against is not None
    assert (against.other, against.p_adjusted) == ("w2", pair.p)
    text = trend(VECTOR_WEEKS, baseline="w2").to_text()
    assert f"w4 against w2: +0.0200 {'[-0.0500, +0.1000]'}, p {pair.p:.4f}: not shown" in text


def test_the_legend_says_which_p_is_corrected_and_what_is_judged(saved_weeks: list[Path]) -> None:
    text = str(trend(saved_weeks, measures="nDCG@10"))
    assert "^ better, v worse: p at most 0.05, uncorrected." in text
    assert "p maxT: p of the last entry, corrected for choosing the best." in text
    assert "Judged: share of its first 10 that is judged; ! moved by over 0.05 in a step." in text
    assert "p maxT" not in str(trend(saved_weeks[:2], measures="nDCG@10"))  # there is no best


def test_two_entries_have_no_best_before() -> None:
    assert trend({week: VECTOR_WEEKS[week] for week in ("w1", "w2")})["score"].against is None


def test_a_geometric_mean_steps_by_its_ratio() -> None:
    weeks = {name: {"GMAP": scores} for name, scores in draw_weeks(3).items()}
    history = trend(weeks, flips=FEW)
    first, second = history["GMAP"].entries[:2]
    assert second.step is not None
    assert second.step.ratio == pytest.approx(second.mean / first.mean)
    assert "ratio" in history.to_text().splitlines()[3]


# ---- breaks and queries -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def weeks_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("weeks")
    make_weeks(folder)
    return folder


@pytest.fixture
def saved_weeks(weeks_folder: Path) -> list[Path]:
    return [weeks_folder / "results" / f"{week}.json" for week in WEEKS]


def test_six_weeks_of_somebody_else(weeks_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Saved scores: only the third week is marked, the fourth is a break, the last is compared."""
    monkeypatch.chdir(weeks_folder)
    files = [f"results/{week}.json" for week in WEEKS]
    text = invoke("trend", "--saved", *files, "-m", "nDCG@10", "--flips", "1000").stdout
    table = text.partition("\n\n")[2].partition("\n\n")[0]
    assert max(map(len, table.splitlines())) <= 80
    row_of_week = {line.split()[0]: line for line in table.splitlines()[2:]}
    assert [week for week in WEEKS if re.search(r"[\^v] ", row_of_week[week])] == ["2026-W43"]
    assert row_of_week["2026-W44"].split()[2] == "judgments"
    assert "2026-W44: other judgments than 2026-W43. Their means cannot be compared." in text
    assert "2026-W46 against 2026-W44, the best before it with these judgments: " in text
    (hint,) = re.findall(r"^Which queries: cranfield (.*)$", text, re.M)
    assert invoke(*hint.split()).exit_code == 0


def test_runs_are_scored_by_the_same_judgments(weeks_folder: Path) -> None:
    runs = [weeks_folder / "runs" / f"{week}.run" for week in WEEKS]
    entries = trend(weeks_folder / "qrels.txt", runs, flips=FEW)["nDCG@10"].entries
    comparison = compare(weeks_folder / "qrels.txt", runs, flips=FEW)["nDCG@10"]
    assert [entry.name for entry in entries] == WEEKS
    assert [entry.break_kind for entry in entries] == [None] * 6
    for entry, system in zip(entries, comparison.systems, strict=True):
        assert (entry.mean, entry.judged) == (system.mean, system.judged)


def test_other_options_break_a_trend(weeks_folder: Path, tmp_path: Path) -> None:
    paths = []
    for week, depth in zip(WEEKS[:4], (None, None, 5, 5), strict=True):
        run = weeks_folder / "runs" / f"{week}.run"
        scores = evaluate(
            weeks_folder / "qrels.txt", run, "nDCG@10", depth=depth, fingerprints=True
        )
        paths.append(tmp_path / f"{week}.json")
        paths[-1].write_text(scores.to_json(per_query=True))
    history = trend(paths, flips=FEW)
    kinds = [entry.break_kind for entry in history["nDCG@10"].entries]
    assert kinds == [None, None, "options", None]
    (text,) = note_texts(history, "break")
    assert text.startswith("2026-W43: depth=5, not None as 2026-W42.")


def test_scores_in_memory_break_as_saved_scores_do(weeks_folder: Path) -> None:
    qrels = [weeks_folder / name for name in ("early.txt", "qrels.txt", "qrels.txt")]
    runs = [weeks_folder / "runs" / f"{week}.run" for week in WEEKS[:3]]
    scores = [
        evaluate(path, run, "nDCG@10", fingerprints=True)
        for path, run in zip(qrels, runs, strict=True)
    ]
    entries = trend(scores, flips=FEW)["nDCG@10"].entries
    assert [entry.break_kind for entry in entries] == [None, "judgments", None]
    assert [entry.judged for entry in entries] == [
        score.recipe["judged"]["nDCG@10"] for score in scores
    ]


def test_a_file_that_does_not_say_cannot_hide_a_break(
    saved_weeks: list[Path], tmp_path: Path
) -> None:
    rows = json.loads(saved_weeks[3].read_text())["runs"][0]["queries"]
    lines = [f"{query},{measures['nDCG@10']}\n" for query, measures in rows.items()]
    (tmp_path / "unknown.csv").write_text("query_id,nDCG@10\n" + "".join(lines))
    files = [saved_weeks[2], tmp_path / "unknown.csv", saved_weeks[4]]
    history = trend(files, measures="nDCG@10", flips=FEW)
    kinds = [entry.break_kind for entry in history["nDCG@10"].entries]
    assert kinds == [None, None, "judgments"]
    assert note_texts(history, "judgments-unknown")[0].startswith("unknown: the judgments behind")


def test_a_step_is_on_the_queries_that_both_have() -> None:
    weeks = draw_weeks(3)
    for query in list(weeks["w02"])[:5]:
        del weeks["w02"][query]
    history = trend(weeks, flips=FEW)
    shared = {query: weeks["w01"][query] for query in weeks["w02"]}
    pairs = compare({"w01": shared, "w02": weeks["w02"]}, flips=FEW)["score"]
    expected_pair = pairs["w02"]
    step = history["score"].entries[1].step
    assert step is not None
    assert (step.n, step.difference, step.p) == (25, expected_pair.difference, expected_pair.p)
    assert note_texts(history, "shared-queries")[0] == (
        "w02: 25 of 30 queries are in w01, too: the step is theirs."
    )
    assert history.to_text().startswith("score of 25 to 30 queries")


def test_the_last_line_says_on_which_queries_and_its_command_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for week, scores in draw_weeks(3, 40).items():
        rows = list(scores.items())[: 20 if week == "w03" else 40]
        lines = "".join(f"{query},{score}\n" for query, score in rows)
        Path(f"{week}.csv").write_text("query_id,score\n" + lines)
    text = invoke("trend", "--saved", "w01.csv", "w02.csv", "w03.csv").stdout
    assert re.search(r"^w03 against w0[12], the best before it, on 20 of 40 queries: ", text, re.M)
    (hint,) = re.findall(r"^Which queries: cranfield (.* --missing drop .*)$", text, re.M)
    assert invoke(*hint.split()).exit_code == 0
    history = trend(["w01.csv", "w02.csv", "w03.csv"])
    assert "mean before (of the shared queries)" in figures.over_time(history).caption


@pytest.mark.parametrize(("n_first", "n_second"), [(30, 9), (30, 14)])
def test_too_few_shared_queries_break_a_trend(n_first: int, n_second: int) -> None:
    weeks = draw_weeks(2, n_first)
    weeks["w02"] = dict(list(weeks["w02"].items())[:n_second])
    history = trend(weeks, flips=FEW)
    assert [entry.break_kind for entry in history["score"].entries] == [None, "queries"]
    assert note_texts(history, "break") == [
        f"w02: only {n_second} of {n_first} queries are in w01, too. "
        "Their means cannot be compared."
    ]


def test_few_queries_that_do_not_change_are_compared() -> None:
    weeks = {"w1": score_queries([0.1, 0.2, 0.3]), "w2": score_queries([0.2, 0.3, 0.5])}
    assert trend(weeks)["score"].entries[1].step is not None


def test_an_entry_without_a_measure_is_left_out_of_its_table() -> None:
    weeks = {name: {"AP": scores} for name, scores in draw_weeks(3).items()}
    weeks["w02"] = {"RR": weeks["w02"]["AP"]}
    history = trend(weeks, flips=FEW)
    entries = history["AP"].entries
    assert [entry.name for entry in entries] == ["w01", "w03"]
    assert entries[1].step is not None
    assert entries[1].step.other == "w01"
    assert "AP: w02: has no AP: left out of its table." in note_texts(history, "left-out")


def test_a_baseline_without_a_measure_leaves_out_that_measure_only() -> None:
    weeks = {name: {"AP": scores, "RR": scores} for name, scores in VECTOR_WEEKS.items()}
    del weeks["w2"]["RR"]
    history = trend(weeks, baseline="w2")
    against = history["AP"].against
    assert against is not None
    assert against.other == "w2"
    assert history["RR"].against is None
    assert note_texts(history, "left-out") == ["RR: w2: has no RR: left out of its table."]
    with pytest.raises(InputError, match="baseline 'w9': w4 can be compared with w1, w2, w3"):
        trend(weeks, baseline="w9")


def test_an_unknown_measure_in_two_ranges_is_a_warning_as_in_a_comparison() -> None:
    weeks = {
        name: {"latency": {query: factor * (0.3 + score / 2) for query, score in scores.items()}}
        for factor, (name, scores) in enumerate(list(VECTOR_WEEKS.items())[:3], 1)
    }
    history = trend(weeks, less_is_better="latency")
    assert [step.verdict for step in steps_of(history, "latency")] == ["worse", "worse"]
    comparison = compare(weeks, less_is_better="latency")
    assert set(note_texts(history, "unit")) == set(note_texts(comparison, "unit"))
    (line,) = [line for line in history.to_text().splitlines() if "in the same unit?" in line]
    assert line.startswith("Warning: latency: all scores")


# ---- judged -------------------------------------------------------------------------------------


def test_saved_scores_carry_the_share_judged(weeks_folder: Path, tmp_path: Path) -> None:
    run = weeks_folder / "runs" / "2026-W41.run"
    path = tmp_path / "scores.json"
    qrels = weeks_folder / "qrels.txt"
    invoke("evaluate", f"{qrels}", f"{run}", "-m", "nDCG@10", "-m", "AP", "-q", "-o", f"{path}")
    (saved_run,) = json.loads(path.read_text())["runs"]
    expected_shares = evaluate(qrels, run, "Judged@10 Judged").means()
    assert saved_run["judged"] == {
        "nDCG@10": expected_shares["Judged@10"],
        "AP": expected_shares["Judged"],
    }


def test_a_saved_judged_share_stands_beside_its_measure() -> None:
    weeks = {
        name: {"nDCG@10": scores, "Judged@10": dict.fromkeys(scores, share)}
        for (name, scores), share in zip(draw_weeks(3).items(), (0.75, 0.75, 0.875), strict=True)
    }
    history = trend(weeks, flips=FEW)
    entries = history["nDCG@10"].entries
    assert [entry.judged for entry in entries] == [0.75, 0.75, 0.875]
    assert [entry.judged_moved for entry in entries] == [False, False, True]
    assert note_texts(history, "judged-moved") == [
        "w03: 0.88 judged, 0.75 before; the step may come from that."
    ]
    assert "0.88 !" in history.to_text()


def test_a_slow_loss_of_judgments_is_said_on_the_last_line() -> None:
    weeks = {
        name: {"nDCG@10": scores, "Judged@10": dict.fromkeys(scores, 1 - 0.05 * i)}
        for i, (name, scores) in enumerate(draw_weeks(8).items())
    }
    weeks["w01"]["nDCG@10"] = dict.fromkeys(weeks["w01"]["nDCG@10"], 1.0)
    history = trend(weeks, measures="nDCG@10", flips=FEW)
    assert not note_texts(history, "judged-moved")
    (text,) = note_texts(history, "last")
    assert text.startswith("w08 against w01, the best before it: ")
    assert text.endswith(" 0.65 judged, 1.00 then: it may come from that.")


def test_without_shares_there_is_no_column() -> None:
    assert "judged" not in trend(VECTOR_WEEKS).to_text().lower()  # no measure of documents
    weeks = {name: {"AP": scores, "RR": scores} for name, scores in VECTOR_WEEKS.items()}
    text = trend(weeks).to_text()
    assert "Judged" not in text
    assert text.count("How much is judged is not known") == 1


def test_saved_scores_may_say_that_there_is_no_share(tmp_path: Path) -> None:
    """Without a grade of 0 a Judged@10 is a precision, and no share of what another looks at."""
    qrels = {f"q{i:02}": {"a": 1, "b": 1} for i in range(10)}
    paths = [tmp_path / name for name in ("w1.json", "w2.json")]
    for path, docs in zip(paths, (["a", "c"], ["a", "b"]), strict=True):
        run = dict.fromkeys(qrels, docs)
        scores = evaluate(qrels, run, "nDCG@10 Judged@10", fingerprints=True)
        assert scores.recipe["judged"] == {}
        path.write_text(scores.to_json(per_query=True))
    entries = trend(paths, measures="nDCG@10")["nDCG@10"].entries
    assert [entry.judged for entry in entries] == [None, None]


@pytest.mark.parametrize("judged", ["much", 7.5, {"AP": "much"}, {"AP": 7.5}, {"AP": -0.1}])
def test_a_share_that_is_none_is_refused_with_its_file(judged: Any, tmp_path: Path) -> None:
    path = tmp_path / "w1.json"
    run = {"run": "bm25", "judged": judged, "queries": {"q1": {"AP": 0.5}}}
    path.write_text(json.dumps({"recipe": {}, "runs": [run]}))
    with pytest.raises(InputError, match=r"w1\.json: 'judged' of bm25.*a share from 0 to 1, got"):
        trend([path, path.with_name("w2.json")])


# ---- notes and refusals -------------------------------------------------------------------------


def test_a_name_whose_number_falls_is_said() -> None:
    scores = list(VECTOR_WEEKS.values())
    history = trend(dict(zip(["w1", "w10", "w9"], scores, strict=False)))
    assert "w10 comes before w9: the order is as given." in str(note_texts(history, "order"))
    assert not note_texts(trend(dict(zip(["w9", "w10"], scores, strict=False))), "order")


@pytest.mark.parametrize(("n_weeks", "n_falls"), [(11, "0.2"), (52, "1.3")])
def test_of_many_steps_some_are_marked_by_chance(n_weeks: int, n_falls: str) -> None:
    (text,) = note_texts(trend(draw_weeks(n_weeks), flips=200), "many-steps")
    assert text == (
        f"{n_weeks - 1} steps at alpha 0.05: about {n_falls} falls and {n_falls} rises are marked "
        "though nothing changed."
    )
    assert not note_texts(trend(draw_weeks(10), flips=200), "many-steps")


def test_entries_are_named_by_their_files(tmp_path: Path) -> None:
    qrels = {f"q{i:02}": {"a": 1} for i in range(12)}
    paths = []
    for place in ("old/prod", "new/prod", "new/test"):
        path = tmp_path / f"{place}.run"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"{query} Q0 a 1 1 t\n" for query in qrels))
        paths.append(path)
    entries = trend(qrels, paths)["nDCG@10"].entries
    assert [entry.name for entry in entries] == ["old/prod", "new/prod", "test"]


def save_systems(path: Path, names: list[str]) -> Path:
    """Write the scores of several systems as JSON."""
    scores = VECTOR_WEEKS["w1"]
    runs = [{"run": name, "queries": {q: {"AP": s} for q, s in scores.items()}} for name in names]
    path.write_text(json.dumps({"recipe": {}, "runs": runs}))
    return path


def test_one_of_several_systems_is_followed(tmp_path: Path) -> None:
    paths = [save_systems(tmp_path / f"w{week}.json", ["bm25", "dense"]) for week in (1, 2)]
    history = trend(paths, system="dense")
    assert [entry.name for entry in history["AP"].entries] == ["w1", "w2"]
    with pytest.raises(InputError, match=r"w1\.json: holds 2 systems: bm25, dense") as caught:
        trend(paths)
    assert "--system NAME" in str(caught.value)
    with pytest.raises(InputError, match=r"w3\.json: has no system 'dense'; it holds 1 system"):
        trend([*paths, save_systems(tmp_path / "w3.json", ["bm25"])], system="dense")


def test_refusals(tmp_path: Path, saved_weeks: list[Path]) -> None:
    with pytest.raises(InputError, match="needs two entries: name the files of several days"):
        trend(saved_weeks[:1])
    with pytest.raises(InputError, match="gives two entries"):
        trend([saved_weeks[0], saved_weeks[0]])
    with pytest.raises(MeasureError, match="there are no scores of AP; there are nDCG@10, R@20"):
        trend(saved_weeks, measures="AP")
    with pytest.raises(OptionError, match=r"system='x'.*applies to saved scores"):
        trend({"q1": {"a": 1}}, [{"q1": ["a"]}, {"q1": ["b"]}], system="x")
    with pytest.raises(InputError, match=r"2026-W46 can be compared with 2026-W44, 2026-W45") as e:
        trend(saved_weeks, measures="nDCG@10", baseline="2026-W41")
    assert "2026-W44: other judgments than 2026-W43." in str(e.value)
    with pytest.raises(InputError, match="baseline 'w4': w4 can be compared with w1, w2, w3"):
        trend(VECTOR_WEEKS, baseline="w4")
    for name in ("all_pairs", "correction", "bounds", "differing", "missing", "test"):
        options: Any = {name: "x"}
        with pytest.raises(TypeError, match=name):
            trend(VECTOR_WEEKS, **options)


@pytest.mark.parametrize("name", ["all-pairs", "correction", "collections", "human", "bounds"])
def test_options_of_compare_are_refused(name: str) -> None:
    invocation = invoke("trend", "a", "b", f"--{name}")
    assert invocation.exit_code == 2
    assert f"No such option '--{name}'" in invocation.stderr


def test_options_of_the_other_kind_of_input_are_refused() -> None:
    with pytest.raises(OptionError, match="depth: applies to judgments and runs"):
        trend(VECTOR_WEEKS, depth=5)
    with pytest.raises(OptionError, match="percent: applies to scores"):
        trend({"q1": {"a": 1}}, {"w1": {"q1": {"a": 1.0}}, "w2": {"q1": {"b": 1.0}}}, percent=True)
    with pytest.raises(InputError, match="qrels are judgments without runs"):
        trend(Qrels({"q1": {"a": 1}}))


def test_shares_beside_percents_are_refused(tmp_path: Path) -> None:
    for week, factor in (("w1", 1), ("w2", 100)):
        lines = [f"map\t{q}\t{s * factor}\n" for q, s in VECTOR_WEEKS["w1"].items()]
        (tmp_path / f"{week}.txt").write_text("".join(lines))
    with pytest.raises(InputError, match=r"w2: AP of query .* expected a score from 0 to 1") as e:
        trend([tmp_path / "w1.txt", tmp_path / "w2.txt"])
    assert "--percent" in str(e.value)
    history = trend([tmp_path / "w1.txt", tmp_path / "w2.txt"], percent=True)
    assert steps_of(history, "AP")[0].difference == pytest.approx(0)


def test_a_run_file_twice_is_refused(weeks_folder: Path) -> None:
    run = weeks_folder / "runs" / "2026-W41.run"
    invocation = invoke("trend", f"{weeks_folder}/qrels.txt", f"{run}", f"{run}")
    assert invocation.exit_code == 2
    assert "gives two entries" in invocation.stderr


# ---- forms --------------------------------------------------------------------------------------


def test_rows_and_json_have_every_entry(weeks_folder: Path, saved_weeks: list[Path]) -> None:
    history = trend(saved_weeks, measures="nDCG@10", flips=FEW)
    rows = history.rows()
    assert [row["entry"] for row in rows] == WEEKS
    assert rows[2]["verdict"] == "better"
    assert (rows[3]["break_kind"], rows[3]["difference"]) == ("judgments", None)
    document = json.loads(history.to_json())
    against = history["nDCG@10"].against
    assert against is not None
    assert document["against"]["nDCG@10"]["p_adjusted"] == against.p_adjusted
    assert [entry["mean"] for entry in document["entries"]] == [row["mean"] for row in rows]
    with pytest.raises(KeyError, match="there are nDCG@10"):
        history["AP"]


def test_several_measures_have_a_table_each(saved_weeks: list[Path]) -> None:
    tables = trend(saved_weeks, flips=FEW).tables()
    assert [table.title[0].partition(" of ")[0] for table in tables] == ["nDCG@10", "R@20"]
    assert not tables[0].notes
    assert any(line.startswith("nDCG@10: 2026-W46 against") for line in tables[1].notes)
    break_text = "2026-W44: other judgments than 2026-W43. Their means cannot be compared."
    assert tables[1].notes.count(break_text) == 1


def test_lines_that_differ_name_their_measure() -> None:
    weeks = {
        name: {"AP": scores, "Success@5": {query: float(s > 0.5) for query, s in scores.items()}}
        for name, scores in draw_weeks(3).items()
    }
    lines = trend(weeks, flips=FEW).to_text().splitlines()
    starts = [line.partition(": mean")[0] for line in lines if "step: mean difference" in line]
    assert starts == ["AP: step", "Success@5: step"]


def test_a_baseline_may_be_the_file_in_another_spelling(
    weeks_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(weeks_folder)
    runs = [f"./runs/{week}.run" for week in WEEKS[:3]]
    against = trend("qrels.txt", runs, baseline=f"runs/{WEEKS[0]}.run")["nDCG@10"].against
    assert against is not None
    assert against.other == WEEKS[0]


def test_warnings_are_given_once() -> None:
    with pytest.warns(CranfieldWarning, match="Fewer than 10 of 10 queries differ") as caught:
        trend(VECTOR_WEEKS)
    assert len(caught) == 1


# ---- the picture --------------------------------------------------------------------------------


def test_points_of_the_picture(saved_weeks: list[Path]) -> None:
    history = trend(saved_weeks, measures="nDCG@10", flips=FEW)
    entries, points = history["nDCG@10"].entries, figures.over_time(history).points
    assert [point["break_kind"] for point in points] == [None, None, None, "judgments", None, None]
    for before, entry, point in zip(entries, entries[1:], points[1:], strict=False):
        assert point["verdict"] == (entry.step and entry.step.verdict)
        if entry.step is not None and entry.step.low is not None:
            assert point["other_mean"] == before.mean
            assert point["low"] == before.mean + entry.step.low
            misses_tick = not point["low"] <= point["other_mean"] <= point["high"]
            assert misses_tick == (entry.step.verdict is not None)


def test_a_line_is_broken_where_judgments_changed(saved_weeks: list[Path], tmp_path: Path) -> None:
    pytest.importorskip("altair")
    path, files = tmp_path / "trend.json", map(str, saved_weeks)
    invocation = invoke("figure", "over-time", "--saved", *files, "--flips=99", "-o", f"{path}")
    assert "nDCG@10 is drawn; -m names another measure" in invocation.stderr
    spec = json.loads(path.read_text())
    rows = [spec["datasets"].get(layer["data"].get("name")) for layer in spec["layer"]]
    stretches = {row["entry"]: row["stretch"] for row in rows[0]}
    assert len({stretches[week] for week in WEEKS[:3]}) == 1
    assert len({stretches[week] for week in WEEKS[3:]}) == 1
    assert stretches[WEEKS[2]] != stretches[WEEKS[3]]
    (word,) = rows[4]
    assert (word["entry"], word["break_kind"]) == ("2026-W44", "judgments")


def test_what_is_no_trend_is_not_drawn() -> None:
    with pytest.raises(InputError, match="expected what trend"):
        figures.over_time(compare(VECTOR_WEEKS))  # type: ignore[arg-type]
    with pytest.raises(MeasureError, match="not in the trend: AP: there are score"):
        figures.over_time(trend(VECTOR_WEEKS), "AP")


# ---- the simulation -----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("n_entries", [5, 12, 26])
def test_false_falls_from_the_best_before(n_entries: int) -> None:
    """Nothing changes: by maxT, false falls keep to .025; by the pair's own p they do not.

    Of 50 queries, 800 to 1,500 draws gave .083, .168, .243 by p (of 5, 12, 26 entries), and .026,
    .027, .029 by maxT. Here 150 draws, and limits of 4 standard errors.
    """
    generator, n_draws, n_falls = np.random.default_rng(7), 150, np.zeros(2)
    pairs = SystemPairs(np.full(n_entries - 1, n_entries - 1), np.arange(n_entries - 1))
    settings = Settings(flips=300, correction="maxt")
    names, query_ids = [f"w{i}" for i in range(n_entries)], [f"q{i:02}" for i in range(50)]
    for _ in range(n_draws):
        scores = generator.normal(0.5, 0.1, (50, 1)) + generator.normal(0, 0.1, (50, n_entries))
        columns: Columns = {
            ("mine", name): (query_ids, column)
            for name, column in zip(names, scores.T, strict=True)
        }
        aligned_scores = align_columns(columns, ["mine"], "drop", (), {})
        comparison = compare_scores(aligned_scores, settings, pairs=pairs, with_slow_columns=False)
        best_pair = max(comparison.results[0].pairs, key=lambda pair: pair.other_mean)
        p, p_adjusted = best_pair.p, best_pair.p_adjusted
        assert p is not None
        assert p_adjusted is not None
        n_falls += np.array([p, p_adjusted]) <= 0.05 if best_pair.difference < 0 else 0
    by_p, by_max_t = n_falls / n_draws
    assert by_max_t <= 0.025 + 4 * math.sqrt(0.025 * 0.975 / n_draws)
    expected = {5: 0.083, 12: 0.168, 26: 0.243}[n_entries]
    assert abs(by_p - expected) <= 4 * math.sqrt(expected * (1 - expected) / n_draws)
