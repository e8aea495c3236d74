"""The house: a folder is a floor, and imports only from the floors below it.

docs/background/architecture.md lists the floors, lowest first: each line of its tree that begins
with a name of a file or a folder of the package. `extensions` is no floor but a storey above them:
extensions import from the floors, and the floors know the table in `extensions/__init__.py` only.
"""

import ast
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from helpers.folders import ROOT
from helpers.profile import sample_cases

import cranfield
from cranfield.cli.way import Way
from cranfield.extensions import ENTRIES, FAMILIES, USES, WAYS, load_entry, load_families, load_ways
from cranfield.options import Options

PACKAGE = ROOT / "src" / "cranfield"
PAGE = (ROOT / "docs/background/architecture.md").read_text("utf-8")
TREE = re.search(r"^```text\nsrc/cranfield/\n(.*?)^```", PAGE, re.S | re.M)
assert TREE is not None
LINES = re.findall(r"^  (\w.*?)(?:  .*)?$", TREE[1], re.M)  # a part each, or aliases
PARTS = [part for line in LINES for part in re.findall(r"(\w+)(?:\.py|/)", line)]
FLOORS = [part for part in PARTS if part != "extensions"]


def find_modules() -> dict[str, Path]:
    """Return the package's modules except its own __init__, which holds the public names only."""
    path_of_module = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name:
            path_of_module[name] = path
    return path_of_module


MODULES = find_modules()


