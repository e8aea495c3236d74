"""What `--help` shows: options by groups, and nothing wider than a terminal of 80 columns."""

import hashlib
import json
import re
import shlex
import shutil
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from helpers.commands import invoke
from helpers.profile import sample_cases

from cranfield import read_qrels, read_run
from cranfield.cli import COMMANDS, cli, load_command
from cranfield.extensions.report.figure_command import command as figure

GROUPS = ["Options", "More", "Files", "Ranking", "Statistics", "Output"]
# Options of extensions, each under a heading.
HEADINGS = {
    "evaluate": [
        *("Clusters", "Human labels", "Large data", "Lists of grades"),
        "Numbers of other tools",
    ],
    "compare": ["Clusters", "Human labels", "Seeds", "Several collections"],
    "gate": ["Clusters", "Human labels", "Seeds"],
    "correlate": [],
}
PAGES = [[], *([name] for name in COMMANDS)]
PAGES += [["figure", part] for part in figure.commands]


@pytest.mark.parametrize("names", PAGES, ids=" ".join)
def test_no_line_is_wider_than_80_columns(names: list[str]) -> None:
    invocation = invoke(*names, "--help")
    assert invocation.exit_code == 0
    assert max(map(len, invocation.stdout.splitlines())) <= 80


def test_the_pictures_are_listed_with_their_whole_sentences() -> None:
    help_text = invoke("figure", "--help").stdout.partition("Commands:")[2]
    assert "precision-recall" in help_text
    assert not re.search(r"\.\.\.$", help_text, re.M)


@pytest.mark.parametrize("name", ["evaluate", "compare", "gate", "correlate"])
def test_options_are_listed_in_groups_those_of_the_command_first(name: str) -> None:
    help_text = invoke(name, "--help").stdout
    section_headings = re.findall(r"^(\w[\w ]*):$", help_text, re.M)
    assert section_headings[0] == "Options"
    assert section_headings[-1] == "Output"
    assert [heading for heading in section_headings if heading not in GROUPS] == HEADINGS[name]
    usual_headings = [heading for heading in section_headings if heading in GROUPS]
    assert usual_headings == sorted(usual_headings, key=GROUPS.index)
    section = dict(
        zip(section_headings, re.split(r"^\w[\w ]*:$", help_text, flags=re.M)[1:], strict=True)
    )
    assert "--measure" in section["Options"]
    assert "--columns" in section["Files"]
    assert "--ties" in section["Ranking"]
    assert "--format" in section["Output"]
    own_option = {"compare": "--changes", "gate": "--tried", "correlate": "--splits"}
    assert name == "evaluate" or own_option[name] in section["More"]


def test_the_help_of_evaluate_is_three_screens() -> None:
    assert len(invoke("evaluate", "--help").stdout.splitlines()) <= 120


def test_the_help_has_options_of_the_command_in_full_and_those_of_groups_in_short() -> None:
    help_text = " ".join(invoke("compare", "--help").stdout.split())
    assert "May be repeated: each other system is compared with each" in help_text  # --baseline
    assert "the worst first, then the N that get better most." in help_text  # --changes
    assert "How tied documents are ranked. --depth" in help_text
    assert "In full: cli compare --help files, or an option's name" in help_text
    assert "In full" not in invoke("demo", "--help").stdout


def test_options_and_groups_that_are_named_behind_help_are_shown_in_full() -> None:
    invocation = invoke("compare", "--help", "--ties", "--rel")
    assert re.findall(r"^  (-.*?--\w+|--\w+)", invocation.stdout, re.M) == ["-l, --rel", "--ties"]
    assert '"expected": the mean over all orders' in " ".join(invocation.stdout.split())
    assert invoke("help", "compare", "--rel", "--ties").stdout == invocation.stdout
    clusters = " ".join(invoke("compare", "--help", "clusters").stdout.split())
    assert "errors are cluster-robust" in clusters
    assert "--ties" not in clusters
    help_text = invoke("compare", "--help").stdout
    assert invoke("compare", "a", "b", "--ties", "best", "--help").stdout == help_text
    assert invoke("compare", "--help", "--no-such-option").stdout == help_text


def test_every_option_of_a_command_is_listed_once() -> None:
    for name in COMMANDS:
        help_text = invoke(name, "--help").stdout
        parameters = load_command(name).params
        assert len({parameter.name for parameter in parameters}) == len(parameters)
        for parameter in parameters:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                assert (
                    len(re.findall(rf"^  .*?{parameter.opts[0]}(?![-\w])", help_text, re.M)) >= 1
                ), parameter.name


def test_help_and_version_are_understood_as_commands() -> None:
    assert invoke("help").stdout == invoke("--help").stdout
    assert invoke("help", "gate").stdout == invoke("gate", "--help").stdout
    assert invoke("version").stdout == invoke("-V").stdout == invoke("--version").stdout
    assert invoke("help", "help").stdout == invoke("--help").stdout
    assert invoke("help", "gat").exit_code == 2


