"""Rows dealt to buckets: the same object as in memory, and no file left, no matter what happens."""

import errno
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner
from helpers.profile import is_full, sample_cases

from cranfield import Qrels, Run, Scores, Systems, evaluate, read_qrels, read_run
from cranfield.cli import cli
from cranfield.data.reader import open_qrels
from cranfield.errors import (
    DuplicateError,
    InputError,
    MeasureError,
    NothingSharedError,
    OptionError,
)
from cranfield.extensions.scale import deal
from cranfield.extensions.scale.options import Bucketing
from cranfield.formats.block import SIZES

BUCKETS = [2, 16, 64] if is_full() else [16]
MEASURES = "nDCG@10 AP RR P@10 GMAP NumRet NumRel ERR@5 RBP Judged@10"
Evaluation = Scores | Systems


def list_scores(evaluation: Evaluation) -> list[Scores]:
    """The scores of each system."""
    return [evaluation] if isinstance(evaluation, Scores) else [*evaluation.values()]


def assert_same(in_memory: Evaluation, in_buckets: Evaluation) -> None:
    """Both are the same, to the last bit, except the note on the buckets."""
    pairs = zip(list_scores(in_memory), list_scores(in_buckets), strict=True)
    for scores, bucket_scores in pairs:
        assert [*scores.query_ids] == [*bucket_scores.query_ids]
        assert scores.values.dtype == bucket_scores.values.dtype
        if scores.values.dtype == object:
            assert scores.values.tolist() == bucket_scores.values.tolist()
        else:
            assert scores.values.tobytes() == bucket_scores.values.tobytes()
        assert scores.means() == bucket_scores.means()
        assert scores.counts == bucket_scores.counts
        # In parts, the shares judged are not saved.
        recipes = ({**scores.recipe, "judged": {}}, {**bucket_scores.recipe, "judged": {}})
        assert recipes[0] == recipes[1]
        assert [note for note in scores.notes if note.code != "apart"] == [
            note for note in bucket_scores.notes if note.code != "buckets"
        ]
        assert "buckets" in [note.code for note in bucket_scores.notes]
        assert (scores.bounds is None) == (bucket_scores.bounds is None)
        if scores.bounds is not None and bucket_scores.bounds is not None:
            for name in ("low", "high", "proved"):
                bounds, bucket_bounds = (
                    getattr(scores.bounds, name),
                    getattr(bucket_scores.bounds, name),
                )
                assert bounds.tobytes() == bucket_bounds.tobytes()
        assert [(label, name) for label, name, _ in scores.slices] == [
            (label, name) for label, name, _ in bucket_scores.slices
        ]
        for (*_, part), (*_, other_part) in zip(scores.slices, bucket_scores.slices, strict=True):
            assert part.counts == other_part.counts
            assert part.means() == other_part.means()


