"""Scores of queries as tools save them: every form holds the same; what is refused says where."""

import csv
import gzip
import io
import json
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from helpers.notes import codes, sentence
from helpers.saved import QRELS, RUN, read_saved, read_score_dicts
from hypothesis import example, given
from hypothesis import strategies as st

from cranfield import InputError, compare, evaluate, read_qrels, read_run
from cranfield.cli import cli
from cranfield.errors import DuplicateError
from cranfield.formats.small.score_files import system_name_of_file
from cranfield.measures import parse
from cranfield.render.table import to_delimited

Write = Callable[[str, str], str]


MAP, P5 = {"q1": 0.25, "q2": 0.5}, {"q1": 0.2, "q2": 0.0}
EXPECTED = {(None, "map"): MAP, (None, "P_5"): P5}
NAMED = {("bm25", "map"): MAP, ("bm25", "P_5"): P5}

TREC_EVAL = """\
map                   \tq1\t0.2500
P_5                   \tq1\t0.2000
relstring             \tq1\t'01000'
map                   \tq2\t0.5000
P_5                   \tq2\t0.0000
relstring             \tq2\t'10000'
runid                 \tall\tbm25
num_q                 \tall\t2
map                   \tall\t0.3750
P_5                   \tall\t0.1000
"""


def test_trec_eval(write: Write) -> None:
    scores = read_saved(write("bm25.txt", TREC_EVAL))
    assert scores.scores == EXPECTED
    assert scores.summaries == {"all": 4}
    assert scores.text_counts == {"relstring": 2}
    assert codes(scores.notes()) == ["over-all", "texts"]
    assert scores.notes()[0].count == 4
    assert "relstring" in sentence(scores.notes(), "texts")
    text = "".join(" ".join(line.split()) + "\r\n" for line in TREC_EVAL.splitlines())
    assert read_score_dicts(write("spaced.txt", text)) == EXPECTED
    alone = "".join(line + "\n" for line in TREC_EVAL.splitlines() if "\tall\t" not in line)
    assert read_score_dicts(write("alone.txt", alone)) == EXPECTED


def test_trec_evals_own_output(data: Path) -> None:
    path = data / "dl19" / "trec_eval" / "bm25.out.gz"
    score_dicts = read_score_dicts(path)
    by_hand: dict[str, dict[str, float]] = {}
    with gzip.open(path, "rt") as stream:
        for line in stream:
            measure, query, score = line.split()
            if query != "all" and measure != "relstring":
                by_hand.setdefault(measure, {})[query] = float(score)
    assert score_dicts == {(None, measure): scores for measure, scores in by_hand.items()}
    assert len(score_dicts[None, "map"]) == 43


def test_a_measure_of_ones_own_is_told_by_the_row_of_all(write: Write) -> None:
    lines = "mine\tq1\t1\nmine\tq2\t0\n"
    expected = {(None, "mine"): {"q1": 1.0, "q2": 0.0}}
    assert read_score_dicts(write("a.txt", lines + "mine\tall\t0.5\n")) == expected
    text = "q1\tmine\t1\nq2\tmine\t0\nall\tmine\t0.5\n"
    assert read_score_dicts(write("b.txt", text)) == expected
    with pytest.raises(InputError, match=r"c.txt:1: which of the first two columns is the measure"):
        read_saved(write("c.txt", lines))


def test_ir_measures(write: Write) -> None:
    lines = (
        "q1\tmap\t0.25\nq1\tP_5\t0.2\nq2\tmap\t0.5\nq2\tP_5\t0\nall\tmap\t0.375\nall\tP_5\t0.1\n"
    )
    scores = read_saved(write("bm25.tsv", lines))
    assert scores.scores == EXPECTED
    assert scores.summaries == {"all": 2}
    rows = [line.split("\t") for line in lines.splitlines()]
    objects = [{"query_id": q, "measure": m, "value": float(v)} for q, m, v in rows]
    assert (
        read_score_dicts(write("b.jsonl", "".join(json.dumps(o) + "\n" for o in objects)))
        == EXPECTED
    )
    metric = namedtuple("metric", ["query_id", "measure", "value"])
    metrics = [metric(q, parse(m), float(v)) for q, m, v in rows]
    assert read_score_dicts(metrics) == {(None, "AP"): MAP, (None, "P@5"): P5}
    assert read_score_dicts([(q, m, float(v)) for q, m, v in rows]) == EXPECTED


