"""Answers of a model: what is no grade is no label, and each outcome is counted by its kind."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import invoke
from helpers.notes import codes, sentence

from cranfield import InputError, OptionError, Qrels, collect, pool, read_qrels
from cranfield.errors import DuplicateError

PAIRS = [("q1", "d1"), ("q1", "d2"), ("q2", "d3")]
RUNS = {"a": {"q1": ["d1", "d2"], "q2": ["d3"]}}
TEXTS: Any = {
    "query_texts": {"q1": "how to plane", "q2": "what is oak"},
    "doc_texts": {"d1": "Planes cut wood.", "d2": "Saws", "d3": "Oak"},
}
GRADE_1 = '{"reason": "It says so.", "grade": 1}'


def make_pool() -> Any:
    return pool(None, RUNS, **TEXTS)


def list_ids(form: str = "openai", **options: Any) -> dict[tuple[str, str], list[str]]:
    """Return {(query, document): the custom_ids of its requests}."""
    label_requests = make_pool().requests(form, model="model-a", **options)
    ids = [json.loads(line)["custom_id"] for line in label_requests.lines()]
    n_samples = options.get("samples", 1)
    pairs = [question[:2] for question in label_requests.questions]
    return {pair: ids[i * n_samples : (i + 1) * n_samples] for i, pair in enumerate(pairs)}


IDS = {pair: ids[0] for pair, ids in list_ids().items()}


def chat(
    custom_id: Any, *texts: Any, finish_reason: str = "stop", **message: Any
) -> dict[str, Any]:
    """Return a line of a batch of chat completions, with a choice for each text."""
    choices = [
        {"message": {"content": text, **message}, "finish_reason": finish_reason} for text in texts
    ]
    body = {"model": "model-a-1", "choices": choices}
    return {"custom_id": custom_id, "response": {"status_code": 200, "body": body}, "error": None}


def message(custom_id: str, *content: Any, **fields: Any) -> dict[str, Any]:
    """Return a line of a batch of Anthropic."""
    answer = {"model": "model-b-1", "content": [*content], "stop_reason": "end_turn", **fields}
    return {"custom_id": custom_id, "result": {"type": "succeeded", "message": answer}}


def write_lines(path: Path, *lines: Any) -> str:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(texts) + "\n", "utf-8")
    return str(path)


def collect_lines(tmp_path: Path, *lines: Any, **options: Any) -> Any:
    return collect(write_lines(tmp_path / "out.jsonl", *lines), pool=make_pool(), **options)


def grade_of(tmp_path: Path, text: Any, **options: Any) -> float | None:
    """Return the grade of an answer beside a good one; None if it is none."""
    first, second = IDS["q1", "d1"], IDS["q1", "d2"]
    labels = collect_lines(tmp_path, chat(first, text), chat(second, GRADE_1), **options)
    grades = dict(zip(labels.pairs, labels.grades, strict=True))
    assert ("no-grade" in codes(labels)) == (("q1", "d1") not in grades)
    return grades.get(("q1", "d1"))


# ---- what is a grade ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "grade"),
    [
        ('{"reason": "x", "grade": 2}', 2),
        ('{"grade": 2.0}', 2),
        ('{"grade": "3"}', 3),
        ("0", 0),
        ('"2"', 2),
        ('```json\n{"grade": 1}\n```', 1),
        ('```\n{"grade": 1}```', 1),
        ('<think>{"grade": 0}</think>\n{"grade": 3}', 3),
        ("</think></think> 2", 2),
    ],
)
def test_one_json_value_is_a_grade(tmp_path: Path, text: str, grade: float) -> None:
    assert grade_of(tmp_path, text) == grade


HOSTILE_ANSWERS = [
    "",
    None,
    3,
    ["2"],
    {"grade": 3},
    "I would say 2 out of 3.",
    "Grade: 2",
    "2 3",
    '{"grade": 2}{"grade": 3}',
    '{"grade": 2} {"grade": 2}',
    '{"grade": 2, "grade": 3}',
    '{"grade": 2.5}',
    '{"grade": true}',
    "true",
    '{"grade": null}',
    '{"grade": 7}',
    '{"grade": -1}',
    '{"grade": "2 of 3"}',
    '{"grade": [2]}',
    '{"grade": {"grade": 2}}',
    '{"Grade": 2}',
    '{"grade": NaN}',
    '{"grade": 1e400}',
    '{"grade": "nan"}',
    '{"grade": "٢"}',
    '{"grade": "1_0"}',
    '{"grade": ' + "9" * 5_000 + "}",
    "[" * 100_000,
    "[2]",
    '{"grade": 2',
    '```json\n```json\n{"grade": 2}\n```\n```',
    '{"grade": 2}</think>',
    "<think>2",
]


@pytest.mark.parametrize("text", HOSTILE_ANSWERS, ids=range(len(HOSTILE_ANSWERS)))
def test_what_is_no_grade_is_no_label(tmp_path: Path, text: Any) -> None:
    assert grade_of(tmp_path, text) is None


def test_grades_are_those_of_the_prompt_or_as_stated(tmp_path: Path) -> None:
    assert grade_of(tmp_path, "3", grades="0,1,2") is None
    assert grade_of(tmp_path, "9", grades=[0, 1, 9]) == 9
    assert grade_of(tmp_path, "0", grades=[1, 2]) is None
    binary = {pair: ids[0] for pair, ids in list_ids(prompt="binary").items()}
    lines = [chat(binary["q1", "d1"], "2"), chat(binary["q1", "d2"], "1")]
    assert collect_lines(tmp_path, *lines).qrels().to_dict() == {"q1": {"d2": 1}}
    assert grade_of(tmp_path, '{"grade": "Yes"}', grades_of="no=0,yes=2") == 2
    assert grade_of(tmp_path, "Yes", grades_of="yes=2") is None  # a bare word is no JSON
    with pytest.raises(OptionError, match="applies to answers of a model"):
        collect({"ann": [("q1", "d1", 1)]}, grades="0,1")


# ---- outcomes -----------------------------------------------------------------------------------


def failures(custom_id: str) -> dict[str, tuple[str, Any]]:
    """Return {name: (outcome, line)} of each way not to answer."""

    def respond(status: Any, body: Any, error: Any = None) -> dict[str, Any]:
        response = {"status_code": status, "body": body}
        return {"custom_id": custom_id, "response": response, "error": error}

    def result(kind: Any, **fields: Any) -> dict[str, Any]:
        return {"custom_id": custom_id, "result": {"type": kind, **fields}}

    def responses(output: Any, **fields: Any) -> dict[str, Any]:
        return respond(200, {"object": "response", "model": "m", "output": output, **fields})

    good = {"choices": [{"message": {"content": GRADE_1}, "finish_reason": "stop"}]}
    text = {"type": "text", "text": GRADE_1}
    server_error = {"type": "server_error"}
    refusal = {"type": "refusal", "refusal": "No."}
    part = {"type": "output_text", "text": GRADE_1}
    return {
        "expired": (
            "failed (batch_expired 1)",
            {"custom_id": custom_id, "response": None, "error": {"code": "batch_expired"}},
        ),
        "status": ("failed (status 400 1)", respond(400, None, {"error": {"code": 400}})),
        "status, body": ("failed (status 500 1)", respond(500, good)),
        "error, body": ("failed (no body 1)", respond(200, good, "broken")),
        "error type": (
            "failed (server_error 1)",
            respond(200, {"error": server_error}),
        ),
        "no body": ("failed (no body 1)", respond(200, None)),
        "no response": ("failed (no body 1)", {"custom_id": custom_id, "response": 3}),
        "overloaded": (
            "failed (api_error 1)",
            result("errored", error={"type": "error", "error": {"type": "api_error"}}),
        ),
        "canceled": ("failed (canceled 1)", result("canceled")),
        "odd type": ("failed (no body 1)", result(["x"], message={"content": [text]})),
        "refusal": ("refused", chat(custom_id, None, refusal="No.")),
        "filter": ("refused", chat(custom_id, GRADE_1, finish_reason="content_filter")),
        "stop refusal": ("refused", message(custom_id, text, stop_reason="refusal")),
        "refusal part": (
            "refused",
            responses([{"type": "message", "content": [refusal, part]}]),
        ),
        "length": ("truncated", chat(custom_id, GRADE_1, finish_reason="length")),
        "max_tokens": ("truncated", message(custom_id, text, stop_reason="max_tokens")),
        "window": (
            "truncated",
            message(custom_id, text, stop_reason="model_context_window_exceeded"),
        ),
        "incomplete": (
            "truncated",
            responses([part], incomplete_details={"reason": "max_output_tokens"}),
        ),
        "thought": (
            "not a grade ('')",
            message(custom_id, {"type": "thinking", "text": GRADE_1, "thinking": "grade 1"}),
        ),
        "no choice": ("not a grade ('')", respond(200, {"choices": []})),
        "odd choices": ("not a grade ('')", respond(200, {"choices": [None, 3, []]})),
        "odd body": ("failed (no body 1)", respond(200, [])),
        "a text as body": ("not a grade ('')", respond(200, GRADE_1)),
    }


@pytest.mark.parametrize("name", failures(""))
def test_each_outcome_is_counted_by_its_kind(tmp_path: Path, name: str) -> None:
    outcome, line = failures(IDS["q1", "d1"])[name]
    labels = collect_lines(tmp_path, chat(IDS["q1", "d2"], GRADE_1), line)
    assert labels.qrels().to_dict() == {"q1": {"d2": 1}}
    n, total = (3, 4) if name == "odd choices" else (1, 2)
    note = sentence(labels.notes, "no-grade")
    assert note.startswith(f"{n} of {total} answers {'is' if n == 1 else 'are'} no grade, and ")
    assert f"{n} {outcome.removesuffix(')')}" in note
    with pytest.raises(InputError, match="no answer is a grade"):
        collect_lines(tmp_path, line, chat(IDS["q1", "d2"], "none"))


def test_anthropic_responses_and_parts_have_grades(tmp_path: Path) -> None:
    ids = list_ids("anthropic")
    thought = {"type": "thinking", "thinking": "grade 0?"}
    parts = [{"type": "text", "text": '{"grade"'}, {"type": "text", "text": ": 2}"}]
    output = [
        {"type": "reasoning", "summary": []},
        {"type": "message", "content": [{"type": "output_text", "text": "3"}]},
    ]
    body = {"object": "response", "status": "completed", "model": "m", "output": output}
    labels = collect_lines(
        tmp_path,
        message(ids["q1", "d1"][0], thought, *parts),
        {"custom_id": ids["q1", "d2"][0], "response": {"status_code": 200, "body": body}},
        {"custom_id": ids["q2", "d3"][0], "response": chat("", [parts[0], parts[1]])["response"]},
    )
    assert labels.qrels().to_dict() == {"q1": {"d1": 2, "d2": 3}, "q2": {"d3": 2}}
    assert {row["judge_model"] for row in labels.rows()} == {"model-b-1", "m", "model-a-1"}


def test_a_grade_wins_over_none_in_any_order_of_files(tmp_path: Path) -> None:
    good = write_lines(tmp_path / "good.jsonl", chat(IDS["q1", "d1"], GRADE_1))
    bad = write_lines(tmp_path / "bad.jsonl", chat(IDS["q1", "d1"], "prose"))
    for paths in ([good, bad], [bad, good]):
        labels = collect(paths, pool=make_pool())
        assert labels.qrels().to_dict() == {"q1": {"d1": 1}}
        assert "no-grade" not in codes(labels)


def test_hostile_texts_of_a_result_are_one_clean_line(tmp_path: Path) -> None:
    hostile = "a\n\x1b[31m\ud800" + "x" * 9_000
    line = chat(IDS["q1", "d1"], json.dumps({"reason": hostile, "grade": 1}))
    line["response"]["body"]["model"] = hostile
    error = {"code": hostile, "message": hostile}
    failed = {"custom_id": IDS["q1", "d2"], "response": None, "error": error}
    labels = collect_lines(tmp_path, line, failed, chat(IDS["q2", "d3"], hostile))
    (row,) = labels.rows()
    assert row["judge_model"] == ("a [31m\ufffd" + "x" * 9_000)[:100]
    assert row["reason"] == ("a [31m\ufffd" + "x" * 9_000)[:300]
    note = sentence(labels.notes, "no-grade")
    assert len(note) < 600
    assert note.isprintable()


# ---- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"custom_id": "', "line 2 is not valid JSON"),
        ("[" * 100_000, "line 2 is not valid JSON"),
        ('{"custom_id": "a", "custom_id": "b"}', "line 2 is not valid JSON"),
        ("3", "custom_id None was not written by cranfield pool"),
        (chat("request-1", GRADE_1), "custom_id 'request-1' was not written by cranfield pool"),
        (chat(["x"], GRADE_1), "custom_id ['x'] was not written by cranfield pool"),
        (chat(IDS["q1", "d1"] + "00", GRADE_1), "was not written by cranfield pool"),
        (
            chat("0" * 24 + IDS["q1", "d1"][24:], GRADE_1),
            "is of a document that is not in the pool",
        ),
    ],
)
def test_a_line_of_no_known_request_is_refused_or_counted(
    tmp_path: Path, line: Any, problem: str
) -> None:
    lines = [chat(IDS["q1", "d1"], GRADE_1), line, chat(IDS["q1", "d2"], GRADE_1)]
    with pytest.raises(InputError) as refusal:
        collect_lines(tmp_path, *lines)
    assert problem in str(refusal.value)
    assert "out.jsonl:2" in str(refusal.value)
    labels = collect_lines(tmp_path, *lines, errors="skip")
    assert labels.qrels().to_dict() == {"q1": {"d1": 1, "d2": 1}}
    assert sentence(labels.notes, "left-out").startswith("1 answer left out: ")


def test_answers_need_the_pool(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "out.jsonl", chat(IDS["q1", "d1"], GRADE_1))
    with pytest.raises(InputError, match="answers of a model name documents by a hash: state the"):
        collect(path)


def test_without_a_grade_the_first_failure_is_quoted(tmp_path: Path) -> None:
    error = {"code": "unsupported_parameter", "message": "Unsupported parameter: 'max_tokens'"}
    lines = [
        {"custom_id": custom_id, "response": {"status_code": 400, "body": {"error": error}}}
        for custom_id in IDS.values()
    ]
    with pytest.raises(InputError) as refusal:
        collect_lines(tmp_path, *lines)
    assert refusal.value.problem == (
        "no answer is a grade: 3 failed (unsupported_parameter 3); the first says: "
        "Unsupported parameter: 'max_tokens'"
    )


# ---- samples, people and where grades come from -------------------------------------------------


def test_samples_are_assessors_whose_mean_may_count(tmp_path: Path) -> None:
    ids = list_ids(samples=3)
    grades: dict[tuple[str, str], list[Any]] = {
        ("q1", "d1"): [1, 1, 0],
        ("q1", "d2"): [0, 2, 2],
        ("q2", "d3"): [3, "none", 3],
    }
    lines = [
        chat(custom_id, f'{{"grade": {grade}}}')
        for pair, grades_of_pair in grades.items()
        for custom_id, grade in zip(ids[pair], grades_of_pair, strict=True)
    ]
    with pytest.raises(DuplicateError, match="different labels: 1 by model-a-1 e66336a1 #1"):
        collect_lines(tmp_path, *lines)
    mean = collect_lines(tmp_path, *lines, differing="mean")
    assert mean.qrels().to_dict() == {"q1": {"d1": 2 / 3, "d2": 4 / 3}, "q2": {"d3": 3}}
    assert "the mean of the grades counts" in sentence(mean.notes, "differing")
    assert sentence(mean.notes, "no-grade").startswith("1 of 9 answers is no grade: 1 not a grade")
    assert sentence(mean.notes, "fewer-samples").startswith("1 document with fewer than 3 grades")
    assert mean.rows()[0]["judge_model"] == "model-a-1"
    majority = collect_lines(tmp_path, *lines, differing="majority")
    assert majority.qrels().to_dict() == {"q1": {"d1": 1, "d2": 2}, "q2": {"d3": 3}}
    second = collect_lines(tmp_path, *lines, assessor="model-a-1 e66336a1 #2")
    assert second.qrels().to_dict() == {"q1": {"d1": 1, "d2": 2}}


def test_several_choices_are_samples(tmp_path: Path) -> None:
    labels = collect_lines(tmp_path, chat(IDS["q1", "d1"], "1", "2", "3"), differing="mean")
    assert labels.qrels().to_dict() == {"q1": {"d1": 2}}
    assert [assessor.assessor[-2:] for assessor in labels.assessors] == ["#1", "#2", "#3"]


@pytest.mark.parametrize(("differing", "grade"), [("latest", 0), ("highest", 2), ("mean", 1)])
def test_two_grades_of_one_request_are_two_labels(
    tmp_path: Path, differing: str, grade: float
) -> None:
    lines = [chat(IDS["q1", "d1"], "2"), chat(IDS["q1", "d1"], "0")]
    labels = collect_lines(tmp_path, *lines, differing=differing)
    assert labels.qrels().to_dict() == {"q1": {"d1": grade}}
    assert sentence(labels.notes, "labelled-twice") == "1 document labelled twice by one assessor."


def test_the_file_says_which_grades_are_a_models(tmp_path: Path) -> None:
    answers = [chat(custom_id, GRADE_1) for custom_id in IDS.values()]
    person = tmp_path / "ann.csv"
    person.write_text("query_id,doc_id,relevance\nq1,d1,1\nq1,d2,3\n")
    paths = [write_lines(tmp_path / "out.jsonl", *answers), person]
    labels = collect(paths, pool=make_pool(), differing="latest")
    path = tmp_path / "model.csv"
    path.write_text(labels.to_csv())
    judges = {(r["query_id"], r["doc_id"]): (r["judge_model"], r["reason"]) for r in labels.rows()}
    model = ("model-a-1", "It says so.")
    assert judges == {("q1", "d1"): ("", ""), ("q1", "d2"): model, ("q2", "d3"): model}
    assert labels.rows()[-1]["judge_prompt"] == "graded e66336a1"
    for qrels in (labels.qrels(), read_qrels(path)):
        assert qrels.judges.code is not None
        (count,) = qrels.judges.count_models()
        assert count == {"model": "model-a-1", "prompt": "graded e66336a1", "judgments": 2}


def test_the_command_reads_two_files_and_names_what_to_ask_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pool.csv").write_text(make_pool().to_csv())
    write_lines(Path("out.jsonl"), chat(IDS["q1", "d1"], GRADE_1))
    failed = {"custom_id": IDS["q1", "d2"], "response": None, "error": {"code": "late"}}
    write_lines(Path("err.jsonl"), failed)
    outcome = invoke("collect", "out.jsonl", "err.jsonl", "--pool", "pool.csv", "-o", "model.csv")
    assert outcome.exit_code == 0, outcome.output
    text = " ".join(outcome.output.split())
    assert (
        "1 of 2 answers is no grade, and their documents have no label: 1 failed (late 1). Which "
        "ones is not chance: ask again (cranfield pool ... --answered out.jsonl --answered "
        "err.jsonl), or have people label them."
    ) in text
    assert read_qrels("model.csv").to_dict() == {"q1": {"d1": 1}}


# ---- the vectors --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["openai", "openai_retry", "vllm", "responses", "anthropic"])
def test_judgments_are_those_of_the_vectors(
    data: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(data / "labels")
    expected = json.loads(Path("expected.json").read_text("utf-8"))[name]
    for files in (expected["files"], expected["files"][::-1]):
        labels = collect(files, pool="pool.csv")
        rows = zip(labels.pairs, labels.grades, strict=True)
        assert [[*pair, grade] for pair, grade in rows] == expected["judgments"]
        note = sentence(labels.notes, "no-grade")
        kinds = [kind for *_, kind, _ in expected["no_grade"]]
        assert note.startswith(f"{len(kinds)} of {len(kinds) + len(expected['judgments'])} answers")
        for kind in {*kinds}:
            assert f"{kinds.count(kind)} {kind}" in note
        for code in {code for *_, code in expected["no_grade"] if code}:
            assert f"{code} {[code for *_, code in expected['no_grade']].count(code)}" in note


@pytest.mark.parametrize("name", ["foreign", "other_pool", "all_failed", "broken"])
def test_refusals_are_those_of_the_vectors(
    data: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(data / "labels")
    expected = json.loads(Path("expected.json").read_text("utf-8"))[name]
    with pytest.raises(InputError) as refusal:
        collect(expected["files"], pool="pool.csv")
    assert expected["refused"] in str(refusal.value)
    if "with --errors skip" in expected:
        labels = collect(expected["files"], pool="pool.csv", errors="skip")
        ((query, doc, grade),) = expected["with --errors skip"]["judgments"]
        assert labels.qrels().to_dict() == {query: {doc: grade}}


def test_samples_are_those_of_the_vectors(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(data / "labels")
    expected = json.loads(Path("expected.json").read_text("utf-8"))["samples"]
    options: list[dict[str, str]] = [{"differing": "majority"}, {"differing": "mean"}]
    options += [{"assessor": assessor} for assessor in expected["assessors"]]
    judgments = [expected["majority"], expected["mean"], *expected["assessors"].values()]
    for option, rows in zip(options, judgments, strict=True):
        labels = collect(expected["files"], pool="pool.csv", **option)  # type: ignore[arg-type]
        rows_of_labels = zip(labels.pairs, labels.grades, strict=True)
        assert [[*pair, grade] for pair, grade in rows_of_labels] == rows


def test_labels_in_columns_are_no_answers(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "ann.parquet"
    rows = [{"query_id": "q1", "doc_id": "d1", "relevance": 2}]
    Qrels(rows).write(path)
    assert collect(path).qrels().to_dict() == {"q1": {"d1": 2}}
    answers = tmp_path / "out.jsonl"
    write_lines(answers, chat(IDS["q1", "d1"], GRADE_1))
    assert collect(answers, pool=make_pool()).qrels().to_dict() == {"q1": {"d1": 1}}


def test_a_request_that_is_answered_again_counts_once(tmp_path: Path) -> None:
    ids = list_ids(samples=2)["q1", "d1"]
    good = chat(list_ids(samples=2)["q1", "d2"][0], "1", "1")
    without_grades, retry = chat(ids[1], "prose", "prose"), chat(ids[1], "2")
    for lines in ([without_grades, retry], [retry, without_grades]):
        labels = collect_lines(tmp_path, good, *lines)
        assert labels.qrels().to_dict() == {"q1": {"d1": 2, "d2": 1}}
        assert "no-grade" not in codes(labels)
        # two choices of the first request, and one of the second
        assert [assessor.assessor[-2:] for assessor in labels.assessors] == ["#1", "#2", "#3"]
    labels = collect_lines(tmp_path, good, without_grades, chat(ids[1], "prose"))
    assert sentence(labels.notes, "no-grade").startswith("1 of 3 answers is no grade")


def test_two_models_are_both_named(tmp_path: Path) -> None:
    lines = [chat(custom_id, GRADE_1) for custom_id in IDS.values()]
    other_lines = json.loads(json.dumps(lines).replace("model-a-1", "other-y"))
    other_lines[0] = json.loads(json.dumps(other_lines[0]).replace("1}", "3}"))
    paths = [
        write_lines(tmp_path / "a.jsonl", *lines),
        write_lines(tmp_path / "b.jsonl", *other_lines),
    ]
    rows = collect(paths, pool=make_pool(), differing="mean").rows()
    assert {row["judge_model"] for row in rows} == {"model-a-1, other-y"}
    assert {row["judge_prompt"] for row in rows} == {"graded e66336a1"}
    assert sorted(row["relevance"] for row in rows) == [1, 1, (1 + 3) / 2]
    rows = collect(paths, pool=make_pool(), differing="highest").rows()
    models = sorted(row["judge_model"] for row in rows)
    assert models == ["model-a-1, other-y", "model-a-1, other-y", "other-y"]


def test_an_empty_file_of_errors_is_no_assessor(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "output.jsonl", *(chat(i, GRADE_1) for i in IDS.values()))
    errors = tmp_path / "errors.jsonl"
    errors.touch()
    assessors = collect([path, str(errors)], pool=make_pool()).assessors
    assert [assessor.assessor for assessor in assessors] == ["model-a-1 e66336a1"]
