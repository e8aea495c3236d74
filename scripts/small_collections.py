"""Small collections, each made from a seed, with cases for which evaluation tools disagree.

A collection's "about" lists its cases: queries that are missing in the run, have no results, no
relevant document, more relevant documents than any cutoff, or no judgments; one document only; tied
scores, all scores tied, scores that are tied in 32 bits only, or not above 0; negative and graded
judgments; lists shorter than the cutoffs, lists of more than 15 documents; documents that occur
twice in a list; a document whose id is the query's.
"""

import random
from typing import Any

CUTOFFS = (1, 3, 5, 10)
TRAITS = {
    "graded": 0.5,
    "negative": 0.2,
    "no relevant": 0.3,
    "many relevant": 0.3,
    "one": 0.12,
    "missing": 0.3,
    "empty": 0.25,
    "unjudged": 0.2,
    "ties": 0.4,
    "all tied": 0.15,
    "near ties": 0.1,
    "not positive": 0.2,
    "short": 0.4,
    "long": 0.15,
    "duplicates": 0.3,
    "identical": 0.25,
}


def choose(draw: random.Random, chance: float) -> bool:
    """Return whether a trait applies, with this chance."""
    return draw.random() < chance


def draw_grades(draw: random.Random, traits: set[str], pool: list[str]) -> dict[str, int]:
    """Return the judgments of one query."""
    documents = draw.sample(pool, 1 if "one" in traits else draw.randint(2, 8))
    highest = 3 if "graded" in traits else 1
    if "no relevant" in traits and choose(draw, 0.35):
        highest = 0
    lowest = -2 if "negative" in traits else 0
    grades = {document: draw.randint(lowest, highest) for document in documents}
    if highest and not any(grade > 0 for grade in grades.values()):
        grades[draw.choice(documents)] = highest
    if "many relevant" in traits and highest:
        for document in draw.sample(pool, min(len(pool), draw.randint(6, 12))):
            grades[document] = draw.randint(1, highest)
    return grades


def draw_scores(
    draw: random.Random, traits: set[str], pool: list[str], grades: dict[str, int]
) -> dict[str, float]:
    """Return the scores of one query's documents, in random order."""
    size = draw.randint(1, 4) if "short" in traits and choose(draw, 0.6) else draw.randint(4, 12)
    if "long" in traits:
        size = draw.randint(17, 40)
    if "one" in traits and choose(draw, 0.5):
        size = 1
    retrieved_judged = [document for document in grades if choose(draw, 0.7)]
    unjudged_documents = [document for document in pool if document not in grades]
    draw.shuffle(unjudged_documents)
    documents = (retrieved_judged + unjudged_documents)[:size]
    draw.shuffle(documents)
    levels: list[float] = [draw.uniform(0.1, 9.9) for _ in documents]
    if "ties" in traits:
        levels = [float(draw.randint(1, 3)) for _ in documents]
    if "all tied" in traits and choose(draw, 0.5):
        levels = [1.0 for _ in documents]
    if "near ties" in traits:  # different in 64 bits, equal in 32
        levels = [1.0 + draw.randint(0, 3) * 1e-9 for _ in documents]
    if "not positive" in traits:
        levels = [level - 3.0 for level in levels]
    return dict(zip(documents, levels, strict=True))


def repeat_documents(draw: random.Random, documents: list[str]) -> list[str]:
    """Return a list in which one to three of its documents occur again, below the first time."""
    documents = list(documents)
    for _ in range(draw.randint(1, 3) if documents else 0):
        position = draw.randrange(len(documents))
        documents.insert(draw.randint(position + 1, len(documents)), documents[position])
    return documents


def make_collection(seed: int) -> dict[str, Any]:
    """Return a collection, which depends on the seed only."""
    draw = random.Random(f"conventions {seed}")  # noqa: S311 - not a secret
    traits = {trait for trait, chance in TRAITS.items() if choose(draw, chance)}
    pool = [f"d{number}" for number in range(1, 31)] + [f"D{number}" for number in range(1, 21)]
    queries = [f"q{number}" for number in draw.sample(range(1, 13), draw.randint(2, 7))]
    qrels = {query: draw_grades(draw, traits, pool) for query in queries}
    run = {query: draw_scores(draw, traits, pool, qrels[query]) for query in queries}
    if "identical" in traits:
        for query in draw.sample(queries, 2):
            run[query] = {query: draw.uniform(1, 10)} | run[query]
            if choose(draw, 0.5):
                qrels[query][query] = 1
    if "empty" in traits:
        run[draw.choice(queries)] = {}
    if "missing" in traits:
        for query in draw.sample(queries, draw.randint(1, len(queries) - 1)):
            del run[query]
    if "unjudged" in traits:
        run["q99"] = draw_scores(draw, traits, pool, {})
    order = list(run)
    draw.shuffle(order)
    run = {query: run[query] for query in order}
    lists = {query: sorted(run[query], key=lambda document: -run[query][document]) for query in run}
    if "duplicates" in traits:
        lists = {
            query: repeat_documents(draw, documents) if choose(draw, 0.7) else documents
            for query, documents in lists.items()
        }
    about = ", ".join(trait for trait in TRAITS if trait in traits)
    return {"about": about, "qrels": qrels, "run": run, "lists": lists, "k": list(CUTOFFS)}
