"""Commands of extensions refuse what has no end."""

from pathlib import Path

import pytest
from helpers.commands import run_bytes


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/urandom"])
@pytest.mark.parametrize(
    "arguments", [["trec-eval", "QRELS", "PATH"], ["nuggets", "PATH"]], ids=" ".join
)
def test_a_device_without_an_end_is_refused(
    arguments: list[str], path: str, tmp_path: Path
) -> None:
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\n")
    names = {"QRELS": str(tmp_path / "qrels.txt"), "PATH": path}
    process = run_bytes(*(names.get(argument, argument) for argument in arguments))
    assert process.returncode == 2, process.stderr
    assert b"Traceback" not in process.stderr
    assert b"null bytes" in process.stderr + process.stdout
