"""How many judgments each way of choosing documents takes, simulated on TREC DL 2019.

    pip install .
    CRANFIELD_DATA=... python scripts/judging_simulation.py [--draws 10]

All judgments of NIST are hidden. Documents are asked for one by one, in turn for each query; the
answer is NIST's grade, or 0 for a document that NIST did not judge. Two questions:

- Of twelve systems, pooled 100 deep: how many judgments until Kendall's tau of their order with the
  order by all of NIST's judgments is .9, and does not fall below it again? And how many relevant
  documents (grade 1 or more) are among the first 2,000?
- Of two systems, for each of the 66 pairs, pooled 10 deep: how many until the sign of the
  difference of DCG@10 is certain, however the rest is judged (in steps of ten)?

"decide" takes, of each pair whose sign is open, the documents that move the difference of DCG@10
most.

Orders that depend on chance, or on which of several runs takes its turn, are drawn several times.
"""

import argparse
import os
import statistics
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np

from cranfield import Qrels, Run, evaluate, fuse, kendall, parse, read_qrels, read_run
from cranfield.data.judging import Judging
from cranfield.extensions.labels.pools.deciding import find_deciding
from cranfield.extensions.labels.pools.move_to_front import ask_all, move_to_front

SEED = 20_261_128
MEASURES = ("nDCG@10", "AP")
DECIDED = parse("DCG@10")
DEPTH = 100
TAU = 0.9
FIRST = 2_000
STEP = 5  # documents that each pair asks for in a round, by decide
WAYS = ("depth", "fusion", "rbp", "chance", "move-to-front", "decide")
BY_CHANCE = ("chance", "move-to-front")

Orders = Mapping[str, Sequence[str]]  # the documents of each query, in the order of the questions
Lists = Mapping[str, Sequence[Sequence[str]]]  # those of each run


class Simulation:
    """NIST's judgments, some systems, and what is asked in which order."""

    def __init__(self, qrels: Qrels, runs: Mapping[str, Run], depth: int = DEPTH) -> None:
        self.truth, self.runs, self.depth = qrels.to_dict(), dict(runs), depth
        self.top = qrels.top_grade
        self.query_ids = list(qrels.query_ids)
        ranked = [one.read_rankings(self.query_ids, Judging()) for one in runs.values()]
        self.lists: Lists = {
            query: [list(one[query].select_query(query).docs[:depth]) for one in ranked]
            for query in self.query_ids
        }

    def grade(self, query: str, doc: str) -> int:
        """Return the answer to a question."""
        return int(self.truth[query].get(doc, 0))

    def _is_relevant(self, query: str, doc: str) -> bool:
        return self.grade(query, doc) >= 1

    def judged(self, orders: Orders, n: int) -> Qrels:
        """Return the judgments when n questions were asked for each query."""
        known = {
            query: {doc: self.grade(query, doc) for doc in orders[query][:n]}
            for query in self.query_ids
        }
        return Qrels(known).with_top_grade(self.top)

    def orders(self, way: str, seed: int) -> Orders:
        """Return the order of the questions, which may depend on the answers."""
        generator = np.random.default_rng(seed)
        if way in ("fusion", "rbp"):
            made = fuse(list(self.runs.values()), "rrf" if way == "fusion" else "rbc")
            ranked = made.read_rankings(self.query_ids, Judging())
            pooled = {
                query: {doc for one in its for doc in one} for query, its in self.lists.items()
            }
            return {
                query: [doc for doc in ranked[query].select_query(query).docs if doc in pooled[query]]
                for query in self.query_ids
            }
        found: dict[str, Sequence[str]] = {}
        for query, lists in self.lists.items():
            mixed = [lists[i] for i in generator.permutation(len(lists)).tolist()]
            if way == "move-to-front":
                is_relevant = partial(self._is_relevant, query)
                found[query] = list(ask_all(move_to_front(mixed), is_relevant))
                continue
            # By depth: the first of every run, then the second, ...
            by_rank = [
                list_[rank] for rank in range(self.depth) for list_ in mixed if rank < len(list_)
            ]
            docs = list(dict.fromkeys(by_rank))
            if way == "chance":
                docs = [docs[i] for i in generator.permutation(len(docs)).tolist()]
            found[query] = docs
        return found


def rounds(longest: int) -> list[int]:
    """Return after how many questions for each query the order is looked at."""
    return [*range(1, 31), *range(32, 61, 2), *range(65, longest + 5, 5)]


class Tau:
    """Kendall's tau of an order of systems with that by all judgments."""

    def __init__(self, qrels: Qrels, runs: Mapping[str, Run]) -> None:
        self.runs = dict(runs)
        self.whole = self._means(qrels)

    def _means(self, qrels: Qrels) -> dict[str, list[float]]:
        systems = evaluate(qrels, self.runs, " ".join(MEASURES))
        return {m: [float(systems[name][m] or 0) for name in self.runs] for m in MEASURES}

    def of(self, qrels: Qrels) -> dict[str, float]:
        """Return tau by each measure."""
        means = self._means(qrels)
        return {m: kendall(self.whole[m], means[m]).tau_b or 0.0 for m in MEASURES}


def from_then_on(seen: Sequence[tuple[int, float]]) -> float:
    """Return the number of judgments from which on tau is at least .9; infinity if never."""
    needed = float("inf")
    for n, tau in reversed(seen):
        if not tau >= TAU:
            break
        needed = n
    return needed


