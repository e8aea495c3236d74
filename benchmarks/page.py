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

from helpers.browser import Browser, Page, program

from cranfield import Comparison, compare, report

SEED = 20_261_123


def deep_learning(data: Path) -> Comparison:
    """Return 12 systems compared on 43 queries."""
    folder = data / "dl19"
    runs = sorted(folder.glob("*.run.gz"))
    return compare(folder / "qrels.txt", runs, "nDCG@10 AP RR@10 R@100 P@10", baseline="bm25")


def many(n_systems: int, n_queries: int, depth: int = 20) -> Comparison:
    """Return many systems compared on many queries: systems differ in how much noise they add."""
    chance = np.random.default_rng(SEED)
    docs = [f"d{i:02}" for i in range(2 * depth)]
    grades = chance.choice([0, 0, 0, 1, 1, 2, 3], (n_queries, len(docs)))
    qrels = {
        f"q{q}": dict(zip(docs[:30], row, strict=True))
        for q, row in enumerate(grades[:, :30].tolist())
    }
    runs = {}
    for system in range(n_systems):
        noise = chance.normal(0, 1 + 0.03 * system, grades.shape)
        order = np.argsort(-(grades + noise), axis=1)[:, :depth].tolist()
        runs[f"system-{system:02}"] = {
            f"q{q}": [docs[i] for i in row] for q, row in enumerate(order)
        }
    return compare(qrels, runs, "nDCG@10", test="t")


class Text(dict[str, str]):
    """A text for every id, the same each time: a few words are frequent, as in English."""

    def __init__(self, ids: Any, characters: int) -> None:
        chance = np.random.default_rng(SEED)
        letters = chance.choice(list("etaoinshrdlu"), (5_000, 8))
        vocabulary = ["".join(row)[: 2 + i % 7] for i, row in enumerate(letters)]
        places = np.minimum(chance.zipf(1.3, (len(ids), characters // 3)), 5_000) - 1
        super().__init__(
            (one, " ".join(vocabulary[i] for i in row)[:characters])
            for one, row in zip(ids, places.tolist(), strict=True)
        )


def documents(found: Comparison) -> list[str]:
    """Return the documents of the first 20 ranks of every system."""
    source = found.aligned.evaluated_runs
    if source is None:
        return []
    ids: set[str] = set()
    for run in source.runs.values():
        for scores in run.to_dict().values():
            ids.update(sorted(scores, key=scores.__getitem__, reverse=True)[:20])
    return sorted(ids)


def cpu(what: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of a call, and its CPU seconds."""
    start = time.process_time()
    found = what()
    return found, time.process_time() - start


def opened(page: Page) -> tuple[float, float, float]:
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


def pressed(page: Page, where: str, *keys: str) -> None:
    """Focus an element and press keys."""
    page.focus(where)
    page.press(*keys)


def search(page: Page) -> None:
    """Type two letters into the search box."""
    page.focus("#find")
    page.type("1")
    page.type("2")


DEEDS: dict[str, Callable[[Page], None]] = {
    "scroll": scroll,
    "swap": lambda page: page.click("#swap"),
    "other A": lambda page: page.one(
        "#pick-a", "(it.selectedIndex = 3, it.dispatchEvent(new Event('change')))"
    ),
    "20 x down": lambda page: pressed(page, "#queries", *["ArrowDown"] * 20),
    "slider End": lambda page: pressed(page, "[role=slider]", "End"),
    "search": search,
    "order": lambda page: page.one(
        "#order", "(it.value = 'unlike', it.dispatchEvent(new Event('change')))"
    ),
    "sort": lambda page: page.click('#board th[data-key="name"] button'),
    "theme": lambda page: page.click("#theme"),
}


def shown(ms: float) -> str:
    """Return the time of a longest task as text."""
    return f"{ms:.0f}" if ms >= 50 else "< 50"


def browse(pages: dict[str, Path], loads: int) -> None:
    """Print each page's times in the browser."""
    print(f"\n{'in the browser, ms':28} {'paint':>6} {'ready':>6} {'longest':>8}  longest task of")
    with Browser() as browser:
        for name, path in pages.items():
            found = []
            deeds: dict[str, list[float]] = {deed: [] for deed in DEEDS}
            for _ in range(loads):
                with browser.open(path) as page:
                    found.append(opened(page))
                    for deed, act in DEEDS.items():
                        act(page)
                        page.settle()
                        deeds[deed].append(max(page.long_tasks(), default=0))
            paint, ready, longest = (statistics.median(one) for one in zip(*found, strict=True))
            told = ", ".join(
                f"{one} {shown(statistics.median(all_))}" for one, all_ in deeds.items()
            )
            print(f"{name:28} {paint:6.0f} {ready:6.0f} {shown(longest):>8}  {told}")


def main() -> None:
    """Make the pages, print their sizes and times, and open them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("CRANFIELD_DATA"))
    parser.add_argument("--loads", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="700 queries instead of 7,000")
    told = parser.parse_args()
    warnings.simplefilter("ignore")
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(f"load {load:.1f}; CPU seconds of this process\n")
    kinds: list[tuple[str, Callable[[], Comparison], list[dict[str, Any]]]] = []
    if told.data:
        forms: list[dict[str, Any]] = [{}, {"worksheets": 0}, {"texts": True}]
        kinds.append(("12 x 43", lambda: deep_learning(told.data), forms))
    n_queries = 700 if told.quick else 7_000
    large: list[dict[str, Any]] = [{}, {"texts": True}]
    kinds.append((f"50 x {n_queries:,}", lambda: many(50, n_queries), large))
    pages: dict[str, Path] = {}
    print(f"{'':28} {'compare':>8} {'report':>8} {'kB':>8} {'gzip':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for kind, make, forms in kinds:
            found, compared = cpu(make)
            for form in forms:
                how = {key: value for key, value in form.items() if key != "texts"}
                name = kind
                if form.get("texts"):
                    name += ", texts"
                    how["query_texts"] = Text(found.aligned.query_ids, 60)
                    how["doc_texts"] = Text(documents(found), 330)
                if form.get("worksheets") == 0:
                    name += ", no worksheets"
                page, seconds = cpu(partial(report, found, **how))
                pages[name] = Path(folder) / f"{len(pages)}.html"
                page.save(pages[name])
                size = pages[name].read_bytes()
                print(
                    f"{name:28} {compared:8.2f} {seconds:8.2f} {len(size) / 1000:8,.0f} "
                    f"{len(gzip.compress(size)) / 1000:8,.0f}"
                )
        if program() is None:
            print("\nthere is no Chromium: apt-get install chromium")
        else:
            browse(pages, told.loads)


if __name__ == "__main__":
    main()
