"""The sides of a benchmark: each is measured in a process of its own, after its imports.

`all.py` starts `python sides.py JSON` for each side and turn. The data are made from a fixed seed,
in the folder that it names, before anything is measured, and then stay there.
"""

import contextlib
import hashlib
import importlib
import json
import os
import resource
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

SEED = 20_260_601
MEASURES = "nDCG@10 AP RR"
PYTREC_EVAL_NAMES = ("ndcg_cut.10", "map", "recip_rank")
MARK = "measured: "  # is written before the result, in the last line
_QUERIES_IN_BLOCK = 1000  # made and written at a time
TINY = {"n_queries": 5, "depth": 20, "n_judged": 4}

Call = Callable[[], Any]
Side = Callable[..., Call]  # of `Data` and of options; imports and loads what the call needs


# ---- data -----------------------------------------------------------------------------------


class Data(NamedTuple):
    """Runs and judgments that are made: how many of each, and where they are."""

    folder: Path
    n_queries: int
    depth: int = 1000  # documents of a run for each query
    n_judged: int = 2  # documents of a query, one half of them retrieved by the first run
    n_runs: int = 1
    is_shuffled: bool = False  # whether all rows of the runs are
    is_tied: bool = False  # whether all scores of a run are equal
    n_documents: int = 8_841_823

    @property
    def path(self) -> Path:
        """The folder of these data, which are made if they are not there."""
        shape = "-".join(str(int(number)) for number in self[1:])
        path = self.folder / shape
        if not (path / "made").exists():
            path.mkdir(parents=True, exist_ok=True)
            _write_tables(self, path)
            (path / "made").touch()
        return path

    def qrels(self, suffix: str = "txt") -> str:
        """Return the path of the judgments in a form."""
        return str(_convert(self.path / "qrels.parquet", suffix))

    def runs(self, suffix: str = "txt") -> list[str]:
        """Return the paths of the runs in a form."""
        return [
            str(_convert(self.path / f"{number:03}.parquet", suffix))
            for number in range(self.n_runs)
        ]


def _write_tables(data: Data, path: Path) -> None:
    """Write the judgments and the runs as Parquet: ids are numbers as text."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet

    def make_texts(numbers: Any) -> Any:
        return pa.array(numbers.ravel()).cast(pa.string())

    random = np.random.default_rng(SEED)
    query_numbers = np.sort(random.choice(1_100_000, data.n_queries, replace=False))
    writers: dict[str, Any] = {}
    for begin in range(0, data.n_queries, _QUERIES_IN_BLOCK):
        query = query_numbers[begin : begin + _QUERIES_IN_BLOCK]
        shape = len(query), data.depth
        first_docs = random.integers(0, data.n_documents, (len(query), 1))
        n_retrieved = min(data.depth, data.n_judged - data.n_judged // 2)
        # Each query's documents are as far apart: a document is there once. Runs share most.
        docs = (first_docs + np.arange(data.depth) * 1999) % data.n_documents
        retrieved_column = np.argsort(random.random(shape), axis=1)[:, :n_retrieved]
        unretrieved_docs = first_docs + 1 + np.arange(data.n_judged - n_retrieved) * 1999
        judged = [
            np.take_along_axis(docs, retrieved_column, 1),
            unretrieved_docs % data.n_documents,
        ]
        judged_docs = np.column_stack(judged)
        is_first = np.arange(judged_docs.shape[1]) == 0  # and relevant
        grades = np.where(is_first, 1, random.integers(0, 4, judged_docs.shape))
        tables = {
            "qrels": pa.table(
                {
                    "query_id": make_texts(np.repeat(query, judged_docs.shape[1])),
                    "doc_id": make_texts(judged_docs),
                    "relevance": pa.array(grades.ravel()),
                }
            )
        }
        for number in range(data.n_runs):
            # Documents that the run has in another's place: of many runs, most share most of them.
            step, share = 1 + number // 3, (number if number < 20 else number % 4) / 20
            run_docs = (docs + step * (random.random(shape) < share)) % data.n_documents
            order = np.argsort(random.random(shape), axis=1)
            scores = np.sort(random.permutation(10**6)[: data.depth])[::-1] / 1e4
            scores = np.ones(data.depth) if data.is_tied else scores
            tables[f"{number:03}"] = pa.table(
                {
                    "query_id": make_texts(np.repeat(query, data.depth)),
                    "doc_id": make_texts(np.take_along_axis(run_docs, order, 1)),
                    "score": pa.array(np.tile(scores, len(query))),
                }
            )
        for name, table in tables.items():
            if name not in writers:  # opening a file again would empty it
                writers[name] = parquet.ParquetWriter(path / f"{name}.parquet", table.schema)
            writers[name].write_table(table)
    for writer in writers.values():
        writer.close()
    for run_path in path.glob("[0-9]*.parquet") if data.is_shuffled else ():
        table = parquet.read_table(run_path)
        parquet.write_table(table.take(random.permutation(len(table))), run_path)


def _convert(path: Path, suffix: str) -> Path:
    """Return the path of the same rows in another form, which is written if it is not there."""
    from cranfield import read_qrels, read_run

    target = path.with_suffix(f".{suffix}")
    if not target.exists():
        read = read_qrels if path.stem == "qrels" else read_run
        read(path).write(target)
    return target


# ---- cranfield --------------------------------------------------------------------------------


def call_verb(data: Data, *, verb: str, form: str = "txt", **options: Any) -> Call:
    """Return a call of one of cranfield's verbs, on the judgments and the runs as files."""
    import cranfield

    run_paths = data.runs(form)
    if verb == "fuse":
        return lambda: cranfield.fuse(run_paths).write(data.path / "fused.run")
    if verb == "report":
        comparison = cranfield.compare(data.qrels(), run_paths, **options)
        return lambda: str(cranfield.report(comparison))
    verb_function = getattr(cranfield, verb)
    runs = run_paths[0] if verb == "explain" else run_paths
    return lambda: verb_function(data.qrels(), runs, **options)


