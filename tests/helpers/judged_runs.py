"""Runs of which a stated share is judged, so that a comparison has little judged systems."""

from collections.abc import Mapping

from cranfield.comparison.result import Pair, Result

N_QUERIES, DEPTH = 10, 10
QUERIES = [f"q{i}" for i in range(N_QUERIES)]
# Each query has one relevant document, r, and as many that are not as a ranking has places.
QRELS = {query: {"r": 1, **{f"n{j}": 0 for j in range(DEPTH)}} for query in QUERIES}


def make_run(rank: int, percent_judged: int, system: str) -> dict[str, list[str]]:
    """Return a run that has the relevant document at a rank, of 10 queries and 10 ranks.

    So many of its 100 places hold a judged document. The others hold documents of its own.
    """
    n_unjudged = N_QUERIES * DEPTH - percent_judged
    run = {}
    for i, query in enumerate(QUERIES):
        docs = [f"n{j}" for j in range(DEPTH)]
        docs[rank - 1] = "r"
        places = [place for place in range(DEPTH - 1, -1, -1) if place != rank - 1]
        n_of_query = n_unjudged // N_QUERIES + (i < n_unjudged % N_QUERIES)
        for place in places[:n_of_query]:
            docs[place] = f"{system}-{place}"
        run[query] = docs
    return run


def make_runs(**rank_and_share: tuple[int, int]) -> Mapping[str, dict[str, list[str]]]:
    """Return {system: run} of {system: (rank of the relevant document, percent judged)}."""
    return {
        system: make_run(rank, percent, system)
        for system, (rank, percent) in rank_and_share.items()
    }


def cannot_be_placed(result: Result, pair: Pair) -> bool:
    """Tell whether a system of a pair is little judged, and no bounds say that it does not matter.

    Little is less than 0.8 times the largest share.
    """
    share_of_system = {system.name: system.judged or 0.0 for system in result.systems}
    least = min(share_of_system[pair.system], share_of_system[pair.other])
    return least < 0.8 * max(share_of_system.values()) - 1e-12 and not pair.unjudged_robust
