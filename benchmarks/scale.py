"""Time and memory with large data: many rows, queries or runs.

    pip install '.[bench]'
    python benchmarks/scale.py [--rows 7_000_000] [--turns 5] [--only buckets] [--before SRC]

The data is made here, from a fixed seed: users with 100 recommended items and about 8 judged ones
each, as TREC text. Every side is a separate process; sides take turns, and the printed values are
medians, with the least and the greatest of the turns. `--before` names the `src` folder of another
version of cranfield, which is a side, too. `--temp` names the folder of data and of temporary
files.
"""

import argparse
import hashlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

SEED = 20_260_601
MEASURES = "nDCG@10 AP RR@10 P@10 R@100 GMAP NumRet"
DEPTH, N_JUDGED, N_ITEMS = 100, 8, 200_000
_USERS_PER_BLOCK = 10_000  # written at a time


# ---- data -----------------------------------------------------------------------------------


def write_users(folder: Path, n_users: int, *, is_shuffled: bool = False) -> tuple[Path, Path]:
    """Write judgments and a run of users; return their paths. Existing files are kept."""
    import pyarrow as pa
    from pyarrow import csv

    prefix = "shuffled" if is_shuffled else "users"
    qrels, run = folder / f"{prefix}-{n_users}.qrels", folder / f"{prefix}-{n_users}.run"
    if run.exists():
        return qrels, run
    if is_shuffled:
        for sorted_path, path in zip(write_users(folder, n_users), (qrels, run), strict=True):
            lines = np.array(sorted_path.read_bytes().splitlines(keepends=True))
            np.random.default_rng(SEED).shuffle(lines)
            path.write_bytes(b"".join(lines.tolist()))
        return qrels, run
    random = np.random.default_rng(SEED)
    write_options = csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none")

    def make_schema(n: int) -> pa.Schema:
        return pa.schema([(f"c{i}", pa.string()) for i in range(n)])

    unfinished_run = run.with_suffix(".part")
    with (
        csv.CSVWriter(qrels, make_schema(4), write_options=write_options) as qrels_writer,
        csv.CSVWriter(unfinished_run, make_schema(6), write_options=write_options) as run_writer,
    ):
        for begin in range(0, n_users, _USERS_PER_BLOCK):
            users = np.arange(begin, min(begin + _USERS_PER_BLOCK, n_users))
            qrels_columns, run_columns = _make_columns(users, random)
            qrels_writer.write_table(pa.table(qrels_columns, names=make_schema(4).names))
            run_writer.write_table(pa.table(run_columns, names=make_schema(6).names))
    unfinished_run.rename(run)
    return qrels, run


def _make_columns(users: Any, random: np.random.Generator) -> tuple[list[Any], list[Any]]:
    """Return the columns of judgments and of a run of some users."""
    import pyarrow as pa
    from pyarrow import compute

    n_users = len(users)
    steps = np.arange(DEPTH)[None] * 1999
    items = (steps + random.integers(0, N_ITEMS, n_users)[:, None]) % N_ITEMS
    scores = np.sort(np.round(random.gamma(2, 2, (n_users, DEPTH)), 3), axis=1)[:, ::-1]
    retrieved_column = np.argsort(random.random((n_users, DEPTH)), axis=1)[:, :N_JUDGED]
    unretrieved_items = (items[:, :N_JUDGED] + 1 + np.arange(N_JUDGED) * 7) % N_ITEMS
    is_retrieved = random.random((n_users, N_JUDGED)) < 0.4
    judged_item = np.where(
        is_retrieved, np.take_along_axis(items, retrieved_column, 1), unretrieved_items
    ).ravel()
    user_of_judgment = np.repeat(users, N_JUDGED)
    _, distinct_row = np.unique(user_of_judgment * N_ITEMS + judged_item, return_index=True)
    distinct_row.sort()

    def make_texts(numbers: Any, prefix: str = "", width: int = 0) -> Any:
        padded_texts = compute.utf8_lpad(compute.cast(pa.array(numbers), pa.string()), width, "0")
        return compute.binary_join_element_wise(prefix, padded_texts, "")

    def repeat_word(word: str, count: int) -> Any:
        return pa.array([word]).take(pa.array(np.zeros(count, np.int64)))

    qrels_columns = [
        make_texts(user_of_judgment[distinct_row], "u", 7),
        repeat_word("0", len(distinct_row)),
        make_texts(judged_item[distinct_row], "i", 6),
        make_texts(random.integers(0, 4, len(distinct_row))),
    ]
    run_columns = [
        make_texts(np.repeat(users, DEPTH), "u", 7),
        repeat_word("Q0", n_users * DEPTH),
        make_texts(items.ravel(), "i", 6),
        make_texts(np.tile(np.arange(1, DEPTH + 1), n_users)),
        make_texts(scores.ravel()),
        repeat_word("mf", n_users * DEPTH),
    ]
    return qrels_columns, run_columns


