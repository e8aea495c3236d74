"""Random collections whose judgments are a sample."""

import random
from typing import Any

from helpers import oracle


def make_sampled_collection(seed: int) -> tuple[list[dict[str, Any]], dict[str, Any], oracle.Run]:
    chance = random.Random(seed)
    qrels, run = oracle.make_collection(seed)
    rows, samples = [], {}
    for query, docs in qrels.items():
        samples[query] = {
            doc: (grade, chance.choice([1, 2, 7]), chance.choice([0.1, 0.5, 1.0]))
            for doc, grade in docs.items()
        }
        rows += [
            {"query_id": query, "doc_id": d, "relevance": g, "stratum": s, "probability": p}
            for d, (g, s, p) in samples[query].items()
        ]
    chance.shuffle(rows)
    return rows, samples, run
