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
DECIDED_MEASURE = parse("DCG@10")
DEPTH = 100
TAU = 0.9
N_FIRST = 2_000
STEP = 5  # documents that each pair asks for in a round, by decide
METHODS = ("depth", "fusion", "rbp", "chance", "move-to-front", "decide")
RANDOM_METHODS = ("chance", "move-to-front")

Orders = Mapping[str, Sequence[str]]  # the documents of each query, in the order of the questions
RankingsOfQuery = Mapping[str, Sequence[Sequence[str]]]  # those of each run


class Simulation:
    """NIST's judgments, some systems, and what is asked in which order."""

    def __init__(self, qrels: Qrels, runs: Mapping[str, Run], depth: int = DEPTH) -> None:
        self.grades, self.runs, self.depth = qrels.to_dict(), dict(runs), depth
        self.top_grade = qrels.top_grade
        self.query_ids = list(qrels.query_ids)
        rankings_of_runs = [run.read_rankings(self.query_ids, Judging()) for run in runs.values()]
        self.rankings: RankingsOfQuery = {
            query: [
                list(rankings[query].select_query(query).docs[:depth])
                for rankings in rankings_of_runs
            ]
            for query in self.query_ids
        }

    def look_up_grade(self, query: str, doc: str) -> int:
        """Return the answer to a question."""
        return int(self.grades[query].get(doc, 0))

    def _is_relevant(self, query: str, doc: str) -> bool:
        return self.look_up_grade(query, doc) >= 1

    def make_judgments(self, orders: Orders, n_questions: int) -> Qrels:
        """Return the judgments when n questions were asked for each query."""
        grades_of_query = {
            query: {doc: self.look_up_grade(query, doc) for doc in orders[query][:n_questions]}
            for query in self.query_ids
        }
        return Qrels(grades_of_query).with_top_grade(self.top_grade)

    def order_questions(self, method: str, seed: int) -> Orders:
        """Return the order of the questions, which may depend on the answers."""
        generator = np.random.default_rng(seed)
        if method in ("fusion", "rbp"):
            fused_run = fuse(list(self.runs.values()), "rrf" if method == "fusion" else "rbc")
            fused_rankings = fused_run.read_rankings(self.query_ids, Judging())
            pool_of_query = {
                query: {doc for ranking in rankings for doc in ranking}
                for query, rankings in self.rankings.items()
            }
            return {
                query: [
                    doc
                    for doc in fused_rankings[query].select_query(query).docs
                    if doc in pool_of_query[query]
                ]
                for query in self.query_ids
            }
        docs_of_query: dict[str, Sequence[str]] = {}
        for query, rankings in self.rankings.items():
            shuffled_rankings = [rankings[i] for i in generator.permutation(len(rankings)).tolist()]
            if method == "move-to-front":
                is_relevant = partial(self._is_relevant, query)
                docs_of_query[query] = list(ask_all(move_to_front(shuffled_rankings), is_relevant))
                continue
            # By depth: the first of every run, then the second, ...
            by_rank = [
                list_[rank]
                for rank in range(self.depth)
                for list_ in shuffled_rankings
                if rank < len(list_)
            ]
            docs = list(dict.fromkeys(by_rank))
            if method == "chance":
                docs = [docs[i] for i in generator.permutation(len(docs)).tolist()]
            docs_of_query[query] = docs
        return docs_of_query


def list_rounds(max_questions: int) -> list[int]:
    """Return after how many questions for each query the order is looked at."""
    return [*range(1, 31), *range(32, 61, 2), *range(65, max_questions + 5, 5)]


class OrderCorrelation:
    """Kendall's tau of an order of systems with that by all judgments."""

    def __init__(self, qrels: Qrels, runs: Mapping[str, Run]) -> None:
        self.runs = dict(runs)
        self.full_means = self._list_means(qrels)

    def _list_means(self, qrels: Qrels) -> dict[str, list[float]]:
        systems = evaluate(qrels, self.runs, " ".join(MEASURES))
        return {m: [float(systems[name][m] or 0) for name in self.runs] for m in MEASURES}

    def correlate(self, qrels: Qrels) -> dict[str, float]:
        """Return tau by each measure."""
        means = self._list_means(qrels)
        return {m: kendall(self.full_means[m], means[m]).tau_b or 0.0 for m in MEASURES}


def first_stable(tau_at_count: Sequence[tuple[int, float]]) -> float:
    """Return the number of judgments from which on tau is at least .9; infinity if never."""
    n_needed = float("inf")
    for n_judgments, tau in reversed(tau_at_count):
        if not tau >= TAU:
            break
        n_needed = n_judgments
    return n_needed


def count_until_tau(
    simulation: Simulation, correlation: OrderCorrelation, method: str, seed: int
) -> dict[str, float]:
    """Return how many judgments it takes by each measure."""
    if method == "decide":
        return count_until_tau_by_pairs(simulation, correlation)
    orders = simulation.order_questions(method, seed)
    tau_of_measure: dict[str, list[tuple[int, float]]] = {m: [] for m in MEASURES}
    for n_questions in list_rounds(max(map(len, orders.values()))):
        n_judgments = sum(min(n_questions, len(docs)) for docs in orders.values())
        for m, value in correlation.correlate(
            simulation.make_judgments(orders, n_questions)
        ).items():
            tau_of_measure[m].append((n_judgments, value))
    return {m: first_stable(tau_at_count) for m, tau_at_count in tau_of_measure.items()}