# ---- sides: each is a function that a separate process calls ---------------------------------


def hash_evaluation(qrels: str, run: str, options: str) -> str:
    """Evaluate a run; return a hash of the values."""
    from cranfield import evaluate

    scores = evaluate(qrels, run, MEASURES, **json.loads(options))
    digest = hashlib.sha256(scores.values.tobytes())
    for query in scores.query_ids:  # one by one: a list would count as memory
        digest.update(query.encode() + b"\n")
    digest.update(repr((scores.means(), scores.counts)).encode())
    return digest.hexdigest()[:12]


def measure_judgments(qrels: str, run: str, users: str) -> str:
    """Read judgments, and evaluate a run; return the bytes of resident memory per query."""
    from cranfield import evaluate, read_qrels

    def read_resident() -> int:
        pages = Path("/proc/self/statm").read_text().split()[1]
        return int(pages) * resource.getpagesize()

    with tempfile.TemporaryDirectory() as folder:  # also imports everything
        small_paths = Path(folder, "qrels"), Path(folder, "run")
        small_paths[0].write_text("q 0 a 1\n")
        small_paths[1].write_text("q Q0 a 1 1 t\n")
        evaluate(*small_paths, MEASURES)
    before_reading = read_resident()
    judgments = read_qrels(qrels)
    after_reading = read_resident()
    scores = evaluate(judgments, run, MEASURES, buckets=1)
    n_users = int(users)
    n_bytes, n_bytes_with_scores = after_reading - before_reading, read_resident() - before_reading
    return (
        f"{n_bytes / n_users:.0f} bytes a query, {n_bytes_with_scores / n_users:.0f} with the "
        f"scores of {len(scores.query_ids):,}"
    )


def read_runs(*runs: str) -> str:
    """Only read runs."""
    from cranfield import read_run

    n_rows = 0
    for path in runs:
        for load in read_run(path).blocks():
            n_rows += len(load())
    return f"{n_rows:,} rows"


def hash_many_runs(qrels: str, *runs: str) -> str:
    """Evaluate many runs against one set of judgments."""
    from cranfield import evaluate

    systems = evaluate(qrels, list(runs), MEASURES)
    return hashlib.sha256(repr(systems.means()).encode()).hexdigest()[:12]


def read_and_write(result: str, *runs: str) -> str:
    """Only read runs, in threads as they are when they are evaluated, and write another one."""
    from cranfield import read_run
    from cranfield.arrays.threads import map_in_threads

    n_rows = sum(
        sum(map_in_threads(lambda load: len(load()), read_run(path).blocks())) for path in runs
    )
    return f"{n_rows:,} rows, wrote {read_run(result).write(f'{result}.copy.run').rows:,}"


def fuse_and_write(result: str, *runs: str) -> str:
    """Fuse runs by their ranks, and write the result."""
    from cranfield import fuse

    return f"wrote {fuse(list(runs)).write(f'{result}.copy.run').rows:,}"


