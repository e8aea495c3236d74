"""Responses of search engines, objects in lists, and paths: read, asked back, or refused."""

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from cranfield import InputError, Qrels, Run, evaluate, read_qrels, read_run

GRADES: dict[str, dict[str, int]] = {"q1": {"d1": 2, "d9": 1}, "q2": {"d2": 1}}
RANKINGS = {"q1": ["d4", "d1", "d9"], "q2": ["d2", "d7"]}
MEASURES = "AP nDCG@3 RR"
EXPECTED = evaluate(GRADES, RANKINGS, MEASURES).to_dict()


class Document(SimpleNamespace):
    """A document with attributes, as frameworks have them."""


class Hit(NamedTuple):
    """A document without its query."""

    docid: str
    score: float


class Response:
    """A response that is no Mapping, as Elasticsearch's client returns it."""

    def __init__(self, body: dict[str, Any]) -> None:
        self.body = body

    def keys(self) -> Any:
        """Return the names in the response."""
        return self.body.keys()

    def __getitem__(self, name: str) -> Any:
        return self.body[name]


def list_hits(query: str, id_name: str = "id", score_name: str = "score") -> list[dict[str, Any]]:
    """Return the ranking of a query as objects whose scores fall."""
    return [{id_name: doc, score_name: 1 / i} for i, doc in enumerate(RANKINGS[query], 1)]


def respond(make_response: Any) -> dict[str, Any]:
    """Return {query: response}."""
    return {query: make_response(query) for query in RANKINGS}


def write_json(value: Any, folder: Path) -> Path:
    path = folder / "run.json"
    path.write_text(json.dumps(value))
    return path


def write_lines(rows: Any, folder: Path) -> Path:
    path = folder / "run.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


ELASTIC = respond(
    lambda query: {"took": 3, "hits": {"total": {}, "hits": list_hits(query, "_id", "_score")}}
)
SORTED = respond(
    lambda query: {
        "hits": {"hits": [{"_id": doc, "_score": None, "sort": [1]} for doc in RANKINGS[query]]}
    }
)
QDRANT = respond(lambda query: {"result": {"points": list_hits(query)}, "status": "ok"})
SOLR = respond(lambda query: {"responseHeader": {}, "response": {"docs": list_hits(query)}})
MEILISEARCH = respond(
    lambda query: {"hits": list_hits(query, "id", "_rankingScore"), "query": "text", "limit": 20}
)
TYPESENSE = respond(
    lambda query: {
        "found": 2,
        "hits": [
            {"document": {"id": hit["id"]}, "text_match": hit["score"]} for hit in list_hits(query)
        ],
    }
)
CHROMA = respond(
    lambda query: {"ids": [RANKINGS[query]], "distances": [[*range(len(RANKINGS[query]))]]}
)
RANK_EVAL = {
    "metric_score": 0.5,
    "details": respond(
        lambda query: {
            "unrated_docs": [],
            "hits": [
                {"hit": {"_id": doc, "_score": 1 / i}, "rating": GRADES[query].get(doc)}
                for i, doc in enumerate(RANKINGS[query], 1)
            ],
        }
    ),
}
SCORES = respond(lambda query: {hit["id"]: hit["score"] for hit in list_hits(query)})
RUNS: dict[str, Any] = {
    "Elasticsearch": ELASTIC,
    "Elasticsearch, sorted by a field": SORTED,
    "Qdrant": QDRANT,
    "Qdrant, search": respond(lambda query: {"result": list_hits(query), "time": 0.1}),
    "Pinecone": respond(lambda query: {"matches": list_hits(query), "namespace": ""}),
    "Chroma": CHROMA,
    "Solr": SOLR,
    "Meilisearch": MEILISEARCH,
    "Typesense": TYPESENSE,
    "MTEB": {"mteb_model_meta": {"model_name": "x"}, "default": {"test": SCORES}},
    "rank_eval": RANK_EVAL,
    "node.id_": respond(
        lambda query: [
            {"node": {"id_": hit["id"]}, "score": hit["score"]} for hit in list_hits(query)
        ]
    ),
    "metadata.source beside null": respond(
        lambda query: [{"id": None, "metadata": {"source": doc}} for doc in RANKINGS[query]]
    ),
    "metadata.doc_id beside an id that is null somewhere": respond(
        lambda query: [
            {"id": None if i else "u", "metadata": {"doc_id": doc}}
            for i, doc in enumerate(RANKINGS[query])
        ]
    ),
    "two equal ids": respond(
        lambda query: [{"id": doc, "metadata": {"source": doc}} for doc in RANKINGS[query]]
    ),
    "document.id, relevance_score": respond(
        lambda query: [
            {"relevance_score": hit["score"], "document": {"id": hit["id"], "text": "t"}}
            for hit in list_hits(query)
        ]
    ),
    "a distance, which is not read": respond(
        lambda query: [
            {"_additional": {"id": doc}, "distance": -i} for i, doc in enumerate(RANKINGS[query])
        ]
    ),
}


