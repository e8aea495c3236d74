"""Results of extensions say which judgments are a model's; people's labels are not a model's."""

import json
from pathlib import Path

import pytest
from helpers.model_judged import COUNTS, REMARK, ROWS, RUNS
from helpers.notes import codes, sentence

import cranfield
from cranfield import CranfieldWarning, InputError, Qrels, compare, evaluate


def test_results_of_extensions_say_it() -> None:
    qrels = Qrels(ROWS)
    assert REMARK in str(cranfield.correlate(qrels, RUNS, ["P@1", "AP"]).notes)
    for buckets in (2, 5):
        scores = evaluate(qrels, RUNS["a"], "P@1", buckets=buckets)
        assert sentence(scores.notes, "model-labels") == REMARK
        assert scores.recipe["judges"] == COUNTS


def test_buckets_of_files_count_all_parts(tmp_path: Path) -> None:
    path = tmp_path / "qrels.csv"
    Qrels(ROWS).write(path)
    scores = evaluate(str(path), RUNS["a"], "P@1", buckets=3)
    assert sentence(scores.notes, "model-labels") == REMARK


def test_saved_scores_and_the_paper_table_say_it(tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    path.write_text(evaluate(Qrels(ROWS), RUNS, "P@1", fingerprints=True).to_json(per_query=True))
    assert json.loads(path.read_text())["recipe"]["judges"] == COUNTS
    comparison = compare(str(path))
    assert REMARK in comparison.to_text()
    caption = REMARK.partition(": cranfield")[0] + "."
    for table in (compare(Qrels(ROWS), RUNS, "P@1"), comparison):
        assert caption in " ".join(cranfield.paper_table(table).caption)
        assert r"graded e66336a1; b, c), and no person checked them here" in (
            cranfield.paper_table(table).to_latex()
        )


def test_the_page_says_it_in_its_first_sentence_and_its_recipe() -> None:
    for runs in (RUNS, {"a": RUNS["a"]}, {"a": RUNS["a"], "c": RUNS["a"]}):
        page = cranfield.report(compare(Qrels(ROWS), runs, "P@1")).html
        headline = page.partition("<h1")[2].partition("</p>")[0]
        assert " by a model&#x27;s labels that no person checked." in headline
        terms = page.partition("<dt>Judge</dt>")[2]
        assert terms.startswith("<dd>3 of 4 judgments are a model&#x27;s (gpt-x, prompt graded ")
    plain = cranfield.report(compare({"q1": {"d1": 1}, "q2": {"d1": 1}}, RUNS, "P@1")).html
    assert "no person checked" not in plain
    assert "<dt>Judge</dt>" not in plain


def test_people_are_not_models(tmp_path: Path) -> None:
    path = tmp_path / "human.csv"
    Qrels(ROWS).write(path)
    with pytest.raises(InputError, match="takes people's labels: 2 are by gpt-x"):
        cranfield.trust(Qrels(ROWS), human=path)
    with pytest.raises(InputError, match="takes people's labels: 2 are by gpt-x, 1 are by b, c"):
        cranfield.prediction_powered(Qrels(ROWS), RUNS, "P@1", human=path)
    people = {"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 1, "d3": 1}}
    with pytest.warns(CranfieldWarning):
        estimates = cranfield.prediction_powered(Qrels(ROWS), RUNS, "P@1", human=people)
    assert "model-labels" not in codes(estimates)


def test_verbs_with_notes_of_their_own_say_it_once() -> None:
    qrels, run = Qrels(ROWS), {"a": RUNS["a"]}
    results = [
        cranfield.check(qrels, RUNS).findings,
        cranfield.holes(qrels, RUNS, "P@1").notes,
        cranfield.conventions(qrels, run, "P@1").notes,
    ]
    for notes in results:
        assert [note.text for note in notes if note.code == "model-labels"] == [REMARK]