def test_the_choices_of_formats_are_in_the_sentence() -> None:
    help_text = " ".join(invoke("evaluate", "--help", "--qrels-format").stdout.split())
    assert "--qrels-format NAME" in help_text
    assert "One of trec, msmarco," in help_text
    invocation = invoke("evaluate", "a", "b", "--qrels-format", "no")
    assert invocation.exit_code == 2
    assert "'msmarco'" in invocation.output


@pytest.mark.parametrize("names", [page for page in PAGES if page != ["trec-eval"]], ids=" ".join)
def test_the_short_help_is_a_screen(names: list[str]) -> None:
    invocation = invoke(*names, "-h")
    assert invocation.exit_code == 0
    max_lines = 45 if names else 48  # the overview has a line for each command
    assert len(invocation.stdout.splitlines()) <= max_lines
    if len(invoke(*names, "--help").stdout) > len(invocation.stdout):
        assert f"{' '.join(names)} --help" in invocation.stdout.splitlines()[-1]


def test_the_short_help_has_the_usual_options_in_a_sentence_each() -> None:
    help_text = " ".join(invoke("evaluate", "-h").stdout.split())
    for option_name in ("--measure", "--ties", "--queries", "--format", "--output"):
        assert option_name in help_text
    assert "--span-pattern" not in help_text
    assert "How tied documents are ranked. [default: document]" in help_text
    assert invoke("evaluate", "-h", "--help").stdout == invoke("evaluate", "--help").stdout


def test_every_sentence_of_an_option_is_one_and_the_first_is_short() -> None:
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        for parameter in command.params:
            if isinstance(parameter, click.Option) and parameter.help:
                sentences = re.sub(r"\s*\[default: .*\]$", "", parameter.help)
                assert sentences.endswith((".", "?")), f"{name} {parameter.opts[0]}: {sentences}"
                assert sentences[0].isupper(), f"{name} {parameter.opts[0]}: {sentences}"
                first_sentence = re.match(r".*?[.?](?= |$)", sentences, re.S)
                assert first_sentence is not None
                assert len(first_sentence[0]) <= 160, (
                    f"{name} {parameter.opts[0]}: {first_sentence[0]}"
                )


def list_examples(names: list[str]) -> list[str]:
    help_text = re.sub(r" \\\n +", " ", invoke(*names, "--help").stdout)
    return re.findall(r"^  (cranfield .*[^.])$", help_text, re.M)


