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
EVALUATE: SideCall = ("call_verb", {"verb": "evaluate", "measures": "nDCG@10 AP RR"})
COMPARE: SideCall = ("call_verb", {"verb": "compare", "measures": "nDCG@10"})


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


def _evaluate_form(form: str) -> SideCall:
    return EVALUATE[0], {**EVALUATE[1], "form": form}


def _text_bar(title: str, form: str, at_most: float | None = None, **data: Any) -> Bar:
    return Bar(
        title=f"6,980,000 rows from {title}",
        peer="the same as TREC text",
        ours=_evaluate_form(form),
        other=EVALUATE,
        data={**MS_MARCO, **data},
        other_data=dict.fromkeys(data, False),
        quantity="wall",
        at_most=at_most,
    )


def _object_bar(form: str, at_most: float | None) -> Bar:
    return Bar(
        title=f"6,980,000 rows in memory: {form}",
        peer="pytrec_eval, dicts",
        ours=("evaluate_objects", {"form": form}),
        other=("pytrec_eval_dicts", {}),
        data=MS_MARCO,
        quantity="wall",
        at_most=at_most,
    )


def _dict_bar(judged_share: str, at_most: float, **data: Any) -> Bar:
    return Bar(
        title=f"dicts, 1,000 queries of 1,000, {judged_share}",
        peer="pytrec_eval",
        ours=("evaluate_objects", {"form": "dict"}),
        other=("pytrec_eval_dicts", {}),
        data={**DICTS, **data},
        at_most=at_most,
    )


