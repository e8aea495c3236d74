"""Other packages' objects and plug-in points, on objects of the same form (helpers/stand_ins.py).

The packages themselves are too heavy to be installed for tests: scripts/adapters.py tries them.
tests/oracles/test_provider.py has ir_measures itself. docs/how-to/adapters.md runs, as every
page does.
"""

import doctest
import importlib
import logging
import math
from collections import namedtuple
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers import stand_ins
from helpers.stand_ins import BEIR, Dataset, DatasetDict, IrMeasure, Model

from cranfield import InputError, OptionError, Qrels, Run, evaluate
from cranfield.formats.small.texts import read_texts

WORDS = ["a", "b", "c", "d", "e", "f"]


@pytest.fixture
def evaluators(monkeypatch: pytest.MonkeyPatch) -> Any:
    stand_ins.install_sentence_transformers(monkeypatch)
    module = importlib.import_module("cranfield.adapters.sentence_transformers")
    return module.InformationRetrievalEvaluator


def collection(seed: int) -> tuple[dict[str, str], dict[str, str], dict[str, dict[str, int]]]:
    """Return texts of 6 queries and 60 documents, many of them alike, and judgments."""
    chance = np.random.default_rng(seed)

    def texts(name: str, n: int, words: int) -> dict[str, str]:
        return {f"{name}{i}": " ".join(chance.choice(WORDS, words)) for i in range(n)}

    queries, corpus = texts("q", 6, 2), texts("d", 60, 4)
    judged = {query: chance.choice([*corpus], 8, replace=False).tolist() for query in queries}
    return (
        queries,
        corpus,
        {q: {d: i % 3 for i, d in enumerate(docs)} for q, docs in judged.items()},
    )


IR_MEASURES = {
    name: IrMeasure(name.partition("@")[0], name)
    for name in ("AP", "NumQ", "NumRet", "NumRel", "alpha_nDCG@5", "StRecall@5", "IPrec@0.1")
}


