"""The table of the benchmarks: made of the rows that `benchmarks/all.py` saves."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent.parent / "benchmarks" / "results.json"


def read_rows(path: Path = RESULTS) -> list[dict[str, Any]]:
    """Return the saved rows, one for each bar that was measured."""
    rows: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))
    return rows


def make_speed_table(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the rows as a table in Markdown.

    A row has `title`, `peer`, the median costs of both sides (`ours` and `other`, of which
    `seconds` and `memory`, in MB, may be missing), `ratio` and its `least` and `most`, the bar
    `at_most` and `max_memory`, and the `date`.
    """
    lines = [
        "| what | cranfield | beside | takes | ratio (least to most) | bar | measured |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        ratio = format_ratio(row["ratio"])
        if row.get("least") is not None:
            ratio += f" ({format_ratio(row['least'])} to {format_ratio(row['most'])})"
        cells = [
            row["title"],
            format_costs(row["ours"]),
            row["peer"],
            format_costs(row["other"]),
            ratio,
            format_bar(row),
            row["date"],
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def format_ratio(ratio: float) -> str:
    """Return a ratio with two digits that count, at least to two places."""
    return f"{ratio:.2g}" if ratio < 0.1 else f"{ratio:.2f}"


def format_costs(costs: Mapping[str, float]) -> str:
    """Return the costs of a side: "0.71 s, 128 MB"."""
    seconds, memory = costs.get("seconds"), costs.get("memory")
    texts = []
    if seconds is not None:
        texts.append(f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms")
    if memory is not None:
        texts.append(f"{memory:,.0f} MB")
    return ", ".join(texts) or "-"


def format_bar(row: Mapping[str, Any]) -> str:
    """Return what a row's bar is and whether it is met; "-" for none."""
    at_most, max_memory = row.get("at_most"), row.get("max_memory")
    texts, passes = [], True
    if at_most is not None:
        texts.append(format_ratio(at_most))
        passes = row["ratio"] <= at_most
    if max_memory is not None:
        texts.append(f"{max_memory:,.0f} MB")
        passes = passes and row["ours"]["memory"] <= max_memory
    return f"{', '.join(texts)}: {'met' if passes else '**not met**'}" if texts else "-"
