"""Six weeks of somebody's runs: the third week is better, and judgments grow in the fourth."""

import random
from pathlib import Path

from cranfield import evaluate

WEEKS = [f"2026-W{week}" for week in range(41, 47)]
Ranking = dict[str, list[str]]


def make_weeks(folder: Path, *, gain: float = 0.8, noise: float = 0.15) -> None:
    """Write runs/WEEK.run, early.txt and qrels.txt, and results/WEEK.json, into a folder.

    Noise moves a few documents each week; from the third week on, relevant documents gain. Scores
    of the first three weeks are by early.txt, the first 8 documents of the first week, those of the
    others by qrels.txt, the first 20 of four weeks.
    """
    generator = random.Random(1)
    grades = [2] * 4 + [1] * 6 + [0] * 50
    merits = {f"q{q:02}": [generator.gauss(grade / 2, 1) for grade in grades] for q in range(40)}
    rankings = {}
    for week in WEEKS:
        week_gain = gain if week >= "2026-W43" else 0.0
        rankings[week] = {
            query: rank_documents(
                [
                    merit + week_gain * (grade > 0) + generator.gauss(0, noise)
                    for merit, grade in zip(query_merits, grades, strict=True)
                ]
            )
            for query, query_merits in merits.items()
        }
    for name in ("runs", "results"):
        (folder / name).mkdir()
    for week, ranking in rankings.items():
        lines = [
            f"{query} Q0 d{doc} {rank} {-rank} prod\n"
            for query, docs in ranking.items()
            for rank, doc in enumerate(docs, 1)
        ]
        (folder / "runs" / f"{week}.run").write_text("".join(lines))
    for name, weeks, depth in (("early", WEEKS[:1], 8), ("qrels", WEEKS[:4], 20)):
        pool_rows = {
            (query, doc)
            for week in weeks
            for query, docs in rankings[week].items()
            for doc in docs[:depth]
        }
        lines = [f"{query} 0 d{doc} {grades[doc]}\n" for query, doc in sorted(pool_rows)]
        (folder / f"{name}.txt").write_text("".join(lines))
    for week in WEEKS:
        qrels = folder / ("early.txt" if week < "2026-W44" else "qrels.txt")
        run = folder / "runs" / f"{week}.run"
        scores = evaluate(qrels, run, "nDCG@10 R@20", fingerprints=True)
        (folder / "results" / f"{week}.json").write_text(scores.to_json(per_query=True))


def rank_documents(merits: list[float]) -> list[int]:
    """Return the documents, as positions of their merits, the best first."""
    return sorted(range(len(merits)), key=lambda doc: -merits[doc])[:50]
