"""A run that is fused from a URL is not written over."""

from pathlib import Path

import pytest
from helpers.commands import invoke
from helpers.url_files import RUN_TEXT, spellings


@pytest.fixture
def stored_run(tmp_path: Path) -> Path:
    path = tmp_path / "my run.run"
    path.write_text(RUN_TEXT)
    return path


@pytest.mark.parametrize("spelling", range(3))
def test_a_fused_file_url_is_not_written(spelling: int, stored_run: Path, tmp_path: Path) -> None:
    path, url = str(stored_run), spellings(stored_run)[spelling]
    qrels, other = str(tmp_path / "qrels.txt"), str(tmp_path / "other.run")
    Path(qrels).write_text("q1 0 d1 1\nq2 0 d1 1\n")
    Path(other).write_text(RUN_TEXT)
    for command in (
        ("fuse", path, other, "-o", url),
        ("fuse", url, other, "-o", path),
        ("tune", qrels, path, other, "--write-run", url),
    ):
        outcome = invoke(*command)
        assert outcome.exit_code == 2, command
        assert "is read by this command; name another file" in outcome.stderr, command
        assert stored_run.read_text() == RUN_TEXT, command