def evaluate_all_measures(data: Data) -> Call:
    """Return a call that evaluates every measure, with cutoff 10 where it needs one."""
    from cranfield import Measure, definitions, evaluate

    measures = []
    for definition in definitions():
        measure = Measure(definition.name)
        if definition.cutoff == "required":
            measure = measure @ (0.1 if definition.cutoff_kind == "recall" else 10)
        measures.append(measure)
    return lambda: evaluate(data.qrels(), data.runs()[0], measures)


def read_runs(data: Data, *, copies: bool = False) -> Call:
    """Return a call that only reads the runs, and, with `copies`, writes the first of them."""
    from cranfield import read_run
    from cranfield.arrays.threads import map_in_threads

    paths = data.runs()

    def read() -> None:
        for path in paths:
            for _ in map_in_threads(lambda load: len(load()), read_run(path).blocks()):
                pass
        if copies:
            read_run(paths[0]).write(data.path / "copy.run")

    return read


def evaluate_objects(data: Data, *, form: str) -> Call:
    """Return a call that evaluates tables in memory."""
    from cranfield import evaluate

    qrels, run = (
        _load_object(path, form) for path in (data.qrels("parquet"), *data.runs("parquet"))
    )
    return lambda: evaluate(qrels, run, MEASURES)


def _load_object(path: str, form: str) -> Any:
    from pyarrow import parquet

    if form in ("pandas", "polars"):
        return importlib.import_module(form).read_parquet(path)
    table = parquet.read_table(path)
    if form == "pyarrow":
        return table
    numbers_of_query: dict[str, dict[str, Any]] = {}
    for query, doc, number in zip(*(column.to_pylist() for column in table.columns), strict=True):
        numbers_of_query.setdefault(query, {})[doc] = number
    return numbers_of_query


def evaluate_matrix(data: Data) -> Call:
    """Return a call of nDCG of two arrays: (queries, documents)."""
    from cranfield import evaluate

    grades, scores = _make_matrices(data)
    return lambda: evaluate(grades, scores, "nDCG")


def call_evaluator(data: Data, *, module: str, n_calls: int = 1) -> Call:
    """Return calls of a RelevanceEvaluator of cranfield or of pytrec_eval: 30 values a query."""
    names = {"map", "ndcg", "ndcg_cut", "recip_rank", "P", "recall"}
    qrels, run = (
        _load_object(path, "dict") for path in (data.qrels("parquet"), *data.runs("parquet"))
    )
    evaluator = importlib.import_module(module).RelevanceEvaluator(qrels, names)

    def evaluate_calls() -> None:
        for _ in range(n_calls):
            evaluator.evaluate(run)

    return evaluate_calls


def run_command(data: Data, *, command: list[str]) -> Call:
    """Return a call of a command with the judgments and the run: a whole process."""
    path = shutil.which(command[0], path=str(Path(sys.executable).parent))
    path = path or shutil.which(command[0])
    if path is None:
        raise ImportError(f"there is no program {command[0]}")
    words = [*command[1:], data.qrels(), *data.runs()]
    if command[0] == "cranfield":
        words = ["evaluate", *words[len(command) - 1 :], *command[1:]]
    elif command[0] == "ir_measures":
        words = [*words[len(command) - 1 :], *command[1:]]

    def run() -> None:
        subprocess.run([path, *words], check=True, stdout=subprocess.DEVNULL)

    return run


