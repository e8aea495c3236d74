"""How a test runs cranfield: in a new process, or in this one."""

import subprocess
import sys
from typing import Any

from click.testing import CliRunner

from cranfield.cli import cli

# What a small evaluation is not to import.
HEAVY = ["numpy.ma", "pandas", "polars", "scipy", "rich.table", "matplotlib", "altair", "numba"]


def loaded(code: str, *arguments: str) -> set[str]:
    """Run code in a new interpreter; return the modules that it has loaded at the end."""
    code += "\nimport sys; sys.stderr.write(' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cranfield", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **options)


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(cli, arguments)
