"""Size and time of the page that `report` makes, and its speed in a browser.

    python benchmarks/page.py [--data DIR] [--loads 5] [--quick]

Pages: TREC Deep Learning 2019, 12 systems and 43 queries, with and without texts (330 characters
each, made here) and worksheets, if --data or CRANFIELD_DATA names the folder of the shared data;
and 50 systems on 7,000 queries with 20 documents each, made here from a fixed seed. For each: the
time of `compare` and of `report`, in CPU seconds of this process, and the bytes, also compressed.

Then headless Chromium (of the distribution's packages) loads each page several times: medians of
the first paint, of the time when all was drawn (ready), and of the longest task; and the longest
task of each action of a reader. A browser does not report tasks below 50 ms: "< 50". Nothing is
asserted.
"""

import argparse
import gzip
import os
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from helpers.browser import Browser, Page, find_chromium

from cranfield import Comparison, compare, report

SEED = 20_261_123


def compare_deep_learning(data: Path) -> Comparison:
    """Return 12 systems compared on 43 queries."""
    folder = data / "dl19"
    runs = sorted(folder.glob("*.run.gz"))
    return compare(folder / "qrels.txt", runs, "nDCG@10 AP RR@10 R@100 P@10", baseline="bm25")


def compare_many_systems(n_systems: int, n_queries: int, depth: int = 20) -> Comparison:
    """Return many systems compared on many queries: systems differ in how much noise they add."""
    random = np.random.default_rng(SEED)
    docs = [f"d{i:02}" for i in range(2 * depth)]
    grades = random.choice([0, 0, 0, 1, 1, 2, 3], (n_queries, len(docs)))
    qrels = {
        f"q{q}": dict(zip(docs[:30], row, strict=True))
        for q, row in enumerate(grades[:, :30].tolist())
    }
    runs = {}
    for system in range(n_systems):
        noise = random.normal(0, 1 + 0.03 * system, grades.shape)
        order = np.argsort(-(grades + noise), axis=1)[:, :depth].tolist()
        runs[f"system-{system:02}"] = {
            f"q{q}": [docs[i] for i in row] for q, row in enumerate(order)
        }
    return compare(qrels, runs, "nDCG@10", test="t")