def check(qrels: Any, runs: Any, measures: Any = MEASURES, **options: Any) -> Evaluation:
    """Evaluate in memory and in buckets; return the former."""
    in_memory: Evaluation = evaluate(qrels, runs, measures, buckets=1, **options)
    for n in BUCKETS:
        assert_same(in_memory, evaluate(qrels, runs, measures, buckets=n, **options))
    return in_memory


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Judgments and a run of 120 queries, in small blocks; some queries are on one side only."""
    monkeypatch.setattr(SIZES, "bytes", 4000)
    monkeypatch.setattr(SIZES, "tail", 500)
    monkeypatch.setattr(SIZES, "rows", 300)
    chance = random.Random(18)
    qrels, run = tmp_path / "qrels.txt", tmp_path / "a.run"
    with qrels.open("w") as judged, run.open("w") as ranked:
        for i in range(120):
            query = f"query-{i * 7919 % 1000}"
            docs = [f"d{n}" for n in chance.sample(range(300), 40)]
            if i % 10 != 1:
                for doc in docs[:12]:
                    judged.write(f"{query} 0 {doc} {chance.choice([-1, 0, 0, 1, 2, i % 4])}\n")
            if i % 12 != 2:
                for doc in docs[6 : 6 + chance.randint(1, 34)]:
                    ranked.write(f"{query} Q0 {doc} 1 {chance.randint(0, 30) / 7!r} t\n")
    return qrels, run


OPTIONS: list[dict[str, Any]] = [
    {},
    {"queries": "both"},
    {"queries": "relevant"},
    {"queries": "relevant-and-retrieved"},
    {"queries": "run", "measures": "AP nDCG RR"},
    {"depth": 5},
    {"judged_only": True},
    {"order": "rank"},
    {"order": "given"},
    {"scores": "single"},
    {"ties": "expected", "measures": "AP nDCG@10 P@5"},
    {"ties": "best", "measures": "AP nDCG@10 P@5"},
    {"scores_above": 2.0},
    {"identical_ids": "drop"},
    {"unretrieved": "below"},
    {"bounds": True, "measures": "P@10 R@10"},
    {"bounds": True, "queries": "both", "measures": "P@10"},
    {"fingerprints": True},
    {"measures": "RelString@5 AP"},
    {"convention": "trec_eval", "measures": "AP nDCG@10 P@10"},
    {"convention": "beir", "measures": "AP nDCG@10 P@10"},
    {"slices": {f"query-{i * 7919 % 1000}": "ab"[i % 2] for i in range(100)}},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
def test_options_give_the_same(files: tuple[Path, Path], options: dict[str, Any]) -> None:
    check(*files, **options)


@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
def test_rows_that_stand_apart_give_the_same(files: tuple[Path, Path]) -> None:
    for path in files:
        lines = path.read_text().splitlines(keepends=True)
        random.Random(path.name).shuffle(lines)
        path.write_text("".join(lines))
    in_memory = check(*files)
    assert isinstance(in_memory, Scores)
    assert "apart" in [note.code for note in in_memory.notes]
    apart = evaluate(*files, MEASURES, buckets=16)
    assert "apart" not in [note.code for note in apart.notes]


def test_judgments_and_runs_in_memory(files: tuple[Path, Path]) -> None:
    qrels, run = read_qrels(files[0]), read_run(files[1])
    docs_of_query = run.to_dict()
    rows = [(q, d, s) for q, docs in docs_of_query.items() for d, s in docs.items()]
    judged = pd.DataFrame(
        [(q, d, g) for q, docs in qrels.to_dict().items() for d, g in docs.items()],
        columns=["query_id", "doc_id", "relevance"],
    )
    frame = pd.DataFrame(rows, columns=["query_id", "doc_id", "score"])
    forms_of_qrels = (qrels, qrels.to_dict(), judged, files[0], pa.table(judged))
    forms_of_runs = (run, docs_of_query, rows, frame, pa.table(frame))
    for judgments, ranked in sample_cases(
        product(forms_of_qrels, forms_of_runs), step=6
    ):  # each form
        check(judgments, ranked)
    check(files[0], {"one": run, "two": Run(docs_of_query), "three": frame})


class _Batches:
    """What hands out a stream of Arrow batches, and no more."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        batches = self._table.to_batches(max_chunksize=77)
        reader = pa.RecordBatchReader.from_batches(self._table.schema, iter(batches))
        return reader.__arrow_c_stream__(requested_schema)


def test_streams_of_batches(files: tuple[Path, Path]) -> None:
    docs_of_query = read_run(files[1]).to_dict()
    rows = [(q, d, s) for q, docs in docs_of_query.items() for d, s in docs.items()]
    table = pa.table(pd.DataFrame(rows, columns=["query_id", "doc_id", "score"]))
    check(files[0], _Batches(table))


