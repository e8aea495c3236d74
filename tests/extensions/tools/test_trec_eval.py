"""`cranfield trec-eval`: trec_eval's own tests, byte for byte; its options, its refusals."""

import gzip
import math
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from helpers import oracle
from helpers.profile import seeds

from cranfield import definitions, evaluate, parse
from cranfield.cli import cli
from cranfield.compat.names import NICKNAMES, TrecEvalError, measure_names
from cranfield.compat.trec_eval import TrecEvalOptions, trec_eval
from cranfield.measures.registry import find_variant

Write = Callable[[str, str], str]


def call_trec_eval(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["trec-eval", *arguments])


# trec_eval's own list of tests: options, judgments, run, what is printed.
OWN_TESTS = """
qrels.test results.test -> out.test
qrels.test.with-comments results.test -> out.test
qrels.comment.test results.comment.test -> out.comment.test
-m all_trec qrels.test results.test -> out.test.a
-m all_trec -q qrels.test results.test -> out.test.aq
-m all_trec -q -c qrels.test results.trunc -> out.test.aqc
-m all_trec -q -c -M100 qrels.test results.trunc -> out.test.aqcM
-m all_trec -mrelstring.20 -q -l2 qrels.rel_level results.test -> out.test.aql
-m all_prefs -q -R prefs prefs.test prefs.results.test -> out.test.prefs
-m all_prefs -q -R prefs prefs.comment.test prefs.results.test -> out.test.prefs
-m all_prefs -q -R qrels_prefs qrels.test results.test -> out.test.qrels_prefs
-m qrels_jg -q -R qrels_jg qrels.123 results.test -> out.test.qrels_jg
-m qrels_jg -q -R qrels_jg qrels.comments.123 results.test -> out.test.qrels_jg
-q -miprec_at_recall..10,.20,.25,.75,.50 -m P.5,7,3 -m recall.20,2000 -m Rprec_mult.5.0,0.2,0.35 \
-mutility.2,-1,0,0 -m 11pt_avg..25,.5,.75 -mndcg.1=3,2=9,4=4.5 -mndcg_cut.10,20,23.4 \
-msuccess.2,5,20 qrels.test results.test -> out.test.meas_params
-q -m all_trec -Z zscores_file qrels.test results.test -> out.test.aqZ
"""


