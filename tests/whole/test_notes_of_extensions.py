"""Commands of extensions warn of their judgments and runs, too."""

from typing import Any

import pytest
from helpers.commands import invoke
from helpers.noted import qrels_csv


@pytest.mark.parametrize("verb", ["holes", "tune", "conventions"])
def test_results_about_something_else_warn_of_the_runs_too(verb: str, write: Any) -> None:
    judgments = write("judged.tsv", qrels_csv("score"))
    options = {
        "tune": [judgments, "--folds", "2"],
        "holes": [write("copy.tsv", qrels_csv("score"))],
        "conventions": ["-m", "AP"],
    }[verb]
    output_text = invoke(verb, judgments, judgments, *options).output
    assert "the judgments seem to be given as a run" in " ".join(output_text.split())
