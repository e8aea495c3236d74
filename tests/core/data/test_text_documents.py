"""Texts in the place of ids, as ragas has them: equal except for white space, or by containment."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from helpers.commands import run_command
from helpers.notes import codes, find_note, sentence

from cranfield import (
    Explanation,
    InputError,
    OptionError,
    Qrels,
    Run,
    check,
    compare,
    evaluate,
    explain,
    gate,
)
from cranfield.errors import DuplicateError
from cranfield.formats.identifiers import normalize_text

evaluate_any: Any = evaluate  # with arguments of any number
pytestmark = pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")

QUERY, RUN_COLUMN, QRELS_COLUMN = NAMES = ("user_input", "retrieved_contexts", "reference_contexts")
EQUAL_ROWS = [
    ("q1", [" Wax is old.\n", "Bees\n  dance."], ["Bees dance.", "Bees sing."]),
    ("q2", ["Bees sing.\t"], ["Bees sing."]),
]
LONGER_ROWS = [
    ("q1", ["Once. Wax is old.", "Once. Bees dance."], ["Bees dance.", "Bees sing."]),
    ("q2", ["sing"], ["Bees sing."]),
]
VALUES = {"q1": 1 / 2, "q2": 1 / 1}  # of RR


def make_rows(
    rows: Any, names: tuple[str, ...] = NAMES, **extra_columns: Any
) -> list[dict[str, Any]]:
    return [{**dict(zip(names, row, strict=True)), **extra_columns} for row in rows]


FORMS: dict[str, Any] = {
    "dicts": make_rows,
    "pandas": lambda rows: pd.DataFrame(make_rows(rows)),
    "polars": lambda rows: pl.DataFrame(make_rows(rows)),
}


@pytest.mark.parametrize("form", FORMS)
def test_texts_are_the_same_but_for_white_space(form: str) -> None:
    scores = evaluate(FORMS[form](EQUAL_ROWS), "RR")
    assert scores.per_query("RR") == VALUES
    note = find_note(scores.notes, "texts")
    assert note.text == "Documents are texts: equal except for white space is the same."
    assert "list-cells" not in codes(scores)


@pytest.mark.parametrize("suffix", ["json", "jsonl", "csv", "parquet"])
def test_files_of_texts(suffix: str, tmp_path: Path) -> None:
    path, rows = tmp_path / f"rag.{suffix}", make_rows(EQUAL_ROWS)
    if suffix == "parquet":
        pl.DataFrame(rows).write_parquet(path)
    elif suffix == "csv":
        frame = pd.DataFrame(rows)
        frame[[RUN_COLUMN, QRELS_COLUMN]] = frame[[RUN_COLUMN, QRELS_COLUMN]].map(json.dumps)
        frame.to_csv(path, index=False)
    else:
        lines = [json.dumps(row) for row in rows]
        path.write_text("\n".join(lines) if suffix == "jsonl" else f"[{','.join(lines)}]")
    assert evaluate(str(path), "RR").per_query("RR") == VALUES


def test_text_is_normalized_in_one_form_of_unicode_and_case_counts() -> None:
    assert normalize_text(" Mu\u0308ller\xa0\n met\tBo. ") == "M\xfcller met Bo."
    assert normalize_text(7) == 7
    rows = make_rows([("q1", ["BEES", "Mu\u0308ller"], ["bees", "M\xfcller"])])
    assert evaluate(rows, "RR")["RR"] == 1 / 2


def test_texts_that_contain_one_another_are_asked_about() -> None:
    scores = evaluate(make_rows(LONGER_ROWS), "RR")
    assert scores["RR"] == 0
    note = find_note(scores.notes, "texts-contain")
    assert (note.severity, note.count) == ("warning", 2)
    assert "--texts contain" in note.text
    assert "texts='contain'" in note.text
    assert "affix" not in codes(scores), "one warning is enough"


@pytest.mark.parametrize("form", FORMS)
def test_contained_texts_meet_if_the_option_says_so(form: str) -> None:
    scores = evaluate(FORMS[form](LONGER_ROWS), "RR", texts="contain")
    assert scores.per_query("RR") == VALUES
    assert find_note(scores.notes, "texts").count == 2
    assert "texts-contain" not in codes(scores)


def find_matches(docs: list[str], expected: list[str]) -> list[int | None]:
    """Return the position of the expected text that each retrieved one meets, by a slow loop."""
    matches: list[int | None] = []
    for text in docs:
        position = None
        for i, expected_text in enumerate(expected):
            is_contained = expected_text in text or text in expected_text
            if position is None and i not in matches and is_contained:
                position = i
        matches.append(position)
    return matches


MEETINGS = {
    "the first that no text above has met": (["a b", "b", "xb"], ["a", "b"]),
    "each only once": (["one a", "two a", "a"], ["a"]),
    "the order of the expected texts": (["b a"], ["b", "a"]),
    "a part of an expected text": (["e", "zz"], ["bee", "e"]),
    "none": (["x", "y"], ["a"]),
}


@pytest.mark.parametrize("case", MEETINGS)
def test_a_text_meets_the_first_that_no_text_above_has_met(case: str) -> None:
    docs, expected = MEETINGS[case]
    matches = find_matches(docs, expected)
    scores = evaluate(make_rows([("q", docs, expected)]), "NumRelRet P@1 P@2", texts="contain")
    values = scores.to_dict()["q"]
    assert values["NumRelRet"] == sum(position is not None for position in matches)
    for k in (1, 2):
        assert values[f"P@{k}"] == sum(position is not None for position in matches[:k]) / k


def test_the_best_score_meets_first() -> None:
    rows = make_rows([("q", ["a low", "a high"], ["a"])], scores=[0.1, 0.9])
    assert evaluate(rows, "RR", texts="contain")["RR"] == 1
    assert evaluate(rows, "NumRelRet", texts="contain")["NumRelRet"] == 1


def test_texts_are_whole_where_they_hold_separators() -> None:
    rows = make_rows([("q", "Bees; wax", "Bees;  wax")])
    assert evaluate(rows, "R@1")["R@1"] == 1


def test_ids_come_before_texts() -> None:
    rows = make_rows(EQUAL_ROWS, expected_ids=["d1"], retrieved_ids=["d2", "d1"])
    scores = evaluate(rows, "RR")
    assert scores["RR"] == 1 / 2
    assert "texts" not in codes(scores)
    objects = make_rows(EQUAL_ROWS, expected=["d1"], results=[{"id": "d2"}, {"id": "d1"}])
    assert evaluate(objects, "RR")["RR"] == 1 / 2


def test_names_of_texts_mean_nothing_where_one_side_has_them() -> None:
    """A text beside the ids of a run stays what it was: not read."""
    run = Run([{"query": "q1", "id": "d1", "score": 2.0, "contexts": ["text"]}])
    assert run.to_dict() == {"q1": {"d1": 2.0}}


OWN = ("question", "docs", "gold")
OWN_COLUMNS = {"retrieved_contexts": "docs", "reference_contexts": "gold"}


def test_own_names_are_stated() -> None:
    rows = make_rows(EQUAL_ROWS, OWN)
    assert evaluate(rows, "RR", columns=OWN_COLUMNS).per_query("RR") == VALUES
    scores = evaluate(make_rows(LONGER_ROWS, OWN), "RR", columns=OWN_COLUMNS, texts="contain")
    assert scores.per_query("RR") == VALUES
    half_own_rows = make_rows(EQUAL_ROWS, (QUERY, "docs", QRELS_COLUMN))
    half_own_scores = evaluate(half_own_rows, "RR", columns={"contexts": "docs"})
    assert half_own_scores.per_query("RR") == VALUES


def test_columns_stated_as_ids_are_ids() -> None:
    columns = {"retrieved_ids": RUN_COLUMN, "expected_ids": QRELS_COLUMN}
    with pytest.raises(InputError, match="blanks"):
        evaluate(make_rows(EQUAL_ROWS), "RR", columns=columns)


ONE_SIDED_TABLES: dict[str, tuple[Any, ...]] = {
    "one side has ids": (make_rows(EQUAL_ROWS, expected_ids=["d"]),),
    "two tables": (
        [{QUERY: "q", QRELS_COLUMN: ["a"]}],
        [{QUERY: "q", RUN_COLUMN: ["a"]}],
    ),
}


@pytest.mark.parametrize("case", ONE_SIDED_TABLES)
def test_texts_are_refused_but_in_one_table(case: str) -> None:
    for texts in ("same", "contain"):
        with pytest.raises((InputError, OptionError), match="reference_contexts=") as caught:
            evaluate_any(*ONE_SIDED_TABLES[case], measures="RR", texts=texts)
        assert "one table of both" in str(caught.value)


IDS: dict[str, tuple[Any, ...]] = {
    "dicts": ({"q": {"d": 1}}, {"q": ["d"]}),
    "read already": (Qrels({"q": {"d": 1}}), Run({"q": ["d"]})),
    "ids in one table": ([{"query": "q", "expected_ids": ["d1"], "retrieved_ids": ["d10"]}],),
}


@pytest.mark.parametrize("case", IDS)
def test_ids_are_not_searched_for_one_another(case: str) -> None:
    with pytest.raises((InputError, OptionError), match="texts"):
        evaluate_any(*IDS[case], measures="RR", texts="contain")


def test_a_value_that_is_not_known_is_refused() -> None:
    options: Any = {"texts": "fuzzy"}
    with pytest.raises(OptionError, match="'same', 'contain'"):
        evaluate(make_rows(EQUAL_ROWS), "RR", **options)


def test_faults_are_those_of_ids() -> None:
    with pytest.raises(DuplicateError, match="'a b' occurs twice"):
        evaluate(make_rows([("q", ["a b", "a\tb"], ["a"])]), "RR")
    with pytest.raises(InputError, match="empty or missing"):
        evaluate(make_rows([("q", ["a", " \n"], ["a"])]), "RR")
    scores = evaluate(make_rows([("q", ["a b", "a\tb"], ["a b"])]), "SetP", duplicates="first")
    assert scores["SetP"] == 1


def test_all_verbs_take_texts() -> None:
    old = make_rows(LONGER_ROWS)
    new = [{**row, RUN_COLUMN: row[RUN_COLUMN][::-1]} for row in old]
    pair = compare({"old": old, "new": new}, "RR", texts="contain")["RR"]["new"]
    assert pair.difference == ((1 / 1 + 1 / 1) - (1 / 2 + 1 / 1)) / 2
    assert gate(old, at_least={"RR": 0.75}, texts="contain").passed
    assert not gate(old, at_least={"RR": 0.75}).passed
    explanation = explain(old, "RR", "q1", texts="contain")
    assert isinstance(explanation, Explanation)
    assert explanation.value == 1 / 2


def test_check_asks_about_contained_texts_and_not_about_blanks() -> None:
    findings = [finding.code for finding in check(make_rows(LONGER_ROWS)).findings]
    assert "texts-contain" in findings
    assert "odd-ids" not in findings
    report = check(make_rows(LONGER_ROWS), texts="contain")
    assert "texts-contain" not in [finding.code for finding in report.findings]


def test_what_is_left_out_of_texts_are_equal_texts() -> None:
    exclusions = {"q1": [" Wax  is old."], "q2": ["sing"]}
    for texts in ("same", "contain"):
        scores = evaluate_any(make_rows(EQUAL_ROWS), "RR", without=exclusions, texts=texts)
        assert scores.per_query("RR") == {"q1": 1 / 1, "q2": 1 / 1}
        assert scores.recipe["made_of"] == "texts"


def test_two_systems_of_texts() -> None:
    systems: Any = evaluate(
        {"old": make_rows(LONGER_ROWS), "new": make_rows(LONGER_ROWS)}, "RR", texts="contain"
    )
    assert systems.means() == {"old": {"RR": 3 / 4}, "new": {"RR": 3 / 4}}


def test_the_command_has_the_option(tmp_path: Path) -> None:
    (tmp_path / "rag.json").write_text(json.dumps(make_rows(LONGER_ROWS)))
    words = ["evaluate", "rag.json", "-m", "RR", "--format", "csv"]
    assert "rag,RR,all,0.75" in run_command(*words, "--texts", "contain", cwd=tmp_path).stdout
    plain = run_command(*words, cwd=tmp_path)
    assert "rag,RR,all,0.0" in plain.stdout
    assert "--texts contain" in plain.stderr


def test_saved_scores_say_that_documents_are_texts() -> None:
    scores = evaluate(make_rows(EQUAL_ROWS), "RR")
    assert scores.recipe["made_of"] == "texts"
    assert "texts" in sentence(scores.notes, "texts")
