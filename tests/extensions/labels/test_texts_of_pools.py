"""A pool shows texts that cannot be written as they are."""

from typing import Any

import pytest
from helpers.commands import invoke


@pytest.mark.parametrize("form", ["csv", "tsv", "table", "markdown", "latex", "html", "jsonl"])
def test_half_of_a_surrogate_pair_is_shown_as_an_escape(form: str, write: Any) -> None:
    texts = write("t.json", '{"q1": "\\ud800 x", "d1": "\\udfff y"}')
    qrels, run_path = write("a.qrels", "q1 0 d1 1\n"), write("a.run", "q1 Q0 d1 1 2 x\n")
    options = ["--topics", texts, "--doc-texts", texts, "--format", form]
    result = invoke("pool", qrels, run_path, *options)
    assert (result.exit_code, result.exception) == (0, None), result.output


def test_columns_are_named_where_no_document_has_a_text(write: Any) -> None:
    texts = write("t.csv", "doc_id,title\nx,Another\n")
    qrels, run_path = write("a.qrels", "q1 0 d1 1\n"), write("a.run", "q1 Q0 d1 1 2 x\n")
    result = invoke("pool", qrels, run_path, "--doc-texts", texts)
    assert "1 of 1 documents have no text. Read were ids from column doc_id, texts" in result.output