@cache
def parse_file(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def list_calls(path: Path) -> frozenset[str]:
    """Return the functions that a file calls, as they are written."""
    calls = (node for node in ast.walk(parse_file(path)) if isinstance(node, ast.Call))
    return frozenset(ast.unparse(call.func) for call in calls)


@cache
def list_imports(path: Path, *, for_types: bool = True) -> set[str]:
    """Return the modules of the package that a file imports, within functions, too.

    `for_types`: also those that only type checkers import.
    """
    names = set()
    tree = parse_file(path)
    if not for_types:
        body = [
            node
            for node in tree.body
            if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
        ]
        tree = ast.Module(body, [])
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are written from the top"
            module = node.module or ""
            for alias in node.names:
                full_name = f"{module}.{alias.name}".removeprefix("cranfield.")
                name_in_package = module.removeprefix("cranfield.")
                names.add(
                    full_name
                    if full_name in MODULES
                    else name_in_package
                    if name_in_package in MODULES
                    else ""
                )
        elif isinstance(node, ast.Import):
            names |= {alias.name.removeprefix("cranfield.") for alias in node.names} & {*MODULES}
    return names - {""}


# What functions take as keywords, for type checkers: no floor, and nothing that runs imports them.
KEYWORDS = ("keywords", "extensions.keywords")
FOLDERS = [path.name for path in (PACKAGE / "extensions").iterdir() if path.is_dir()]
# {a public name of the package: its module}.
HOMES: dict[str, str] = vars(cranfield)["_HOME"]
# Files of tests that are run with the core alone: each kind of result, cheaply.
CORE_TESTS = (
    "scoring/test_scores.py",
    "explanation/test_words.py",
    "comparison/test_units.py",
    "comparison/test_letters.py",
    "cli/test_texts.py",
)


@cache
def list_runtime_imports(name: str) -> set[str]:
    """Return the modules that a module imports when it runs, without imports for type checkers."""
    return list_imports(MODULES[name], for_types=False) - {*KEYWORDS}


# Short names, for users only, of modules of extensions; or folders of these.
ALIASES = ("adapters", "compat", "demo", "figures", "pytrec_eval", "spark")


def extension_of(name: str) -> str | None:
    """Return the extension that a module is part of; None for the core, and for the table."""
    storey, *folders = name.split(".")
    return folders[0] if storey == "extensions" and folders and name not in KEYWORDS else None


def is_alias(name: str) -> bool:
    """Tell whether a module is a short name of an extension's module, or a folder of these."""
    return name.split(".")[0] in ALIASES


def is_command(name: str) -> bool:
    """Tell whether a module is the command of an extension."""
    return extension_of(name) is not None and name.endswith("_command")


def test_no_module_outside_imports_an_extension() -> None:
    arrows = {
        (name, imported_module)
        for name in MODULES
        if extension_of(name) is None and not is_alias(name) and name not in KEYWORDS
        for imported_module in list_imports(MODULES[name])
        if extension_of(imported_module) is not None
    }
    assert arrows == set()


def test_an_alias_has_all_names_and_the_words_of_its_module() -> None:
    for name in filter(is_alias, MODULES):
        statements = ast.parse(MODULES[name].read_text("utf-8")).body[1:]  # after the docstring
        if MODULES[name].name == "__init__.py":
            assert statements == []
            continue
        (home,) = list_imports(MODULES[name])
        assert extension_of(home) is not None
        assert [ast.unparse(statement) for statement in statements] == [
            f"from cranfield.{home} import *",
            f"from cranfield.{home} import __all__ as __all__",
            f"from cranfield.{home} import __doc__ as __doc__",
        ]


def test_no_module_imports_an_alias() -> None:
    for name, path in MODULES.items():
        assert not [other for other in list_imports(path) if is_alias(other)], name


def test_keywords_are_for_type_checkers() -> None:
    """Functions know them by a name whose value is None when it runs."""
    code = "import cranfield, sys; [getattr(cranfield, name) for name in cranfield.__all__]; "
    code += "print(*(name for name in sys.modules if name.startswith('cranfield.')))"
    imported_names = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    assert "cranfield.options" in imported_names
    assert {f"cranfield.{name}" for name in KEYWORDS}.isdisjoint(imported_names)


def test_an_extension_imports_those_that_the_table_names() -> None:
    pairs_used = {
        (extension, imported_extension)
        for name in MODULES
        if (extension := extension_of(name)) is not None
        for module in list_imports(MODULES[name])
        if (imported_extension := extension_of(module)) not in (None, extension)
    }
    assert pairs_used == {
        (extension, imported_extension)
        for extension, imported_extensions in USES.items()
        for imported_extension in imported_extensions
    }


def test_every_place_in_the_table_exists() -> None:
    for kind, names in ENTRIES.items():
        for name in names:
            assert isinstance(load_entry(kind, name), type)
    for verb in FAMILIES:
        assert all(issubclass(family, Options) for family in load_families(verb))
    for command in WAYS:
        assert all(issubclass(way, Way) for way in load_ways(command))


ALONE = """
import shlex
import sys

sys.path.insert(0, sys.argv[1])
from helpers.core_alone import refuse_extensions

refuse_extensions()
from cranfield import compare, evaluate, explain, gate, intervals

qrels = {f"q{i}": {"a": 1, "b": i % 3} for i in range(12)}
runs = {"old": {query: ["c", "a", "b"] for query in qrels}}
runs["new"] = {query: ["a", "b", "c"] for query in qrels}
scores = evaluate(qrels, runs, "nDCG@10 AP")
print(scores, intervals(scores), compare(qrels, runs, "AP"), sep="")
print(gate(qrels, runs, "AP", baseline="old", margin=0.01))
print(explain(qrels, runs["new"], "AP", "q1"), explain(qrels, runs, "AP", "q1"))
for refused in ({"bounds": True}, {"convention": "beir"}, {"buckets": 3}):
    try:
        evaluate(qrels, runs, "AP", **refused)
    except TypeError as error:
        assert "unexpected keyword" in str(error)
    else:
        raise AssertionError(f"{refused} is no option of the core")

from click.testing import CliRunner
from cranfield.cli import cli

for typed in ("evaluate --grades '5 2 - 1' -m DCG", "compare --help", "--help"):
    result = CliRunner().invoke(cli, shlex.split(typed))
    assert result.exit_code == 0, (typed, result.output, result.exception)
"""


def test_the_core_works_alone() -> None:
    command = [sys.executable, "-W", "ignore", "-c", ALONE, str(ROOT / "tests")]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert "PASS" in run.stdout


@pytest.mark.slow
def test_tests_of_the_core_pass_alone() -> None:
    """Some of them; all do: pytest tests/core --core-alone."""
    paths = [str(ROOT / "tests" / "core" / path) for path in sample_cases(CORE_TESTS)]
    options = ["--core-alone", "--profile", "quick", "-q", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options, *paths]
    environment = {**os.environ, "PYTEST_ADDOPTS": ""}  # such as the coverage of all tests
    run = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600
    )
    assert run.returncode == 0, run.stdout


def list_extension_imports(path: Path) -> set[str]:
    """Return the modules, short names and public names of extensions that a test file imports."""
    names = set()
    for node in ast.walk(parse_file(path)):
        if isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute):
            names.add(ast.unparse(node))
    names_in_package = {
        name.removeprefix("cranfield.") for name in names if name.startswith("cranfield.")
    }
    extension_names = {name for name, home in HOMES.items() if home.startswith("extensions.")}
    return {
        name
        for name in names_in_package
        if name.split(".")[0] in {*ALIASES, *extension_names}
        or (name.startswith("extensions.") and name.split(".")[1] in {*FOLDERS})
    }