def test_one_table_of_both_sides_and_one_of_several_systems() -> None:
    rows = [
        {"question": f"q{i}", "expected_ids": [f"d{i}", "x"], "retrieved_ids": ["x", f"d{i * j}"]}
        for i, j in ((i, 1 + i % 3) for i in range(1, 50))
    ]
    for n in BUCKETS:
        assert_same(evaluate(rows, "R@2 RR"), evaluate(rows, "R@2 RR", buckets=n))
        assert_same(evaluate([rows, rows[:]], "R@2"), evaluate([rows, rows[:]], "R@2", buckets=n))


def test_lists_of_ids() -> None:
    truths = [[i, i + 1] for i in range(30)]
    check(truths, [[i + 1, 77] for i in range(30)], "AP RR")


STORED_CASES = [
    ("trec_eval", "qrels.test", "results.test", "AP nDCG Rprec Bpref P@5 IPrec@0.1 RelString@20"),
    ("trec_eval", "qrels.test", "results.trunc", "AP nDCG Rprec Bpref P@5 NumRet"),
    ("trec_eval", "qrels.rel_level", "results.test", "AP(rel=2) nDCG Rprec"),
    ("random", "qrels.txt", "run.txt", "AP nDCG Rprec Bpref P@5 infAP RBP ERR"),
]


@pytest.mark.parametrize(("folder", "qrels", "run", "measures"), STORED_CASES)
@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
def test_stored_files(data: Path, folder: str, qrels: str, run: str, measures: str) -> None:
    """In memory, they are trec_eval's numbers to the last digit that it prints."""
    check(data / folder / qrels, data / folder / run, measures, duplicates="first")


def test_judgments_in_groups(data: Path) -> None:
    folder = data / "trec_eval"
    run = read_run(folder / "prefs.results.test")
    prefs = read_qrels(folder / "prefs.test", "prefs")
    check(prefs, run, "Prefs")


def test_subtopics_in_a_table(tmp_path: Path) -> None:
    path = tmp_path / "subtopics.csv"
    lines = [
        f"q{i},{j},d{(i * j) % 11},{(i + j) % 3},{1 + j}" for i in range(40) for j in range(1, 4)
    ]
    path.write_text("query_id,subtopic,doc_id,relevance,weight\n" + "\n".join(lines) + "\n")
    run = {f"q{i}": [f"d{(i + j) % 11}" for j in range(6)] for i in range(40)}
    check(path, run, "alpha_nDCG@5 ERR_IA@5 StRecall@5")


def test_samples_costs_spans_and_chunks(tmp_path: Path) -> None:
    qrels, run = tmp_path / "sampled.csv", tmp_path / "costly.csv"
    qrels.write_text(
        "query_id,doc_id,relevance,stratum\n"
        + "".join(f"q{i},d{j},{(i + j) % 4 - 1},{j % 2}\n" for i in range(40) for j in range(10))
    )
    run.write_text(
        "query_id,doc_id,score,cost\n"
        + "".join(f"q{i},d{j},{(i * j) % 7},{1 + j % 3}\n" for i in range(40) for j in range(8))
    )
    check(qrels, run, "infAP")
    plain = tmp_path / "plain.csv"
    plain.write_text(
        "query_id,doc_id,relevance\n"
        + "".join(f"q{i},d{j},{(i + j) % 4}\n" for i in range(40) for j in range(10))
    )
    check(plain, run, "CWL('RBP') AP")
    chunks = tmp_path / "chunks.csv"
    chunks.write_text(
        "query_id,doc_id,score\n"
        + "".join(f"q{i},d{j}#{j % 2},{(i * j) % 7}\n" for i in range(40) for j in range(8))
    )
    check(plain, read_run(chunks).map_docs("(.*)#"), "AP nDCG")
    spans = tmp_path / "spans.csv"
    spans.write_text(
        "query_id,doc_id,start,end,relevance\n"
        + "".join(
            f"q{i},d{j},{10 * j},{10 * j + 9},{1 + i % 2}\n" for i in range(40) for j in range(4)
        )
    )
    ranked = {
        f"q{i}": [f"d{j}:{10 * j + i % 9}-{10 * j + 12}" for j in range(4)] for i in range(40)
    }
    pattern = r"(?P<doc>.*):(?P<start>\d+)-(?P<end>\d+)"
    check(spans, Run(ranked).spans(pattern), "AP RR")