def test_pytrec_eval(write: Write) -> None:
    import pytrec_eval

    pytrec_scores = pytrec_eval.RelevanceEvaluator(QRELS, {"map", "ndcg_cut.10"}).evaluate(RUN)
    scores = evaluate(QRELS, RUN, "AP nDCG@10")
    expected = {
        (None, "map"): pytest.approx(scores.per_query("AP")),
        (None, "ndcg_cut_10"): pytest.approx(scores.per_query("nDCG@10")),
    }
    for source in (pytrec_scores, write("a.json", json.dumps(pytrec_scores))):
        assert read_score_dicts(source) == expected
    by_system = {"bm25": pytrec_scores, "dense": pytrec_scores}
    for systems_source in (by_system, write("b.json", json.dumps(by_system, indent=2))):
        score_dicts = read_score_dicts(systems_source)
        assert set(score_dicts) == {(s, m) for s in by_system for m in ("map", "ndcg_cut_10")}
        assert score_dicts["dense", "map"] == expected[None, "map"]


def test_ranx() -> None:
    assert read_score_dicts({"map": MAP, "P_5": P5}) == EXPECTED


def test_dicts_whose_sides_nobody_knows() -> None:
    with pytest.raises(InputError, match="which names are measures"):
        read_saved({"bm25": {"q1": 0.5}})
    assert read_score_dicts({"bm25": {"q1": 0.5}}, "systems") == {("bm25", None): {"q1": 0.5}}


def test_frames_and_tables_of_one_row_each() -> None:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    rows = [
        {"name": "bm25", "qid": q, "measure": m, "value": v}  # pyterrier's, with perquery=True
        for m, scores in (("map", MAP), ("P_5", P5))
        for q, v in scores.items()
    ]
    for source in (
        rows,
        iter(rows),
        pd.DataFrame(rows),
        pl.DataFrame(rows),
        pa.table(pl.DataFrame(rows)),
    ):
        assert read_score_dicts(source) == NAMED
    assert (
        read_score_dicts(pd.DataFrame(rows).astype({"qid": "category", "name": "category"}))
        == NAMED
    )


def test_frames_with_a_column_for_each_measure(tmp_path: Path) -> None:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from pyarrow import parquet

    systems = evaluate(QRELS, {"bm25": RUN, "other": {"q1": {"d1": 1.0}}}, "AP P@2")
    expected = {
        (name, measure): scores.per_query(measure)
        for name, scores in systems.items()
        for measure in ("AP", "P@2")
    }
    frame, table = systems.to_pandas(), systems.to_arrow()
    frame.to_csv(tmp_path / "index.csv")
    frame.to_csv(tmp_path / "plain.csv.gz", index=False)
    frame.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    frame.to_json(tmp_path / "a.json", orient="records", indent=1)
    systems.to_polars().write_csv(tmp_path / "polars.tsv", separator="\t")
    parquet.write_table(table, tmp_path / "a.parquet")
    with pa.ipc.new_file(tmp_path / "a.arrow", table.schema) as writer:
        writer.write_table(table)
    files = list(tmp_path.iterdir())
    assert len(files) == 7
    for source in (frame, table, systems.to_polars(), *files):
        assert read_score_dicts(source) == {
            key: pytest.approx(score) for key, score in expected.items()
        }, source
    wide = pd.DataFrame({"map": MAP, "P_5": P5})  # the queries are its index
    wide.to_csv(tmp_path / "wide.csv")
    for source in (wide, wide.rename_axis("qid"), tmp_path / "wide.csv"):
        assert read_score_dicts(source) == EXPECTED
    frame_of_numbers = pl.DataFrame({"query_id": [7, 8], "AP": [1, None], "BP": [1.5, None]})
    assert read_score_dicts(frame_of_numbers) == {
        (None, "AP"): {"7": 1.0},
        (None, "BP"): {"7": 1.5},
    }
    assert read_saved(frame_of_numbers).n_missing == 2


