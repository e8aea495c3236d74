"""Pages for tests: comparisons of every kind, each with the options of its `report`."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cranfield import Comparison, compare, demo, report
from helpers.browser import Page
from helpers.systems import SYSTEMS

Scores = dict[str, dict[str, dict[str, float]]]

# What must not run, nor break anything, wherever it is read: an id, a name, a title, a text.
HOSTILE = (
    "<script>globalThis.ran=1</script>",
    "</script><script>globalThis.ran=2</script>",
    "<img src=x onerror=globalThis.ran=3>",
    "\"'><svg/onload=globalThis.ran=4>",
    "javascript:globalThis.ran=5",
    "{{SCRIPT}}",
    "$& $` \\1 %s",
    "-->]]><!--",
    "right\u202eleft\u2066in\u2069\u200f",
    "nul\x00bell\x07escape\x1b[31m",
    "line\u2028paragraph\u2029",
    "__proto__",
    "constructor",
    "l" + "o" * 10_000 + "ng",
)


@dataclass(frozen=True)
class ReportFile:
    """A page: the comparison that it shows, and its file."""

    comparison: Comparison
    path: Path
    report_options: dict[str, Any] = field(default_factory=dict)


def demonstration() -> tuple[Comparison, dict[str, Any]]:
    """Four systems, texts of queries and of documents, slices, worksheets."""
    comparison = compare(
        demo.QRELS,
        list(demo.RUNS),
        "nDCG@10 AP RR",
        slices={"words": {q: _length(text) for q, text in demo.queries().items()}},
    )
    docs = {doc for run in demo.RUNS for doc in _documents(run)}
    doc_texts = {
        doc: f"What {doc} is for: {'words of its documentation, ' * 8}" for doc in sorted(docs)
    }
    return comparison, {
        "query_texts": demo.queries(),
        "doc_texts": doc_texts,
        "title": "The demonstration",
    }


def _length(text: str) -> str:
    return "short" if len(text.split()) < 9 else "long"


def _documents(run: Path) -> list[str]:
    return [line.split()[2] for line in run.read_text("utf-8").splitlines()]


def deep_learning(data_folder: Path) -> tuple[Comparison, dict[str, Any]]:
    """TREC Deep Learning 2019: 12 systems, 43 queries, no texts."""
    runs = {name: data_folder / "dl19" / f"{name}.run.gz" for name in SYSTEMS}
    comparison = compare(
        data_folder / "dl19" / "qrels.txt", runs, "nDCG@10 AP RR@10 R@100 P@10", baseline="bm25"
    )
    return comparison, {}


def saved_scores() -> tuple[Comparison, dict[str, Any]]:
    """Precomputed scores: no rankings."""
    chance = random.Random(19)
    scores: Scores = {
        system: {
            measure: {f"q{i}": round(chance.random() * level, 3) for i in range(30)}
            for measure in ("nDCG@10", "AP")
        }
        for system, level in (("old", 0.5), ("new", 0.9), ("other", 0.7))
    }
    by_query = {
        system: {q: {m: scores[system][m][q] for m in scores[system]} for q in scores[system]["AP"]}
        for system in scores
    }
    return compare(by_query), {}


def single_run() -> tuple[Comparison, dict[str, Any]]:
    """One system alone."""
    return compare(demo.QRELS, [demo.RUNS[0]], "nDCG@10 AP"), {"query_texts": demo.queries()}


def geometric_means() -> tuple[Comparison, dict[str, Any]]:
    """Geometric means as the first measure, arithmetic means as the second."""
    slices = {"words": {q: _length(text) for q, text in demo.queries().items()}}
    return compare(demo.QRELS, list(demo.RUNS), "GMAP nDCG@10", slices=slices), {}


def all_pairs() -> tuple[Comparison, dict[str, Any]]:
    """No baseline: letters say which systems differ significantly, others under each measure."""
    return compare(demo.QRELS, list(demo.RUNS), "nDCG@10 RR NumRelRet", all_pairs=True), {}


def several_baselines() -> tuple[Comparison, dict[str, Any]]:
    """Two baselines, each of which has a column."""
    return compare(demo.QRELS, list(demo.RUNS), "nDCG@10 AP", baseline=["bm25", "dense"]), {}


def probabilities() -> tuple[Comparison, dict[str, Any]]:
    """No p: how probable it is that a system is better, or practically the same."""
    return compare(demo.QRELS, list(demo.RUNS), "nDCG@10 AP", test="bayes", rope=0.02), {}


def large_differences() -> tuple[Comparison, dict[str, Any]]:
    """Differences of ten and more."""
    chance = random.Random(5)
    means = {"low": 10.0, "middle": 20.5, "high": 40.25}
    return compare(
        {name: {f"q{i}": mean + chance.random() for i in range(12)} for name, mean in means.items()}
    ), {}


def odd_grades() -> tuple[Comparison, dict[str, Any]]:
    """Grades below 0 and more than four; a query that one system lacks, one that all lack."""
    chance = random.Random(7)
    qrels = {
        f"q{i}": {f"d{j}": chance.choice([-2, -1, 0, 1, 2, 3, 4, 5, 6, 7]) for j in range(25)}
        for i in range(14)
    }
    runs = {
        name: {
            query: {doc: grade + chance.gauss(0, spread) for doc, grade in docs.items()}
            | {f"x{j}": chance.gauss(0, spread) for j in range(4)}
            for query, docs in qrels.items()
            if (name, query) != ("noisy", "q3") and query != "q5"
        }
        for name, spread in (("good", 1.0), ("noisy", 4.0), ("worse", 9.0))
    }
    return compare(qrels, runs, "nDCG@5 P@5"), {}


def hostile_texts() -> tuple[Comparison, dict[str, Any]]:
    """Ids, names, texts and a title that would like to be more than text."""
    chance = random.Random(3)
    ids = [text.replace(" ", "_").replace("\0", "") for text in HOSTILE]  # what an id may be
    names = HOSTILE[:4]
    qrels = {query: {doc: chance.randrange(3) for doc in ids[:9]} for query in ids}
    runs = {
        name: {query: chance.sample(ids, len(ids)) for query in ids}
        for name in (*names, HOSTILE[9], HOSTILE[13])
    }
    texts = dict(zip(ids, reversed(HOSTILE), strict=True))
    report_options = {"title": HOSTILE[1], "command": " ".join(HOSTILE[:12]), "query_texts": texts}
    return compare(qrels, runs, "nDCG@10 AP"), {**report_options, "doc_texts": texts}


def large_comparison(
    n_systems: int = 50, n_queries: int = 7_000
) -> tuple[Comparison, dict[str, Any]]:
    """Scores of dozens of systems on thousands of queries."""
    chance = np.random.default_rng(19)
    hard = chance.beta(2, 2, n_queries)
    systems = {}
    for i in range(n_systems):
        scores = np.clip(hard + chance.normal(0.1 * i / n_systems, 0.2, n_queries), 0, 1)
        systems[f"system-{i:02}"] = {
            f"q{q}": round(score, 4) for q, score in enumerate(scores.tolist())
        }
    return compare(systems, test="t"), {}


def single_query() -> tuple[Comparison, dict[str, Any]]:
    """Two systems on one query."""
    return compare({"q": {"a": 1, "b": 0}}, {"x": {"q": ["a", "b"]}, "y": {"q": ["b", "a"]}}), {}


KINDS: dict[str, Callable[[], tuple[Comparison, dict[str, Any]]]] = {
    "demonstration": demonstration,
    "saved": saved_scores,
    "one run": single_run,
    "geometric": geometric_means,
    "all pairs": all_pairs,
    "several baselines": several_baselines,
    "probabilities": probabilities,
    "far apart": large_differences,
    "odd grades": odd_grades,
    "hostile": hostile_texts,
    "large": large_comparison,
    "one query": single_query,
}


class Pages:
    """Pages by their kind, each made once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._report_of_kind: dict[str, ReportFile] = {}

    def __call__(self, kind: str, data_folder: Path | None = None) -> ReportFile:
        """Return a page; `deep learning` takes the shared data."""
        if kind not in self._report_of_kind:
            comparison, report_options = (
                KINDS[kind]() if data_folder is None else deep_learning(data_folder)
            )
            path = self._folder / f"{kind.replace(' ', '-')}.html"
            report(comparison, **report_options).save(path)
            self._report_of_kind[kind] = ReportFile(comparison, path, report_options)
        return self._report_of_kind[kind]


def check_quiet(page: Page) -> None:
    """Assert that a page says nothing, asks for nothing; that nothing ran or was refused."""
    page.settle()
    assert page.messages == []
    assert page.requests == []
    assert page.list_refusals() == []
    assert page.evaluate("globalThis.ran") is None
