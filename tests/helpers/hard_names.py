"""Results of every kind, whose queries, documents and systems have names that are hard to write."""

from collections.abc import Callable
from typing import Any

from cranfield import (
    Run,
    Tally,
    Totals,
    agreement,
    check,
    collect,
    compare,
    compare_collections,
    conventions,
    correlate,
    describe,
    discriminative_power,
    evaluate,
    explain,
    gate,
    holes,
    intervals,
    joint_bounds,
    nugget_recall,
    paper_table,
    pool,
    prediction_powered,
    rbo,
    reproduce,
    swap_rate,
    trend,
    trust,
    tune,
    with_texts,
)
from cranfield.extensions.power.power import Experiment
from cranfield.extensions.tools.conventions import CONVENTIONS
from cranfield.extensions.tools.rule import Conventions

COLOUR = "\x1b[31m\u202e"  # a command to the terminal, and one to write from right to left
QUERIES = ["=1+1", "</td>", "a|b", "back\\slash", "@x", f"-2+3{COLOUR}", "{x_y}&#", '"so", then']
DOCS = ["=1+1", "</td>", "|", "\\", "<b>bold</b>", "#1", "line\nbreak", f"tab\tthere{COLOUR}"]
SYSTEM_NAMES = ["=1+1", "</td>", "a|b\\"]

QRELS = {q: {doc: (i + k) % 3 for k, doc in enumerate(DOCS)} for i, q in enumerate(QUERIES)}
OTHER_QRELS = {
    q: {doc: (i + 2 * k) % 3 for k, doc in enumerate(DOCS)} for i, q in enumerate(QUERIES)
}
RUNS = {
    name: {
        q: {doc: float((i + 3 * j + (j + 1) * k) % 7) for k, doc in enumerate([*DOCS, "unjudged"])}
        for i, q in enumerate(QUERIES)
    }
    for j, name in enumerate(SYSTEM_NAMES)
}
SCORES = {
    name: {
        measure: {q: ((i + 1) * (j + 2) + 3 * m) % 5 / 5 for i, q in enumerate(QUERIES)}
        for m, measure in enumerate(["AP", "a|b"])
    }
    for j, name in enumerate(SYSTEM_NAMES)
}
NUGGETS = [
    (q, name, nugget, "vital" if k else "okay", "support" if (i + j + k) % 2 else "partial_support")
    for i, q in enumerate(QUERIES)
    for j, name in enumerate(SYSTEM_NAMES)
    for k, nugget in enumerate(["=n", "|"])
]
FIRST_RUN = Run(RUNS[SYSTEM_NAMES[0]], SYSTEM_NAMES[0])
TWO_RUNS = {name: RUNS[name] for name in SYSTEM_NAMES[:2]}


def make_totals() -> Totals:
    """Return the totals of a tally with hostile labels of queries."""
    tally = Tally("AP P@2")
    tally.update(QRELS, FIRST_RUN, {"=k|": dict(zip(QUERIES, DOCS, strict=True))})
    return tally.result()