def test_gdeval_has_a_row_of_means(write: Write) -> None:
    path = write(
        "a.csv", "runid,topic,ndcg@20,err@20\nx,51,0.5,0.25\nx,52,0,0\nx,amean,0.25,0.125\n"
    )
    scores = read_saved(path)
    assert scores.scores == {
        ("x", "ndcg@20"): {"51": 0.5, "52": 0.0},
        ("x", "err@20"): {"51": 0.25, "52": 0.0},
    }
    assert scores.summaries == {"amean": 2}


def test_a_column_for_each_system(write: Write) -> None:
    path = write("a.csv", "topic;bm25;dense\nq1;.25;.5\nq2;.5;\n")
    expected = {("bm25", None): {"q1": 0.25, "q2": 0.5}, ("dense", None): {"q1": 0.5}}
    assert read_score_dicts(path, "systems") == expected
    assert set(read_score_dicts(path)) == {(None, "bm25"), (None, "dense")}
    second_path = write("b.csv", "query,measure,a,b\nq1,map,.25,.5\nq1,P_5,.2,0\n")
    assert read_score_dicts(second_path, "systems") == {
        ("a", "map"): {"q1": 0.25},
        ("b", "map"): {"q1": 0.5},
        ("a", "P_5"): {"q1": 0.2},
        ("b", "P_5"): {"q1": 0.0},
    }


@pytest.mark.parametrize("form", ["tsv", "csv", "jsonl", "json"])
def test_what_evaluate_prints_is_read(form: str, demo_folder: Path, tmp_path: Path) -> None:
    qrels, runs = demo_folder / "demo" / "qrels.txt", ["bm25", "dense"]
    paths = [str(demo_folder / "demo" / f"{run}.run") for run in runs]
    command = [
        "evaluate",
        str(qrels),
        *paths,
        "-q",
        "-m",
        "AP",
        "-m",
        "RelString",
        "--format",
        form,
    ]
    process = CliRunner().invoke(cli, command)
    assert process.exit_code == 0
    (tmp_path / "out").write_text(process.stdout, "utf-8")
    scores = evaluate(qrels, paths, "AP")
    expected = {(run, "AP"): scores[run].per_query("AP") for run in runs}
    assert read_score_dicts(tmp_path / "out") == expected
    without = CliRunner().invoke(cli, [word for word in command if word != "-q"])
    (tmp_path / "out").write_text(without.stdout, "utf-8")
    with pytest.raises(InputError, match=r"--per-query|-q of trec_eval"):
        read_saved(tmp_path / "out")


# Ids as they may be: of any form that this library writes as text.
IDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
ROWS = st.dictionaries(
    st.tuples(
        IDS, st.sampled_from(["AP", "nDCG@10"]), IDS.filter(lambda q: q not in {"ALL", "mean"})
    ),
    st.floats(allow_nan=False, allow_infinity=False),
    min_size=1,
)


@given(ROWS)
@example(
    {("a,b", "AP", '"'): 0.5, ("a\tb", "AP", "'é\u2028\r\n"): -0.0, (" ", "AP", " x "): 1e-300}
)
@example({("a", "AP", "all"): 0.5, ("a", "AP", "q"): 0.5})
def test_own_forms_keep_every_row(tmp_path_factory: pytest.TempPathFactory, rows: Any) -> None:
    folder = tmp_path_factory.getbasetemp()
    rows_of_scores = [(*key, score) for key, score in rows.items()]
    names = ("run", "measure", "query_id", "value")
    rows_of_queries = {row for row in rows_of_scores if row[2] not in {"all", "amean"}}
    for form in ("tsv", "csv", "jsonl"):
        path = folder / f"rows.{form}"
        if form == "jsonl":
            text = "".join(
                json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows_of_scores
            )
        else:
            text = to_delimited([names, *rows_of_scores], "," if form == "csv" else "\t")
        path.write_bytes(text.encode())
        if not rows_of_queries:
            with pytest.raises(InputError, match="over all queries only"):
                read_saved(path)
            continue
        columns = read_saved(path).scores.items()
        assert {
            (*key, query, score) for key, of in columns for query, score in of.items()
        } == rows_of_queries