@pytest.mark.parametrize("form", ["memory", "JSON", "indented"])
@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_responses_and_objects_are_a_run(run: Any, form: str, tmp_path: Path) -> None:
    if form != "memory":
        path = tmp_path / "run.json"
        path.write_text(json.dumps(run, indent=1 if form == "indented" else None))
        run = path
    assert evaluate(GRADES, run, MEASURES).to_dict() == EXPECTED


@pytest.mark.parametrize(
    "run",
    [
        {"responses": [*ELASTIC.values()]},
        [*ELASTIC.values()],
        {"ids": [*RANKINGS.values()], "distances": [[0.1, 0.2, 0.3], [0.1, 0.2]]},
        {"result": [QDRANT[query]["result"] for query in RANKINGS], "status": "ok"},
        [list_hits(query) for query in RANKINGS],
    ],
)
def test_responses_are_numbered_by_their_place(run: Any, tmp_path: Path) -> None:
    expected = {str(i): docs for i, docs in enumerate(RANKINGS.values(), 1)}
    for run_like in (Run(run), read_run(write_json(run, tmp_path))):
        rankings = {
            query: sorted(docs, key=lambda doc, docs=docs: -docs[doc])  # type: ignore[misc]
            for query, docs in run_like.to_dict().items()
        }
        assert rankings == expected


def test_lists_of_objects_stand_beside_lists_of_ids() -> None:
    relevant_docs = [[*grades] for grades in GRADES.values()]
    documents = [[Document(metadata={"source": doc}) for doc in docs] for docs in RANKINGS.values()]
    means: dict[str, Any] = evaluate(relevant_docs, documents, "AP").means()
    assert means == {"AP": ((1 / 2 + 2 / 3) / 2 + 1) / 2}
    with pytest.raises(InputError, match="2 lists"):
        evaluate(relevant_docs, documents[:1], "AP")


def test_judgments_in_envelopes(tmp_path: Path) -> None:
    ratings = {
        "requests": [
            {
                "id": query,
                "request": {},
                "ratings": [{"_id": doc, "rating": grade} for doc, grade in grades.items()],
            }
            for query, grades in GRADES.items()
        ]
    }
    relevant = {
        "queries": {"q1": "a text", "q2": "another"},
        "relevant_docs": {query: [*grades] for query, grades in GRADES.items()},
    }
    grades_of_one = {query: dict.fromkeys(grades, 1) for query, grades in GRADES.items()}
    for judgments, expected in ((ratings, GRADES), (RANK_EVAL, GRADES), (relevant, grades_of_one)):
        assert Qrels(judgments).to_dict() == expected
        assert read_qrels(write_json(judgments, tmp_path)).to_dict() == expected
    no_runs: list[Any] = [ratings, relevant]
    for judgments in no_runs:
        with pytest.raises(InputError):
            evaluate(GRADES, judgments, "AP")
    with pytest.raises(InputError, match="'q1' has no list ratings, or is there twice"):
        Qrels({"requests": ratings["requests"][:1] * 2})


CLIENTS: dict[str, Any] = {
    "metadata": respond(
        lambda query: [Document(id=None, metadata={"source": doc}) for doc in RANKINGS[query]]
    ),
    "nodes": respond(
        lambda query: [
            Document(node=Document(node_id=hit["id"]), score=hit["score"])
            for hit in list_hits(query)
        ]
    ),
    "named tuples": respond(lambda query: [Hit(*hit.values()) for hit in list_hits(query)]),
    "Qdrant's client": respond(
        lambda query: Document(points=[Document(**hit) for hit in list_hits(query)])
    ),
    "Elasticsearch's client": {query: Response(body) for query, body in ELASTIC.items()},
}


