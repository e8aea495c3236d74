"""The demonstration collection: questions to Python's standard library, ranked by four systems.

See ORIGIN.md beside this file for how it was made.
"""

import ast
import json
import os
import sysconfig
from pathlib import Path

from cranfield.errors import check_choice
from cranfield.formats.source import open_to_write
from cranfield.formats.url import local_path

__all__ = ["HERE", "QRELS", "RUNS", "modules", "queries", "rows", "save"]

HERE = Path(__file__).parent
"""The folder with the files of the collection."""
QRELS = HERE / "qrels.txt"
"""The path of the judgments."""
RUNS = tuple(HERE / f"{name}.run" for name in ("bm25", "tfidf", "dense", "fusion"))
"""The paths of the four runs: bm25, tfidf, dense and fusion."""


def queries() -> dict[str, str]:
    """Return {query_id: the question}.

    >>> len(queries())
    40
    """
    lines = (HERE / "queries.tsv").read_text("utf-8").splitlines()
    return dict(line.split("\t", 1) for line in lines)


def modules() -> dict[str, str]:
    """Return {judged module: its docstring, in one line}, read from the Python that runs.

    Nothing is imported: modules without a docstring, or not written in Python, are left out.

    >>> "csv" in modules()
    True
    """
    library = Path(sysconfig.get_path("stdlib"))
    docstrings = {}
    for name in sorted({line.split()[2] for line in QRELS.read_text("utf-8").splitlines()}):
        module_path = library.joinpath(*name.split("."))
        for path in (module_path.with_suffix(".py"), module_path / "__init__.py"):
            if path.is_file() and (docstring := ast.get_docstring(ast.parse(path.read_bytes()))):
                docstrings[name] = " ".join(docstring.split())
    return docstrings


def rows(system: str, k: int = 5) -> list[dict[str, object]]:
    """Return a row for each question: its text, the modules that help, and a system's first k.

    Those that help are the modules of grade 2 and 3.

    Args:
        system: the name of a run: "bm25", "tfidf", "dense" or "fusion".
        k: how many documents are retrieved for each question, at most.

    >>> sorted(rows("bm25", k=2)[0])
    ['expected_ids', 'question', 'retrieved_ids']

    """
    check_choice("system", system, [path.stem for path in RUNS])
    expected_ids: dict[str, list[str]] = {}
    for query, _, doc, grade in map(str.split, QRELS.read_text("utf-8").splitlines()):
        if int(grade) >= 2:
            expected_ids.setdefault(query, []).append(doc)
    retrieved_ids: dict[str, list[str]] = {}
    for query, _, doc, *_ in map(
        str.split, (HERE / f"{system}.run").read_text("utf-8").splitlines()
    ):
        retrieved_ids.setdefault(query, []).append(doc)  # the best first
    return [
        {
            "question": text,
            "expected_ids": expected_ids.get(query, []),
            "retrieved_ids": retrieved_ids.get(query, [])[:k],
        }
        for query, text in queries().items()
    ]


def save(folder: str | os.PathLike[str]) -> list[Path]:
    """Copy the judgments, the runs and the questions into a folder; return the paths.

    `rag.json` and `rag-new.json` have a row for each question, as of a test set for RAG: what was
    expected, and the first five that bm25 or dense retrieved.

    Args:
        folder: where to write; it is made if it is not there.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(*[path.name for path in save(folder)])
    qrels.txt queries.tsv bm25.run tfidf.run dense.run fusion.run rag.json rag-new.json

    """
    folder = Path(local_path(os.fspath(folder)))
    folder.mkdir(parents=True, exist_ok=True)
    bytes_of_file = {path.name: path.read_bytes() for path in (QRELS, HERE / "queries.tsv", *RUNS)}
    for name, system in (("rag", "bm25"), ("rag-new", "dense")):
        lines = ",\n".join(f" {json.dumps(row)}" for row in rows(system))
        bytes_of_file[f"{name}.json"] = f"[\n{lines}\n]\n".encode()
    for name, content in bytes_of_file.items():
        with open_to_write(folder / name) as stream:
            stream.write(content)
    return [folder / name for name in bytes_of_file]