def _evaluator_bar(n_queries: int, depth: int, at_most: float) -> Bar:
    n_calls = max(1, 1_000_000 // (n_queries * depth))
    return Bar(
        title=f"{n_calls:,} x `RelevanceEvaluator.evaluate`, 30 values, {n_queries:,} x {depth:,}",
        peer="pytrec_eval",
        ours=("call_evaluator", {"module": "cranfield.pytrec_eval", "n_calls": n_calls}),
        other=("call_evaluator", {"module": "pytrec_eval", "n_calls": n_calls}),
        data={"n_queries": n_queries, "depth": depth, "n_judged": 3 * depth // 10},
        at_most=at_most,
    )


def _spark_bar(source: str, *, has_arrays: bool, at_most: float) -> Bar:
    return Bar(
        title=f"`cranfield.spark` from {source}, 10,000 users x 100, two measures",
        peer="Spark's RankingEvaluator",
        ours=("spark_evaluate", {"has_arrays": has_arrays}),
        other=("spark_ranking_evaluator", {"has_arrays": has_arrays}),
        data={"n_queries": 10_000, **USERS},
        at_most=at_most,
    )


def list_bars(trec_eval: str | None) -> list[Bar]:
    """Return all bars; those beside trec_eval only where its program is named."""
    command_bars = [
        Bar(
            title="43,000 lines, a whole command",
            peer="the ir_measures command",
            ours=("run_command", {"command": ["cranfield", *COMMAND]}),
            other=("run_command", {"command": ["ir_measures", "AP", "nDCG@10", "RR"]}),
            data={"n_queries": 43, "depth": 1000, "n_judged": 215},
            quantity="wall",
            at_most=1.15,
        )
    ]
    if trec_eval is not None:
        measures = ["-m", "map", "-m", "ndcg_cut.10", "-m", "recip_rank"]
        command_bars.append(
            Bar(
                title="6,980,000 lines, a whole command",
                peer="trec_eval",
                ours=("run_command", {"command": ["cranfield", *COMMAND]}),
                other=("run_command", {"command": [trec_eval, *measures]}),
                data=MS_MARCO,
                quantity="wall",
            )
        )
    users = {"n_queries": 200_000, "n_runs": 2, **USERS}
    track = {**TRACK, "n_runs": 300}
    compare_quantities: list[tuple[Quantity, float]] = [("cpu", 1.5), ("memory", 1.3)]
    compare_bars = [
        Bar(
            title=f"compare, 200,000 queries x 100, 2 runs: {quantity}",
            peer="evaluate",
            ours=COMPARE,
            other=("call_verb", {**COMPARE[1], "verb": "evaluate"}),
            data=users,
            quantity=quantity,
            at_most=at_most,
        )
        for quantity, at_most in compare_quantities
    ]
    doubled_bars = [
        Bar(
            title=f"{verb}, {n_queries:,} queries x 100",
            peer="half of the queries",
            ours=("call_verb", {"verb": verb, **options}),
            other=("call_verb", {"verb": verb, **options}),
            data={"n_queries": n_queries, "n_runs": n_runs, **USERS},
            other_data={"n_queries": n_queries // 2},
            at_most=2.2,
        )
        for verb, n_queries, n_runs, options in (
            ("explain", 20_000, 1, {"measure": "nDCG@10"}),
            ("report", 4_000, 12, {"measures": "nDCG@10"}),
        )
    ]
    return [
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
        *command_bars,
        *(
            Bar(
                title=f"6,980,000 lines, file to scores ({word})",
                peer=peer,
                ours=EVALUATE,
                other=(side, {}),
                data=MS_MARCO,
                quantity="wall",
                at_most=at_most,
            )
            for word, peer, side, at_most in (
                ("csv", "pyarrow.csv alone, which only reads", "read_csv_alone", 2.2),
                ("ir_measures", "ir_measures", "ir_measures_files", None),
                ("ranx", "ranx", "ranx_files", None),
            )
        ),
        _text_bar("Parquet", "parquet", 1.0),
        _text_bar("Arrow", "arrow"),
        _text_bar("CSV", "csv"),
        _text_bar("JSON lines", "jsonl"),
        _text_bar("JSON", "json"),
        _text_bar("gzip", "run.gz"),
        _text_bar("TREC text, all rows shuffled", "txt", 2.5, is_shuffled=True),
        _object_bar("pandas", 0.2),
        _object_bar("polars", 0.2),
        _object_bar("pyarrow", None),
        _dict_bar("15 % judged", 1 / 5, n_judged=300),
        _dict_bar("15 % judged, all scores equal", 1.0, n_judged=300, is_tied=True),
        _dict_bar("all judged", 1.0, n_judged=2000),
        _dict_bar("all judged, all scores equal", 1.0, n_judged=2000, is_tied=True),
        *(
            _evaluator_bar(*numbers)
            for numbers in ((1000, 1000, 0.4), (50, 1000, 0.4), (1, 1000, 3.0), (1, 100, 3.0))
        ),
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
        Bar(
            title="nDCG@1..100, 300 runs of a track",
            peer="nDCG@10",
            ours=("call_verb", {"verb": "evaluate", "measures": "nDCG@1..100"}),
            other=("call_verb", {"verb": "evaluate", "measures": "nDCG@10"}),
            data=track,
        ),
        *compare_bars,
        Bar(
            title="compare --all-pairs, 300 runs of a track",
            peer="compare",
            ours=("call_verb", {**COMPARE[1], "all_pairs": True}),
            other=COMPARE,
            data=track,
            at_most=4.0,
        ),
        Bar(
            title="holes, 300 runs of a track",
            peer="reading the runs",
            ours=("call_verb", {"verb": "holes"}),
            other=("read_runs", {}),
            data=track,
            at_most=3.0,
        ),
        Bar(
            title="pool, 7,000 queries x 5 runs x 100, depth 100",
            peer="reading the runs",
            ours=("call_verb", {"verb": "pool", "k": 100}),
            other=("read_runs", {}),
            data={"n_queries": 7_000, "n_runs": 5, **USERS},
            at_most=2.5,
            max_memory=300,
        ),
        Bar(
            title="every measure, 40,000 queries x 100: memory",
            peer="10,000 queries",
            ours=("evaluate_all_measures", {}),
            other=("evaluate_all_measures", {}),
            data={"n_queries": 40_000, **USERS},
            other_data={"n_queries": 10_000},
            quantity="memory",
            at_most=1.3,
        ),
        *doubled_bars,
        Bar(
            title="20,000,000 rows in 64 buckets",
            peer="in memory",
            ours=("call_verb", {**EVALUATE[1], "buckets": 64}),
            other=("call_verb", {**EVALUATE[1], "buckets": 1}),
            data={"n_queries": 200_000, **USERS},
        ),
        Bar(
            title="fuse, 12 runs of 1,000 queries x 1,000, written",
            peer="reading the runs and writing one",
            ours=("call_verb", {"verb": "fuse"}),
            other=("read_runs", {"copies": True}),
            data={"n_queries": 1000, "depth": 1000, "n_runs": 12},
        ),
        _spark_bar("arrays", has_arrays=True, at_most=1.3),
        _spark_bar("rows", has_arrays=False, at_most=0.5),
    ]