@pytest.mark.parametrize("run", CLIENTS.values(), ids=CLIENTS)
def test_objects_of_clients_are_a_run(run: Mapping[str, Any]) -> None:
    assert evaluate(GRADES, run, MEASURES).to_dict() == EXPECTED
    systems = evaluate(GRADES, {"a": run, "b": ELASTIC}, MEASURES)
    assert [scores.to_dict() for scores in systems.values()] == [EXPECTED, EXPECTED]


ROWS: dict[str, list[dict[str, Any]]] = {
    "hits.hits": [{"query_id": query, **response} for query, response in ELASTIC.items()],
    "result.points": [{"query_id": query, **response} for query, response in QDRANT.items()],
    "query.qid": [
        {"query": {"text": "t", "qid": query}, "candidates": list_hits(query, "docid")}
        for query in RANKINGS
    ],
}


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_rows_hold_responses(rows: list[dict[str, Any]], tmp_path: Path) -> None:
    for run in (rows, write_json(rows, tmp_path), write_lines(rows, tmp_path)):
        assert evaluate(GRADES, run, MEASURES).to_dict() == EXPECTED


NESTED_ROWS = [
    {"ask": {"id": query}, "out": {"docs": list_hits(query, "src", "sim")}} for query in RANKINGS
]
FLAT = [
    {"ask": {"id": query}, "doc": {"id": hit["id"]}, "value": {"sim": hit["score"]}}
    for query in RANKINGS
    for hit in list_hits(query)
]
STATEMENTS: list[tuple[Any, dict[str, str]]] = [
    (NESTED_ROWS, {"retrieved_ids": "out.docs", "doc_id": "src", "score": "sim"}),
    (
        NESTED_ROWS,
        {"retrieved_ids": "out.docs", "doc_id": "out.docs.src", "score": "out.docs.*.sim"},
    ),
    (NESTED_ROWS, {"doc_id": "out.docs.*.src", "score": "sim"}),
    (NESTED_ROWS, {"retrieved_ids": "out.docs.*.src"}),
    (FLAT, {"doc_id": "doc.id", "score": "value.sim"}),
]


@pytest.mark.parametrize(("rows", "columns"), STATEMENTS)
def test_paths_are_stated(rows: Any, columns: dict[str, str], tmp_path: Path) -> None:
    column_names = {"run": {"query_id": "ask.id", **columns}}
    for run in (rows, write_json(rows, tmp_path), write_lines(rows, tmp_path)):
        assert evaluate(GRADES, run, MEASURES, columns=column_names).to_dict() == EXPECTED


def test_a_column_of_that_name_beats_the_path(tmp_path: Path) -> None:
    rows = [
        {"query_id": query, "url.id": hit["id"], "url": {"id": "x"}, "score": hit["score"]}
        for query in RANKINGS
        for hit in list_hits(query)
    ]
    column_names = {"run": {"doc_id": "url.id"}}
    for run in (rows, write_lines(rows, tmp_path)):
        assert evaluate(GRADES, run, MEASURES, columns=column_names).to_dict() == EXPECTED


def test_a_star_is_every_value_of_a_dict(tmp_path: Path) -> None:
    rows = [
        {"query_id": query, "found": {str(i): {"url": doc} for i, doc in enumerate(docs)}}
        for query, docs in RANKINGS.items()
    ]
    column_names = {"run": {"retrieved_ids": "found.*.url"}}
    for run in (rows, write_lines(rows, tmp_path)):
        assert evaluate(GRADES, run, MEASURES, columns=column_names).to_dict() == EXPECTED


def test_two_ids_that_differ_are_asked_for(tmp_path: Path) -> None:
    hits = respond(
        lambda query: [{"id": f"u{doc}", "metadata": {"source": doc}} for doc in RANKINGS[query]]
    )
    words = "--columns doc_id=metadata.source, or doc_id=id"
    for run in (hits, write_json(hits, tmp_path)):
        with pytest.raises(
            InputError, match="may both be the doc_id, and differ, as 'ud4'"
        ) as error:
            evaluate(GRADES, run, MEASURES)
        assert words in str(error.value)
        column_names: Any = {"run": {"doc_id": "metadata.source"}}
        scores = evaluate(GRADES, run, MEASURES, columns=column_names)
        assert scores.to_dict() == EXPECTED
        assert "Documents: retrieved, by metadata.source." in str(scores)
        assert evaluate(GRADES, run, "AP", columns={"run": {"doc_id": "id"}})["AP"] == 0
    responses = respond(lambda query: [{"doc_id": doc, "id": "u"} for doc in RANKINGS[query]])
    assert evaluate(GRADES, responses, MEASURES).to_dict() == EXPECTED


