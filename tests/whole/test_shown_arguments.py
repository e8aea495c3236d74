"""What the forms of a result can be told: an error names the form that was called."""

import json
import re
from collections.abc import Callable
from typing import Any, cast

import pytest
from helpers.systems import QRELS, RUNS

from cranfield import OptionError, agreement, compare, correlate, evaluate, explain, with_texts
from cranfield.render.shown import FORMS, Shown

SYSTEMS = evaluate(QRELS, RUNS, "AP RR")
RESULTS: list[Shown] = [
    SYSTEMS,
    SYSTEMS["old"],
    compare(SYSTEMS),
    explain(QRELS, RUNS["new"], "AP", "q1"),
    agreement(QRELS, QRELS),
    correlate(SYSTEMS),
]
PER_QUERY: list[Any] = [SYSTEMS, SYSTEMS["old"], agreement(QRELS, QRELS)]
PER_QUERY += [with_texts(SYSTEMS, query_texts={"q1": "?"})]
METHODS = ["to_text", "to_markdown", "to_latex", "to_html", "to_csv", "to_tsv", "to_jsonl"]
METHODS += ["to_json", "to_pandas", "to_polars"]


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: type(result).__name__)
@pytest.mark.parametrize("method", METHODS)
def test_an_unknown_argument_is_one_of_the_form(result: Shown, method: str) -> None:
    message = (
        rf"^{type(result).__name__}\.{method}\(\) got an unexpected keyword argument 'per_qery'"
    )
    with pytest.raises(TypeError, match=message):
        getattr(result, method)(per_qery=True)


def test_the_name_of_before_leads_to_the_name_of_today() -> None:
    message = r"keyword argument 'whole'; it takes full_page, means, changes$"
    with pytest.raises(TypeError, match=message):
        compare(SYSTEMS).to_html(whole=True)


def test_the_options_of_a_form_are_named_beside_those_of_its_tables() -> None:
    with pytest.raises(TypeError, match=r"'whole'; it takes full_page, per_query$"):
        SYSTEMS.to_html(whole=True)
    with pytest.raises(TypeError, match=r"'widht'; it takes width, color, per_query$"):
        SYSTEMS.to_text(widht=40)
    with pytest.raises(TypeError, match=r"'formula'; it takes formulas, per_query$"):
        SYSTEMS["old"].to_csv(formula="quoted")


def test_what_a_table_of_scores_does_not_take() -> None:
    """It has a row for each query in any case."""
    for method in ("to_pandas", "to_polars"):
        with pytest.raises(TypeError, match=rf"^Scores\.{method}\(\)"):
            getattr(SYSTEMS["old"], method)(per_query=True)


@pytest.mark.parametrize(
    "call",
    [
        lambda: SYSTEMS.to_csv(per_query="no"),
        lambda: SYSTEMS.to_json(per_query="no"),
        lambda: SYSTEMS.to_text(per_query="no"),
        lambda: SYSTEMS.to_text(width="x"),  # type: ignore[arg-type]
        lambda: SYSTEMS.to_text(width=0),
        lambda: SYSTEMS.to_text(color="red"),  # type: ignore[arg-type]
        lambda: SYSTEMS.to_html(full_page="no"),  # type: ignore[arg-type]
        lambda: SYSTEMS.in_form("pdf"),
        lambda: compare(SYSTEMS).to_latex(means="no"),
        lambda: compare(SYSTEMS).tables(means="no"),  # type: ignore[arg-type]
        lambda: compare(SYSTEMS).tables(changes=-1),
        lambda: compare(SYSTEMS).changes("new", n=-1),
        *(lambda result=result: result.rows(per_query="no") for result in PER_QUERY),
        *(lambda result=result: result.tables(per_query="no") for result in PER_QUERY),
        *(lambda form=form: SYSTEMS.in_form(form, formulas=cast("Any", "x")) for form in FORMS),
    ],
)
def test_a_value_that_is_none_is_refused(call: Callable[[], Any]) -> None:
    with pytest.raises(OptionError):
        call()


def test_the_json_of_scores_has_each_query_if_asked_for() -> None:
    """As docs/reference/output.md says."""
    means, scores_per_query = (
        json.loads(SYSTEMS.to_json(per_query=per_query)) for per_query in (False, True)
    )
    assert ["queries" in run for run in means["runs"]] == [False, False]
    assert {run["run"]: run.pop("queries") for run in scores_per_query["runs"]} == SYSTEMS.to_dict()
    assert scores_per_query == means


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: type(result).__name__)
def test_a_page_has_a_title(result: Shown) -> None:
    title = re.search("<title>(.*)</title>", result.to_html(full_page=True))
    assert title is not None
    assert title[1]
    assert "method" not in title[1]


def test_the_title_of_a_page_of_scores_names_the_runs() -> None:
    assert "<title>Scores of old, new</title>" in SYSTEMS.to_html(full_page=True)
    nine_systems = evaluate(QRELS, {f"r{i}": RUNS["old"] for i in range(9)}, "AP")
    assert "<title>Scores of 9 runs</title>" in nine_systems.to_html(full_page=True)
    odd_page = evaluate(QRELS, {"</title>": RUNS["old"]}, "AP").to_html(full_page=True)
    assert "<title>Scores of &lt;/title&gt;</title>" in odd_page