class Text(dict[str, str]):
    """A text for every id, the same each time: a few words are frequent, as in English."""

    def __init__(self, ids: Any, characters: int) -> None:
        random = np.random.default_rng(SEED)
        letters = random.choice(list("etaoinshrdlu"), (5_000, 8))
        vocabulary = ["".join(row)[: 2 + i % 7] for i, row in enumerate(letters)]
        word_numbers = np.minimum(random.zipf(1.3, (len(ids), characters // 3)), 5_000) - 1
        super().__init__(
            (text_id, " ".join(vocabulary[i] for i in row)[:characters])
            for text_id, row in zip(ids, word_numbers.tolist(), strict=True)
        )


def list_documents(comparison: Comparison) -> list[str]:
    """Return the documents of the first 20 ranks of every system."""
    source = comparison.aligned.evaluated_runs
    if source is None:
        return []
    ids: set[str] = set()
    for run in source.runs.values():
        for scores in run.to_dict().values():
            ids.update(sorted(scores, key=scores.__getitem__, reverse=True)[:20])
    return sorted(ids)


def measure_cpu(call: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of a call, and its CPU seconds."""
    start = time.process_time()
    outcome = call()
    return outcome, time.process_time() - start


def measure_load(page: Page) -> tuple[float, float, float]:
    """Return first paint, ready, and the longest task, in ms."""
    page.settle()
    paint = page.evaluate(
        'performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN'
    )
    return paint, page.evaluate("watched.ready"), max(page.long_tasks(), default=0)


def scroll(page: Page) -> None:
    """Scroll to the end, one screen at a time."""
    steps = page.evaluate("Math.ceil(document.documentElement.scrollHeight / innerHeight)")
    for i in range(steps):
        page.evaluate(f"scrollTo({{top: {i} * innerHeight, behavior: 'instant'}})")
        page.settle()


def press_keys(page: Page, selector: str, *keys: str) -> None:
    """Focus an element and press keys."""
    page.focus(selector)
    page.press(*keys)


def search(page: Page) -> None:
    """Type two letters into the search box."""
    page.focus("#find")
    page.type("1")
    page.type("2")


ACTIONS: dict[str, Callable[[Page], None]] = {
    "scroll": scroll,
    "swap": lambda page: page.click("#swap"),
    "other A": lambda page: page.read_first(
        "#pick-a", "(it.selectedIndex = 3, it.dispatchEvent(new Event('change')))"
    ),
    "20 x down": lambda page: press_keys(page, "#queries", *["ArrowDown"] * 20),
    "slider End": lambda page: press_keys(page, "[role=slider]", "End"),
    "search": search,
    "order": lambda page: page.read_first(
        "#order", "(it.value = 'unlike', it.dispatchEvent(new Event('change')))"
    ),
    "sort": lambda page: page.click('#board th[data-key="name"] button'),
    "theme": lambda page: page.click("#theme"),
}


def format_task_time(ms: float) -> str:
    """Return the time of a longest task as text."""
    return f"{ms:.0f}" if ms >= 50 else "< 50"


def browse(pages: dict[str, Path], loads: int) -> None:
    """Print each page's times in the browser."""
    print(f"\n{'in the browser, ms':28} {'paint':>6} {'ready':>6} {'longest':>8}  longest task of")
    with Browser() as browser:
        for name, path in pages.items():
            load_times = []
            times_of_action: dict[str, list[float]] = {action: [] for action in ACTIONS}
            for _ in range(loads):
                with browser.open(path) as page:
                    load_times.append(measure_load(page))
                    for action, perform in ACTIONS.items():
                        perform(page)
                        page.settle()
                        times_of_action[action].append(max(page.long_tasks(), default=0))
            paint, ready, longest = (
                statistics.median(times) for times in zip(*load_times, strict=True)
            )
            action_times = ", ".join(
                f"{action} {format_task_time(statistics.median(times))}"
                for action, times in times_of_action.items()
            )
            print(
                f"{name:28} {paint:6.0f} {ready:6.0f} {format_task_time(longest):>8}  "
                f"{action_times}"
            )


def main() -> None:
    """Make the pages, print their sizes and times, and open them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("CRANFIELD_DATA"))
    parser.add_argument("--loads", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="700 queries instead of 7,000")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(f"load {load:.1f}; CPU seconds of this process\n")
    kinds: list[tuple[str, Callable[[], Comparison], list[dict[str, Any]]]] = []
    if arguments.data:
        page_options: list[dict[str, Any]] = [{}, {"worksheets": 0}, {"texts": True}]
        kinds.append(("12 x 43", lambda: compare_deep_learning(arguments.data), page_options))
    n_queries = 700 if arguments.quick else 7_000
    large_options: list[dict[str, Any]] = [{}, {"texts": True}]
    kinds.append(
        (f"50 x {n_queries:,}", lambda: compare_many_systems(50, n_queries), large_options)
    )
    pages: dict[str, Path] = {}
    print(f"{'':28} {'compare':>8} {'report':>8} {'kB':>8} {'gzip':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for kind, make, page_options in kinds:
            comparison, compare_seconds = measure_cpu(make)
            for options in page_options:
                report_options = {
                    key: option_value for key, option_value in options.items() if key != "texts"
                }
                name = kind
                if options.get("texts"):
                    name += ", texts"
                    report_options["query_texts"] = Text(comparison.aligned.query_ids, 60)
                    report_options["doc_texts"] = Text(list_documents(comparison), 330)
                if options.get("worksheets") == 0:
                    name += ", no worksheets"
                page, seconds = measure_cpu(partial(report, comparison, **report_options))
                pages[name] = Path(folder) / f"{len(pages)}.html"
                page.save(pages[name])
                page_bytes = pages[name].read_bytes()
                print(
                    f"{name:28} {compare_seconds:8.2f} {seconds:8.2f} "
                    f"{len(page_bytes) / 1000:8,.0f} {len(gzip.compress(page_bytes)) / 1000:8,.0f}"
                )
        if find_chromium() is None:
            print("\nthere is no Chromium: apt-get install chromium")
        else:
            browse(pages, arguments.loads)


if __name__ == "__main__":
    main()