@pytest.mark.parametrize("line", OWN_TESTS.strip().splitlines())
def test_its_own_tests_print_the_same_bytes(
    line: str, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(data / "trec_eval")
    command, _, output_name = line.partition(" -> ")
    outcome = call_trec_eval(*shlex.split(command))
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    assert outcome.stdout_bytes == Path(output_name).read_bytes()


def test_every_expected_output_is_looked_at(data: Path) -> None:
    output_names = {path.name for path in (data / "trec_eval").glob("out.*")}
    assert output_names == {line.split(" -> ")[1] for line in OWN_TESTS.strip().splitlines()}


@pytest.mark.parametrize(
    ("suffix", "options"), [("", ""), ("-l2", "-l 2"), ("-M5", "-M 5"), ("-J", "-J")]
)
def test_stored_outputs_of_odd_topics(suffix: str, options: str, data: Path) -> None:
    """All of them but rbp, whose stored values come from memory that trec_eval never wrote."""
    folder = data / "random"
    files = [str(folder / "qrels.txt"), str(folder / "run.txt")]
    for output_name, measures in (
        (f"all{suffix}.out.gz", "-m all_trec -m yaap -m relstring.40"),
        (f"dcg{suffix}.out.gz", "-m dcg -m ideal_dcg"),
    ):
        outcome = call_trec_eval("-q", "-c", *shlex.split(options), *shlex.split(measures), *files)
        assert outcome.exit_code == 0
        stored_lines = gzip.decompress((folder / output_name).read_bytes()).decode().splitlines()
        expected = format_lines(stored_lines)
        mine = outcome.stdout.splitlines()
        assert len(mine) == len(expected)
        for theirs, line in zip(expected, mine, strict=True):
            assert theirs in (line, None), line


def format_lines(stored_lines: Sequence[str]) -> list[str | None]:
    """Return stored lines of 17 digits as trec_eval prints them; None for what it has wrong."""
    lines: list[str | None] = []
    for line in stored_lines:
        name, topic, value = line.split("\t")
        if name.strip() == "rbp" or (value.strip() == "-nan" and topic == "all"):
            lines.append(None)
            continue
        if value.strip() == "-nan":
            value = "0"  # 0/0 is 0 here
        is_count = name.startswith("num_") or value.startswith("'") or name.strip() == "runid"
        lines.append(line if is_count else f"{name}\t{topic}\t{float(value):6.4f}")
    return lines


# ---- a small collection ---------------------------------------------------------------------

QRELS = "t1 0 a 1\nt1 0 b 0\nt1 0 c 2\nt2 0 a 1\nt10 0 d 1\n"
RUN = """t1 Q0 c 1 3.0 mine
t1 Q0 x 2 2.0 mine
t1 Q0 a 3 1.0 mine
t10 Q0 d 1 1.0 mine
t2 Q0 b 1 1.0 mine
t2 Q0 a 2 0.5 last
t7 Q0 a 2 0.5 last
"""


@pytest.fixture
def files(write: Write) -> list[str]:
    return [write("qrels.txt", QRELS), write("run.txt", RUN)]


def values(result: Result) -> dict[tuple[str, str], str]:
    lines = [line.split("\t") for line in result.stdout.splitlines()]
    return {(name.strip(), topic): value for name, topic, value in lines}


def test_topics_are_printed_in_the_order_of_their_bytes_and_measures_in_its_own(
    files: list[str],
) -> None:
    outcome = call_trec_eval("-q", "-m", "recip_rank", "-m", "map", "-m", "runid", *files)
    assert [line.split("\t")[:2] for line in outcome.stdout.splitlines()] == [
        [f"{name:<22}", topic]
        for topic in ("t1", "t10", "t2", "all")
        for name in (["runid"] if topic == "all" else []) + ["map", "recip_rank"]
    ]
    assert values(outcome)["map", "t1"] == f"{(1 / 1 + 2 / 3) / 2:6.4f}"
    assert values(outcome)["runid", "all"] == "last", "of the last line"


def test_options_may_be_written_together_or_long(files: list[str]) -> None:
    short = call_trec_eval("-qcn", "-mmap", "-l1", "-M2", *files).stdout
    words = "--query_eval_wanted --complete_rel_info_wanted --nosummary --measure=map"
    words += " --level_for_rel 1 --Max_retrieved_per_topic 2"
    long = call_trec_eval(*words.split(), *files).stdout
    assert short == long != ""
    assert "\tall\t" not in short


def test_only_the_first_parameters_of_a_measure_count(files: list[str]) -> None:
    assert set(values(call_trec_eval("-m", "P.5", "-m", "P.10", *files))) == {("P_5", "all")}
    assert set(values(call_trec_eval("-m", "P", "-m", "P.3", "-m", "P.2,1", *files))) == {
        ("P_3", "all")
    }
    twice = values(call_trec_eval("-m", "ndcg_cut.10,5", "-m", "ndcg_cut.20", *files))
    assert list(twice) == [("ndcg_cut_5", "all"), ("ndcg_cut_10", "all")]
    assert set(values(call_trec_eval("-m", "official.7", *files))) == set(
        values(call_trec_eval(*files))
    )


def test_parameters_are_read_as_c_reads_numbers(files: list[str]) -> None:
    assert set(values(call_trec_eval("-m", "P.5.7", *files))) == {("P_5", "all")}
    assert set(values(call_trec_eval("-m", "map.5", *files))) == {("map", "all")}
    assert set(values(call_trec_eval("-m", "ndcg.x=2,1=3", *files))) == {("ndcg_x=2,1=3", "all")}


def test_parameters_change_the_value(files: list[str]) -> None:
    with_gains = values(call_trec_eval("-q", "-m", "dcg.1=10,2=0", *files))
    assert with_gains["dcg_1=10,2=0", "t1"] == f"{10 / math.log2(4):6.4f}"
    utility = values(call_trec_eval("-q", "-N", "100", "-m", "utility.1,-2,-3,0.5", *files))
    assert (
        utility["utility_1,-2,-3,0.5", "t1"] == f"{2 - 2 * 1 - 3 * 0 + (100 + 2 - 3 - 2) / 2:6.4f}"
    )
    rbp = values(call_trec_eval("-q", "-m", "rbp.p=0.5", *files))
    assert rbp["rbp_p=0.5", "t1"] == f"{(1 - 0.5) * (2 / 2 * 1 + 1 / 2 * 0.25):6.4f}"
    residual = values(call_trec_eval("-q", "-m", "rbp_resid.p=0.5", *files))
    assert residual["rbp_resid_p=0.5", "t1"] == f"{0.5**3 + (1 - 0.5) * 0.5:6.4f}"
    assert values(call_trec_eval("-q", "-m", "relstring.2", *files))["relstring_2", "t1"] == "'2-'"


def test_a_topic_without_results(write: Write) -> None:
    qrels, run = write("q", QRELS), write("r", "t1 Q0 c 1 3.0 mine\n")
    refusal = call_trec_eval(qrels, run)
    assert (refusal.exit_code, refusal.stdout) == (4, "")
    assert "no results for topic 't10' and 1 other topics" in refusal.stderr
    assert "-c" in refusal.stderr
    assert "--version-9" in refusal.stderr
    complete = values(
        call_trec_eval("-q", "-c", "-m", "num_q", "-m", "map", "-m", "yaap", qrels, run)
    )
    assert complete["num_q", "all"] == "3"
    assert complete["map", "t2"] == "0.0000"
    assert complete["map", "all"] == f"{(1 / 2) / 3:6.4f}"
    assert complete["yaap", "t2"] == f"{math.log(1 / 2):6.4f}"
    old = values(call_trec_eval("-q", "--version-9", "-m", "num_q", "-m", "map", qrels, run))
    assert (old["num_q", "all"], old["map", "all"]) == ("1", f"{1 / 2:6.4f}")
    padded_values = values(
        call_trec_eval("-qc", "--version-9", "-m", "num_q", "-m", "map", "-m", "yaap", qrels, run)
    )
    assert ("map", "t2") not in padded_values, "version 9 prints no lines for them"
    assert (padded_values["num_q", "all"], padded_values["map", "all"]) == (
        "3",
        f"{(1 / 2) / 3:6.4f}",
    )
    assert padded_values["yaap", "all"] == f"{math.log((1 + 1) / (1 + 2 - 1)) / 3:6.4f}"


def test_utility_of_a_topic_without_results_is_0(write: Write) -> None:
    qrels, run = write("q", QRELS), write("r", "t1 Q0 c 1 3.0 mine\n")
    utility_values = values(call_trec_eval("-q", "-c", "-m", "utility.1,-1,-2,0", qrels, run))
    assert utility_values["utility_1,-1,-2,0", "t2"] == "0.0000", "not -2 for the document missed"
    one_topic = values(
        call_trec_eval("-q", "-c", "-D", "0.t2", "-m", "map", "-m", "num_rel", qrels, run)
    )
    assert one_topic["map", "all"] == "0.0000"
    assert one_topic["num_rel", "all"] == "1"


def test_odd_parameters(files: list[str]) -> None:
    printed_values = values(call_trec_eval("-q", "-m", "relstring.0", "-m", "set_F.1,2", *files))
    assert printed_values["relstring_0", "t1"] == "'2'"
    assert (
        printed_values["set_F_1,2", "t1"]
        == values(call_trec_eval("-q", "-m", "set_F.1", *files))["set_F_1", "t1"]
    )


def test_the_tag_is_that_of_the_last_line_of_data(write: Write) -> None:
    for comment in ("# short\n", "# long\n" * 40_000, "\n" * 300_000):
        run = write("r", RUN + comment)
        assert (
            values(call_trec_eval("-m", "runid", write("q", QRELS), run))["runid", "all"] == "last"
        )
    import gzip as compressor

    packed_path = Path(write("r", "")).with_suffix(".gz")
    packed_path.write_bytes(compressor.compress((RUN + "# end\n").encode()))
    assert (
        values(call_trec_eval("-m", "runid", write("q", QRELS), str(packed_path)))["runid", "all"]
        == "last"
    )


def test_counts_that_c_counts_anew(files: list[str]) -> None:
    """With -c, num_rel over all topics is of grade 1 and above, no matter what -l says."""
    level_values = values(call_trec_eval("-q", "-c", "-l", "2", "-m", "num_rel", *files))
    assert [level_values["num_rel", topic] for topic in ("t1", "t2", "t10")] == ["1", "0", "0"]
    assert level_values["num_rel", "all"] == "4"
    assert values(call_trec_eval("-l", "2", "-m", "num_rel", *files))["num_rel", "all"] == "1"


def test_version_9(write: Write) -> None:
    qrels = write("q", "t 0 a 0\nt 0 b 1\nt 0 c 1\nt 0 d 1\n")
    run = write("r", "t Q0 a 1 1.00000001 x\nt Q0 b 2 1.00000002 x\nt Q0 c 3 0.5 x\n")
    new = values(call_trec_eval("-m", "recip_rank", "-m", "iprec_at_recall.0.4", qrels, run))
    old = values(
        call_trec_eval("--version-9", "-m", "recip_rank", "-m", "iprec_at_recall.0.4", qrels, run)
    )
    assert new["recip_rank", "all"] == old["recip_rank", "all"] == "1.0000", "b by score, or by id"
    assert new["iprec_at_recall_0.40", "all"] == "1.0000", "0.4 * 3 = 1.2: one document"
    assert old["iprec_at_recall_0.40", "all"] == f"{2 / 3:6.4f}", "1.2 + 0.9 = 2.1: two"
    tied_qrels = write("q2", "t 0 a 1\nt 0 b 0\n")
    assert (
        values(call_trec_eval("-m", "recip_rank", tied_qrels, run))["recip_rank", "all"] == "0.5000"
    )
    first = write("r2", "t Q0 a 1 1.00000002 x\nt Q0 b 2 1.00000001 x\n")
    assert (
        values(call_trec_eval("-m", "recip_rank", tied_qrels, first))["recip_rank", "all"]
        == "1.0000"
    )
    single = values(call_trec_eval("--version-9", "-m", "recip_rank", tied_qrels, first))
    assert single["recip_rank", "all"] == "0.5000", "the same as 32-bit floats: by id, b above a"
    assert call_trec_eval("--version-9", "-m", "rbp", qrels, run).exit_code == 1
    assert "unj_5" not in call_trec_eval("--version-9", "-m", "all_trec", qrels, run).stdout


def test_d_evaluates_a_single_topic(files: list[str]) -> None:
    printed_values = values(call_trec_eval("-D", "0.t2", "-q", "-m", "num_q", "-m", "map", *files))
    assert printed_values == {
        ("map", "t2"): "0.5000",
        ("num_q", "all"): "1",
        ("map", "all"): "0.5000",
    }
    assert call_trec_eval("-D", "2", *files).stdout == call_trec_eval(*files).stdout
    assert call_trec_eval("-o", *files).stdout == call_trec_eval(*files).stdout, "has no effect"


def test_standard_input_and_odd_files(files: list[str]) -> None:
    pipe_outcome = CliRunner().invoke(
        cli, ["trec-eval", files[0], "-"], input=RUN.replace("\n", "\r\n")
    )
    assert pipe_outcome.stdout == call_trec_eval(*files).stdout


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ("-m ndcg_p QRELS RUN", 1, "no such measure"),
        ("-m mpa QRELS RUN", 1, "Did you mean map"),
        ("-m rbp.p=nan QRELS RUN", 2, "expected a number"),
        ("-m utility.inf,0,0,0 QRELS RUN", 4, "expected a number"),
        ("-m . QRELS RUN", 1, "-m .: trec_eval has no such measure"),
        ("-m P. QRELS RUN", 1, "parameters should follow"),
        ("-m P.0 QRELS RUN", 2, "expected a number of ranks"),
        ("-m P.5,5 QRELS RUN", 2, "occurs twice"),
        ("-m ndcg.5 QRELS RUN", 2, "level=gain"),
        ("-m utility.1,2 QRELS RUN", 4, "four numbers"),
        ("-m ndcg.²=3,1=x2 QRELS RUN", 0, ""),
        ("-m ndcg.1=3,1=4 QRELS RUN", 2, "occurs twice"),
        ("-q -m relstring.1e400 QRELS RUN", 0, ""),
        (f"-m P.{'9' * 5000} QRELS RUN", 2, "too large"),
        (f"-m ndcg.{'9' * 5000}=1 QRELS RUN", 0, ""),
        ("-m P.\N{FULLWIDTH DIGIT FIVE} QRELS RUN", 2, "number of ranks"),
        ("-m G.1=1e100 QRELS RUN", 0, ""),
        ("QRELS RUN \x1b[31mX", 1, "x1b[31mX"),
        ("-D 0.t99 QRELS RUN", 7, "no topic 't99'"),
        ("-l 5000000000 QRELS RUN", 1, "--level_for_rel"),
        ("-M 0 QRELS RUN", 1, "-M"),
        ("- -", 2, "only once"),
        ("-m rbp.p=2 QRELS RUN", 2, "from 0 to 1"),
        ("-x QRELS RUN", 1, "No such option"),
        ("-l -1 QRELS RUN", 1, "-l"),
        ("-R other QRELS RUN", 2, "qrels_prefs"),
        ("-T other QRELS RUN", 2, "trec_results"),
        ("QRELS", 1, "Missing argument 'RUN'"),
        ("QRELS RUN RUN", 1, "unexpected extra argument"),
        ("QRELS nothing.txt", 2, "cannot be read"),
        ("RUN RUN", 2, "This looks like a run"),
        ("-m prefs_simp QRELS RUN", 4, "needs -R prefs or -R qrels_prefs"),
        ("-R qrels_jg -m map QRELS RUN", 4, "needs -R qrels"),
        ("-Z nothing.txt QRELS RUN", 2, "cannot be read"),
    ],
)
def test_refusals(arguments: str, status: int, message: str, files: list[str]) -> None:
    names = {"QRELS": files[0], "RUN": files[1]}
    outcome = call_trec_eval(*(names.get(word, word) for word in arguments.split()))
    assert (outcome.exit_code, outcome.stdout == "") == (status, status != 0)
    assert message in outcome.stderr