RESULTS: dict[str, Callable[[], Any]] = {
    "scores": lambda: evaluate(QRELS, FIRST_RUN, "AP P@2 NumRet"),
    "systems": lambda: evaluate(QRELS, RUNS, "AP P@2 NumRet", bounds=True),
    "comparison": lambda: compare(SCORES),
    "pool": lambda: pool(QRELS, RUNS, by="chance", n=2),
    "pool of strata": lambda: pool(
        QRELS,
        RUNS,
        by="chance",
        strata={2: 1, 9: 0.5},
        doc_texts=dict(zip(DOCS, DOCS, strict=True)),
    ),
    "labels": lambda: collect(
        {
            name: [(q, doc, k % 3) for k, doc in enumerate(DOCS)]
            for name in SYSTEM_NAMES
            for q in QUERIES
        }
    ),
    "holes": lambda: holes(QRELS, RUNS, "RR", k=1),
    "tune": lambda: tune(QRELS, RUNS, "rrf", "RR", folds=2, steps=2),
    "prediction_powered": lambda: prediction_powered(QRELS, RUNS, "AP P@2", human=QRELS),
    "intervals": lambda: intervals(evaluate(QRELS, RUNS, "AP P@2")),
    "several seeds": lambda: compare(SCORES, groups={"</td>": list(SCORES)[:2]}),
    "collections": lambda: compare_collections(
        {"<b>=1": SCORES, "|\n": SCORES, "%&": SCORES}, all_pairs=True
    ),
    "all pairs": lambda: compare(SCORES, all_pairs=True),
    "one system": lambda: compare({SYSTEM_NAMES[0]: SCORES[SYSTEM_NAMES[0]]}),
    "paper's table": lambda: paper_table(compare(SCORES, all_pairs=True, correction="none")),
    "gate": lambda: gate(SCORES, baseline=SYSTEM_NAMES[0], margin=0.05),
    "explanation": lambda: explain(QRELS, FIRST_RUN, "nDCG@5", QUERIES[0]),
    "explanation of a mean": lambda: explain(QRELS, FIRST_RUN, "AP"),
    "difference": lambda: explain(QRELS, TWO_RUNS, "P@2", QUERIES[0]),
    "queries by difference": lambda: explain(QRELS, TWO_RUNS, "P@2"),
    "with texts": lambda: with_texts(
        explain(QRELS, FIRST_RUN, "nDCG@5", QUERIES[0]), query_texts={QUERIES[0]: "<b>&|*=1+1"}
    ),
    "no difference": lambda: explain(QRELS, {"a": FIRST_RUN, "b": FIRST_RUN}, "P@2", QUERIES[0]),
    "correlation": lambda: correlate(SCORES, discrimination=True, splits=10, resamples=50),
    "trend": lambda: trend(SCORES),
    "trust": lambda: trust(QRELS, RUNS, "AP P@2", human=OTHER_QRELS),
    "lists": lambda: describe(FIRST_RUN, "Coverage@2 Filled@2", catalogue=10),
    "a list": lambda: describe(FIRST_RUN, "Coverage@2 Filled@2", catalogue=10, query=QUERIES[0]),
    "intervals of lists": lambda: describe(
        RUNS, "Filled@2 Coverage@2", catalogue=10, intervals=True
    ),
    "reproduction": lambda: reproduce(
        QRELS,
        TWO_RUNS,
        {SYSTEM_NAMES[0]: RUNS[SYSTEM_NAMES[1]], SYSTEM_NAMES[1]: RUNS[SYSTEM_NAMES[2]]},
        "AP P@2",
    ),
    "agreement": lambda: agreement(QRELS, OTHER_QRELS, RUNS, "AP", mixtures=10),
    "qrels alone": lambda: agreement(QRELS, OTHER_QRELS),
    "discriminative power": lambda: discriminative_power(SCORES)["AP"],
    "swap rate": lambda: swap_rate(SCORES, splits=10)["AP"],
    "joint bounds": lambda: joint_bounds(QRELS, TWO_RUNS, "P@2 nDCG@5"),
    "overlap of lists": lambda: rbo(["=1+1", "|"], ["|", "</td>"]),
    "overlap of runs": lambda: rbo(RUNS[SYSTEM_NAMES[0]], RUNS[SYSTEM_NAMES[1]]),
    "nuggets": lambda: nugget_recall(NUGGETS),
    "tally": lambda: make_totals(),
    "experiment": lambda: Experiment({"effect": 0.3, "queries": 50}, "queries: <b>enough</b> | \\"),
    "check": lambda: check(QRELS, RUNS),
    "one number under conventions": lambda: conventions(QRELS, FIRST_RUN, "nDCG@5", value=0.5),
    "conventions": lambda: Conventions([*CONVENTIONS.values()]),
    "one convention": lambda: Conventions([CONVENTIONS["beir"]]),
}