@pytest.fixture
def ir_evaluator(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that makes cranfield's evaluator for ir_measures, of judgments."""
    stand_ins.install_ir_measures(monkeypatch)
    provider = importlib.import_module("cranfield.adapters.ir_measures").provider
    return lambda qrels: provider.evaluator([*IR_MEASURES.values()], qrels)


@pytest.mark.parametrize("extra", [{}, {"iter": "0"}, {"iteration": "0"}])
def test_frames_without_iterations_have_one_subtopic(ir_evaluator: Any, extra: Any) -> None:
    """As PyTerrier's, for its measures "official", "set" and "num_q"."""
    qrels = pd.DataFrame({"query_id": ["1", "1"], "doc_id": ["a", "b"], "relevance": [1, 1]})
    run = pd.DataFrame({"query_id": ["1", "1"], "doc_id": ["x", "a"], "score": [2.0, 1.0]})
    gain, ideal = 1 / math.log2(3), 1 + (1 - 0.5) / math.log2(3)
    assert ir_evaluator(qrels.assign(**extra)).values(run) == {
        "AP": {"1": (1 / 2) / 2},
        "NumQ": {"1": 1},
        "NumRet": {"1": 2},
        "NumRel": {"1": 2},
        "alpha_nDCG@5": {"1": pytest.approx(gain / ideal)},
        "StRecall@5": {"1": 1},
        "IPrec@0.1": {"1": 1 / 2},
    }


def test_rows_without_iterations_have_one_subtopic(ir_evaluator: Any) -> None:
    columns = ("query_id", "doc_id", "relevance")
    rows: Any = [namedtuple("Qrel", columns)("1", "a", 1)]  # type: ignore[call-arg] # by name
    dicts = [dict(zip(columns, row, strict=True)) for row in rows]
    for qrels in (rows, dicts, iter(rows), {"1": {"a": 1}}):
        assert ir_evaluator(qrels).values({"1": {"a": 1.0}})["NumQ"] == {"1": 1}


def test_iterations_are_subtopics(ir_evaluator: Any) -> None:
    row = {"query_id": "1", "doc_id": "a", "relevance": 1}
    rows = [{**row, "iteration": "s1"}, {**row, "doc_id": "b", "iteration": "s2"}]
    qrels = [namedtuple("Qrel", rows[0])(**row) for row in rows]
    for rows_or_dict in (rows, qrels, pd.DataFrame(rows)):
        values = ir_evaluator(rows_or_dict).values({"1": {"a": 1.0}})
        assert values["StRecall@5"] == {"1": 1 / 2}


def test_interpolated_precision_is_that_of_trec_eval_9(ir_evaluator: Any) -> None:
    """Recall .1 of 12 documents takes floor(1.2 + .9) = 2 of them; in version 10, 1."""
    qrels = {"q": {f"d{i}": 1 for i in range(12)}}
    run = {"q": {"d1": 4.0, "x": 3.0, "d2": 2.0}}
    assert ir_evaluator(qrels).values(run)["IPrec@0.1"] == {"q": 2 / 3}


class Counts(Model):
    """A model with dot products, of small whole numbers: exact in any order, and often equal."""

    def similarity(self, queries: Any, documents: Any) -> Any:
        return queries @ documents.T


def ranked(query: str, corpus: dict[str, str], n: int) -> dict[str, float]:
    """Return the n best documents: from the definition, one similarity at a time."""
    value_of_measure = {
        doc: float(sum(query.split().count(word) * text.split().count(word) for word in WORDS))
        for doc, text in corpus.items()
    }
    docs = sorted(value_of_measure, key=lambda doc: (value_of_measure[doc], doc), reverse=True)
    return {doc: value_of_measure[doc] for doc in docs[:n]}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("chunk", [1, 7, 60, 1000])
@pytest.mark.parametrize("depth", [5, 60, 100])
def test_the_best_documents_whatever_the_chunks(
    evaluators: Any, seed: int, chunk: int, depth: int
) -> None:
    queries, corpus, qrels = collection(seed)
    evaluator = evaluators(queries, corpus, qrels, corpus_chunk_size=chunk)
    evaluator.depth = depth
    for query, docs in evaluator.retrieve(Counts(WORDS)).items():
        expected = ranked(queries[query], corpus, depth)
        assert [*docs.items()] == [*expected.items()]


def test_equal_similarities_are_ranked_by_id(evaluators: Any) -> None:
    corpus = {f"d{i}": "a b" for i in range(10)}
    for chunk in (1, 3, 10):
        evaluator = evaluators({"q": "a"}, corpus, {"q": {"d9"}}, corpus_chunk_size=chunk)
        evaluator.depth = 4
        assert [*evaluator.retrieve(Model(WORDS))["q"]] == ["d9", "d8", "d7", "d6"]


def test_what_is_returned(evaluators: Any, caplog: pytest.LogCaptureFixture) -> None:
    queries, corpus, qrels = collection(0)
    evaluator, model = evaluators(queries, corpus, qrels, "P@5 RR", name="dev"), Model(WORDS)
    with caplog.at_level(logging.INFO, "cranfield.adapters"):
        metrics = evaluator(model, output_path="nowhere", epoch=2.0, steps=50)
    assert evaluator.primary_metric == "dev_P@5"
    assert [*metrics] == ["dev_P@5", "dev_RR"]
    run = evaluator.retrieve(model)
    assert metrics == {f"dev_{k}": v for k, v in evaluate(qrels, run, "P@5 RR").means().items()}
    assert model.card == [(metrics, 2.0, 50)]
    assert "dev epoch 2.0, step 50" in caplog.text
    values = [precision(qrels[query], run[query], 5) for query in sorted(qrels)]
    assert metrics["dev_P@5"] == pytest.approx(sum(values) / len(values))
    alone = evaluators(queries, corpus, qrels, "FallOut@5")
    assert (alone.primary_metric, alone.greater_is_better) == ("FallOut@5", False)
    assert evaluator.greater_is_better


def precision(grades: dict[str, int], scores: dict[str, float], k: int) -> float:
    docs = sorted(scores, key=lambda doc: (scores[doc], doc), reverse=True)[:k]
    return sum(grades.get(doc, 0) >= 1 for doc in docs) / k


def test_a_measure_may_look_deeper_than_the_ranking_usually_goes(evaluators: Any) -> None:
    queries, corpus, qrels = collection(0)
    assert evaluators(queries, corpus, qrels, "nDCG@10 AP P@R IPrec@0.1").depth == 1000
    assert evaluators(queries, corpus, qrels, "nDCG@10 R@5000").depth == 5000


def test_prompts_come_first(evaluators: Any) -> None:
    prompts = {"query_prompt": "query: ", "corpus_prompt": "passage: "}
    model = Model(WORDS)
    evaluators({1: "a"}, {2: "b a", 3: "a"}, {1: {2}}, **prompts)(model)
    assert model.encoded_texts == ["query: a", "passage: a", "passage: b a"]


def test_only_judged_queries_are_encoded(evaluators: Any) -> None:
    model = Model(WORDS)
    evaluators({"q1": "a", "q2": "b"}, {"d": "c a"}, {"q1": {"d"}})(model)
    assert model.encoded_texts == ["a", "c a"]


def test_a_judged_query_without_a_text(evaluators: Any) -> None:
    qrels = {"q1": {"d": 1}, "q2": {"d": 1}}
    with pytest.raises(InputError, match=r"1 of 2 judged queries have no text.*'q2'"):
        evaluators({"q1": "a"}, {"d": "a"}, qrels)
    with pytest.raises(InputError, match="2 of 2 judged"):
        evaluators({"q3": "a"}, {"d": "a"}, qrels, options={"queries": "both"})
    evaluator = evaluators({"q1": "a"}, {"d": "a"}, qrels, "RR", options={"queries": "both"})
    assert evaluator(Model(WORDS)) == {"RR": 1}
    assert "without-run" in {note.code for note in evaluator.scores.notes}


def test_a_model_of_no_numbers_is_refused(evaluators: Any) -> None:
    class NanModel(Model):
        def similarity(self, queries: Any, documents: Any) -> Any:
            return np.full((len(queries), len(documents)), np.nan)

    with pytest.raises(InputError, match="not numbers"):
        evaluators({"q": "a"}, {"d": "a"}, {"q": {"d"}})(NanModel(WORDS))


def test_a_table_of_texts_is_refused_with_what_to_write(evaluators: Any) -> None:
    with pytest.raises(InputError, match=r"dict\(zip\("):
        evaluators({"q1": "a"}, Dataset(BEIR["corpus"]), {"q1": {"csv"}})


def test_a_chunk_has_a_size(evaluators: Any) -> None:
    with pytest.raises(OptionError, match="corpus_chunk_size"):
        evaluators({"q": "a"}, {"d": "a"}, {"q": {"d"}}, corpus_chunk_size=0)


def test_the_example_runs(evaluators: Any) -> None:
    module = importlib.import_module(evaluators.__module__)
    model = Model(stand_ins.WORDS)
    assert doctest.testmod(module, extraglobs={"model": model}).failed == 0
    assert model.encoded_texts


# ---- datasets -----------------------------------------------------------------------------------


def test_a_dataset_is_a_table() -> None:
    table: Any = Dataset(BEIR["qrels"])
    judged = Qrels(table)
    assert judged.to_dict() == {"q1": {"csv": 1}, "q2": {"argparse": 2}}
    texts = Dataset(BEIR["corpus"])
    assert read_texts(texts, ["csv"]) == {"csv": "csv"}
    run: Any = Dataset({"query-id": ["q1"], "corpus-id": ["csv"], "score": [0.5]})
    assert evaluate(judged, run, "RR", queries="both")["RR"] == 1


def test_a_dict_of_datasets_is_refused_by_name() -> None:
    """Else its splits would be queries."""
    splits: Any = DatasetDict(test=Dataset(BEIR["qrels"]))
    with pytest.raises(InputError, match="DatasetDict of several tables: 'test'"):
        Qrels(splits)
    with pytest.raises(InputError, match="the run: a DatasetDict"):
        Run(splits)
    with pytest.raises(InputError, match="texts: a DatasetDict"):
        read_texts(splits, ["q"])


def test_a_stream_of_rows_is_read_as_rows() -> None:
    """As an IterableDataset, which has `with_format`, too."""

    class Stream:
        __module__ = "datasets.iterable_dataset"

        def with_format(self, name: str) -> "Stream":
            return self

        def __iter__(self) -> Any:
            names = [*BEIR["qrels"]]
            return (
                dict(zip(names, row, strict=True))
                for row in zip(*BEIR["qrels"].values(), strict=True)
            )

    assert Qrels(Stream()).to_dict() == {"q1": {"csv": 1}, "q2": {"argparse": 2}}
