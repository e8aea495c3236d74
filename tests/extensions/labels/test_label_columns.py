"""Labels have columns of other names, which are stated as those of judgments."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner, Result

from cranfield import InputError, collect, fuse
from cranfield.cli import cli

COLUMN_NAMES: dict[str, Any] = {"query_id": "reader", "doc_id": "url", "relevance": "stars"}
COLUMNS = "query_id=reader,doc_id=url,relevance=stars,score=guess"


def invoke(*arguments: str) -> Result:
    """Return what a command prints."""
    return CliRunner().invoke(cli, list(arguments))


def test_labels_are_collected_by_stated_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ann.csv").write_text("doc_id,reader,url,stars\nx,q1,d1,2\ny,q1,d2,0\n")
    columns = "query_id=reader,doc_id=url,relevance=stars"
    answer = invoke("collect", "ann.csv", "--columns", columns, "--format", "csv")
    rows = ["query_id,doc_id,relevance,assessor", "q1,d1,2,ann", "q1,d2,0,ann"]
    assert answer.stdout.splitlines() == rows
    with pytest.raises(InputError, match=r"doc_id=ulr: no file .* mean 'url'"):
        collect(["ann.csv"], columns={**COLUMN_NAMES, "doc_id": "ulr"})


def test_people_and_a_model_have_columns_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("qrels.csv").write_text("reader,url,stars\nq1,d1,2\nq1,d2,0\nq2,d3,1\n")
    Path("own.csv").write_text("reader,url,guess\nq1,d2,0.9\nq1,d1,0.5\nq2,d3,0.4\n")
    Path("people.csv").write_text("reader,url,human,p\nq1,d1,1,0.5\nq2,d3,1,0.5\n")
    columns = f"{COLUMNS},relevance=human,query_probability=p"
    arguments = ["qrels.csv", "own.csv", "-m", "RR", "--human", "people.csv", "--columns", columns]
    answer = invoke("evaluate", *arguments)
    assert "no file has" not in answer.output, answer.output
    assert "no column" not in answer.output


def test_runs_to_fuse_have_some_column_that_is_stated() -> None:
    rows = pd.DataFrame({"reader": ["q"], "url": ["d"], "guess": [1.0]})
    usual = pd.DataFrame({"query_id": ["q"], "doc_id": ["d"], "score": [1.0]})
    columns = {**COLUMN_NAMES, "score": "guess"}
    assert fuse({"own": rows, "usual": usual}, "rrf", columns=columns).to_dict() == {
        "q": {"d": 1 / 61 + 1 / 61}
    }
    with pytest.raises(InputError, match="no file has a column 'gess'"):
        fuse({"own": rows, "usual": usual}, "rrf", columns={**COLUMN_NAMES, "score": "gess"})