def count_relevant(simulation: Simulation, method: str, seed: int) -> float:
    """Return how many relevant documents are among the first asked for, of each query in turn."""
    orders = simulation.order_questions(method, seed)
    questions = [
        (query, docs[i])
        for i in range(max(map(len, orders.values())))
        for query, docs in orders.items()
        if i < len(docs)
    ]
    return sum(simulation.look_up_grade(query, doc) >= 1 for query, doc in questions[:N_FIRST])


def count_until_tau_by_pairs(
    simulation: Simulation, correlation: OrderCorrelation
) -> dict[str, float]:
    """Ask, in each round, what decides most between the systems of each pair."""
    grades_of_query: dict[str, dict[str, int]] = {query: {} for query in simulation.query_ids}
    tau_of_measure: dict[str, list[tuple[int, float]]] = {m: [] for m in MEASURES}
    while True:
        qrels = Qrels(grades_of_query).with_top_grade(simulation.top_grade)
        questions: set[tuple[str, str]] = set()
        for left_name, right_name in combinations(simulation.runs, 2):
            pair = {left_name: simulation.runs[left_name], right_name: simulation.runs[right_name]}
            deciding = find_deciding(qrels, pair, DECIDED_MEASURE, Judging())
            if not deciding.is_certain:
                questions |= {
                    *[question for question in deciding.documents if question not in questions][
                        :STEP
                    ]
                }
        if not questions:
            return {m: first_stable(tau_at_count) for m, tau_at_count in tau_of_measure.items()}
        for query, doc in questions:
            grades_of_query[query][doc] = simulation.look_up_grade(query, doc)
        n_judgments = sum(map(len, grades_of_query.values()))
        for m, value in correlation.correlate(
            Qrels(grades_of_query).with_top_grade(simulation.top_grade)
        ).items():
            tau_of_measure[m].append((n_judgments, value))


def count_until_certain(simulation: Simulation, method: str, seed: int, step: int = 10) -> float:
    """Return after how many judgments the sign of a pair's difference is certain."""
    questions: list[tuple[str, str]] = []
    if method != "decide":
        orders = simulation.order_questions(method, seed)
        longest = max(map(len, orders.values()))
        questions = [
            (q, docs[i]) for i in range(longest) for q, docs in orders.items() if i < len(docs)
        ]
    grades_of_query: dict[str, dict[str, int]] = {query: {} for query in simulation.query_ids}
    n_judgments = 0
    while True:
        deciding = find_deciding(
            Qrels(grades_of_query).with_top_grade(simulation.top_grade),
            simulation.runs,
            DECIDED_MEASURE,
            Judging(),
        )
        if deciding.is_certain:
            return n_judgments
        asked_questions = (
            deciding.documents[:step]
            if method == "decide"
            else questions[n_judgments : n_judgments + step]
        )
        if not asked_questions:
            return float("inf")
        for query, doc in asked_questions:
            grades_of_query[query][doc] = simulation.look_up_grade(query, doc)
        n_judgments += len(asked_questions)


def format_spread(counts: Sequence[float]) -> str:
    """Return the mean, and the least and greatest where they differ."""
    if max(counts) == float("inf"):
        return "never" if min(counts) == max(counts) else f"{min(counts):,.0f} to never"
    mean = f"{statistics.mean(counts):,.0f}"
    return (
        mean if min(counts) == max(counts) else f"{mean} ({min(counts):,.0f} to {max(counts):,.0f})"
    )


def read_systems(folder: Path) -> tuple[Qrels, dict[str, Run]]:
    """Return NIST's judgments and the twelve systems."""
    files = sorted(folder.glob("*.run.gz"))
    runs = {path.name.split(".")[0]: Run(read_run(path).to_dict()) for path in files}
    return read_qrels(folder / "qrels.txt"), runs


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--pairs", type=int, default=66)
    arguments = parser.parse_args()
    qrels, runs = read_systems(Path(os.environ["CRANFIELD_DATA"]) / "dl19")
    simulation, correlation = Simulation(qrels, runs), OrderCorrelation(qrels, runs)
    n_all = sum(
        len({doc for ranking in rankings for doc in ranking})
        for rankings in simulation.rankings.values()
    )
    print(f"{len(runs)} systems, {n_all:,} documents in the pool {DEPTH} deep; tau {TAU}")
    for method in METHODS:
        draws = arguments.draws if method in RANDOM_METHODS else 1
        counts = [count_until_tau(simulation, correlation, method, SEED + i) for i in range(draws)]
        line = "   ".join(
            f"{m} {format_spread([count_of_measure[m] for count_of_measure in counts])}"
            for m in MEASURES
        )
        if method != "decide":
            relevant_counts = [count_relevant(simulation, method, SEED + i) for i in range(draws)]
            line += f"   relevant of {N_FIRST:,} {format_spread(relevant_counts)}"
        print(f"  {method:14} {line}", flush=True)
    pairs = list(combinations(runs, 2))[: arguments.pairs]
    print(f"{len(pairs)} pairs: judgments until the sign of {DECIDED_MEASURE} is certain")
    for method in METHODS:
        certain_counts = [
            count_until_certain(Simulation(qrels, {a: runs[a], b: runs[b]}, 10), method, SEED)
            for a, b in pairs
        ]
        median = statistics.median(certain_counts)
        n_never = sum(count == float("inf") for count in certain_counts)
        line = f"median {median:,.0f}"
        if n_never < len(certain_counts) / 4:
            low, _, high = statistics.quantiles(certain_counts, n=4)
            line += f", quartiles {low:,.0f} to {high:,.0f}"
        print(f"  {method:14} {line}; never {n_never}", flush=True)


if __name__ == "__main__":
    main()
