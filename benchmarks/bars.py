"""The bars: what is measured, beside what, and how much of it cranfield may take."""

from dataclasses import dataclass, field
from typing import Any, Literal

Quantity = Literal["cpu", "wall", "memory"]
SideCall = tuple[str, dict[str, Any]]  # a function of `sides.py`, and its options

MS_MARCO = {"n_queries": 6_980, "depth": 1000}
USERS = {"depth": 100, "n_judged": 8}
TRACK = {"n_queries": 50, "depth": 1000, "n_judged": 300}
DICTS = {"n_queries": 1000, "depth": 1000}
COMMAND = ["-m", "AP", "-m", "nDCG@10", "-m", "RR"]
MEASURES = "nDCG@10 AP RR"
TWO_RUNS = {"n_queries": 200_000, "n_runs": 2, **USERS}
RUNS_OF_TRACK = {**TRACK, "n_runs": 300}
POOLED_RUNS = {**RUNS_OF_TRACK, "n_judged": 2000}  # most have only judged documents, as in a track


def call_verb(verb: str, **options: Any) -> SideCall:
    """Return the call of a verb of cranfield."""
    return "call_verb", {"verb": verb, **options}


EVALUATE = call_verb("evaluate", measures=MEASURES)
COMPARE, BESIDE = (call_verb(verb, measures="nDCG@10") for verb in ("compare", "evaluate"))


@dataclass(frozen=True, kw_only=True)
class Bar:
    """Two sides, and the ratio of the first, which is cranfield, to the second."""

    title: str
    peer: str
    ours: SideCall
    other: SideCall
    data: dict[str, Any]  # of `sides.Data`, for both sides
    other_data: dict[str, Any] = field(default_factory=dict)  # of the other side alone
    quantity: Quantity = "cpu"
    at_most: float | None = None  # the ratio; None: it is told, and no bar
    max_memory: float | None = None  # MB, of cranfield
    other_factor: float = 1.0  # how many times the other's costs count, where it does less


def evaluate_form(form: str) -> SideCall:
    """Return the call that evaluates files of a form."""
    return EVALUATE[0], {**EVALUATE[1], "form": form}


def declare_text(title: str, form: str, at_most: float | None = None, **data: Any) -> Bar:
    """Return the bar of rows from files of a form, beside TREC text."""
    return Bar(
        title=f"6,980,000 rows from {title}",
        peer="the same as TREC text",
        ours=evaluate_form(form),
        other=EVALUATE,
        data={**MS_MARCO, **data},
        other_data=dict.fromkeys(data, False),
        quantity="wall",
        at_most=at_most,
    )


def declare_object(form: str, at_most: float | None) -> Bar:
    """Return the bar of rows in memory, of one of the forms of `evaluate_objects`."""
    return Bar(
        title=f"6,980,000 rows in memory: {form}",
        peer="pytrec_eval, dicts",
        ours=("evaluate_objects", {"form": form}),
        other=("pytrec_eval_dicts", {}),
        data=MS_MARCO,
        quantity="wall",
        at_most=at_most,
    )


def declare_dict(judged_share: str, at_most: float, **data: Any) -> Bar:
    """Return the bar of dicts, as pytrec_eval takes them."""
    return Bar(
        title=f"dicts, 1,000 queries of 1,000, {judged_share}",
        peer="pytrec_eval",
        ours=("evaluate_objects", {"form": "dict"}),
        other=("pytrec_eval_dicts", {}),
        data={**DICTS, **data},
        at_most=at_most,
    )


