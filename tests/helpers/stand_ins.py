"""Objects as other packages have them that are too heavy for these tests.

Each has what cranfield, or a page's example, touches of it, and behaves in the same way.
scripts/adapters.py tries the real ones.
"""

import sys
import types
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cranfield.arrays.ranked import Floats

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    import pytest

# What every retriever below returns: in the order of the ranking, with scores.
RETRIEVED_DOCS = {
    "read a CSV file": [("csv", 0.9), ("pathlib", 0.7)],
    "parse arguments": [("getopt", 0.8), ("argparse", 0.6)],
}


# ---- sentence-transformers 6.2.0 ----------------------------------------------------------------


class SentenceEvaluator:
    """As sentence_transformers' base class of evaluators."""

    def __init__(self) -> None:
        self.greater_is_better = True
        self.primary_metric: str | None = None

    def prefix_name_to_metrics(self, metrics: dict[str, float], name: str) -> dict[str, float]:
        return {
            f"{name}_{metric}" if name else metric: float(metric_value)
            for metric, metric_value in metrics.items()
        }

    def store_metrics_in_model_card_data(self, model: Any, *metrics: Any) -> None:
        model.card.append(metrics)


@dataclass
class Model:
    """As a SentenceTransformer: a text's embedding is made of its words."""

    words: Sequence[str]
    card: list[Any] = field(default_factory=list)
    encoded_texts: list[str] = field(default_factory=list)

    def encode_query(self, texts: Sequence[str], *, prompt: str | None = None, **_: Any) -> Floats:
        prompted_texts = [f"{prompt or ''}{text}" for text in texts]
        self.encoded_texts += prompted_texts
        return np.array(
            [[text.split().count(word) for word in self.words] for text in prompted_texts], "f4"
        )

    encode_document = encode_query

    def similarity(self, queries: Floats, documents: Floats) -> Floats:
        lengths = [
            np.linalg.norm(embeddings, axis=1, keepdims=True) for embeddings in (queries, documents)
        ]
        similarities: Floats = (queries / lengths[0]) @ (documents / lengths[1]).T
        return similarities


def _forget_adapter(patch: "pytest.MonkeyPatch", name: str) -> None:
    """Have an adapter imported again, by the name that users know, too."""
    for folder in ("cranfield.adapters", "cranfield.extensions.tools.adapters"):
        patch.delitem(sys.modules, f"{folder}.{name}", raising=False)


def install_sentence_transformers(patch: "pytest.MonkeyPatch") -> None:
    """Let `import sentence_transformers.evaluation` find the base class above."""
    package, evaluation = (
        types.ModuleType(f"sentence_transformers{suffix}") for suffix in ("", ".evaluation")
    )
    vars(evaluation)["SentenceEvaluator"] = SentenceEvaluator
    patch.setitem(sys.modules, "sentence_transformers", package)
    patch.setitem(sys.modules, "sentence_transformers.evaluation", evaluation)
    _forget_adapter(patch, "sentence_transformers")


# ---- ir_measures 0.4.3 --------------------------------------------------------------------------


class IrMetric(NamedTuple):
    """As ir_measures.Metric: the value of a measure for a query."""

    query_id: str
    measure: Any
    value: float


@dataclass(frozen=True)
class IrMeasure:
    """As a measure of ir_measures: it is printed with its parameters, from which it can be made."""

    NAME: str
    text: str

    @property
    def params(self) -> dict[str, str]:
        return {"NAME": self.NAME, "text": self.text}

    def __str__(self) -> str:
        return self.text


class IrEvaluator:
    """As ir_measures' base class of evaluators, of which `_iter_calc` is overridden."""

    def __init__(self, measures: Sequence[IrMeasure], query_ids: Sequence[str]) -> None:
        self.measures, self.query_ids = measures, query_ids

    def values(self, run: Any) -> dict[str, dict[str, float]]:
        """Return {measure: {query: value}}."""
        values: dict[str, dict[str, float]] = {}
        for query_id, measure, value in self._iter_calc(run):  # type: ignore[attr-defined]
            values.setdefault(str(measure), {})[query_id] = value
        return values


class IrProvider:
    """As ir_measures' base class of providers."""

    def evaluator(self, measures: Sequence[IrMeasure], qrels: Any) -> Any:
        return self._evaluator(measures, qrels)  # type: ignore[attr-defined]


def install_ir_measures(patch: "pytest.MonkeyPatch") -> None:
    """Let `import ir_measures` find the classes above."""
    package, providers = (types.ModuleType(f"ir_measures{suffix}") for suffix in ("", ".providers"))
    runtime = types.SimpleNamespace(supports=lambda measure: False)
    vars(package).update(Metric=IrMetric, runtime=runtime, providers=providers)
    vars(providers).update(
        Evaluator=IrEvaluator, Provider=IrProvider, register=lambda provider: provider
    )
    patch.setitem(sys.modules, "ir_measures", package)
    patch.setitem(sys.modules, "ir_measures.providers", providers)
    _forget_adapter(patch, "ir_measures")