def test_fractions_and_the_top_grade_belong_to_the_collection(tmp_path: Path) -> None:
    """One query has the only fraction, another the highest grade."""
    judged = {f"q{i}": {"a": 1, "b": 0} for i in range(50)}
    run = {f"q{i}": ["b", "a"] if i % 2 else ["a"] for i in range(50)}
    path = tmp_path / "qrels.csv"
    for extra in (("q7", "c", 0.5), ("q9", "c", 5)):
        rows = [(q, d, g) for q, docs in judged.items() for d, g in docs.items()] + [extra]
        path.write_text(
            "query_id,doc_id,relevance\n" + "".join(f"{q},{d},{g}\n" for q, d, g in rows)
        )
        check(path, run, "nDCG AP(rel=0.5) ERR nDCG(ideal='top')@3 RR(rel=0.5)")


@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
def test_the_highest_of_the_kept_grades_is_the_top(tmp_path: Path) -> None:
    path = tmp_path / "qrels.csv"
    rows = [f"q{i},d{j},{1 + j % 2}\n" for i in range(30) for j in range(4)]
    path.write_text("query_id,doc_id,relevance\n" + "".join(rows) + "q3,d1,9\nq4,d1,0.5\n")
    run = {f"q{i}": ["d3", "d1"] for i in range(30)}
    in_memory = check(path, run, "ERR nERR nDCG", duplicates="first")
    assert in_memory.recipe["duplicates"] == "first"  # type: ignore[union-attr]
    check(path, run, "ERR nERR nDCG", duplicates="best")


# ---- what is wrong ---------------------------------------------------------------------------


@pytest.mark.parametrize("is_shuffled", [False, True])
def test_duplicates_are_named_and_counted(files: tuple[Path, Path], is_shuffled: bool) -> None:
    """The first of all, and how many there are: two queries of each side have one twice."""
    for path in files:
        lines = path.read_text().splitlines(keepends=True)
        if is_shuffled:
            random.Random(path.name).shuffle(lines)
        text = path.read_text()
        path.write_text("".join([*lines, lines[5], lines[400]]))
        with pytest.raises(DuplicateError) as expected:
            evaluate(*files, "AP", buckets=1)
        for n in BUCKETS:
            with pytest.raises(DuplicateError) as excinfo:
                evaluate(*files, "AP", buckets=n)
            assert str(excinfo.value) == str(expected.value)
            assert excinfo.value.line == len(lines) + 1
        path.write_text(text)


@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
@pytest.mark.parametrize("rule", ["first", "best", "once", "each", "joined"])
def test_duplicates_that_are_kept(files: tuple[Path, Path], rule: str) -> None:
    for path in files[1:] if rule not in ("first", "best") else files:
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join([*lines, lines[5], lines[400]]))
    check(*files, "AP nDCG", duplicates=rule)


@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
def test_rows_with_faults(files: tuple[Path, Path]) -> None:
    for path in files:
        lines = path.read_text().splitlines(keepends=True)
        lines[300:300] = ["query-0 0 d1\n", "query-7 0 d2 x y z\n"]
        path.write_text("".join(lines))
        for n in (1, 16):
            with pytest.raises(InputError) as excinfo:
                evaluate(*files, "AP", buckets=n)
            assert (excinfo.value.source, excinfo.value.line) == (str(files[0]), 301)
        check(*files, errors="skip")


