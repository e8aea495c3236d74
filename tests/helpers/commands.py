"""How a test runs cranfield: in this process, or in a new one."""

import gc
import io
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

import pytest
from click.testing import CliRunner

from cranfield.cli import cli, main

# What a small evaluation is not to import.
HEAVY = ["numpy.ma", "pandas", "polars", "scipy", "rich.table", "matplotlib", "altair", "numba"]


def loaded_modules(code: str, *arguments: str) -> set[str]:
    """Run code in a new interpreter; return the modules that it has loaded at the end."""
    code += "\nimport sys; sys.stderr.write(' '.join(sys.modules))"
    process = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    return set(process.stderr.split())


def run_command(
    *arguments: str,
    input: str = "",  # noqa: A002 - as in `subprocess.run`
    cwd: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run the command in this process; return its status and what it printed."""
    process = run_bytes(*arguments, input=input.encode(), cwd=cwd)
    output_text, error_text = process.stdout.decode(), process.stderr.decode()
    return subprocess.CompletedProcess(process.args, process.returncode, output_text, error_text)


def run_bytes(
    *arguments: str,
    input: bytes = b"",  # noqa: A002 - as in `subprocess.run`
    cwd: Path | None = None,
    encoding: str = "utf-8",
) -> subprocess.CompletedProcess[bytes]:
    """Run the command in this process, its streams being files of bytes in an encoding."""
    stdin, stdout, stderr = io.BytesIO(input), io.BytesIO(), io.BytesIO()
    # Python escapes what the encoding of the standard error does not have.
    errors = ("strict", "strict", "backslashreplace")
    streams = [
        io.TextIOWrapper(stream, encoding, error_handler)
        for stream, error_handler in zip((stdin, stdout, stderr), errors, strict=True)
    ]
    status = call_main(*arguments, streams=streams, cwd=cwd)
    return subprocess.CompletedProcess(
        ["cranfield", *arguments], status, stdout.getvalue(), stderr.getvalue()
    )


def call_main(*arguments: str, streams: Sequence[TextIO], cwd: Path | None = None) -> int:
    """Call what `python -m cranfield` calls, on three streams; return the exit status.

    What it does to the process, which is to end with it, is undone: the collector of cycles, the
    environment.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["cranfield", *arguments])
        for name, stream in zip(("stdin", "stdout", "stderr"), streams, strict=True):
            patch.setattr(sys, name, stream)
        patch.setattr(gc, "freeze", lambda: None)
        patch.setenv("OPENBLAS_NUM_THREADS", os.environ.get("OPENBLAS_NUM_THREADS", "1"))
        if cwd is not None:
            patch.chdir(cwd)
        try:
            main()
        except SystemExit as end:
            return int(end.code or 0)
        finally:
            gc.enable()
    raise AssertionError("the command did not end")


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(cli, arguments)
