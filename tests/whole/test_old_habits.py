"""What people type by habit, to trec_eval and other tools: the answer says what to type here."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from helpers.typed import BM25, DENSE, QRELS, refusal_text

from cranfield.cli import COMMANDS, cli, load_command
from cranfield.cli.habits import HABITS
from cranfield.errors import MeasureError
from cranfield.measures import parse, parse_all
from cranfield.measures.absent import describe_absent
from cranfield.measures.registry import strip_library_words

FILES = (QRELS, BM25)


@pytest.fixture(autouse=True)
def _work_beside_demo(demo_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "demo").symlink_to(demo_folder / "demo", target_is_directory=True)
    monkeypatch.chdir(tmp_path)


def invoke(*arguments: str) -> Result:
    result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


def read_value(*arguments: str) -> float:
    """Return the last number that a command prints."""
    return float(re.findall(r"[0-9]\.[0-9]{4}", invoke(*arguments).stdout)[-1])


# ---- options -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("letters", "replacement"), [("-c", ""), ("-J", "--judged-only"), ("-M 5", "--depth 5")]
)
@pytest.mark.parametrize("measure", ["map", "P.10"])
def test_letters_of_trec_eval(letters: str, replacement: str, measure: str) -> None:
    for command in ("evaluate", "compare"):
        message = refusal_text(command, *FILES, DENSE, "-m", measure, *letters.split())
        option = replacement.partition(" ")[0]
        assert f"'{letters[:2]}'. " in message
        assert (f"Did you mean '{option}'?" if option else "Leave it out") in message
    value = read_value("evaluate", *FILES, "-m", measure, *replacement.split())
    assert value == read_value("trec-eval", *letters.split(), "-m", measure, *FILES)


@pytest.mark.parametrize(
    "option", ["-J", "--Judged_docs_only", "-M10", "--Max_retrieved_per_topic=10", "-qc", "-n"]
)
def test_spellings_of_trec_eval_options(option: str) -> None:
    message = refusal_text("evaluate", *FILES, option)
    assert re.search("Did you mean '--|Leave it out|trec-eval", message)


def test_every_habit_is_answered_where_its_option_is() -> None:
    """No option that is answered is one of the command, and the option that is meant is."""
    for name in COMMANDS:
        command = load_command(name)
        known_options = {option for parameter in command.params for option in parameter.opts}
        for options, own_option, answer in HABITS:
            for option in {*options.split()} - known_options if own_option in known_options else ():
                message = " ".join(refusal_text(name, option).split())
                meant_options = [own for typed, own, _ in HABITS if option in typed.split()]
                answers = [answer, *(f"Did you mean '{own}'?" for own in meant_options)]
                assert any(text and text in message for text in answers), (name, option)


WORDS_OF_PLACE = {"QRELS": QRELS, "RUN": BM25, "NEW_RUN": "new.run", "FILE": "seen.csv"}
WORDS_OF_PLACE |= {"RUN...": BM25, "NAME": "trec_eval", "N": "3"}


def fill_in(line: str) -> list[str]:
    """Return the words of a command behind `cranfield`, with files in the places for them."""
    _, *words = (WORDS_OF_PLACE.get(word, word) for word in line.split())
    return [*words, *FILES, DENSE] if words == ["explain"] else words


ANSWERS = [answer for _, _, answer in HABITS if answer]
LINES = [line for answer in ANSWERS for line in re.findall(r"cranfield [^`;]+", answer)]


@pytest.mark.parametrize("line", sorted({*LINES} - {"cranfield trec-eval"}))
def test_lines_to_type_run(line: str) -> None:
    invoke(*fill_in(line))


@pytest.mark.parametrize(
    ("verb", "options"),
    [
        ("compare", "--missing drop"),
        ("compare", "--changes 2"),
        ("evaluate", "-q"),
    ],
)
def test_options_to_type_run(verb: str, options: str) -> None:
    assert any(options.rpartition(" ")[0] in answer for answer in ANSWERS) or options == "-q"
    invoke(verb, *FILES, DENSE, "-m", "AP", *options.split())


@pytest.mark.parametrize("option", ["--exclude", "--drop", "--remove", "--filter", "--train"])
def test_leaving_out_what_was_seen(option: str) -> None:
    for words in ((option, "seen.csv"), (f"{option}=seen.csv",)):
        assert "Did you mean '--without'?" in refusal_text("evaluate", *FILES, *words)
    assert "Did you mean '--without'?" in refusal_text("convert", BM25, "new.run", option)


# ---- words without a command ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("-m map {files}", "evaluate"),
        ("-m nDCG@10 -m P_5 {files}", "evaluate"),
        ("{files} -m map", "evaluate"),
        ("{files}", "evaluate"),
        ("-q -m map {files}", "evaluate"),
        ("-l 2 {files}", "evaluate"),
        ("-m all_trec {files}", "trec-eval"),
        ("-m official -q {files}", "trec-eval"),
        ("-c -M10 -m all_trec {files}", "trec-eval"),
        ("-q -J -N 100 {files}", "trec-eval"),
        ("-m AP compare {files} demo/dense.run", "compare"),
        ("-q explain {files}", "explain"),
    ],
)
def test_words_without_a_command(words: str, command: str) -> None:
    typed_words = words.format(files=shlex.join(FILES)).split()
    message = " ".join(refusal_text(*typed_words).split())
    (line,) = re.findall("A command comes first: `cranfield (.+)`", message)
    rest = [word for word in typed_words if word != command]
    assert shlex.split(line) == [command, *rest]
    if command != "explain":  # which has another -q
        invoke(*shlex.split(line))


@pytest.mark.parametrize(
    ("words", "replacement"),
    [
        ("-c -M10 -mmap {files}", "--depth 10 -mmap {files}"),
        ("-M 5 -m nDCG@10 -J {files}", "--depth 5 -m nDCG@10 --judged-only {files}"),
        ("-cq -m RR {files}", "-q -m RR {files}"),
        ("-Jq {files} -m recall@5", "--judged-only -q {files} -m recall@5"),
    ],
)
def test_letters_of_trec_eval_without_a_command(words: str, replacement: str) -> None:
    """Many measures are not trec_eval's, so that `trec-eval` would refuse them."""
    message = " ".join(refusal_text(*words.format(files=shlex.join(FILES)).split()).split())
    (line,) = re.findall("A command comes first: `cranfield (.+)`", message)
    assert line == f"evaluate {replacement.format(files=shlex.join(FILES))}"
    invoke(*shlex.split(line))