CIRCLE = "t g s a 2\nt g s b 1\nt g z b 2\nt g z a 1\n"


@pytest.mark.parametrize(
    ("qrels", "run", "options", "status", "message"),
    [
        ("t1 0 a 1\nt1 0 a 0\n", RUN, "", 4, "q:2: "),
        (QRELS, "t1 Q0 a 1 2 x\nt1 Q0 a 2 1 x\n", "-c", 4, "r:2: "),
        (QRELS, "t9 Q0 a 1 2 x\n", "-c", 7, "share no query"),
        (QRELS, "t9 Q0 a 1 2 x\n", "--version-9", 7, "share no query"),
        (QRELS, "t9 Q0 a 1 2 x\n", "", 4, "share no query"),
        (QRELS, "t1 Q0 a 1 2 x\n", "-D 0.t2", 4, "no results for topic 't2'"),
        (QRELS, "t1 Q0 a 1 2 x\n", "-D 0.t2 --version-9", 7, "no results for topic 't2'"),
        (
            "t g s a 2\nt g s b 1\nt g z b 2\nt g z a 1\n",
            "t Q0 a 1 2 x\n",
            "-R prefs -m prefs",
            4,
            "circle",
        ),
        (QRELS, "t1 a\n", "-c", 2, "6 columns"),
        (QRELS, "t1 Q0 a 1 2 x\nt1 Q0 b 1 2\n#\n", "-c", 2, "r:2: "),
        (QRELS, "t1\0Q0 a 1 2 x\n", "-c", 2, "is binary, not text"),
        (QRELS, "t1 Q0 a 1 two x\n", "-c", 2, "r:1: "),
        (QRELS, "", "-c", 2, "holds no data"),
        (QRELS, "# nothing\n", "-c", 2, "holds no data"),
        ("t1 g a 1 5\n", RUN, "-R qrels_jg -m map_avgjg", 2, "4 columns"),
        ("t1 g a 1\nt1 g a 1\n", RUN, "-R qrels_jg -m map_avgjg", 4, "q:2: "),
        ("t1 g a x\n", RUN, "-R qrels_jg -m map_avgjg", 2, "expected a number"),
        ("t1 g a 0.5\n", RUN, "-R qrels_jg -m map_avgjg", 2, "whole number"),
        ("t1 g a x\n", RUN, "-R qrels_prefs -m prefs", 2, "number as the level"),
        ("t1 g s a 1\nt1 g s b\n", RUN, "-R prefs -m prefs", 2, "q:2: "),
    ],
)
def test_files_that_are_refused(
    qrels: str, run: str, options: str, status: int, message: str, write: Write
) -> None:
    outcome = call_trec_eval(*options.split(), write("q", qrels), write("r", run))
    assert (outcome.exit_code, outcome.stdout) == (status, "")
    assert message in outcome.stderr


