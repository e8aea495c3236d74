"""A progress bar that records its drawings; files and scores that take some steps to read."""

import gzip
from pathlib import Path

import pytest

from cranfield import progress


class Bar:
    """Records each drawing: (activity, share, (count done, unit))."""

    def __init__(self) -> None:
        self.drawings: list[tuple[str, float | None, tuple[int, str]]] = []
        self.n_closed = 0

    def draw(self, status: progress.Status) -> None:
        assert status.seconds_left is None or status.seconds_left >= 0
        self.drawings.append((status.activity, status.share, (status.n_done, status.unit)))

    def close(self) -> None:
        self.n_closed += 1


def watch_all(monkeypatch: pytest.MonkeyPatch) -> Bar:
    """Return a bar that is shown from the start of a call, and records every report."""
    bar = Bar()
    monkeypatch.setattr(progress, "find_bar", lambda: bar)
    monkeypatch.setattr(progress, "SHOW_AFTER", 0.0)
    monkeypatch.setattr(progress, "_REDRAW_INTERVAL", 0.0)
    return bar


def write_blocks(folder: Path) -> tuple[Path, list[Path]]:
    """Write judgments and two runs of several blocks each, one of them compressed."""
    qrels = folder / "qrels.txt"
    qrels.write_text("".join(f"q{i} 0 d{i % 7} {i % 3}\n" for i in range(40)))
    runs = [folder / "a.run", folder / "b.run.gz"]
    for i, path in enumerate(runs):
        lines = (f"q{j // 50} Q0 d{j % 50} 0 {(j * 7 + i) % 53} t\n" for j in range(2000))
        text = "".join(lines).encode()
        path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return qrels, runs


SCORES = {
    name: {f"q{i}": ((i * step) % 17) / 17 for i in range(60)}
    for name, step in (("a", 3), ("b", 5), ("c", 7))
}
