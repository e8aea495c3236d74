"""Swaps of runs that are judged in each way."""

from typing import Any

import pytest
from helpers.judging_loop import OPTION_CASES, Options, make_collection, nest_rows
from helpers.profile import seeds

from cranfield import evaluate, explain


@pytest.mark.parametrize("options", OPTION_CASES, ids=str)
def test_a_swap_has_the_value_of_a_run_that_has_it(options: Options) -> None:
    """A run that has the documents in the order that is found has this value, too."""
    n_seen = 0
    for seed in seeds(60, step=2):
        qrels, rows, run = make_collection(seed, repeat_docs=False)
        run_dict = nest_rows(rows, run)
        for query in sorted(set(qrels) & run):
            explanation: Any = explain(qrels, run_dict, "nDCG", query, **options)
            if explanation.swap is None or options.get("ties") == "expected":
                continue
            docs = [document.document for document in explanation.retrieved]
            if options.get("judged_only"):
                docs = [doc for doc in docs if qrels[query].get(doc, -1) >= 0]
            i, j = explanation.swap.i - 1, explanation.swap.j - 1
            docs[i], docs[j] = docs[j], docs[i]
            assert (
                explanation.swap.value
                == evaluate({query: qrels[query]}, {query: docs}, "nDCG")["nDCG"]
            )
            n_seen += 1
    assert n_seen > len(seeds(60, step=2)) / 20 or options.get("ties") == "expected"