def test_zscores(files: list[str], write: Write) -> None:
    lines = "t1 map 0.5 0.25\nt2 map 0.5 0\nt10 map 0.5 0\nt1 gm_map -1 2\nt1 num_ret 1 4\n"
    printed_values = values(
        call_trec_eval("-q", "-Z", write("z", lines), "-m", "map", "-m", "num_ret", *files)
    )
    ap = (1 / 1 + 2 / 3) / 2
    assert printed_values["Zmap", "t1"] == f"{(ap - 0.5) / 0.25:6.4f}"
    assert printed_values["Zmap", "t2"] == "0.0000", "no deviation, and the mean itself"
    assert printed_values["Zmap", "t10"] == "-1000000.0000", "no deviation, and another value"
    assert printed_values["Zmap", "all"] == f"{((ap - 0.5) / 0.25 + 0 - 1000000) / 3:6.4f}"
    assert printed_values["Znum_ret", "t1"] == f"{(3 - 1) / 4:6.4f}"
    assert printed_values["Znum_ret", "t2"] == "-1000000.0000", "not in the file"
    assert call_trec_eval("-Z", write("z2", "t1 map 0.5\n"), *files).exit_code == 2


def test_help_explains_the_measures_asked_for() -> None:
    plain, explanation = call_trec_eval("-h"), call_trec_eval("-h", "-m", "prefs_simp")
    assert plain.exit_code == explanation.exit_code == 0
    assert "preferences fulfilled / preferences" in explanation.stdout
    assert "preferences fulfilled / preferences" not in plain.stdout
    version = call_trec_eval("-v")
    assert (version.exit_code, version.stdout) == (0, "")
    assert "trec_eval version 10.0" in version.stderr


