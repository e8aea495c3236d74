"""An evaluator for sentence-transformers: scores a model, or its checkpoints during training."""

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np

from cranfield.arrays.ranked import Floats, Ints
from cranfield.data.qrels import QrelsLike, make_qrels
from cranfield.data.run import Run
from cranfield.errors import InputError
from cranfield.formats.identifiers import with_text_ids
from cranfield.measures.parameters import Depth
from cranfield.options import check_option, whole_check
from cranfield.scoring.evaluate import MeasuresLike, evaluate, list_measures
from cranfield.scoring.scores import Scores

try:
    from sentence_transformers.sentence_transformer.evaluation import SentenceEvaluator
except ImportError:  # its module in version 5
    from sentence_transformers.evaluation import SentenceEvaluator

__all__ = ["InformationRetrievalEvaluator"]

_LOGGER = logging.getLogger("cranfield.adapters.sentence_transformers")
_DEPTH = 1000  # documents to rank for each query; more if a measure has a higher cutoff


class InformationRetrievalEvaluator(SentenceEvaluator):
    """Retrieves documents for queries with a model, and scores the ranking with cranfield.

    It replaces the evaluator of the same name in sentence-transformers (5 and later):
    `SentenceTransformerTrainer(..., evaluator=evaluator)`, or `evaluator(model)`. Judgments may
    have grades, and measures are cranfield's; the names in what it returns are `nDCG@10`, or
    `dev_nDCG@10` with name="dev", so that the trainer has
    `metric_for_best_model="eval_dev_nDCG@10"`.

    All documents are ranked by the model's own similarity (`model.similarity`: cosine unless the
    model says otherwise), tied ones by id as everywhere in cranfield. The best 1000 for each query
    are scored, or more if a measure has a higher cutoff.

    Args:
        queries: {query id: text}.
        corpus: {document id: text}.
        relevant_docs: the judgments: {query id: {document ids}}, {query id: {document id: grade}}
            or any other form that `evaluate` takes. Only judged queries are encoded.
        measures: as for `evaluate`. The first one decides which checkpoint is the best.
        name: a prefix of the measures' names in the result.
        batch_size: number of texts that the model encodes at a time.
        corpus_chunk_size: number of documents encoded and compared at a time.
        show_progress_bar: whether the model shows a progress bar while it encodes.
        query_prompt: text before each query. [default: the model's own prompt]
        corpus_prompt: text before each document. [default: the model's own prompt]
        options: options of `evaluate`, such as {"queries": "both"}.

    Raises:
        InputError: texts are not a dict; a judged query has no text, unless options has `queries`;
            when called, similarities that are not numbers.

    After a call, `scores` are cranfield's Scores, with each query's value and the notes:
    `compare({"base": first_scores, "tuned": evaluator.scores})`.

    >>> queries, corpus = {"q1": "read a CSV file"}, {"csv": "read a CSV file", "cmd": "a command"}
    >>> qrels = {"q1": {"csv"}}
    >>> evaluator = InformationRetrievalEvaluator(queries, corpus, qrels, "RR", name="dev")
    >>> evaluator(model)
    {'dev_RR': 1.0}

    """

    def __init__(
        self,
        queries: Mapping[Any, str],
        corpus: Mapping[Any, str],
        relevant_docs: QrelsLike,
        measures: MeasuresLike = "nDCG@10 RR@10 AP@100 R@100",
        *,
        name: str = "",
        batch_size: int = 32,
        corpus_chunk_size: int = 50_000,
        show_progress_bar: bool = False,
        query_prompt: str | None = None,
        corpus_prompt: str | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.qrels, self.measures = make_qrels(relevant_docs), list_measures(measures)
        self.name, self.options = name, dict(options or {})
        text_of_query = _check_texts(queries, "the queries")
        self.queries = {
            query: text_of_query[query] for query in self.qrels.query_ids if query in text_of_query
        }
        missing = [query for query in self.qrels.query_ids if query not in text_of_query]
        if missing and (not self.queries or "queries" not in self.options):
            raise InputError(
                f"{len(missing):,} of {len(self.qrels.query_ids):,} judged queries have no text, "
                f"for instance {missing[0]!r}",
                source="the queries",
                hint='Give their texts, or average over the others: options={"queries": "both"}.',
            )
        # In the order in which tied documents are ranked.
        self.corpus = dict(sorted(_check_texts(corpus, "the corpus").items(), reverse=True))
        self.scores: Scores | None = None
        self.chunk_size = check_option("corpus_chunk_size", corpus_chunk_size, whole_check(1))
        self.prompts = query_prompt, corpus_prompt
        self.encoding_options = {"batch_size": batch_size, "show_progress_bar": show_progress_bar}
        self.primary_metric = f"{name}_{self.measures[0]}" if name else str(self.measures[0])
        self.greater_is_better = self.measures[0].definition.higher_is_better is not False
        cutoffs = [measure.cutoff for measure in self.measures if isinstance(measure.cutoff, Depth)]
        self.depth = max([_DEPTH, *(cutoff.n_ranks or 0 for cutoff in cutoffs)])

    def __call__(
        self, model: Any, output_path: str | None = None, epoch: float = -1, steps: int = -1
    ) -> dict[str, float]:
        """Return {measure: value over all queries}; nothing is written to `output_path`."""
        run = Run(self.retrieve(model))
        self.scores = scores = evaluate(self.qrels, run, self.measures, **self.options)
        _LOGGER.info("%s epoch %s, step %s\n%s", self.name, epoch, steps, scores)
        metrics: dict[str, float] = self.prefix_name_to_metrics(scores.means(), self.name)
        self.store_metrics_in_model_card_data(model, metrics, epoch, steps)
        return metrics

    def retrieve(self, model: Any) -> dict[str, dict[str, float]]:
        """Return the best documents for each query, {query id: {document id: similarity}}."""
        query_prompt, document_prompt = self.prompts
        query_embeddings = model.encode_query(
            [*self.queries.values()], prompt=query_prompt, **self.encoding_options
        )
        ids, texts = np.array([*self.corpus], object), [*self.corpus.values()]
        best_of_query = [(np.zeros(0, np.int64), np.zeros(0, np.float32)) for _ in self.queries]
        for start in range(0, len(texts), self.chunk_size):
            chunk = texts[start : start + self.chunk_size]
            document_embeddings = model.encode_document(
                chunk, prompt=document_prompt, **self.encoding_options
            )
            position = np.arange(start, start + len(chunk))
            similarities = np.asarray(model.similarity(query_embeddings, document_embeddings))
            if np.isnan(similarities).any():
                raise InputError("similarities that are not numbers", source="the model")
            for i, row in enumerate(similarities):
                positions = np.append(best_of_query[i][0], position)
                scores = np.append(best_of_query[i][1], row)
                order = _find_best(scores, self.depth)
                best_of_query[i] = positions[order], scores[order]
        return {
            query: dict(zip(ids[positions].tolist(), scores.tolist(), strict=True))
            for query, (positions, scores) in zip(self.queries, best_of_query, strict=True)
        }


def _check_texts(text_of_id: Mapping[Any, str], source: str) -> dict[str, str]:
    """Return {id: text} with ids as strings; raise InputError for anything but a dict."""
    if not isinstance(text_of_id, Mapping):
        raise InputError(
            f"expected {{id: text}}, got {type(text_of_id).__name__}",
            source=source,
            hint='From a table with ids and texts: dict(zip(table["_id"], table["text"])).',
        )
    return with_text_ids(text_of_id, source)


def _find_best(scores: Floats, depth: int) -> Ints:
    """Return the positions of the highest scores, best first, equal scores in their order."""
    positions = np.arange(len(scores))
    if len(scores) > depth:  # so that few are sorted
        positions = np.flatnonzero(scores >= np.partition(scores, -depth)[-depth])
    return positions[np.argsort(-scores[positions], kind="stable")[:depth]]
