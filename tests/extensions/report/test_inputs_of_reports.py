"""The commands report and table read what the core's commands read, and say the same of it."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import invoke

VERBS = ["report", "table"]


def output_of(verb: str, folder: Path) -> list[str]:
    return ["-o", str(folder / "page.html")] if verb == "report" else ["--format", "csv"]


@pytest.mark.parametrize("verb", VERBS)
def test_one_table_given_twice_is_two_systems_as_a_copy_is(tmp_path: Path, verb: str) -> None:
    rows = [
        {"question": "How?", "expected_ids": ["a", "b"], "retrieved_ids": ["x", "a", "y"]},
        {"question": "Why so?", "expected_ids": ["c"], "retrieved_ids": ["c", "a"]},
    ]
    (tmp_path / "old.json").write_text(json.dumps(rows))
    (tmp_path / "copy.json").symlink_to(tmp_path / "old.json")
    old, link, dotted_path = (
        f"{tmp_path}/{name}" for name in ("old.json", "copy.json", "./old.json")
    )
    for files in ([old, old], [old, dotted_path], [old, link], [old, old, link]):
        command = invoke(verb, *files, "-m", "RR", *output_of(verb, tmp_path))
        assert command.exit_code == 0, command.output
        assert "Identical on all 2 queries" in command.output + command.stderr


@pytest.mark.parametrize("verb", VERBS)
def test_scores_that_rise_are_warned_of(verb: str, write: Any, tmp_path: Path) -> None:
    judged = {f"q{i}": {"a": 1, "b": 0, "c": 0} for i in range(4)}
    distances = {"a": 0.25, "b": 0.5, "c": 0.75}
    lines = [f"{q} 0 {doc} {grade}\n" for q, docs in judged.items() for doc, grade in docs.items()]
    paths = [write("a.qrels", "".join(lines))]
    for name, sign in (("good", -1), ("l2", 1)):
        rows = [f"{q},{doc},{sign * x}\n" for q in judged for doc, x in distances.items()]
        paths.append(write(f"{name}.csv", "".join(["query_id,doc_id,score\n", *rows])))
    outcome = invoke(verb, *paths, "-m", "RR", *output_of(verb, tmp_path))
    assert "are they distances?" in outcome.output


@pytest.mark.parametrize("verb", VERBS)
def test_percentages(tmp_path: Path, verb: str) -> None:
    old = [0.50 + 0.01 * (i % 7) for i in range(40)]
    percent = [100 * (score - 0.05 - 0.01 * (i % 3)) for i, score in enumerate(old)]
    files = []
    for name, values in (("new", percent), ("old", old)):
        rows = [f"q{i:02},{value!r}" for i, value in enumerate(values)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["query_id,nDCG@10", *rows]) + "\n")
        files.append(str(tmp_path / f"{name}.csv"))
    options = ["--baseline", files[1], *output_of(verb, tmp_path)]
    refusal = invoke(verb, "--saved", *files, *options)
    assert refusal.exit_code == 2
    assert "--percent divides by 100" in refusal.stderr
    acceptance = invoke(verb, "--saved", *files, *options, "--percent")
    assert acceptance.exit_code == 0, acceptance.output
    if verb == "table":
        assert repr(sum(percent) / 100 / 40)[:8] in acceptance.stdout
        printed_text = acceptance.stderr + invoke(verb, "--saved", *files, "--percent").output
        assert "Divided by 100: nDCG@10 of new" in printed_text