def test_flips(data: Data) -> Call:
    """Return a call of two-sided randomization tests: 2 systems, 100,000 flips."""
    import numpy as np

    from cranfield.comparison.flips import Flips, PairedScores
    from cranfield.comparison.randomization import sign_flip_p_values

    paired_scores = PairedScores(_make_scores(data.n_queries), np.array([0]), np.array([1]))
    return lambda: sign_flip_p_values(paired_scores, Flips(data.n_queries, 100_000))


# ---- others -----------------------------------------------------------------------------------


def read_csv_alone(data: Data) -> Call:
    """Return a call that only reads the text's three columns, with pyarrow and all threads."""
    import pyarrow as pa
    from pyarrow import csv

    column_types = {"query": pa.binary(), "doc": pa.binary(), "score": pa.float64()}
    read = csv.ReadOptions(column_names=["query", "q0", "doc", "rank", "score", "tag"])
    parse = csv.ParseOptions(delimiter=" ", quote_char=False)
    convert = csv.ConvertOptions(column_types=column_types, include_columns=list(column_types))
    path = data.runs()[0]
    return lambda: csv.read_csv(path, read, parse, convert)


def pytrec_eval_files(data: Data) -> Call:
    """Return a call that reads the text with pytrec_eval's reader and evaluates it."""
    import pytrec_eval

    def evaluate() -> None:
        with Path(data.qrels()).open() as qrels_file, Path(data.runs()[0]).open() as run_file:
            qrels, run = pytrec_eval.parse_qrel(qrels_file), pytrec_eval.parse_run(run_file)
        pytrec_eval.RelevanceEvaluator(qrels, {*PYTREC_EVAL_NAMES}).evaluate(run)

    return evaluate


def pytrec_eval_dicts(data: Data) -> Call:
    """Return a call that evaluates dicts with pytrec_eval, which makes its evaluator first."""
    import pytrec_eval

    qrels, run = (
        _load_object(path, "dict") for path in (data.qrels("parquet"), *data.runs("parquet"))
    )
    return lambda: pytrec_eval.RelevanceEvaluator(qrels, {*PYTREC_EVAL_NAMES}).evaluate(run)


def ir_measures_files(data: Data) -> Call:
    """Return a call that reads and evaluates the text with ir_measures."""
    import ir_measures

    measures = [ir_measures.parse_measure(name) for name in MEASURES.split()]

    def evaluate() -> None:
        qrels, run = (
            ir_measures.read_trec_qrels(data.qrels()),
            ir_measures.read_trec_run(data.runs()[0]),
        )
        ir_measures.calc_aggregate(measures, qrels, run)

    return evaluate


def ranx_files(data: Data) -> Call:
    """Return a call that reads and evaluates the text with ranx."""
    import ranx

    def evaluate() -> None:
        qrels = ranx.Qrels.from_file(data.qrels(), kind="trec")
        run = ranx.Run.from_file(data.runs()[0], kind="trec")
        ranx.evaluate(qrels, run, ["ndcg@10", "map", "mrr"], make_comparable=True)

    return evaluate


def scikit_learn_matrix(data: Data) -> Call:
    """Return a call of scikit-learn's nDCG of two arrays: (queries, documents)."""
    from sklearn.metrics import ndcg_score

    grades, scores = _make_matrices(data)
    return lambda: ndcg_score(grades, scores, ignore_ties=True)


def scipy_flips(data: Data) -> Call:
    """Return a call of scipy's randomization test of 2 systems: 1,000 flips, 1 % of ours."""
    from scipy.stats import permutation_test

    scores = _make_scores(data.n_queries)

    def mean(x: Any, axis: int) -> Any:
        return x.mean(axis=axis)

    options = {"permutation_type": "samples", "vectorized": True, "n_resamples": 1000}
    return lambda: permutation_test((scores[:, 0] - scores[:, 1],), mean, batch=1000, **options)


def _make_matrices(data: Data) -> tuple[Any, Any]:
    """Return grades 0 to 3 and scores, (queries, documents)."""
    import numpy as np

    random, shape = np.random.default_rng(SEED), (data.n_queries, data.depth)
    return random.integers(0, 4, shape), random.random(shape)


def _make_scores(n_queries: int) -> Any:
    """Return the scores of two systems from 0 to 1, many of them 0: (n_queries, 2)."""
    import numpy as np

    random = np.random.default_rng(SEED)
    easiness = random.normal(0, 1, (n_queries, 1))
    return np.clip(easiness + random.normal(0, 0.5, (n_queries, 2)), 0, 2) / 2


# ---- Spark ------------------------------------------------------------------------------------


def spark_evaluate(data: Data, *, has_arrays: bool) -> Call:
    """Return a call of `cranfield.spark`, of rows or of a table of arrays: means of 2 measures."""
    from cranfield import spark

    qrels, run = _read_spark_tables(data)
    arguments = [_make_arrays(qrels, run).cache()] if has_arrays else [qrels, run]

    def evaluate() -> None:
        scores = spark.evaluate(*arguments, measures="nDCG@10 AP")  # type: ignore[misc] # of one or two
        spark.summarize(scores).collect()

    return evaluate