def evaluate_in_process(qrels: str, run: str) -> str:
    """Evaluate tables twice; return what the second time took, and a hash of the means."""
    from cranfield import evaluate, read_qrels, read_run

    def evaluate_means() -> dict[str, float]:
        scores = evaluate(read_qrels(qrels), read_run(run), MEASURES)
        return scores.means(exact=True)

    return _describe_second_call(evaluate_means, _count_rows(run))


def evaluate_on_spark(qrels: str, run: str) -> str:
    """Do the same by Spark, bucket by bucket; return also the bytes that are shuffled."""
    from cranfield import spark as ranking

    session = _start_session()
    qrels_frame, run_frame = (session.read.parquet(path) for path in (qrels, run))
    rows = _count_rows(run)

    def evaluate_means() -> dict[str, float]:
        scores = ranking.evaluate(
            qrels_frame, run_frame, MEASURES, buckets=max(3, rows // 1_000_000)
        )
        return {row["measure"]: row["value"] for row in ranking.summarize(scores).collect()}

    description = _describe_second_call(evaluate_means, rows)
    summary = session.sparkContext._jsc.sc().statusStore().executorSummary("driver")
    session.stop()
    return f"{description}, {summary.totalShuffleWrite() / 2 / rows:.0f} bytes shuffled a row"


def evaluate_by_ranking_evaluator(qrels: str, run: str) -> str:
    """Return the same for four measures of Spark's RankingEvaluator, from lists that it makes."""
    from pyspark.ml.evaluation import RankingEvaluator
    from pyspark.sql import functions

    session = _start_session()
    number = functions.substring("doc_id", 2, 9).cast("double")
    relevant_groups = session.read.parquet(qrels).where("relevance > 0").groupBy("query_id")
    run_frame = session.read.parquet(run).select("query_id", "score", number.alias("doc"))
    pairs = functions.collect_list(functions.struct("score", "doc"))
    best_first = run_frame.groupBy("query_id").agg(
        functions.sort_array(pairs, False).alias("pairs")
    )
    lists = best_first.selectExpr("query_id", "pairs.doc AS prediction").join(
        relevant_groups.agg(functions.collect_list(number).alias("label")), "query_id"
    )
    names = {"ndcgAtK": 10, "precisionAtK": 10, "recallAtK": 100, "meanAveragePrecision": 1}

    def evaluate_means() -> dict[str, float]:
        cached_lists = lists.cache()
        means = {
            name: RankingEvaluator(metricName=name, k=k).evaluate(cached_lists)
            for name, k in names.items()
        }
        cached_lists.unpersist(blocking=True)
        return means

    description = _describe_second_call(evaluate_means, _count_rows(run))
    session.stop()
    return description


def _start_session() -> Any:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    options = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "4g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "8",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, option_value in options.items():
        builder = builder.config(name, option_value)
    return builder.getOrCreate()


def _count_rows(path: str) -> int:
    from pyarrow import parquet

    return int(parquet.ParquetFile(path).metadata.num_rows)


def _describe_second_call(evaluate_means: Callable[[], dict[str, float]], rows: int) -> str:
    """Return what the second of two calls takes for each row, with all processes below this one."""
    evaluate_means()
    start, cpu_before = time.perf_counter(), _family_costs()[0]
    means = evaluate_means()
    wall, (cpu, memory) = time.perf_counter() - start, _family_costs()
    means_hash = hashlib.sha256(repr(sorted(means.items())).encode()).hexdigest()[:8]
    return (
        f"{(cpu - cpu_before) / rows * 1e6:.2f} us of CPU a row, {wall / rows * 1e6:.2f} us a row, "
        f"{memory:.0f} MB, means {means_hash}"
    )


def _family_costs() -> tuple[float, float]:
    """Return the CPU seconds and the peak memory, in MB, of this process and all below it."""
    parents, seconds_of_process, memory_of_process = {}, {}, {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                status = (folder / "status").read_text()
            except OSError:  # it has ended
                continue
            pid = int(folder.name)
            parents[pid] = int(fields[1])
            seconds_of_process[pid] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
            peak = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")]
            memory_of_process[pid] = int(peak[0]) / 1024 if peak else 0.0
    family, descendants = {os.getpid()}, {os.getpid()}
    while descendants:
        descendants = {pid for pid, parent in parents.items() if parent in descendants} - family
        family |= descendants
    return sum(seconds_of_process[pid] for pid in family), sum(
        memory_of_process[pid] for pid in family
    )


def read_peak_memory() -> float:
    """Return the peak memory of this process, in MB.

    On Linux, `ru_maxrss` includes the memory of the parent process.
    """
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = (
            status_line
            for status_line in status.read_text().splitlines()
            if status_line.startswith("VmHWM")
        )
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


SIDES: dict[str, Callable[..., str]] = {
    side.__name__: side
    for side in (
        *(
            hash_evaluation,
            measure_judgments,
            read_runs,
            hash_many_runs,
            evaluate_in_process,
            evaluate_on_spark,
            evaluate_by_ranking_evaluator,
        ),
        *(read_and_write, fuse_and_write),
    )
}


# ---- what is measured ------------------------------------------------------------------------


@dataclass
class Turn:
    """The costs of a process, and its output."""

    wall: float  # seconds
    cpu: float  # seconds, all threads
    memory: float  # MB, at most
    output: str


@dataclass(frozen=True)
class Side:
    """A process: a function of this file, its arguments, and the version of cranfield to run."""

    name: str
    call: tuple[str, ...]
    source: str | None = None

    def take_turn(self, temp: str) -> Turn:
        """Run it once."""
        environment = {**os.environ, "TMPDIR": temp}
        if self.source is not None:
            environment["PYTHONPATH"] = self.source
        start = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, __file__, "--side", *self.call],
            stdout=subprocess.PIPE,
            env=environment,
        )
        assert process.stdout is not None
        peak, _, output = process.stdout.read().decode().strip().partition(" ")
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - start
        if process.returncode:
            output = f"failed: exit status {process.returncode}"
        return Turn(wall, usage.ru_utime + usage.ru_stime, float(peak or "nan"), output)