def until_tau(one: Simulation, tau: Tau, way: str, seed: int) -> dict[str, float]:
    """Return how many judgments it takes by each measure."""
    if way == "decide":
        return until_tau_by_pairs(one, tau)
    orders = one.orders(way, seed)
    seen: dict[str, list[tuple[int, float]]] = {m: [] for m in MEASURES}
    for n in rounds(max(map(len, orders.values()))):
        asked = sum(min(n, len(docs)) for docs in orders.values())
        for m, value in tau.of(one.judged(orders, n)).items():
            seen[m].append((asked, value))
    return {m: from_then_on(its) for m, its in seen.items()}


def relevant_of(one: Simulation, way: str, seed: int) -> float:
    """Return how many relevant documents are among the first asked for, of each query in turn."""
    orders = one.orders(way, seed)
    in_turn = [
        (query, docs[i])
        for i in range(max(map(len, orders.values())))
        for query, docs in orders.items()
        if i < len(docs)
    ]
    return sum(one.grade(query, doc) >= 1 for query, doc in in_turn[:FIRST])


def until_tau_by_pairs(one: Simulation, tau: Tau) -> dict[str, float]:
    """Ask, in each round, what decides most between the systems of each pair."""
    known: dict[str, dict[str, int]] = {query: {} for query in one.query_ids}
    seen: dict[str, list[tuple[int, float]]] = {m: [] for m in MEASURES}
    while True:
        qrels = Qrels(known).with_top_grade(one.top)
        asked: set[tuple[str, str]] = set()
        for left, right in combinations(one.runs, 2):
            pair = {left: one.runs[left], right: one.runs[right]}
            found = find_deciding(qrels, pair, DECIDED, Judging())
            if not found.is_certain:
                asked |= {*[it for it in found.documents if it not in asked][:STEP]}
        if not asked:
            return {m: from_then_on(its) for m, its in seen.items()}
        for query, doc in asked:
            known[query][doc] = one.grade(query, doc)
        n = sum(map(len, known.values()))
        for m, value in tau.of(Qrels(known).with_top_grade(one.top)).items():
            seen[m].append((n, value))


def until_certain(one: Simulation, way: str, seed: int, step: int = 10) -> float:
    """Return after how many judgments the sign of a pair's difference is certain."""
    in_turn: list[tuple[str, str]] = []
    if way != "decide":
        orders = one.orders(way, seed)
        longest = max(map(len, orders.values()))
        in_turn = [
            (q, docs[i]) for i in range(longest) for q, docs in orders.items() if i < len(docs)
        ]
    known: dict[str, dict[str, int]] = {query: {} for query in one.query_ids}
    n = 0
    while True:
        found = find_deciding(Qrels(known).with_top_grade(one.top), one.runs, DECIDED, Judging())
        if found.is_certain:
            return n
        asked = found.documents[:step] if way == "decide" else in_turn[n : n + step]
        if not asked:
            return float("inf")
        for query, doc in asked:
            known[query][doc] = one.grade(query, doc)
        n += len(asked)


def spread(values: Sequence[float]) -> str:
    """Return the mean, and the least and greatest where they differ."""
    if max(values) == float("inf"):
        return "never" if min(values) == max(values) else f"{min(values):,.0f} to never"
    mean = f"{statistics.mean(values):,.0f}"
    return (
        mean if min(values) == max(values) else f"{mean} ({min(values):,.0f} to {max(values):,.0f})"
    )


def systems(folder: Path) -> tuple[Qrels, dict[str, Run]]:
    """Return NIST's judgments and the twelve systems."""
    files = sorted(folder.glob("*.run.gz"))
    runs = {path.name.split(".")[0]: Run(read_run(path).to_dict()) for path in files}
    return read_qrels(folder / "qrels.txt"), runs


def main() -> None:
    """Print both tables."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--draws", type=int, default=10)
    arguments.add_argument("--pairs", type=int, default=66)
    given = arguments.parse_args()
    qrels, runs = systems(Path(os.environ["CRANFIELD_DATA"]) / "dl19")
    every, tau = Simulation(qrels, runs), Tau(qrels, runs)
    n_all = sum(len({doc for one in its for doc in one}) for its in every.lists.values())
    print(f"{len(runs)} systems, {n_all:,} documents in the pool {DEPTH} deep; tau {TAU}")
    for way in WAYS:
        draws = given.draws if way in BY_CHANCE else 1
        found = [until_tau(every, tau, way, SEED + i) for i in range(draws)]
        line = "   ".join(f"{m} {spread([it[m] for it in found])}" for m in MEASURES)
        if way != "decide":
            relevant = [relevant_of(every, way, SEED + i) for i in range(draws)]
            line += f"   relevant of {FIRST:,} {spread(relevant)}"
        print(f"  {way:14} {line}", flush=True)
    pairs = list(combinations(runs, 2))[: given.pairs]
    print(f"{len(pairs)} pairs: judgments until the sign of {DECIDED} is certain")
    for way in WAYS:
        needed = [
            until_certain(Simulation(qrels, {a: runs[a], b: runs[b]}, 10), way, SEED)
            for a, b in pairs
        ]
        middle = statistics.median(needed)
        never = sum(it == float("inf") for it in needed)
        line = f"median {middle:,.0f}"
        if never < len(needed) / 4:
            low, _, high = statistics.quantiles(needed, n=4)
            line += f", quartiles {low:,.0f} to {high:,.0f}"
        print(f"  {way:14} {line}; never {never}", flush=True)


if __name__ == "__main__":
    main()