def test_a_query_called_all_is_one_where_it_cannot_be_a_mean(write: Write) -> None:
    run = {"run": "bm25", "all": {"map": 0.5}, "queries": {"all": {"map": 0.5}}}
    score_dicts = read_score_dicts(write("a.json", json.dumps({"recipe": {}, "runs": [run]})))
    assert score_dicts == {("bm25", "map"): {"all": 0.5}}


HEADER = "run,measure,query_id,value\n"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.txt", "map\tq1\t0.5\nmap\tq2\tx\n", "a.txt:2: expected a number as map of query 'q2'"),
        ("a.txt", "map\tq1\t0.5\nmap\tq2\tnan\n", "a.txt:2: expected a finite number as map"),
        ("a.txt", "map\tq1\t0.5\nmap\tq1\t0.5\n", "a.txt:2: a second 'map' for query 'q1'"),
        ("a.txt", "map\tq1\t0.5\n\nmap\tq2\n", "a.txt:3: expected a measure, a query and a value"),
        ("a.txt", "map\t\t0.5\n", "a.txt:1: the id '' is empty"),
        ("a.txt", "map\tq1\t1_0\n", "a.txt:1: expected a number"),
        ("a.txt", "map\tall\t0.5\n", "a.txt: holds values over all queries only"),
        ("a.txt", "", "a.txt: holds no scores"),
        ("a.csv", HEADER + "a,AP,q,inf\n", "a.csv:2: expected a finite number as AP of query 'q'"),
        ("a.csv", HEADER + "a,AP,q,1e999\n", "a.csv:2: expected a finite number"),
        ("a.csv", HEADER + '\na,AP,"q\nr",1\nb,AP,q,\n', "a.csv:5: has no value for query 'q'"),
        ("a.csv", HEADER + "a,,q,1\n", "a.csv:2: has no measure for query 'q'"),
        ("a.csv", HEADER + ",AP,q,1\n", "a.csv:2: the id '' is empty"),
        ("a.csv", HEADER + "a,AP,q\n", "a.csv:2: expected 4 columns, run, measure, query_id, val"),
        ("a.csv", HEADER + 'a,AP,"q,1\n', "a.csv:2: a field is malformed"),
        ("a.csv", HEADER + "a,AP,q,1\na,AP,q,2\n", "a.csv:3: a second 'AP' of 'a' for query 'q'"),
        ("a.csv", "query_id,AP,AP\nq,1,2\n", "a.csv:1: has several columns named 'AP'"),
        ("a.csv", "query_id,run\nq,1\n", "a.csv:2: has no column of values, only queries"),
        ("a.csv", "query_id,AP\nq,NaN\n", "a.csv:2: expected a finite number as AP of query 'q'"),
        ("a.csv", "query_id,AP\nq,0.5\nq,0.5\n", "a.csv:3: a second 'AP' for query 'q'"),
        ("a.csv", "query_id,AP\nq,0.5\nr,?\n", "a.csv:3: expected a number as AP of query 'r'"),
        ("a.csv", "query_id,AP\nq,\n", "a.csv: holds no scores"),
        ("a.jsonl", '{"qid": 1, "AP": 1}\n{"qid": 1, "AP": 2}\n', "a.jsonl:2: a second 'AP'"),
        ("a.jsonl", '{"qid": 1, "AP": 1}\n{"AP": 2}\n', "a.jsonl:2: has no column of queries"),
        ("a.jsonl", '{"qid": 1, "AP": 1}\n{"qid": 2, "AP": 2, "AP": 3}\n', "a.jsonl:2: .* twice"),
        ("a.jsonl", '{"qid": 1, "AP": NaN}\n', "a.jsonl:1: expected a finite number"),
        ("a.jsonl", '{"qid": 1, "AP": true}\n', "a.jsonl:1: expected a number as AP"),
        ("a.jsonl", '{"qid": 1, "AP": 1}\n{"qid": 2\n', "a.jsonl:2: is not valid JSON"),
        ("a.jsonl", '{"qid": 1, "AP": 1}\n[1]\n', "a.jsonl:2: expected a JSON object"),
        ("a.json", '{"q1": {"AP": 1}, "q1": {"AP": 1}}', "a.json: a JSON object has .*'q1' twice"),
        ("a.json", '{"q1": {"AP": 1}, "q2": [1]}', "a.json: expected a dict for 'q2'"),
        ("a.json", '{"q1": {"AP": "x"}}', "a.json: expected a number as AP of query 'q1'"),
        ("a.json", '{"a": {"q1": {"AP": {}}}}', "a.json: expected a number as AP of query 'q1'"),
        ("a.json", '{"runs": [{"run": "a"}]}', "a.json: a run has no 'queries'"),
        ("a.json", "[1]", "a.json: element 0: expected a JSON object"),
        ("a.json", '[{"qid": 1, "AP": []}]', "a.json: row 0: expected a number as AP of query '1'"),
        ("a.json", '{\n"q1": [', "a.json:2: is not valid JSON"),
    ],
)
def test_what_is_refused_says_where(name: str, text: str, message: str, write: Write) -> None:
    kind = DuplicateError if "second" in message or "twice" in message else InputError
    with pytest.raises(InputError, match=message) as caught:
        read_saved(write(name, text))
    assert type(caught.value) is kind