def test_a_table_of_both_sides_has_objects(tmp_path: Path) -> None:
    rows = [
        {
            "ask": query,
            "gold": [*GRADES[query]],
            "found": list_hits(query, "src", "sim"),
        }
        for query in RANKINGS
    ]
    column_names = {
        "query_id": "ask",
        "expected_ids": "gold",
        "retrieved_ids": "found",
        "doc_id": "src",
        "score": "sim",
    }
    expected = evaluate({query: {*grades} for query, grades in GRADES.items()}, RANKINGS, "AP")
    for table in (rows, write_json(rows, tmp_path)):
        assert evaluate(table, "AP", columns=column_names).to_dict() == expected.to_dict()


def test_one_response_lacks_its_query(tmp_path: Path) -> None:
    for response in (
        *(ELASTIC["q1"], QDRANT["q1"], SOLR["q1"], MEILISEARCH["q1"], TYPESENSE["q1"]),
        {"matches": list_hits("q1"), "namespace": ""},
    ):
        with pytest.raises(InputError, match="without a query") as error:
            Run(response)
        assert "One query: {query: response}" in str(error.value)
        with pytest.raises(InputError, match=r"run\.json: one response"):
            read_run(write_json(response, tmp_path)).to_dict()


def test_a_query_may_be_called_as_an_envelope(tmp_path: Path) -> None:
    for run in (
        {"hits": {"hits": 1.0, "d1": 0.5}},
        {"result": {"d1": 1.0}, "matches": {"d2": 2.0}},
        {"ids": {"d1": 1.0}, "distances": {"d2": 2.0}},
    ):
        assert Run(run).to_dict() == run
        assert read_run(write_json(run, tmp_path)).to_dict() == run
    lists: Any = {"result": ["d1"], "matches": ["d2"]}
    assert Run(lists).to_dict() == {"result": {"d1": 0}, "matches": {"d2": 0}}
    objects: Any = {"result": [{"id": "d1"}], "q2": [{"id": "d2"}]}
    assert Run(objects).to_dict() == {"result": {"d1": -1}, "q2": {"d2": -1}}
    for name in ("matches", "result", "hits"):  # all values are lists of objects
        alone: Any = {name: [{"id": "d1", "score": 0.5}]}
        for opened_run in (Run(alone), read_run(write_json(alone, tmp_path))):
            assert opened_run.to_dict() == {name: {"d1": 0.5}}
            with pytest.raises(InputError, match="share no query"):
                evaluate(GRADES, opened_run, MEASURES)


def test_several_subsets_are_asked_for(tmp_path: Path) -> None:
    subsets = {"mteb_model_meta": {}, "en": {"test": {"q9": {"d": 1.0}}}, "de": {"test": SCORES}}
    column_names: Any = {"run": {"rows": "de.test"}}
    for run in (subsets, write_json(subsets, tmp_path)):
        with pytest.raises(InputError, match=r"2 subsets of queries, en\.test, de\.test") as error:
            evaluate(GRADES, run, MEASURES)
        assert "--columns run.rows=en.test" in str(error.value.hint)
        assert evaluate(GRADES, run, MEASURES, columns=column_names).to_dict() == EXPECTED


def test_pairs_in_a_file_are_rewritten_as_in_memory(tmp_path: Path) -> None:
    pairs = {query: [*docs.items()] for query, docs in SCORES.items()}
    assert evaluate(GRADES, write_json(pairs, tmp_path), MEASURES).to_dict() == EXPECTED


def test_rows_begin_where_it_is_stated(tmp_path: Path) -> None:
    rows = [{"query_id": query, "retrieved_ids": docs} for query, docs in RANKINGS.items()]
    path = write_json({"made": "today", "out": {"rows": rows}}, tmp_path)
    column_names: Any = {"run": {"rows": "out.rows"}}
    assert evaluate(GRADES, path, MEASURES, columns=column_names).to_dict() == EXPECTED
    with pytest.raises(
        InputError, match=r"run\.json: has nothing at 'out\.x'; its keys are 'made'"
    ):
        evaluate(GRADES, path, MEASURES, columns={"run": {"rows": "out.x"}})


