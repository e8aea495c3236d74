"""The demonstration collection: questions to Python's standard library, ranked by four systems.

See ORIGIN.md beside this file for how it was made.
"""

import shutil
from pathlib import Path

HERE = Path(__file__).parent
QRELS = HERE / "qrels.txt"
RUNS = tuple(HERE / f"{name}.run" for name in ("bm25", "tfidf", "dense", "fusion"))


def queries() -> dict[str, str]:
    """Return {query_id: the question}."""
    lines = (HERE / "queries.tsv").read_text("utf-8").splitlines()
    return dict(line.split("\t", 1) for line in lines)


def save(folder: Path) -> list[Path]:
    """Copy the judgments, the runs and the questions into a folder; return what was written."""
    folder.mkdir(parents=True, exist_ok=True)
    sources = [QRELS, HERE / "queries.tsv", *RUNS]
    return [Path(shutil.copyfile(source, folder / source.name)) for source in sources]
