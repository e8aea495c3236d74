"""Where the files are that tests read."""

from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
DEMO = ROOT / "src" / "cranfield" / "extensions" / "demo"
# The files of the demonstration, as data: tests of the core do not import it.
DEMO_QRELS = DEMO / "qrels.txt"
DEMO_RUNS = tuple(DEMO / f"{name}.run" for name in ("bm25", "tfidf", "dense", "fusion"))