def measure_sides(title: str, sides: Sequence[Side], turns: int, temp: str) -> None:
    """Run sides in turn, and print the costs of each, with the ratio to the first."""
    print(f"\n## {title}: {turns} turns, medians (least to most); load {os.getloadavg()[0]:.1f}")
    turns_of_side: dict[str, list[Turn]] = {side.name: [] for side in sides}
    for _ in range(turns):
        for side in sides:
            turns_of_side[side.name].append(side.take_turn(temp))
    first_turns = turns_of_side[sides[0].name]
    print(f"{'side':28} {'wall s':>22} {'CPU s':>22} {'peak MB':>8} {'CPU':>6} {'wall':>6}  output")
    for name, side_turns in turns_of_side.items():
        cpu, wall = [turn.cpu for turn in side_turns], [turn.wall for turn in side_turns]
        turn_pairs = list(zip(side_turns, first_turns, strict=True))
        ratios = [statistics.median(turn.cpu / first_turn.cpu for turn, first_turn in turn_pairs)]
        ratios.append(
            statistics.median(turn.wall / first_turn.wall for turn, first_turn in turn_pairs)
        )
        outputs = "; ".join(dict.fromkeys(turn.output for turn in side_turns))
        memory = max(turn.memory for turn in side_turns)
        print(
            f"{name:28} {_format_spread(wall):>22} {_format_spread(cpu):>22} {memory:8.0f} "
            f"{ratios[0]:6.2f} {ratios[1]:6.2f}  {outputs}"
        )
    sys.stdout.flush()