@pytest.mark.parametrize("words", ["--bogus a b", "-x a b", "-v", "nothing a b", "--versoin"])
def test_words_that_mean_nothing_get_no_command(words: str) -> None:
    assert "comes first" not in refusal_text(*words.split())


def test_a_secret_in_an_address_is_not_repeated() -> None:
    message = refusal_text("-m", "map", "https://me:hidden@example.org/qrels", BM25)
    assert "A command comes first" in message
    assert "hidden" not in message


# ---- measures ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "nearest"),
    [
        ("all_trec all_prefs official set qrels_jg", "`cranfield trec-eval`"),
        ("exposure expected_exposure EE-D EE-R@10 fairness unfairness AWRF", "EEL"),
        ("KLDivergence JS_divergence", "Calibration"),
        ("self_information popularity_bias icov", "`cranfield describe`"),
        ("RSP EPC EFD@10", "not computed"),
    ],
)
def test_measures_that_are_not_here(names: str, nearest: str) -> None:
    for name in names.split():
        with pytest.raises(MeasureError, match="is no measure here") as caught:
            parse_all(name)
        assert nearest in str(caught.value)


def test_what_is_near_by_is_a_measure() -> None:
    for name in ("exposure", "fairness", "KLDivergence", "RSP", "EFD"):
        description = describe_absent(strip_library_words(name)) or ""
        names = re.findall(r"EEL|Calibration|APLT|PopLift|Novelty|Serendipity", description)
        assert names
        assert [parse(measure_name) for measure_name in names]


@pytest.mark.parametrize("name", ["official", "all_trec"])
def test_lists_of_trec_eval_are_printed(name: str) -> None:
    assert f"-m {name}" in refusal_text("evaluate", *FILES, "-m", name)
    assert "map" in invoke("trec-eval", "-m", name, *FILES).stdout


def test_a_file_to_write_is_not_proposed() -> None:
    process = CliRunner().invoke(cli, ["-o", "qrels.txt", "run.txt"])
    assert "A command comes first" not in process.output


@pytest.mark.parametrize("letters", ["-qc", "-cq", "-qM5", "-qn", "-q"])
def test_letters_that_stand_together_are_known_each(letters: str) -> None:
    message = refusal_text(letters, "-m", "map", *FILES)
    command = re.search("`cranfield (.*)`", message)
    assert command
    invoke(*shlex.split(command[1]))