@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
def test_sides_that_share_nothing(tmp_path: Path) -> None:
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("".join(f"q{i} 0 d{i} 1\n" for i in range(50)))
    for run in (
        {f"x{i}": ["d1"] for i in range(50)},
        {f"Q{i}": ["d1"] for i in range(50)},
        {f"q{i}": [f"D{i}"] for i in range(50)},
    ):
        path = tmp_path / "a.run"
        path.write_text("".join(f"{q} Q0 {d} 1 1 t\n" for q, docs in run.items() for d in docs))
        for judgments in (run, path):
            with pytest.raises(NothingSharedError) as expected:
                evaluate(qrels, judgments, "AP", buckets=1)
            with pytest.raises(NothingSharedError) as excinfo:
                evaluate(qrels, judgments, "AP", buckets=16)
            assert str(excinfo.value) == str(expected.value)
    affixed_run = tmp_path / "b.run"
    affixed_run.write_text("".join(f"q{i} Q0 d{i}.md 1 1 t\n" for i in range(50)))
    in_memory = check(qrels, affixed_run, "AP")
    assert {"affix"} <= {note.code for note in in_memory.notes}


@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
def test_documents_under_other_ids_and_queries_that_retrieve_themselves(tmp_path: Path) -> None:
    qrels, run = tmp_path / "qrels.txt", tmp_path / "a.run"
    qrels.write_text("".join(f"q{i} 0 d{i} 1\n" for i in range(60)))
    run.write_text(
        "".join(f"q{i} Q0 q{i} 1 2 t\nq{i} Q0 {'dD'[i % 5 == 0]}{i} 2 1 t\n" for i in range(60))
    )
    in_memory = check(qrels, run, "AP")
    counts = {note.code: note.count for note in in_memory.notes}
    assert (counts["doc-spelling"], counts["self-retrieval"]) == (60 / 5, 60)


@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
def test_queries_that_are_spelt_otherwise(tmp_path: Path) -> None:
    qrels, run = tmp_path / "qrels.txt", tmp_path / "a.run"
    qrels.write_text("".join(f"{i} 0 d{i} 1\n" for i in range(50)))
    run.write_text("".join(f"{'0' * (i % 2)}{i} Q0 d{i} 1 1 t\n" for i in range(50)))
    in_memory = check(qrels, run, "AP")
    assert {"query-spelling"} <= {note.code for note in in_memory.notes}


def test_no_query_that_is_averaged(tmp_path: Path) -> None:
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("".join(f"q{i} 0 d{i} 0\n" for i in range(50)))
    run = {f"q{i}": [f"d{i}"] for i in range(30)}
    messages = []
    for n in (1, 16):
        with pytest.raises(InputError) as excinfo:
            evaluate(qrels, run, "AP", queries="relevant", buckets=n)
        messages.append(str(excinfo.value))
    assert messages[0] == messages[1]


def test_options_that_do_not_exist(files: tuple[Path, Path], tmp_path: Path) -> None:
    for wrong in ({"buckets": 0}, {"buckets": 1 << 20}, {"buckets": "many"}, {"temp": 3}):
        with pytest.raises(OptionError):
            evaluate(*files, "AP", **wrong)
    with pytest.raises(OptionError):
        evaluate(*files, "AP", buckets=4, temp=str(tmp_path / "nowhere"))
    with pytest.raises(MeasureError):
        evaluate(*files, "AP nothing", buckets=4)


def test_how_many_buckets(tmp_path: Path) -> None:
    """None for what is small or held; more for a table of millions, and for a large file."""
    ranked = [Run({"q": ["a"]})]
    small = tmp_path / "small.txt"
    small.write_text("q 0 a 1\n")
    assert Bucketing().count_buckets(open_qrels(small), ranked) == 1
    assert Bucketing(buckets=5).count_buckets(open_qrels(small), ranked) == 5
    assert Bucketing().count_buckets(Qrels({"q": {"a": 1}}), ranked) == 1
    large = tmp_path / "large.txt"
    large.write_text("q 0 a 1\n")
    os.truncate(large, 1 << 27)  # a file with a hole takes up no space
    assert Bucketing().count_buckets(open_qrels(large), ranked) == 64
    n = 8_000_000
    table = pa.table(
        {
            "query_id": pa.array(np.zeros(n, np.int32)),
            "doc_id": pa.array(np.zeros(n, np.int32)),
            "relevance": pa.array(np.zeros(n, np.int8)),
        }
    )
    assert Bucketing().count_buckets(open_qrels(table), ranked) == 64


