"""The benchmarks: their bars, what is made of their measurements, and the table of the docs.

Nothing is measured here.
"""

import argparse
import inspect
from typing import Any

import all as benchmarks
import make_docs
import pytest
import sides
from all import SideError, measure_bar, merge_rows, shrink
from bars import Bar, SideCall, list_bars
from sides import Data
from speed_table import format_bar, format_costs, format_ratio, make_speed_table, read_rows

BARS = list_bars("trec_eval")
BAR = Bar(
    title="a run",
    peer="another tool",
    ours=("ours", {}),
    other=("other", {}),
    data={"n_queries": 1000, "n_runs": 300},
    at_most=0.5,
    max_memory=150,
)
ARGUMENTS = argparse.Namespace(turns=3, quick=False, before=None)


def _fake_costs(monkeypatch: pytest.MonkeyPatch, turns: dict[str, list[dict[str, Any]]]) -> None:
    """Make sides cost what is listed for their turns."""
    costs_of_side = {side: iter(costs) for side, costs in turns.items()}

    def take_costs(call: SideCall, *_: Any) -> dict[str, Any]:
        return next(costs_of_side[call[0]])

    monkeypatch.setattr(benchmarks, "measure_side", take_costs)


def _costs(cpu: float, memory: float, **more: Any) -> dict[str, Any]:
    return {"cpu": cpu, "wall": 100.0, "memory": memory, **more}


def test_every_bar_calls_sides_that_exist() -> None:
    for bar in BARS:
        for (side, options), data in (
            (bar.ours, bar.data),
            (bar.other, {**bar.data, **bar.other_data}),
        ):
            inspect.signature(getattr(sides, side)).bind(None, **options)
            inspect.signature(Data).bind(None, **data)


def test_titles_tell_bars_apart() -> None:
    titles = [bar.title for bar in BARS]
    assert len({*titles}) == len(titles)
    assert [bar for bar in BARS if bar.peer == "trec_eval"]
    assert not [bar for bar in list_bars(None) if bar.peer == "trec_eval"]


def test_a_ratio_is_that_of_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Medians of the costs, and of the ratios in each turn; the greatest memory."""
    ours = [_costs(1.0, 90), _costs(3.0, 120), _costs(2.0, 100)]
    other = [_costs(4.0, 500), _costs(4.0, 400), _costs(10.0, 600)]
    _fake_costs(monkeypatch, {"ours": ours, "other": other})
    row = measure_bar(BAR, "folder", ARGUMENTS)
    assert (row["least"], row["ratio"], row["most"]) == (2 / 10, 1 / 4, 3 / 4)
    assert row["ours"] == {"seconds": 2.0, "memory": 120}
    assert row["other"] == {"seconds": 4.0, "memory": 600}
    assert format_bar(row) == "0.50, 150 MB: met"
    assert format_bar({**row, "max_memory": 110}) == "0.50, 110 MB: **not met**"
    assert "| 2.00 s, 120 MB |" in make_speed_table([row])
    assert "| 0.25 (0.20 to 0.75) |" in make_speed_table([row])


def test_memory_may_be_what_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    _fake_costs(monkeypatch, {"ours": [_costs(1, 130)] * 3, "other": [_costs(1, 100)] * 3})
    memory_bar = Bar(**{**vars(BAR), "quantity": "memory"})
    assert measure_bar(memory_bar, "folder", ARGUMENTS)["ratio"] == 130 / 100


def test_values_that_differ_are_no_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = [_costs(1, 1, digest="a"), _costs(1, 1, digest="a"), _costs(1, 1, digest="b")]
    _fake_costs(monkeypatch, {"ours": ours, "other": [_costs(1, 1)] * 3})
    with pytest.raises(SideError, match="differ"):
        measure_bar(BAR, "folder", ARGUMENTS)


def test_a_tool_that_is_not_there_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a line; the other rows are measured."""

    def miss(*_: Any) -> dict[str, Any]:
        raise SideError("not installed: No module named 'ranx'")

    monkeypatch.setattr(benchmarks, "measure_side", miss)
    monkeypatch.setattr("sys.argv", ["all.py", "--quick", "--only", "ranx"])
    monkeypatch.delenv("TREC_EVAL", raising=False)
    benchmarks.main()
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("left out: ") and "named 'ranx'" in line]
    assert [line for line in lines if line.startswith("left out: trec_eval")]


def test_rows_that_are_not_measured_stay() -> None:
    first, second, third = (Bar(**{**vars(BAR), "title": title}) for title in "abc")
    saved_rows: list[dict[str, Any]] = [
        {"title": "c", "ratio": 3},
        {"title": "a", "ratio": 1},
        {"title": "gone"},
    ]
    rows = merge_rows([first, second, third], saved_rows, [{"title": "c", "ratio": 4}])
    assert rows == [{"title": "a", "ratio": 1}, {"title": "c", "ratio": 4}]


def test_quick_data_are_small() -> None:
    assert shrink(BAR.data) == {"n_queries": 1000 // 50, "n_runs": 10}


def test_the_page_has_the_saved_rows() -> None:
    """If not: python scripts/make_docs.py."""
    page = (make_docs.ROOT / "docs" / "background" / "speed.md").read_text("utf-8")
    assert page == make_docs.fill_speed()
    bar_of_title = {bar.title: bar for bar in BARS}
    for row in read_rows():
        bar = bar_of_title[row["title"]]
        assert (row["at_most"], row["max_memory"]) == (bar.at_most, bar.max_memory), bar.title
        assert f"| {row['title']} | {format_costs(row['ours'])} | {row['peer']} |" in page


def test_figures_have_digits_that_count() -> None:
    assert [*map(format_ratio, (0.0534, 0.25, 2.6667))] == ["0.053", "0.25", "2.67"]
    assert format_costs({"seconds": 0.0123}) == "12.3 ms"
    assert format_costs({"seconds": 22.4, "memory": 1220.3}) == "22.40 s, 1,220 MB"
    assert format_costs({}) == "-"


def test_data_are_what_they_say(tmp_path: Any) -> None:
    """Runs of the size that is asked for, no document twice, every query with a relevant one."""
    from cranfield import evaluate, read_qrels, read_run

    data = Data(tmp_path, n_queries=4, depth=30, n_judged=6, n_runs=2, is_shuffled=True)
    runs = [read_run(path) for path in data.runs()]
    for run in runs:
        assert {query: len(docs) for query, docs in run.to_dict().items()} == dict.fromkeys(
            run.to_dict(), 30
        )
    qrels = read_qrels(data.qrels()).to_dict()
    assert len(qrels) == 4
    assert all(len(grades) == 6 and max(grades.values()) > 0 for grades in qrels.values())
    assert evaluate(data.qrels(), runs[0], "NumRelRet")["NumRelRet"] > 0