@pytest.mark.parametrize(
    "run",
    [
        respond(lambda query: {"data": {"Get": {"Article": list_hits(query)}}}),
        respond(lambda query: {"root": {"children": list_hits(query)}}),
        {**ELASTIC, "q2": {"error": "timeout"}},
        respond(lambda query: {"ids": [RANKINGS[query]] * 2, "distances": [[1], [2]]}),
    ],
)
def test_other_envelopes_are_refused(run: Any, tmp_path: Path) -> None:
    for run_like in (run, write_json(run, tmp_path)):
        with pytest.raises(InputError):
            evaluate(GRADES, run_like, MEASURES)


def test_documents_with_numbers_are_ranked_by_them_and_asked_about_if_they_rise() -> None:
    """LangChain's stores return (Document, number): a similarity, or a distance."""
    documents = [SimpleNamespace(id=None, metadata={"source": doc}) for doc in "bca"]
    for numbers, ap in (((0.9, 0.5, 0.1), 1 / 3), ((0.1, 0.5, 0.9), 1)):
        run = {query: [*zip(documents, numbers, strict=True)] for query in ("q1", "q2")}
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")
            scores = evaluate({"q1": {"a": 1}, "q2": {"a": 1}}, run, "AP")
        assert scores["AP"] == ap
        assert ("scores-rise" in [note.code for note in scores.notes]) == (ap == 1)


def write_tables(rows: Any, folder: Path) -> list[Any]:
    """Return the rows, and the same as frames, Parquet, Feather and a stream of Arrow."""
    table = pa.Table.from_pylist(rows)
    parquet.write_table(table, folder / "rows.parquet")
    feather.write_feather(table, folder / "rows.feather")
    with pa.ipc.new_stream(folder / "rows.arrows", table.schema) as stream:
        stream.write_table(table)
    files = [folder / f"rows.{suffix}" for suffix in ("parquet", "feather", "arrows")]
    return [rows, pd.DataFrame(rows), pl.DataFrame(rows), table, *files]


def test_objects_of_objects_in_a_frame_are_read_as_in_a_list(tmp_path: Path) -> None:
    rows = [
        {
            "question": "q1",
            "expected_ids": ["a"],
            "retrieved": [{"metadata": {"source": doc}, "score": 0.5} for doc in ("c", "a")],
        }
    ]
    for table in write_tables(rows, tmp_path):
        scores = evaluate(table, "RR")
        assert scores["RR"] == 1 / 2
        assert "by metadata.source" in str(scores)


@pytest.mark.parametrize("other", ["_id", "metadata.source"])
def test_two_ids_in_tables_are_asked_for(other: str, tmp_path: Path) -> None:
    name, _, inner = other.partition(".")
    docs = [{"id": f"u{doc}", name: {inner: doc} if inner else doc} for doc in ("c", "a")]
    rows = [{"question": "q0", "gold_ids": ["a"], "retrieved": docs[:0]}]
    rows += [{"question": "q1", "gold_ids": ["a"], "retrieved": docs}]
    for table in write_tables(rows, tmp_path):
        with pytest.raises(InputError, match=f"--columns doc_id={other}, or doc_id=id"):
            evaluate(table, "RR")
        assert evaluate(table, "RR", columns={"doc_id": other})["RR"] == 1 / 2 / 2


def test_fields_that_are_null_in_tables_count_as_in_a_list(tmp_path: Path) -> None:
    docs = [{"id": None, "_score": None, "metadata": {"doc_id": doc}} for doc in ("c", "a")]
    for table in write_tables([{"query_id": "q1", "retrieved": docs}], tmp_path):
        assert evaluate({"q1": {"a": 1}}, table, "RR")["RR"] == 1 / 2


def test_responses_without_queries_are_numbered_and_said_to_be(tmp_path: Path) -> None:
    responses = [
        {"hits": {"hits": [{"_id": doc, "_score": 1.0} for doc in docs]}} for docs in ("a", "b")
    ]
    path, lines_path = tmp_path / "responses.json", tmp_path / "lines.jsonl"
    path.write_text(json.dumps({"responses": responses}))
    lines_path.write_text("\n".join(map(json.dumps, responses)))
    for run in (responses, {"responses": responses}, read_run(path), read_run(lines_path)):
        scores = evaluate({"1": {"a": 1}, "2": {"b": 1}}, run, "RR")
        assert scores["RR"] == 1
        assert "Responses without queries: numbered from 1." in str(scores)
        with pytest.raises(InputError, match="the judgments have no query '2'"):
            evaluate({"0": {"a": 1}, "1": {"b": 1}}, run, "RR")
    lines_path.write_text(json.dumps({"query_id": "q1", **responses[0]}))
    assert evaluate({"q1": {"a": 1}}, lines_path, "RR")["RR"] == 1, "one line, with its query"