# Some, as they are whole evaluations; the others among the tests for more.
@pytest.mark.parametrize(
    "names",
    [
        pytest.param(names, marks=[pytest.mark.more] * (names not in sample_cases(PAGES, step=6)))
        for names in PAGES
    ],
    ids=" ".join,
)
def test_the_examples_of_the_help_run(
    names: list[str], demo_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One after the other, beside the demonstration and some files of a user."""
    shutil.copytree(demo_folder / "demo", tmp_path / "demo")
    for name in ("second", "third"):
        shutil.copy(tmp_path / "demo" / "qrels.txt", tmp_path / f"{name}.qrels")
    kinds = "".join(f"q{i:02},{'odd' if i % 2 else 'even'}\n" for i in range(1, 41))
    (tmp_path / "kind.csv").write_text(f"query_id,type\n{kinds}")
    rows = (
        f"{name},second.qrels,{run},demo/{run}.run\n"
        for name in ("one", "two")
        for run in ("bm25", "dense")
    )
    (tmp_path / "collections.csv").write_text(f"collection,qrels,run,path\n{''.join(rows)}")
    clicks = "user,item,score\nu1,a,2\nu1,b,1\n"
    (tmp_path / "clicks.csv").write_text(clicks)
    (tmp_path / "pop.csv").write_text(clicks)
    for name in ("als", "train"):
        read_run(tmp_path / "pop.csv").write(tmp_path / f"{name}.parquet")
    (tmp_path / "movies.csv").write_text("item,genre\na,drama\nb,drama\nb,comedy\n")
    for name in ("bm25.run", "dense.run"):
        shutil.copy(tmp_path / "demo" / name, tmp_path / name)
    qrels = read_qrels(tmp_path / "demo" / "qrels.txt")
    qrels.write(tmp_path / "model.qrels")
    qrels.sample(30).write(tmp_path / "human.csv")
    (tmp_path / "queries.tsv").write_text("q1\tA question\n")
    (tmp_path / "corpus.jsonl").write_text(json.dumps({"_id": "d1", "text": "A text."}))
    nugget = {"query": "q1", "answer": "a", "nugget": "n", "importance": "vital"}
    line = json.dumps({**nugget, "assignment": "support"})
    (tmp_path / "assignments.jsonl").write_text(line)
    for name, grade in (("pool", ""), ("ann", "1"), ("ben", "1")):
        (tmp_path / f"{name}.csv").write_text(f"query_id,doc_id,relevance\nq1,d1,{grade}\n")
    assessor = {"assessor": "ann@example.org"}
    labels = [{"query_id": "q1", "doc_id": doc, "relevance": 1, **assessor} for doc in "ab"]
    (tmp_path / "export.json").write_text(json.dumps(labels))
    pair_digits = hashlib.sha256(b"q1\0d1").hexdigest()[:24]
    response = {
        "status_code": 200,
        "body": {"choices": [{"message": {"content": "1"}, "finish_reason": "stop"}]},
    }
    answer = {"custom_id": f"{pair_digits}-{'0' * 8}-{'0' * 6}-1", "response": response}
    (tmp_path / "output.jsonl").write_text(json.dumps(answer))
    (tmp_path / "errors.jsonl").write_text(json.dumps({**answer, "response": None}))
    monkeypatch.chdir(tmp_path)
    examples = list_examples(names)
    assert examples or names in (["demo"], ["measures"]), "there is no example"
    for example in examples:
        words = [
            path
            for word in shlex.split(example)[1:]
            for path in (sorted(map(str, Path().glob(word))) if "*" in word else [word])
        ]
        invocation = invoke(*words)
        assert invocation.exit_code == 0, f"{example}\n{invocation.output}"


def test_help_explains_a_measure() -> None:
    assert invoke("help", "MAP").stdout == invoke("measures", "MAP").stdout
    assert "No such command 'nDGC'" in invoke("help", "nDGC").output


def test_a_shell_can_complete_what_is_typed() -> None:
    def complete_words(*words: str) -> list[str]:
        shell = ShellComplete(cli, {}, "cranfield", "_CRANFIELD_COMPLETE")
        return [
            completion.value for completion in shell.get_completions(list(words[:-1]), words[-1])
        ]

    assert complete_words("ev") == ["evaluate"]
    assert "--per-query" in complete_words("evaluate", "--per")
    assert complete_words("evaluate", "--ties", "exp") == ["expected"]
    assert complete_words("figure", "lead") == ["leaderboard"]
    for words in (["evaluate", "-m"], ["explain", "a", "b", "--measure"], ["measures"]):
        assert complete_words(*words, "ndcg") == ["nDCG", "nDCG_rel"]
    for words in (["evaluate"], ["compare", "a"], ["check", "a", "b"], ["gate", "--baseline"]):
        shell = ShellComplete(cli, {}, "cranfield", "_CRANFIELD_COMPLETE")
        assert [completion.type for completion in shell.get_completions(words, "de")] == ["file"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("report a b --budget 1MB", "--budget 1MB: expected a whole number of at least 0"),
        ("compare a b --seed x", "--seed x: expected a whole number"),
        ("compare a b --alpha 5%", "--alpha 5%: expected a number above 0 and below"),
        ("evaluate a b --depth 1.5", "--depth 1.5: expected a whole number of at least 1"),
        ("evaluate a b --rel high", "--rel high: expected a number"),
    ],
)
def test_a_number_that_is_none_is_refused_with_what_was_expected(
    arguments: str, message: str
) -> None:
    invocation = invoke(*arguments.split())
    assert invocation.exit_code == 2
    assert message in invocation.stderr
    assert "not a valid" not in invocation.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        "compare demo/qrels.txt demo/bm25.run demo/dense.run -m AP -l 2 --changes 1 --seed 4",
        "compare demo/rag.json demo/rag-new.json -m R@5 --changes 1",
        "compare demo/qrels.txt demo/bm25.run demo/dense.run --ties ascending --depth 20 "
        "--map-docs-pattern '^(.*)$' --topics demo/queries.tsv --changes 1",
        "gate demo/qrels.txt demo/tfidf.run --baseline demo/dense.run --margin 2%",
        "gate demo/qrels.txt demo/dense.run --at-least recall@5=0.9 --limit",
    ],
)
def test_the_command_that_says_why_can_be_pasted(
    arguments: str, demo_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(demo_folder)
    output_text = invoke(*shlex.split(arguments), "--format", "table").stdout
    (explain_command,) = re.findall(r"^Why: cranfield (.*)$", output_text, re.M)
    invocation = invoke(*shlex.split(explain_command))
    assert invocation.exit_code == 0, invocation.output
    score = invocation.stdout.splitlines()[0]
    assert score.startswith(re.findall(r"-m '?([^' ]+)", explain_command)[0])
    for options in ("--rel 2", "--depth 20", "--ties ascending", "--map-docs-pattern '^(.*)$'"):
        assert (options in explain_command) == (options.replace("--rel", "-l") in arguments)
    assert not re.search("--seed|--changes|--margin|--at-least|--topics|--limit", explain_command)


def test_what_was_saved_names_no_file_to_explain(
    demo_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scores alone do not say which documents made them, no matter what command came before."""
    monkeypatch.chdir(demo_folder)
    runs = ["demo/bm25.run", "demo/dense.run"]
    saved_path = str(tmp_path / "scores.json")
    assert invoke("compare", "demo/qrels.txt", *runs).exit_code == 0
    assert invoke("evaluate", "demo/qrels.txt", *runs, "-q", "-o", saved_path).exit_code == 0
    output_text = invoke("compare", "--saved", saved_path, "--changes", "1", "-m", "AP").stdout
    assert "Why: cranfield explain ... -m AP" in output_text