def declare_evaluator(n_queries: int, depth: int, at_most: float) -> Bar:
    """Return the bar of pytrec_eval's class, called until a million documents are evaluated."""
    n_calls = max(1, 1_000_000 // (n_queries * depth))
    return Bar(
        title=f"{n_calls:,} x `RelevanceEvaluator.evaluate`, 30 values, {n_queries:,} x {depth:,}",
        peer="pytrec_eval",
        ours=("call_evaluator", {"module": "cranfield.pytrec_eval", "n_calls": n_calls}),
        other=("call_evaluator", {"module": "pytrec_eval", "n_calls": n_calls}),
        data={"n_queries": n_queries, "depth": depth, "n_judged": 3 * depth // 10},
        at_most=at_most,
    )


def declare_beside(word: str, peer: str, side: str, at_most: float | None = None) -> Bar:
    """Return the bar of lines of text, beside another reader."""
    return Bar(
        title=f"6,980,000 lines, file to scores ({word})",
        peer=peer,
        ours=EVALUATE,
        other=(side, {}),
        data=MS_MARCO,
        quantity="wall",
        at_most=at_most,
    )


def declare_verb(
    title: str,
    peer: str,
    ours: SideCall,
    other: SideCall,
    data: dict[str, Any],
    at_most: float | None = None,
    **options: Any,
) -> Bar:
    """Return the bar of a verb, beside less work on the same data; `options` are of `Bar`."""
    return Bar(
        title=title, peer=peer, ours=ours, other=other, data=data, at_most=at_most, **options
    )


def declare_doubling(verb: str, n_queries: int, n_runs: int, **options: str) -> Bar:
    """Return the bar of a verb whose costs may grow with the queries, and no faster."""
    call = call_verb(verb, **options)
    return Bar(
        title=f"{verb}, {n_queries:,} queries x 100",
        peer="half of the queries",
        ours=call,
        other=call,
        data={"n_queries": n_queries, "n_runs": n_runs, **USERS},
        other_data={"n_queries": n_queries // 2},
        at_most=2.2,
    )


def declare_spark(source: str, *, has_arrays: bool, at_most: float) -> Bar:
    """Return the bar of Spark, beside the metrics that it has."""
    return Bar(
        title=f"`cranfield.spark` from {source}, 10,000 users x 100, two measures",
        peer="Spark's RankingEvaluator",
        ours=("spark_evaluate", {"has_arrays": has_arrays}),
        other=("spark_ranking_evaluator", {"has_arrays": has_arrays}),
        data={"n_queries": 10_000, **USERS},
        at_most=at_most,
    )


# ---- whole files ------------------------------------------------------------------------------

FILES = [
    Bar(
        title="6,980,000 lines, file to scores",
        peer="pytrec_eval and its reader",
        ours=EVALUATE,
        other=("pytrec_eval_files", {}),
        data=MS_MARCO,
        quantity="wall",
        at_most=1 / 8,
        max_memory=250,
    ),
    Bar(
        title="13,960,000 lines, file to scores",
        peer="half of the lines",
        ours=EVALUATE,
        other=EVALUATE,
        data={**MS_MARCO, "n_queries": 13_960},
        other_data=MS_MARCO,
        quantity="wall",
        max_memory=250,
    ),
    Bar(
        title="43,000 lines, a whole command",
        peer="the ir_measures command",
        ours=("run_command", {"command": ["cranfield", *COMMAND]}),
        other=("run_command", {"command": ["ir_measures", "AP", "nDCG@10", "RR"]}),
        data={"n_queries": 43, "depth": 1000, "n_judged": 215},
        quantity="wall",
        at_most=1.15,
    ),
]


def declare_trec_eval(program: str) -> Bar:
    """Return the bar beside trec_eval, a program that has to be named."""
    measures = ["-m", "map", "-m", "ndcg_cut.10", "-m", "recip_rank"]
    return Bar(
        title="6,980,000 lines, a whole command",
        peer="trec_eval",
        ours=("run_command", {"command": ["cranfield", *COMMAND]}),
        other=("run_command", {"command": [program, *measures]}),
        data=MS_MARCO,
        quantity="wall",
    )


READERS = [
    declare_beside("csv", "pyarrow.csv alone, which only reads", "read_csv_alone", 2.2),
    declare_beside("ir_measures", "ir_measures", "ir_measures_files"),
    declare_beside("ranx", "ranx", "ranx_files"),
    declare_text("Parquet", "parquet", 1.0),
    declare_text("Arrow", "arrow"),
    declare_text("CSV", "csv"),
    declare_text("JSON lines", "jsonl"),
    declare_text("JSON", "json"),
    declare_text("gzip", "run.gz"),
    declare_text("TREC text, all rows shuffled", "txt", 2.5, is_shuffled=True),
]

# ---- what is in memory ------------------------------------------------------------------------

OBJECTS = [
    declare_object("pandas", 0.2),
    declare_object("polars", 0.2),
    declare_object("pyarrow", None),
    declare_dict("15 % judged", 1 / 5, n_judged=300),
    declare_dict("15 % judged, all scores equal", 1.0, n_judged=300, is_tied=True),
    declare_dict("all judged", 1.0, n_judged=2000),
    declare_dict("all judged, all scores equal", 1.0, n_judged=2000, is_tied=True),
    declare_evaluator(1000, 1000, 0.4),
    declare_evaluator(50, 1000, 0.4),
    declare_evaluator(1, 1000, 3.0),
    declare_evaluator(1, 100, 3.0),
    Bar(
        title="two arrays, 10,000 queries x 100, nDCG",
        peer="scikit-learn, which takes no ties",
        ours=("evaluate_matrix", {}),
        other=("scikit_learn_matrix", {}),
        data={"n_queries": 10_000, "depth": 100},
    ),
    Bar(
        title="100,000 sign flips of a pair, 6,980 queries",
        peer="scipy's permutation_test, 100 x 1,000 flips",
        ours=("test_flips", {}),
        other=("scipy_flips", {}),
        data=MS_MARCO,
        other_factor=100,
    ),
]

# ---- verbs, beside less work, and growth ------------------------------------------------------

VERBS = [
    declare_verb(
        "nDCG@1..100, 300 runs of a track",
        "nDCG@10",
        call_verb("evaluate", measures="nDCG@1..100"),
        call_verb("evaluate", measures="nDCG@10"),
        RUNS_OF_TRACK,
    ),
    declare_verb(
        "compare, 200,000 queries x 100, 2 runs: cpu", "evaluate", COMPARE, BESIDE, TWO_RUNS, 1.5
    ),
    declare_verb(
        "compare, 200,000 queries x 100, 2 runs: memory",
        "evaluate",
        COMPARE,
        BESIDE,
        TWO_RUNS,
        1.3,
        quantity="memory",
    ),
    declare_verb(
        "compare --all-pairs, 300 runs of a track",
        "compare",
        call_verb("compare", measures="nDCG@10", all_pairs=True),
        COMPARE,
        POOLED_RUNS,
        4.0,
    ),
    declare_verb(
        "holes, 300 runs of a track",
        "reading the runs",
        call_verb("holes"),
        ("read_runs", {}),
        RUNS_OF_TRACK,
        3.0,
    ),
    declare_verb(
        "pool, 7,000 queries x 5 runs x 100, depth 100",
        "reading the runs",
        call_verb("pool", k=100),
        ("read_runs", {}),
        {"n_queries": 7_000, "n_runs": 5, **USERS},
        2.5,
        max_memory=300,
    ),
    declare_verb(
        "every measure, 40,000 queries x 100: memory",
        "10,000 queries",
        ("evaluate_all_measures", {}),
        ("evaluate_all_measures", {}),
        {"n_queries": 40_000, **USERS},
        1.3,
        other_data={"n_queries": 10_000},
        quantity="memory",
    ),
    declare_doubling("explain", 20_000, 1, measure="nDCG@10"),
    declare_doubling("report", 4_000, 12, measures="nDCG@10"),
    declare_verb(
        "20,000,000 rows in 64 buckets",
        "in memory",
        call_verb("evaluate", measures=MEASURES, buckets=64),
        call_verb("evaluate", measures=MEASURES, buckets=1),
        {"n_queries": 200_000, **USERS},
    ),
    declare_verb(
        "fuse, 12 runs of 1,000 queries x 1,000, written",
        "reading the runs and writing one",
        call_verb("fuse"),
        ("read_runs", {"copies": True}),
        {"n_queries": 1000, "depth": 1000, "n_runs": 12},
    ),
]

SPARK = [
    declare_spark("arrays", has_arrays=True, at_most=1.3),
    declare_spark("rows", has_arrays=False, at_most=0.5),
]


def list_bars(trec_eval: str | None) -> list[Bar]:
    """Return all bars; those beside trec_eval only where its program is named."""
    trec_eval_bars = [] if trec_eval is None else [declare_trec_eval(trec_eval)]
    return [*FILES, *trec_eval_bars, *READERS, *OBJECTS, *VERBS, *SPARK]