# ---- retrievers: LangChain 1.7.2, LlamaIndex 0.14.25, Haystack 3.4.0 -----------------------------


@dataclass
class Document:
    """As LangChain's (`metadata`) or Haystack's (`meta`): `id` is the chunk's own."""

    id: str
    metadata: dict[str, Any]
    meta: dict[str, Any]
    score: float


@dataclass
class Node:
    """As LlamaIndex's NodeWithScore, and the node that it holds."""

    node_id: str
    ref_doc_id: str
    score: float

    @property
    def node(self) -> "Node":
        return self


class Retriever:
    """As LangChain's (`invoke`), LlamaIndex's (`retrieve`) and Haystack's (`run`)."""

    def invoke(self, query: str) -> list[Document]:
        return [
            Document(f"{doc}#0", {"source": doc}, {"source": doc}, score)
            for doc, score in RETRIEVED_DOCS[query]
        ]

    def retrieve(self, query: str) -> list[Node]:
        return [
            Node(f"{doc}#{i}", doc, score) for doc, score in RETRIEVED_DOCS[query] for i in range(2)
        ]

    def run(self, query: str) -> dict[str, list[Document]]:
        return {"documents": self.invoke(query)}


# ---- Hugging Face's datasets 5.2.0 --------------------------------------------------------------


class Dataset:
    """As datasets.Dataset: `with_format("arrow")[:]` is its Arrow table."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        import pyarrow

        self._table = pyarrow.table(columns)

    def with_format(self, name: str) -> "pa.Table":
        assert name == "arrow"
        return self._table

    def __len__(self) -> int:
        return len(self._table)

    def __getitem__(self, column: str) -> list[Any]:
        values: list[Any] = self._table[column].to_pylist()
        return values


class DatasetDict(dict[str, Dataset]):
    """As datasets.DatasetDict, what load_dataset returns without a split."""


Dataset.__module__ = DatasetDict.__module__ = "datasets.arrow_dataset"

BEIR: dict[str, dict[str, list[Any]]] = {
    "qrels": {"query-id": ["q1", "q2"], "corpus-id": ["csv", "argparse"], "score": [1, 2]},
    "queries": {"_id": ["q1", "q2"], "text": [*RETRIEVED_DOCS]},
    "corpus": {
        "_id": ["argparse", "csv", "getopt", "pathlib"],
        "title": ["argparse", "csv", "getopt", "pathlib"],
        "text": ["parse arguments", "read a CSV file", "parse", "a file"],
    },
}


def load_dataset(name: str, config: str = "", *, split: str) -> Any:
    """As datasets.load_dataset, of a collection in BEIR's layout."""
    return Dataset(BEIR[config or "qrels"])


# ---- frames: RecTools 0.19.0, PyTerrier 1.1.2 ---------------------------------------------------


def make_frames() -> dict[str, "pd.DataFrame"]:
    """Return frames such as RecTools and PyTerrier make and take."""
    import pandas

    recommendation_columns = {"user_id": [1, 1, 1, 2, 2, 2], "item_id": [12, 11, 13, 12, 11, 13]}
    score_columns = {"score": [3.0, 1.0, 1.0, 3.0, 1.0, 1.0], "rank": [1, 2, 3, 1, 2, 3]}
    test = {"user_id": [1, 2], "item_id": [13, 11], "weight": [3.0, 5.0]}
    docs = ["csv", "pathlib", "getopt", "argparse"]
    retrieval_columns = {"qid": ["q1", "q1", "q2", "q2"], "docno": docs, "rank": [0, 1, 0, 1]}
    judgment_columns = {"qid": ["q1", "q2"], "docno": ["csv", "argparse"], "label": [1, 2]}
    return {
        "recommendations": pandas.DataFrame({**recommendation_columns, **score_columns}),
        "test": pandas.DataFrame(test).assign(datetime=pandas.Timestamp("2026-01-01")),
        "results": pandas.DataFrame({**retrieval_columns, "score": [9.5, 7.25, 8.0, 3.5]}),
        "judgments": pandas.DataFrame(judgment_columns),
    }


def adapter_page_names() -> dict[str, Any]:
    """Return what docs/how-to/adapters.md speaks of."""
    return {
        "retriever": Retriever(),
        "load_dataset": load_dataset,
        "model": Model(WORDS),
        **make_frames(),
    }


WORDS = ["read", "a", "CSV", "file", "parse", "arguments"]