# ---- files ----------------------------------------------------------------------------------


def test_nothing_is_left(files: tuple[Path, Path], tmp_path: Path) -> None:
    """The folder is empty while it is used, where the system has files without names, and after."""
    folder = tmp_path / "temp"
    folder.mkdir()
    query_lists: list[Sequence[str]] = []
    evaluate(
        *files,
        "AP",
        buckets=8,
        temp=str(folder),
        progress=lambda _: query_lists.append(os.listdir(folder)),
    )
    assert query_lists
    assert os.listdir(folder) == []
    if sys.platform == "linux":
        assert not any(query_lists)


def test_a_disk_that_fills_up(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "temp"
    folder.mkdir()
    make_file = tempfile.TemporaryFile

    class Full:
        def __init__(self, file: Any) -> None:
            self._file, self._left = file, 3000

        def write(self, data: bytes) -> int:
            if self._left == 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            n: int = self._file.write(data[: self._left])
            self._left -= n
            return n

        def __getattr__(self, name: str) -> Any:
            return getattr(self._file, name)

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda *a, **k: Full(make_file(*a, **k)))
    with pytest.raises(InputError) as excinfo:
        evaluate(*files, "AP", buckets=8, temp=str(folder))
    assert excinfo.value.source == str(folder)
    assert "--temp DIR" in str(excinfo.value)
    assert os.listdir(folder) == []


def test_an_interruption_and_a_fault_leave_nothing(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "temp"
    folder.mkdir()
    files_open = len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0
    for error in (KeyboardInterrupt, MemoryError):

        def raise_error(*_: Any, error: type[BaseException] = error) -> Iterator[Any]:
            raise error

        for place in ("_read_bucket", "_compress"):
            with monkeypatch.context() as context:
                context.setattr(deal, place, raise_error)
                with pytest.raises(error):
                    evaluate(*files, "AP", buckets=8, temp=str(folder))
            assert os.listdir(folder) == []
    if sys.platform == "linux":
        assert len(os.listdir("/proc/self/fd")) == files_open


@pytest.mark.parametrize("kind", ["SIGTERM", "SIGKILL", "SIGINT"])
def test_a_command_that_is_ended_leaves_nothing(
    kind: str, files: tuple[Path, Path], tmp_path: Path
) -> None:
    folder, pipe = tmp_path / "temp", tmp_path / "pipe"
    folder.mkdir()
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "cranfield", "evaluate", str(files[0]), str(pipe)]
    process = subprocess.Popen(
        [*command, "--buckets", "8", "--temp", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with pipe.open("w") as writer:  # opens once the command reads
        # More than a pipe holds: when it is written, nearly all of it has been read.
        writer.write(files[1].read_text() + "\n" * (1 << 20))
        writer.flush()
        process.send_signal(getattr(signal, kind))
        process.communicate(timeout=60)
    assert process.returncode != 0
    assert os.listdir(folder) == []


def test_the_command_says_the_same(files: tuple[Path, Path], tmp_path: Path) -> None:
    command = ["evaluate", *map(str, files), "-m", "AP nDCG@10", "-q", "--format", "json"]
    in_memory = CliRunner().invoke(cli, command)
    parts = CliRunner().invoke(cli, [*command, "--buckets", "16", "--temp", str(tmp_path)])
    assert (in_memory.exit_code, parts.exit_code) == (0, 0)
    score_lines = [
        line for line in in_memory.stdout.splitlines() if '"all"' in line or '"query-' in line
    ]
    assert score_lines
    assert [
        line for line in parts.stdout.splitlines() if '"all"' in line or '"query-' in line
    ] == score_lines
    piped_outcome = CliRunner().invoke(
        cli,
        ["evaluate", "-", str(files[1]), "-m", "AP", "--buckets", "16"],
        input=files[0].read_bytes(),
    )
    assert piped_outcome.exit_code == 0