def spark_ranking_evaluator(data: Data, *, has_arrays: bool) -> Call:
    """Return a call of Spark's RankingEvaluator, which makes arrays of rows for each measure."""
    from pyspark.ml.evaluation import RankingEvaluator

    arrays = _make_arrays(*_read_spark_tables(data))
    arrays = arrays.cache() if has_arrays else arrays

    def evaluate() -> None:
        for name, k in (("ndcgAtK", 10), ("meanAveragePrecision", 1)):
            RankingEvaluator(metricName=name, k=k).evaluate(arrays)

    return evaluate


def _make_arrays(qrels: Any, run: Any) -> Any:
    """Return a DataFrame with the ids of each query in arrays of doubles, the best first."""
    judged = qrels.where("relevance > 0").groupBy("query_id")
    labels = judged.agg({"doc_id": "collect_list"}).toDF("query_id", "label")
    pairs = run.selectExpr("query_id", "struct(score, doc_id AS doc) AS pair").groupBy("query_id")
    lists = pairs.agg({"pair": "collect_list"}).toDF("query_id", "pairs")
    lists = lists.selectExpr("query_id", "sort_array(pairs, false).doc AS prediction")
    return lists.join(labels, "query_id")


def _read_spark_tables(data: Data) -> list[Any]:
    """Start Spark, and return the judgments and the run; documents are doubles."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "4g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "8",
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    paths = data.qrels("parquet"), data.runs("parquet")[0]
    frames = [session.read.parquet(path) for path in paths]
    return [frame.withColumn("doc_id", frame["doc_id"].cast("double")) for frame in frames]


# ---- measuring --------------------------------------------------------------------------------


def measure_side(side: str, folder: str, data: dict[str, Any], options: dict[str, Any]) -> Any:
    """Return the costs of one call in this process, and of processes that it starts."""
    warnings.simplefilter("ignore")
    function: Side = globals()[side]
    is_process, n_warm_calls = side == "run_command", 5 if side.startswith("spark_") else 0
    if not is_process and not n_warm_calls:  # imports what is imported in the call, and compiles
        tiny = {**data, **TINY, "n_runs": min(3, data.get("n_runs", 1)), "is_shuffled": False}
        function(Data(Path(folder), **tiny), **options)()
    call = function(Data(Path(folder), **data), **options)
    for _ in range(n_warm_calls):  # on the data themselves: Java compiles what it did often
        call()
    with contextlib.suppress(OSError):  # not on Linux: the peak of the whole process
        Path("/proc/self/clear_refs").write_text("5")
    before, start = measure_family(), time.perf_counter()
    outcome = call()
    wall, after = time.perf_counter() - start, measure_family()
    costs: dict[str, Any] = {"wall": wall, "cpu": after.cpu - before.cpu, "memory": after.memory}
    if is_process:
        costs["memory"] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    if hasattr(outcome, "values") and hasattr(outcome, "query_ids"):  # the bits of `Scores`
        costs["digest"] = hashlib.sha256(outcome.values.tobytes()).hexdigest()[:12]
    return costs


class FamilyCosts(NamedTuple):
    """What this process, and all that it started, took until now."""

    cpu: float  # seconds
    memory: float  # MB: the sum of the peaks of those that are alive


def measure_family() -> FamilyCosts:
    """Return the costs of this process and of its descendants; of others, see `/proc`."""
    parent_of_pid, cpu_of_pid, memory_of_pid = {}, {}, {}
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended
            fields = (path / "stat").read_text().rpartition(")")[2].split()
            status = (path / "status").read_text().partition("VmHWM:")[2]
            pid = int(path.name)
            parent_of_pid[pid] = int(fields[1])
            cpu_of_pid[pid] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
            memory_of_pid[pid] = int(status.split()[0]) / 1024 if status else 0.0
    usages = [*map(resource.getrusage, (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF))]
    cpu = sum(usage.ru_utime + usage.ru_stime for usage in usages)
    memory = memory_of_pid.get(os.getpid(), usages[1].ru_maxrss / 1024)
    family = {os.getpid()}
    while (
        descendants := {pid for pid, parent in parent_of_pid.items() if parent in family} - family
    ):
        family |= descendants
        cpu += sum(cpu_of_pid[pid] for pid in descendants)
        memory += sum(memory_of_pid[pid] for pid in descendants)
    return FamilyCosts(cpu, memory)


if __name__ == "__main__":
    try:
        result = measure_side(**json.loads(sys.argv[1]))
    except ImportError as error:
        result = {"missing": str(error)}
    print(f"\n{MARK}{json.dumps(result)}")