def _format_spread(numbers: Sequence[float]) -> str:
    return f"{statistics.median(numbers):.2f} ({min(numbers):.2f}-{max(numbers):.2f})"


def bucket_sides(folder: Path, arguments: argparse.Namespace) -> list[Side]:
    """Return an evaluation in memory and in buckets; all must have the same values."""
    paths = tuple(map(str, write_users(folder, arguments.rows // DEPTH)))
    sides = (
        []
        if not arguments.before
        else [_evaluation_side("before, in memory", paths, {}, arguments.before)]
    )
    if not arguments.no_memory:
        sides.append(_evaluation_side("in memory", paths, {"buckets": 1}))
    return [*sides, _evaluation_side("in buckets", paths, {"buckets": arguments.buckets})]


def _evaluation_side(
    name: str, paths: tuple[str, ...], options: dict[str, Any], source: str | None = None
) -> Side:
    return Side(name, ("hash_evaluation", *paths, json.dumps(options)), source)


def judgment_sides(folder: Path, arguments: argparse.Namespace) -> list[Side]:
    """Return a side that reads 300,000 queries with 8 judgments each, and evaluates them."""
    n_users = max(1000, 300_000 * arguments.rows // 7_000_000) if arguments.quick else 300_000
    call = ("measure_judgments", *map(str, write_users(folder, n_users)), str(n_users))
    sides_before = [Side("before", call, arguments.before)] if arguments.before else []
    return [*sides_before, Side("judgments", call)]


def shuffled_sides(folder: Path, arguments: argparse.Namespace) -> list[Side]:
    """Return sides with rows in order, and with the same rows shuffled."""
    n_users = arguments.rows // DEPTH
    sorted_paths = tuple(map(str, write_users(folder, n_users)))
    shuffled_paths = tuple(map(str, write_users(folder, n_users, is_shuffled=True)))
    sides = (
        [_evaluation_side("before, sorted", sorted_paths, {}, arguments.before)]
        if arguments.before
        else []
    )
    sides.append(_evaluation_side("sorted", sorted_paths, {"buckets": 1}))
    sides.append(_evaluation_side("shuffled", shuffled_paths, {"buckets": 1}))
    return [
        *sides,
        _evaluation_side("shuffled, in buckets", shuffled_paths, {"buckets": arguments.buckets}),
    ]


def many_run_sides(folder: Path, arguments: argparse.Namespace) -> list[Side]:
    """Return 100 runs of 50 queries, 1,000 documents each: read, and evaluated."""
    n_runs, n_queries, depth = (10 if arguments.quick else 100), 50, 1000
    random = np.random.default_rng(SEED)
    qrels, runs = folder / "many.qrels", [folder / f"many-{i}.run" for i in range(n_runs)]
    with qrels.open("w") as lines:
        for query in range(n_queries):
            for doc in random.choice(100_000, 300, replace=False).tolist():
                lines.write(f"q{query} 0 d{doc} {doc % 3}\n")
    for path in runs:
        with path.open("w") as lines:
            for query in range(n_queries):
                docs = random.choice(100_000, depth, replace=False).tolist()
                for rank, doc in enumerate(docs):
                    lines.write(f"q{query} Q0 d{doc} {rank + 1} {30 - rank / 40:.6f} t\n")
    paths = tuple(map(str, runs))
    sides_before = (
        [Side("before", ("hash_many_runs", str(qrels), *paths), arguments.before)]
        if arguments.before
        else []
    )
    sides = [
        Side("reading", ("read_runs", *paths)),
        Side("evaluated", ("hash_many_runs", str(qrels), *paths)),
    ]
    return [*sides, *sides_before, Side("one of them", ("hash_many_runs", str(qrels), paths[0]))]


def fusion_sides(folder: Path, arguments: argparse.Namespace) -> list[Side]:
    """Return 12 runs of 1,000 documents a query that are read, and that are fused.

    A query has 3,000 documents, which each run scores with an error of its own.
    """
    from cranfield import fuse

    random, n_queries = np.random.default_rng(SEED), max(1, arguments.rows // 1000)
    paths = [folder / f"fused-{n_queries}-{i}.run" for i in range(12)]
    if not paths[-1].exists():
        files = [path.open("w") for path in paths]
        for query in range(n_queries):
            docs = random.choice(8_800_000, 3_000, replace=False)
            level = random.gumbel(size=len(docs)) * 2 + 10
            for i, file in enumerate(files):
                scores = level + random.normal(size=len(docs)) * 1.5
                best = (-scores).argsort()[:1000]
                pairs = zip(docs[best].tolist(), scores[best].tolist(), strict=True)
                file.writelines(
                    f"q{query} Q0 {doc} {rank} {score:.6f} s{i}\n"
                    for rank, (doc, score) in enumerate(pairs, 1)
                )
        for file in files:
            file.close()
    result = folder / f"fused-{n_queries}.run"
    fuse(list(paths)).write(result)
    file_paths = str(result), *map(str, paths)
    return [
        Side("read, and result written", ("read_and_write", *file_paths), arguments.before),
        Side("fused", ("fuse_and_write", *file_paths)),
    ]


def spark_sides(folder: Path, arguments: argparse.Namespace) -> list[Side]:
    """Return one process, Spark with cranfield, and Spark's own evaluator, on the same Parquet.

    Each starts, evaluates twice and says what the second time took; wall and CPU of the table are
    those of the whole process, without what Java takes.
    """
    from pyarrow import parquet

    from cranfield import read_qrels, read_run

    text_paths = write_users(folder, arguments.rows // DEPTH)
    paths = [path.with_suffix(f"{path.suffix}.parquet") for path in text_paths]
    if not paths[1].exists():
        read_qrels(text_paths[0]).write(paths[0])
        read_run(text_paths[1]).write(paths[1])
    assert parquet.ParquetFile(paths[1]).metadata.num_rows > 0
    names = {
        "one process": "evaluate_in_process",
        "Spark": "evaluate_on_spark",
        "RankingEvaluator": "evaluate_by_ranking_evaluator",
    }
    return [Side(name, (call, *map(str, paths))) for name, call in names.items()]


BENCHMARKS: dict[str, Callable[[Path, argparse.Namespace], list[Side]]] = {
    "buckets": bucket_sides,
    "bytes": judgment_sides,
    "shuffled": shuffled_sides,
    "runs": many_run_sides,
    "fusion": fusion_sides,
    "spark": spark_sides,
}


def main() -> None:
    """Make the data, and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=7_000_000, help="of the run")
    parser.add_argument("--buckets", type=int, default=64)
    parser.add_argument("--turns", type=int, default=5)
    default_names = [name for name in BENCHMARKS if name != "spark" or find_spec("pyspark")]
    parser.add_argument("--only", nargs="+", choices=list(BENCHMARKS), default=default_names)
    parser.add_argument("--before", help="the src folder of another version of cranfield")
    parser.add_argument("--no-memory", action="store_true", help="buckets: not also in memory")
    parser.add_argument("--temp", help="folder for data, which are kept, and temporary files")
    parser.add_argument("--quick", action="store_true", help="a tenth of everything")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rows //= 10
    with tempfile.TemporaryDirectory(prefix="cranfield-scale-") as own_folder:
        folder = Path(arguments.temp or own_folder)
        folder.mkdir(parents=True, exist_ok=True)
        for name in arguments.only:
            sides = BENCHMARKS[name](folder, arguments)
            rows_text = f", {arguments.rows:,} rows" if name in ("buckets", "shuffled") else ""
            measure_sides(name + rows_text, sides, arguments.turns, str(folder))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--side"]:
        import warnings

        warnings.simplefilter("ignore")
        output = SIDES[sys.argv[2]](*sys.argv[3:])
        print(f"{read_peak_memory():.0f}", output)
    else:
        main()
