"""Which systems a test can run on, by what it uses: marks `posix` and `linux`.

A test module that imports, itself or by another module of the tests or scripts, a module that only
Linux and macOS have needs these; so does one that names, where it is imported, a signal or a
function that only they have. So does a test that uses what only they have: itself, or by a
function, fixture or constant of its file or of conftest.py.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from helpers.folders import ROOT

_MODULES = {"fcntl", "grp", "pty", "pwd", "resource", "termios"}
_ABSENT = re.compile(  # names that os and signal do not have on Windows
    r"\b(os\.(fork|mkfifo|killpg|posix_\w+|pread|preadv|geteuid|getuid|WNOHANG|waitstatus_\w+)"
    r"|signal\.SIG(KILL|HUP|PIPE|USR\d|ALRM))\b"
)
_POSIX = re.compile(
    rf"{_ABSENT.pattern}|os\.(kill|set_blocking|chmod|symlink)\b|symlink_to|/dev/"
    r"|SIG(KILL|TERM|HUP|PIPE|INT)|\"(sh|bash)\"|shell=True|demo_shell|RLIMIT"
)
_LINUX = re.compile(
    r"/proc\b|/dev/full|RLIMIT_AS|O_TMPFILE|malloc_trim|sched_|[\"']chromium|pdflatex|pdftotext"
)


@cache
def _parse_file(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def list_imports(path: Path) -> Iterator[str]:
    """Yield the modules that a file imports, at its top or in a function."""
    for node in ast.walk(_parse_file(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _import_time_code(path: Path) -> str:
    """Return the code that runs when a file is imported: all but the bodies of its functions."""
    parts: list[ast.AST] = []
    for node in _parse_file(path).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            parts += node.decorator_list
        elif not isinstance(node, ast.Expr):
            parts.append(node)
    return "\n".join(map(ast.unparse, parts))


@cache
def needs_posix(path: Path) -> bool:
    """Tell whether a file can be imported only on Linux and macOS, or imports such a file."""
    if _ABSENT.search(_import_time_code(path)):
        return True
    for name in list_imports(path):
        if name.partition(".")[0] in _MODULES:
            return True
        parts = Path(*name.split(".")).with_suffix(".py")
        for folder in ("tests", "scripts"):
            module_path = ROOT / folder / parts
            if module_path != path and module_path.exists() and needs_posix(module_path):
                return True
    return False


@cache
def _definitions(path: Path) -> dict[str, ast.AST]:
    """Return the functions, classes and constants at the top of a file."""
    definition_of_name: dict[str, ast.AST] = {}
    for node in _parse_file(path).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            definition_of_name[node.name] = node
        elif isinstance(node, ast.Assign):
            definition_of_name |= {
                target.id: node for target in node.targets if isinstance(target, ast.Name)
            }
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            definition_of_name[node.target.id] = node
    return definition_of_name


@cache
def _collect_source(path: Path, name: str) -> str:
    """Return the source of what a test is, and of all that it uses of its file and conftest.py."""
    definitions = _definitions(ROOT / "conftest.py") | _definitions(path)
    parts, visited_names, names_left = [], {name}, [name]
    while names_left:
        node = definitions.get(names_left.pop())
        if node is None:
            continue
        parts.append(ast.unparse(node).replace("'", '"'))
        for inner_node in ast.walk(node):
            name_used = (
                inner_node.id
                if isinstance(inner_node, ast.Name)
                else getattr(inner_node, "arg", None)
            )
            if isinstance(name_used, str) and name_used not in visited_names:
                visited_names.add(name_used)
                names_left.append(name_used)
    return "\n".join(parts)


@cache
def find_marks(path: Path, test: str) -> set[str]:
    """Return the marks of a test of a file: "posix", "linux", both, or none."""
    if path.suffix != ".py":
        return set()
    source = _collect_source(path, test)
    marks = set()
    if needs_posix(path) or _POSIX.search(source):
        marks.add("posix")
    if _LINUX.search(source):
        marks |= {"posix", "linux"}
    return marks