def test_a_second_system_in_the_file_is_told_where_to_go(write: Write) -> None:
    with pytest.raises(DuplicateError, match="or add a column `run`"):
        read_saved(write("two.txt", TREC_EVAL + TREC_EVAL))


def test_the_line_itself_is_shown(write: Write) -> None:
    with pytest.raises(InputError) as caught:
        read_saved(write("a.txt", "map\tq1\t0.5\nmap\tq2\tinf\n"))
    assert "map\\tq2\\tinf" in str(caught.value)
    assert "For a query without a value, leave out the row" in str(caught.value)


def test_rows_that_are_refused() -> None:
    import pyarrow as pa

    with pytest.raises(InputError, match=r"the scores: row 1: expected \(query_id, measure, value"):
        read_saved([("q", "AP", 1.0), ("q", "AP")])
    with pytest.raises(InputError, match="expected scores as a file, a table or rows, got int"):
        read_saved(3)
    with pytest.raises(DuplicateError, match="the scores: row 1: a second 'AP' for query 'q'"):
        read_saved([("q", "AP", 1.0), ("q", "AP", 1.0)])
    with pytest.raises(InputError, match=r"row 0: an id is a string or a whole number, got 1\.5"):
        read_saved([(1.5, "AP", 1.0)])
    with pytest.raises(InputError, match="row 2: expected a finite number as AP of query 'c'"):
        read_saved(pa.table({"qid": ["a", "b", "c"], "AP": [1.0, None, float("nan")]}))
    with pytest.raises(InputError, match="several columns named 'AP'"):
        read_saved(pa.table([["q"], [1], [1]], names=["qid", "AP", "AP"]))
    with pytest.raises(InputError, match="expected a finite number"):
        read_saved([("q", "AP", 10**400)])


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    for content in (b"map\tq\xff\t1\n", b"map\tq\0\t1\n"):
        (tmp_path / "a").write_bytes(content)
        with pytest.raises(InputError, match="not text"):
            read_saved(tmp_path / "a")


def test_quotation_marks_are_ids_where_nobody_quotes(write: Write) -> None:
    assert read_score_dicts(write("a.txt", 'map\t"q1\t1\n')) == {(None, "map"): {'"q1': 1.0}}
    page = io.StringIO()
    csv.writer(page).writerows([["map", 'a"b,c', 1]])
    assert read_score_dicts(write("b.csv", page.getvalue())) == {(None, "map"): {'a"b,c': 1.0}}


def test_a_file_is_a_systems_name() -> None:
    assert system_name_of_file("runs/bm25.txt.gz") == "bm25"
    assert system_name_of_file("-") == "stdin"


def test_an_empty_document_is_said_to_hold_no_scores(tmp_path: Path) -> None:
    (tmp_path / "empty.json").write_text("{}")
    with pytest.raises(InputError, match=r"empty\.json: holds no scores"):
        compare([tmp_path / "empty.json"])


def test_saved_scores_are_neither_judgments_nor_a_run(tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    path.write_text(evaluate({"q": {"d": 1}}, {"q": {"d": 1.0}}, "AP").to_json())
    for read in (read_qrels, read_run):
        with pytest.raises(InputError, match=r"scores\.json: holds saved .*\n.* with --saved"):
            read(path).to_dict()
