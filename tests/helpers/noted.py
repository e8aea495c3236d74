"""Judgments that are given in the place of a run."""

GRADES = {f"q{q}": {f"a{q}": 2, f"b{q}": 1, f"c{q}": 0} for q in range(20)}


def qrels_csv(name: str) -> str:
    rows = [(query, *pair) for query, docs in GRADES.items() for pair in docs.items()]
    lines = (f"query-id\tcorpus-id\t{name}", *("\t".join(map(str, row)) for row in rows))
    return "\n".join(lines)