def test_tests_of_the_core_import_no_extension() -> None:
    paths = sorted((ROOT / "tests" / "core").rglob("test_*.py"))
    assert len(paths) > 50
    arrows = {path.name: names for path in paths if (names := list_extension_imports(path))}
    assert arrows == {}


def test_tests_stand_in_a_folder_of_what_they_test() -> None:
    tests = ROOT / "tests"
    core = {"formats", "data", "measures", "scoring", "explanation", "comparison", "cli"}
    assert {path.parent.name for path in (tests / "core").rglob("test_*.py")} == core
    assert {path.parent.name for path in (tests / "extensions").rglob("test_*.py")} <= {*FOLDERS}
    assert not list(tests.glob("test_*.py"))


def test_every_folder_has_its_floor() -> None:
    assert {name.split(".")[0] for name in MODULES} == set(PARTS)
    assert len(PARTS) == len(set(PARTS))


def test_nothing_is_imported_from_above() -> None:
    floors = {name: name.split(".")[0] for name in MODULES if not name.startswith("extensions")}
    for name, floor in floors.items():
        for imported_module in list_imports(MODULES[name]) & {*floors} - {*KEYWORDS}:
            above = FLOORS.index(floors[imported_module]) > FLOORS.index(floor)
            assert not above, f"{name} imports {imported_module}"


def test_no_module_imports_itself_by_way_of_others() -> None:
    """When it runs: a seam names the types of those that use it, for type checkers."""
    imports = {name: list_runtime_imports(name) for name in MODULES}
    for name in MODULES:
        reached_modules: set[str] = set()
        new_modules = imports[name]
        while new_modules:
            reached_modules |= new_modules
            new_modules = {
                imported_module for module in new_modules for imported_module in imports[module]
            } - reached_modules
        assert name not in reached_modules


def test_the_tree_names_the_folders() -> None:
    folders = {path.parent.relative_to(PACKAGE).name for path in MODULES.values()} - {""}
    assert TREE is not None
    folders_in_tree = {
        name for line in TREE[1].splitlines() for name in re.findall(r"(\w+)/", line)
    }
    assert folders <= folders_in_tree


def test_the_files_that_the_page_names_are_there() -> None:
    paths_on_page = re.findall(r"`((?:\w+/)+\w+\.py)`", PAGE)
    assert len(paths_on_page) > 30
    folders = (PACKAGE, ROOT / "src", ROOT)
    assert [
        name for name in paths_on_page if not any((parent / name).exists() for parent in folders)
    ] == []


# What a file of an extension is for.
SHARED_FILE_NAMES = ("options", "columns", "sentences", "units", "way")


def test_no_two_files_have_one_name() -> None:
    """Commands are exempt, which have the name of what they call, and names that users import."""
    own_modules = [
        name
        for name in MODULES
        if not name.startswith("cli.")
        and not is_alias(name)
        and name not in KEYWORDS
        and not (extension_of(name) and name.split(".")[-1] in SHARED_FILE_NAMES)
    ]
    names = [MODULES[name].name for name in own_modules if MODULES[name].name != "__init__.py"]
    assert sorted(names) == sorted(set(names))


def test_only_the_command_line_prints_or_exits() -> None:
    for name, path in MODULES.items():
        if name.startswith("cli") or name == "__main__" or is_command(name):
            continue
        exits = list_calls(path) & {"print", "exit", "sys.exit", "os._exit"}
        assert not exits, f"{name}: {exits}"


def test_only_the_formats_and_the_command_line_open_files() -> None:
    for name, path in MODULES.items():
        if name.startswith(("formats", "cli")) or is_command(name):
            continue
        assert not list_calls(path) & {"open", "os.open", "io.open"}, name


def test_no_property_takes_a_lock() -> None:
    """functools.cached_property does in Python 3.11: a forked child could wait for it for ever."""
    for name, path in MODULES.items():
        for node in ast.walk(parse_file(path)):
            if isinstance(node, ast.ImportFrom) and node.module == "functools":
                assert "cached_property" not in [alias.name for alias in node.names], name
            if isinstance(node, ast.Attribute):
                assert ast.unparse(node) != "functools.cached_property", name
