"""What the pages tell people to type into a shell, or into the steps of a CI, works."""

import itertools
import json
import re
import shlex
from pathlib import Path

import pyarrow as pa
import pytest
from helpers.commands import invoke
from helpers.folders import DOCS
from pyarrow import parquet

from cranfield import collect, evaluate, pool, read_qrels, read_run

_BLOCK = re.compile(r"^```(?:sh|yaml)\n(.*?)^```$", re.M | re.S)
_COMMAND = re.compile(r"^(?:- run: )?(cranfield .+)$", re.M)


def _commands() -> list[tuple[str, list[str]]]:
    """Return (page, commands) of each page that has commands."""
    commands_of_page = []
    for page in sorted(DOCS.rglob("*.md")):
        text = "\n".join(_BLOCK.findall(page.read_text("utf-8")))
        commands_of_page.append((str(page.relative_to(DOCS)), _COMMAND.findall(text)))
    return [(page, commands) for page, commands in commands_of_page if commands]


COMMANDS = _commands()


@pytest.fixture
def folder(demo_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with the files that the pages name, made of the demonstration's."""
    demo = tmp_path / "demo"
    demo.symlink_to(demo_folder / "demo", target_is_directory=True)
    qrels, run = read_qrels(demo / "qrels.txt"), read_run(demo / "bm25.run")
    for name in ("qrels.txt", "model.qrels", "dl19.txt", "dl20.txt", "marco.txt", "qrels.parquet"):
        qrels.write(tmp_path / name)
    for name in (
        "old.run",
        "released.run",
        "run.parquet",
        "dl19/a.run",
        "dl20/a.run",
        "marco/a.run",
        "runs/2026-W45.run",
        "runs/2026-W46.run",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        run.write(tmp_path / name)
    for name in ("bm25.run", "dense.run", "new.run", "dl19/b.run", "dl20/b.run", "marco/b.run"):
        run_name = "bm25" if name.startswith("bm25") else "dense"
        (tmp_path / name).write_bytes((demo / f"{run_name}.run").read_bytes())
    (tmp_path / "results").mkdir()
    scores = evaluate(qrels, run, "nDCG@10 R@20", fingerprints=True).to_json(per_query=True)
    for name in ("results/2026-W45.json", "results/accepted.json"):
        (tmp_path / name).write_text(scores)
    grades_of_query, scores_of_query = qrels.to_dict(), run.to_dict()
    rows = [
        (query, doc, grade)
        for query in grades_of_query
        for doc, grade in grades_of_query[query].items()
    ]
    (tmp_path / "qrels").mkdir()
    text = "".join(f"{query}\t{doc}\t{grade:g}\n" for query, doc, grade in rows)
    (tmp_path / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{text}")
    (tmp_path / "results.json").write_text(json.dumps(scores_of_query))
    text = "".join(f"{query}\t0\t{doc}\t{grade:g}\n" for query, doc, grade in rows)
    (tmp_path / "qrels.dev.small.tsv").write_text(text)
    ranked = {
        query: sorted(docs, key=lambda doc: -docs[doc]) for query, docs in scores_of_query.items()
    }
    text = "".join(
        f"{query}\t{doc}\t{rank}\n"
        for query, docs in ranked.items()
        for rank, doc in enumerate(docs, 1)
    )
    (tmp_path / "run.tsv").write_text(text)
    text = "".join(f"{query},{doc},{grade:g}\n" for query, doc, grade in rows)
    (tmp_path / "labels.csv").write_text(f"query_id,doc_id,relevance\n{text}")
    for name in ("rag.json", "rag-new.json"):
        (tmp_path / name).write_bytes((demo / name).read_bytes())
    pool_text = pool(qrels, run, k=20, unjudged=True).to_csv()
    for name, grade in (("pool", ""), ("ann", "1"), ("ben", "0")):
        (tmp_path / f"{name}.csv").write_text(pool_text.replace(",\n", f",{grade}\n"))
    (tmp_path / "clicks.csv").write_text("user,item\nann,a\nann,b\nbob,c\n")
    (tmp_path / "recs.csv").write_text("user,item,score\nann,a,2\nann,x,1\nbob,y,3\nbob,c,2\n")
    (tmp_path / "train.csv").write_text("user,item,price\nann,x,2.5\nann,b,1\nbob,c,4\n")
    for name in ("als.parquet", "pop.parquet"):
        read_run(tmp_path / "recs.csv").write(tmp_path / name)
    vectors = {"item": [*"abcxy"], "vector": [[1.0, i] for i in range(5)]}
    parquet.write_table(pa.table(vectors), tmp_path / "vectors.parquet")
    for system, score in (("old", 0.4), ("new", 0.5)):  # as trec_eval -q writes them
        lines = [f"map\t{query}\t{score + i / 100}\n" for i, query in enumerate(grades_of_query)]
        (tmp_path / f"{system}.txt").write_text("".join(lines))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_answers(folder: Path) -> None:
    """Write a corpus, a model's answers, and the sample of it that people labelled.

    The model gives the demonstration's grades; a tenth of its answers are none.
    """
    grades = read_qrels("demo/qrels.txt").to_dict()
    runs = ["bm25.run", "dense.run"]
    pairs = [(row["query_id"], row["doc_id"]) for row in pool(None, runs).rows()]
    texts = {doc: f"All about {doc}." for _, doc in pairs}
    lines = [json.dumps({"_id": doc, "text": text}) for doc, text in texts.items()]
    (folder / "corpus.jsonl").write_text("\n".join(lines))
    label_pool = pool(None, runs, query_texts="demo/queries.tsv", doc_texts=texts)
    files: dict[str, list[str]] = {"output.jsonl": [], "errors.jsonl": []}
    for i, line in enumerate(label_pool.requests("openai", model="gpt-x").lines()):
        query, doc = label_pool.query_ids[i], label_pool.doc_ids[i]
        answer = {"content": json.dumps({"reason": "", "grade": grades[query].get(doc, 0)})}
        body = {"model": "gpt-x", "choices": [{"message": answer, "finish_reason": "stop"}]}
        record = {"custom_id": json.loads(line)["custom_id"], "response": None, "error": None}
        name = "output.jsonl" if i % 10 else "errors.jsonl"
        content = {"response": {"status_code": 200, "body": body}} if i % 10 else {}
        error = {} if i % 10 else {"error": {"code": "batch_expired"}}
        files[name].append(json.dumps({**record, **content, **error}))
    for name, records in files.items():
        (folder / name).write_text("\n".join(records))
    (folder / "pool.csv").write_text(label_pool.to_csv())
    paths = [str(folder / name) for name in files]
    model = collect(paths, pool=folder / "pool.csv").qrels()
    sample = pool(model, runs, by="chance", strata="3=50%,10=15%").rows()
    for row in sample:
        if row["relevance"] is None:
            row["relevance"] = grades[row["query_id"]].get(row["doc_id"], 0)
    header = ",".join(sample[0])
    rows = [",".join(map(str, row.values())) for row in sample]
    (folder / "labelled.csv").write_text("\n".join([header, *rows]))


@pytest.mark.parametrize(("page", "commands"), COMMANDS, ids=[page for page, _ in COMMANDS])
def test_what_a_page_tells_to_type_works(page: str, commands: list[str], folder: Path) -> None:
    if page == "how-to/model-labels.md":
        write_answers(folder)
    for command in commands:
        words = [
            path
            for word in shlex.split(command)[1:]
            for path in (sorted(map(str, Path().glob(word))) or [word] if "*" in word else [word])
        ]
        invocation = invoke(*words)
        statuses = (0, 1, 3) if words[0] == "gate" else (0,)
        assert invocation.exit_code in statuses, f"{page}: {command}\n{invocation.output}"
        for previous_word, name in itertools.pairwise(words):
            if previous_word == "-o":
                assert (folder / name).stat().st_size > 0, f"{page}: {command}"


@pytest.mark.more
@pytest.mark.filterwarnings("ignore")  # of Dask, on pandas
def test_the_recipe_for_dask_has_the_exact_means(folder: Path) -> None:
    pytest.importorskip("dask.dataframe")
    page = (DOCS / "background" / "scale.md").read_text("utf-8")
    (recipe,) = (code for code in re.findall(r"```python\n(.*?)```", page, re.S) if "dask" in code)
    read_qrels("demo/qrels.txt").write("judgments.parquet")
    read_run("demo/dense.run").write("recommendations.parquet")
    recipe_names: dict[str, dict[str, float]] = {}
    exec(compile(recipe, "scale.md", "exec"), recipe_names)  # noqa: S102 - it is the page's
    expected_means = evaluate("demo/qrels.txt", "demo/dense.run", "nDCG@10 AP").means(exact=True)
    assert recipe_names["means"] == expected_means


def test_pages_have_commands_that_are_run() -> None:
    assert sum(len(commands) for _, commands in COMMANDS) >= 15