@pytest.mark.parametrize("bad_score", ["x", None])
def test_a_fault_in_a_response_is_shown_with_its_query(tmp_path: Path, bad_score: Any) -> None:
    """What is rewritten has a line for each query: errors name it, and not a line of the file."""
    hits = {"q1": [("d1", 1.0)], "q2": [("d2", bad_score)]}
    responses = respond(
        lambda query: {"hits": {"hits": [{"_id": doc, "_score": n} for doc, n in hits[query]]}}
    )
    pairs = {"q1": [["d1", 1.0]], "q2": [["d1", 2.0], ["d2", bad_score]]}
    for run in (responses, pairs) if bad_score is None else (responses,):
        path = write_json(run, tmp_path)
        with pytest.raises(InputError) as caught:
            evaluate(GRADES, path, MEASURES)
        assert caught.value.source == f"{path}, rewritten"
        assert caught.value.line == 2
        assert "q2" in (caught.value.text or "")


@pytest.mark.parametrize("name", ["_score", "score"])
def test_a_hit_without_a_score_beside_others_is_refused_with_its_place(
    name: str, tmp_path: Path
) -> None:
    hits: Any = {"q0": [{"id": "x", name: 1.0}], "q1": [{"id": "a", name: 2.0}, {"id": "b"}]}
    path = tmp_path / "hits.json"
    path.write_text(json.dumps(hits))
    for run in (Run(hits), read_run(path)):
        with pytest.raises(InputError, match=r"(?s)document 'b': .*'q1'.*order='given'"):
            evaluate({"q1": {"b": 1}}, run, "RR")
        assert evaluate({"q1": {"b": 1}}, run, "RR", order="given")["RR"] == 1 / 2
    orders = {
        query: [{"id": hit["id"], name: None} for hit in docs] for query, docs in hits.items()
    }
    assert [*Run(orders).to_dict()["q1"]] == ["a", "b"]  # of a response that was sorted


@pytest.mark.parametrize("empty", ["list", "null list", "null"])
@pytest.mark.parametrize("name", ["Elasticsearch", "Pinecone", "Solr", "Typesense"])
def test_a_first_response_without_documents_is_read_as_others(
    name: str, empty: str, tmp_path: Path
) -> None:
    def clear(value: Any) -> Any:
        """Return a response with no documents."""
        if isinstance(value, list):
            return [] if empty == "list" else None
        return (
            {key: clear(part) for key, part in value.items()} if isinstance(value, dict) else value
        )

    first = None if empty == "null" else clear(RUNS[name]["q1"])
    responses: Any = {"q0": first, **RUNS[name]}
    numbered: Any = [first, *RUNS[name].values()]
    judged = {"q0": {"d1": 1}, **GRADES}
    expected = evaluate(judged, {"q0": {}, **SCORES}, MEASURES).to_dict()
    for run in (responses, write_json(responses, tmp_path)):
        assert evaluate(judged, run, MEASURES).to_dict() == expected
    for run in (numbered, write_json(numbered, tmp_path)):
        qrels = {str(i): docs for i, docs in enumerate(judged.values(), 1)}
        assert list(evaluate(qrels, run, "RR").per_query("RR").values()) == [0, 1 / 2, 1]


def test_lists_of_documents_whose_first_is_empty_are_numbered_in_files_too(tmp_path: Path) -> None:
    lists = [[], [], *map(list_hits, RANKINGS)]
    for run in (Run(lists), read_run(write_json(lists, tmp_path))):
        assert run.to_dict() == {"3": SCORES["q1"], "4": SCORES["q2"]}


def test_a_hit_of_a_run_may_have_a_field_called_rating(tmp_path: Path) -> None:
    films = {"q1": {"hits": [{"id": "a", "rating": None}, {"id": "b", "rating": None}], "limit": 2}}
    for run in (Run(films), read_run(write_json(films, tmp_path))):
        assert [*run.to_dict()["q1"]] == ["a", "b"]


def test_the_hint_on_rows_names_the_other_side() -> None:
    with pytest.raises(InputError) as caught:
        evaluate({"q": {"d": 1}}, {"out": {"q": ["d"]}}, "RR", columns={"rows": "out"})
    assert "--columns run.rows=out" in str(caught.value)
    run: Any = {"out": {"q": ["d"]}}
    assert evaluate({"q": {"d": 1}}, run, "RR", columns={"run.rows": "out"})["RR"] == 1
