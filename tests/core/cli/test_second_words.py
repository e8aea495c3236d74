"""What people wrote next: the answers to a slip, and forms that another verb takes as they are."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from cranfield import AP, Run, evaluate, gate
from cranfield.cli import cli
from cranfield.errors import InputError, OptionError

QRELS, BM25, DENSE = "demo/qrels.txt", "demo/bm25.run", "demo/dense.run"
ROWS = [
    {"question": "one", "expected_ids": ["a", "b"], "retrieved_ids": ["a", "c"]},
    {"question": "two", "expected_ids": ["d"], "retrieved_ids": ["d"]},
]


@pytest.fixture(autouse=True)
def _demo_folder(demo_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(demo_folder)


def command_message(*arguments: str) -> str:
    """Return what a command says that is refused."""
    outcome = CliRunner().invoke(cli, arguments)
    assert outcome.exit_code == 2
    assert not outcome.stdout
    return outcome.stderr


def test_a_query_behind_q_is_no_file() -> None:
    message = command_message("evaluate", QRELS, BM25, "-q", "q22")
    assert "q22: no such file" in message
    assert "explain" in message
    assert "-m MAP" in command_message("evaluate", QRELS, BM25, "-q", "MAP")


@pytest.mark.parametrize(
    ("option", "meant_option"), [("--doc-map", "--map-docs"), ("--collapse", "--map-docs-keep")]
)
def test_other_words_for_chunks(option: str, meant_option: str) -> None:
    assert f"Did you mean '{meant_option}'?" in command_message(
        "evaluate", QRELS, BM25, option, "first"
    )


def test_measures_beside_the_same_in_at_least() -> None:
    mean = (1 / 2 + 1 / 1) / 2
    for number_to_reach, is_passed in ((mean, True), (0.9, False)):
        assert (
            gate(ROWS, measures="recall@5", at_least={"R@5": number_to_reach}).passed is is_passed
        )
    with pytest.raises(OptionError, match="at_least names the measures"):
        gate(ROWS, measures="recall@5 AP", at_least={"R@5": mean})


def test_a_file_as_baseline_is_one_of_the_systems() -> None:
    gate_result = gate(QRELS, [BM25, DENSE], "AP", baseline=DENSE, margin=0.01)
    assert (
        gate_result.to_dict()
        == gate(QRELS, [BM25, DENSE], "AP", baseline="dense", margin=0.01).to_dict()
    )
    with pytest.raises(InputError, match="this file is not"):
        gate(QRELS, [BM25], "AP", baseline=DENSE, margin=0.01)


@pytest.mark.parametrize("side", ["qrels", "run"])
def test_columns_of_one_side(side: str) -> None:
    with pytest.raises(TypeError, match=rf"columns=\{{'{side}'"):
        evaluate(ROWS, "recall@5", **{f"{side}_columns": {"query_id": "question"}})  # type: ignore


def test_scores_as_a_dict() -> None:
    scores = evaluate(ROWS, "recall@5 P@1")
    assert dict(scores) == {"R@5": (1 / 2 + 1 / 1) / 2, "P@1": (1 + 1) / 2}


def test_a_run_of_lists_says_its_size() -> None:
    pd = pytest.importorskip("pandas")
    assert repr(Run(pd.DataFrame(ROWS))) == "Run('run', 2 rows)"


def test_a_measure_called_with_the_lists_of_many_queries() -> None:
    with pytest.raises(InputError, match=r"evaluate\(actual, predicted, 'AP'\)"):
        AP([[1, 3, 5]], [[1, 2, 3]])
    assert evaluate([[1, 3, 5]], [[1, 2, 3]], "AP")["AP"] == (1 / 1 + 2 / 3) / 3


def test_gate_takes_the_measure_after_a_table_of_both_sides() -> None:
    gate_result = gate(ROWS, "recall@5", at_least={"R@5": 0.7})
    assert [threshold.mean for threshold in gate_result.thresholds] == [(1 / 2 + 1) / 2]
    assert gate_result.passed == gate(ROWS, measures="recall@5", at_least={"R@5": 0.7}).passed
    with pytest.raises(InputError, match="is a measure"):
        gate(QRELS, "recall@5", at_least={"R@5": 0.7})