# ---- names ----------------------------------------------------------------------------------


def test_every_measure_of_trec_eval_is_in_the_registry() -> None:
    definition_names = {definition.name for definition in definitions()}
    names = set(measure_names()) - {"runid"}
    assert {(find_variant(name) or ("",))[0] for name in names} <= definition_names
    assert len(names) == 56
    assert {name for names in NICKNAMES.values() for name in names} <= set(measure_names())


def test_its_names_mean_the_same_in_evaluate(files: list[str]) -> None:
    """Every name that it prints, read back as a measure, has the value that it prints."""
    measure_names = [name for name in NICKNAMES["all_trec"] if name != "runid"] + ["yaap", "dcg"]
    options = TrecEvalOptions(
        measures=[*measure_names, "ndcg.1=3", "rbp.p=0.5,2=1", "set_F.0.5"], per_query=True
    )
    n_compared = 0
    for line in trec_eval(files[0], files[1], options):
        name, topic, value = line.rstrip("\n").split("\t")
        measure = parse(name.strip())
        scores = evaluate(files[0], files[1], measure)
        mine: Any = scores[measure] if topic == "all" else scores.per_query(measure)[topic]
        number_format = {"none": "'{}'", "sum": "{:.0f}"}.get(
            measure.definition.aggregation, "{:6.4f}"
        )
        assert number_format.format(mine) == value
        n_compared += 1
    assert n_compared > 300


