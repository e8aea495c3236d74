"""Run docs/how-to/adapters.md on real objects of the packages, which must be installed.

    python scripts/adapters.py sentence-transformers "Hugging Face datasets" LangChain

runs these sections of the page. Tests run it on objects of the same form
(tests/helpers/stand_ins.py), so that they need no package; this script checks that the form is
right. Needs cranfield, and tests/ in PYTHONPATH. The expected numbers are those of the page, and
the rankings those of the stand-ins.
"""

import argparse
import doctest
import re
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from helpers.stand_ins import BEIR, RETRIEVED_DOCS, WORDS, make_frames

PAGE = Path(__file__).parent.parent / "docs" / "how-to" / "adapters.md"


def make_sentence_transformers() -> dict[str, Any]:
    """Return a model that embeds a text as its words' counts, divided by their number."""
    import numpy as np
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = {word: i for i, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token=WORDS[0]))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    weights = np.eye(len(words), dtype=np.float32)
    module = StaticEmbedding(tokenizer, embedding_weights=weights)
    return {"model": SentenceTransformer(modules=[module], device="cpu")}


def make_datasets() -> dict[str, Any]:
    """Return a load_dataset that returns Datasets without loading anything."""
    from datasets import Dataset

    def load_dataset(_: str, config: str = "qrels", *, split: str) -> Any:
        return Dataset.from_dict(BEIR[config], split=split)

    return {"load_dataset": load_dataset}


def make_langchain() -> dict[str, Any]:
    """Return a retriever whose `_get_relevant_documents` finds the documents on the page."""
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    class Retriever(BaseRetriever):
        def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
            return [
                Document("...", id=f"{doc}#0", metadata={"source": doc})
                for doc, _ in RETRIEVED_DOCS[query]
            ]

    return {"retriever": Retriever()}


def make_llama_index() -> dict[str, Any]:
    """Return a retriever that finds two nodes of each document."""
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode

    class Retriever(BaseRetriever):
        def _retrieve(self, query_bundle: Any) -> list[NodeWithScore]:
            nodes_with_score = []
            for doc, score in RETRIEVED_DOCS[query_bundle.query_str]:
                relationships = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=doc)}
                nodes = (TextNode(id_=f"{doc}#{i}", relationships=relationships) for i in range(2))
                nodes_with_score += [NodeWithScore(node=node, score=score) for node in nodes]
            return nodes_with_score

    return {"retriever": Retriever()}


def make_haystack() -> dict[str, Any]:
    """Return a component with the output of a retriever."""
    from haystack import Document, component

    @component
    class Retriever:
        @component.output_types(documents=list[Document])
        def run(self, query: str) -> dict[str, list[Document]]:
            ranking = RETRIEVED_DOCS[query]
            return {
                "documents": [
                    Document(content=doc, meta={"source": doc}, score=x) for doc, x in ranking
                ]
            }

    return {"retriever": Retriever()}


def make_rectools() -> dict[str, Any]:
    """Return the recommendations of its most-popular model, and test interactions."""
    import pandas as pd
    from rectools.dataset import Dataset
    from rectools.models import PopularModel

    day = pd.Timestamp("2026-01-01")
    interaction_columns = {
        "user_id": [1, 1, 2, 2, 3],
        "item_id": [11, 12, 12, 13, 12],
        "weight": 1.0,
        "datetime": day,
    }
    interactions = Dataset.construct(pd.DataFrame(interaction_columns))
    model = PopularModel().fit(interactions)
    recommendations = model.recommend(users=[1, 2], dataset=interactions, k=3, filter_viewed=False)
    return {"recommendations": recommendations, "test": make_frames()["test"]}


def make_pyterrier() -> dict[str, Any]:
    """Return the results of a pipeline, and run an Experiment with and without cranfield."""
    import ir_measures
    import pandas as pd
    import pyterrier as pt

    from cranfield.adapters.ir_measures import provider

    frame_of_name = make_frames()
    topics = pd.DataFrame({"qid": ["q1", "q2"], "query": [*RETRIEVED_DOCS]})
    pipeline = pt.Transformer.from_df(frame_of_name["results"])

    def experiment() -> Any:
        measures = [
            ir_measures.parse_measure(measure_name)
            for measure_name in ("nDCG@10", "AP", "RR@10", "P@5")
        ]
        systems, judgments = [pipeline, pipeline % 1], frame_of_name["judgments"]
        results = pt.Experiment(
            systems, topics, judgments, measures, baseline=0, names=["all", "first"]
        )
        return results.set_index("name")

    results_before = experiment()
    ir_measures.DefaultPipeline.providers.insert(0, provider)
    pd.testing.assert_frame_equal(results_before, experiment(), check_like=True, rtol=1e-12)
    return {**frame_of_name, "results": pipeline(topics)}


# By the heading of the section: the package's name in the index, and a function that makes objects.
SECTIONS: dict[str, tuple[str, Callable[[], dict[str, Any]]]] = {
    "sentence-transformers": ("sentence-transformers", make_sentence_transformers),
    "PyTerrier": ("pyterrier", make_pyterrier),
    "Hugging Face datasets": ("datasets", make_datasets),
    "LangChain": ("langchain-core", make_langchain),
    "LlamaIndex": ("llama-index-core", make_llama_index),
    "Haystack": ("haystack-ai", make_haystack),
    "RecTools": ("rectools", make_rectools),
}


def main() -> int:
    """Run the named sections; return how many examples failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sections", nargs="+", choices=SECTIONS)
    introduction, *sections = re.split(r"^## ", PAGE.read_text("utf-8"), flags=re.M)
    texts = {part.partition("\n")[0]: part for part in sections}
    n_failed = 0
    for name in parser.parse_args().sections:
        package, make = SECTIONS[name]
        examples = doctest.DocTestParser().get_doctest(
            introduction + texts[name], make(), name, str(PAGE), None
        )
        outcome = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(examples)
        n_failed += outcome.failed
        counts = f"{outcome.attempted} examples, {outcome.failed} failed"
        print(f"{name}: {package} {version(package)}, {counts}")
    return n_failed


if __name__ == "__main__":
    sys.exit(main())
