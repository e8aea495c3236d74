"""Which systems a test can run on, by what it uses: marks `posix` and `linux`.

A test module that imports, itself or by another module of the tests or scripts, a module that only
Linux and macOS have needs these; so does a test whose source names what only they have.
"""

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
_MODULES = {"fcntl", "grp", "pty", "pwd", "resource", "termios"}
_POSIX = re.compile(
    r"os\.(fork|mkfifo|kill|posix_\w+|set_blocking|geteuid|getuid|chmod|symlink)|symlink_to|/dev/"
    r"|SIG(KILL|TERM|HUP|PIPE|INT)|\"(sh|bash)\"|shell=True|demo_shell|RLIMIT"
)
_LINUX = re.compile(r"/proc\b|RLIMIT_AS|O_TMPFILE|malloc_trim|sched_|chromium|pdflatex|pdftotext")


def imported(path: Path) -> Iterator[str]:
    """Yield the modules that a file imports, at its top or in a function."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{one.name}" for one in node.names)


@cache
def needs_posix(path: Path) -> bool:
    """Tell whether a file imports what only Linux and macOS have, or a file that does."""
    for name in imported(path):
        if name.partition(".")[0] in _MODULES:
            return True
        parts = Path(*name.split(".")).with_suffix(".py")
        for folder in ("tests", "scripts"):
            other = ROOT / folder / parts
            if other != path and other.exists() and needs_posix(other):
                return True
    return False


def systems(path: Path, function: Any) -> set[str]:
    """Return the marks of a test: "posix", "linux", both, or none."""
    try:
        source = inspect.getsource(function) if inspect.isfunction(function) else ""
    except OSError:
        source = ""
    found = set()
    if path.suffix == ".py" and (needs_posix(path) or _POSIX.search(source)):
        found.add("posix")
    if _LINUX.search(source):
        found |= {"posix", "linux"}
    return found