def test_an_unknown_name_is_refused_in_python_too() -> None:
    with pytest.raises(TrecEvalError, match="no such measure"):
        trec_eval("qrels.txt", "run.txt", TrecEvalOptions(measures=["mpa"]))


# ---- ties -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", seeds(15))
def test_ties_ascending_turn_the_documents_of_a_score_round(seed: int, write: Write) -> None:
    qrels, run = oracle.make_collection(seed, tie_share=0.8)
    reversed_run = {
        query: {doc: -score for doc, score in docs.items()} for query, docs in run.items()
    }
    ranks = {}
    for query, docs in reversed_run.items():
        order = oracle.rank_docs(docs)[::-1]  # score rising, id rising, reversed once more
        ranks[query] = {doc: -float(i) for i, doc in enumerate(order)}
    expected = evaluate(qrels, ranks, "nDCG RelString AP").to_dict()
    lines = [
        f"{query} Q0 {doc} 1 {score!r} x\n"
        for query, docs in run.items()
        for doc, score in docs.items()
    ]
    assert evaluate(qrels, run, "nDCG RelString AP", ties="ascending").to_dict() == expected
    of_file = evaluate(qrels, write("run", "".join(lines)), "nDCG RelString AP", ties="ascending")
    assert of_file.to_dict() == expected
