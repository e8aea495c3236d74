"""Change one operator, comparison or constant at a time: are there tests that notice.

tests/mutants.json holds mutants: changes in functions of the core, each with its killer, a cheap
test that fails with that change. This script runs every killer against its mutant, in a copy of
the sources. A mutant is found again by its function and by which of the function's operators it
changes, a killer by its name and that of its file: lines and folders may be others.

    python scripts/mutants.py                   exits with 1 if a mutant survives, and lists them
    python scripts/mutants.py --profile quick   runs the tests in that profile
    python scripts/mutants.py --refresh         finds mutants and killers under new names, and draws
                                                mutants for those that are gone (in all tests)
"""

import argparse
import ast
import builtins
import importlib
import importlib.util
import itertools
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES, TESTS, LIST = ROOT / "src", ROOT / "tests", ROOT / "tests" / "mutants.json"
N_MUTANTS, MIN_LINES, N_CASES, N_WORKERS, CPU_SECONDS = 300, 5, 4, 2, 60

SYMBOLS = (  # class in ast, symbol, and the one that takes its place
    "Lt < <=,LtE <= <,Gt > >=,GtE >= >,Eq == !=,NotEq != ==,Is is is_not,IsNot is_not is,"
    "In in not_in,NotIn not_in in,Add + -,Sub - +,Mult * /,Div / *,FloorDiv // /,Mod % *,Pow ** *,"
    "And and or,Or or and,BitAnd & |,BitOr | &,USub - +"
)
CHANGES = {
    name: (before.replace("_", " "), after.replace("_", " "))
    for name, before, after in (symbol.split(" ") for symbol in SYMBOLS.split(","))
} | {"Not": ("not", ""), "Invert": ("~", "")}
# Defaults and decorators run at import, annotations do not run; messages are not arithmetic.
SKIPPED_FIELDS = ("annotation", "returns", "decorator_list")
SKIPPED_NODES = ast.arguments | ast.JoinedStr

Place = tuple[str, str, str, str, int]  # module, function, kind, before, count
Edit = tuple[int, int, str]  # first and last byte, new text


@dataclass(frozen=True)
class Mutant:
    """A change: the `count`-th (from 0) `before` of its kind in a function becomes `after`."""

    module: str
    function: str  # qualified name, without the module
    kind: str  # operator, comparison or constant
    before: str
    count: int
    after: str
    killer: str = ""  # test_file.py::test_name[parameters]

    @property
    def place(self) -> Place:
        """What the mutant is found by."""
        return self.module, self.function, self.kind, self.before, self.count


@dataclass(frozen=True)
class Site:
    """A place in a file where a mutant changes something."""

    mutant: Mutant
    path: Path
    edits: tuple[Edit, ...]
    statement: tuple[int, int]  # line and column of the statement that holds the place

    def change(self) -> bytes:
        """Return the file with the change."""
        source = self.path.read_bytes()
        for start, end, text in sorted(self.edits, reverse=True):
            source = source[:start] + text.encode() + source[end:]
        return source

    def __str__(self) -> str:
        line = self.path.read_bytes()[: self.edits[0][0]].count(b"\n") + 1
        change = f"{self.mutant.before} becomes {self.mutant.after or 'nothing'}"
        return f"{self.path.relative_to(ROOT)}:{line}: {self.mutant.function}: {change}"


# ---- places -------------------------------------------------------------------------------------


def read_sites(paths: Sequence[Path] = ()) -> dict[Place, Site]:
    """Return the sites in those functions of files, of all of the core, that have enough lines."""
    sites, folder = {}, SOURCES / "cranfield"
    for path in paths or sorted(set(folder.rglob("*.py")) - set(folder.glob("extensions/**/*.py"))):
        source, counts = path.read_bytes(), Counter[tuple[str, str, str]]()
        module = ".".join(path.relative_to(SOURCES).with_suffix("").parts)
        line_starts = [0, *(match.end() for match in re.finditer(b"\n", source))]
        for function, definition in _find_functions(ast.parse(source), ""):
            changes = _find_changes(definition, definition, source, line_starts)
            for kind, before, after, edits, statement in sorted(changes, key=lambda c: c[3]):
                count = counts[function, kind, before]
                counts[function, kind, before] += 1
                mutant = Mutant(module, function, kind, before, count, after)
                sites[mutant.place] = Site(mutant, path, edits, statement)
    return sites


def _find_functions(parent: Any, prefix: str) -> Iterator[tuple[str, ast.stmt]]:
    """Yield the functions and methods of enough lines; nested ones belong to the outer one."""
    for child in parent.body:
        if isinstance(child, ast.ClassDef):
            yield from _find_functions(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.FunctionDef):
            body = child.body[1:] if ast.get_docstring(child) else child.body
            if body and (body[-1].end_lineno or 0) - body[0].lineno + 2 >= MIN_LINES:
                yield prefix + child.name, child


def _find_changes(
    node: ast.AST, statement: ast.stmt, source: bytes, line_starts: list[int]
) -> Iterator[tuple[str, str, str, tuple[Edit, ...], tuple[int, int]]]:
    """Yield kind, before, after, edits and the statement's position of all changes in a node."""

    def span(part: Any) -> tuple[int, int]:
        start, end = line_starts[part.lineno - 1], line_starts[part.end_lineno - 1]
        return start + part.col_offset, end + part.end_col_offset

    position = statement.lineno, statement.col_offset
    operators: list[tuple[Any, Any]] = []  # with the pairs of operands that an operator is between
    match node:
        case ast.Constant(value=bool() | int() | float() as number):
            (start, end), is_flag = span(node), isinstance(number, bool)
            after = repr(not number if is_flag else number + 1)
            yield "constant", source[start:end].decode(), after, ((start, end, after),), position
        case ast.Compare(left, signs, rights):
            operators = [(sign, [pair]) for sign, *pair in zip(signs, [left, *rights], rights)]  # noqa: B905
        case ast.BinOp(left, sign, right) | ast.AugAssign(left, sign, right):
            if ast.JoinedStr not in (type(left), type(right)):
                operators = [(sign, [(left, right)])]
        case ast.BoolOp(sign, values):
            operators = [(sign, list(itertools.pairwise(values)))]
        case ast.UnaryOp(sign, operand):
            operators = [(sign, [(None, operand)])]
    for operator, pairs in operators:
        before, after = CHANGES.get(type(operator).__name__, ("", ""))
        pattern, edits = rb"#.*|(%s)" % re.escape(before).replace(r"\ ", r"\s+").encode(), []
        for left, right in pairs if before else []:
            start, end = span(left)[1] if left else span(node)[0], span(right)[0]
            match = next(match for match in re.finditer(pattern, source[start:end]) if match[1])
            edits.append((start + match.start(), start + match.end(), after))
        if edits and isinstance(node, ast.BinOp | ast.BoolOp):  # brackets: precedence may differ
            (start, end) = span(node)
            edits += [(start, start, "("), (end, end, ")")]
        if edits:
            kind = "comparison" if isinstance(node, ast.Compare) else "operator"
            yield kind, before, after, tuple(edits), position
    for name, children in ast.iter_fields(node):
        for child in children if isinstance(children, list) else [children]:
            is_run = name not in SKIPPED_FIELDS and not isinstance(child, SKIPPED_NODES)
            if is_run and isinstance(child, ast.AST):
                inner = child if isinstance(child, ast.stmt) else statement
                yield from _find_changes(child, inner, source, line_starts)


# ---- which tests run a place: this file is a plugin of pytest in a run of `trace` ---------------


RUN_PLACES = set[int]()  # numbers of the places that the test in progress has run


def pytest_configure() -> None:
    """Load modules so that a statement which holds a place adds its number to RUN_PLACES first."""
    places = json.loads(Path(os.environ["MUTANTS_TRACE"], "places.json").read_text())
    all_sites, get_code = read_sites(), SourceFileLoader.get_code
    numbers: dict[str, dict[tuple[int, int], list[int]]] = defaultdict(lambda: defaultdict(list))
    for i, place in enumerate(places):
        site = all_sites[tuple(place)]
        numbers[site.mutant.module.removesuffix(".__init__")][site.statement].append(i)

    def get_marked_code(loader: SourceFileLoader, fullname: str) -> CodeType | None:
        if fullname not in numbers:
            return get_code(loader, fullname)
        tree = ast.parse(Path(loader.path).read_bytes())
        for parent in list(ast.walk(tree)):
            for name in ("body", "orelse", "finalbody"):
                statements = getattr(parent, name, [])
                for statement in list(statements) if isinstance(statements, list) else []:
                    for i in numbers[fullname][statement.lineno, statement.col_offset]:
                        call = ast.copy_location(ast.parse(f"_run_place({i})").body[0], statement)
                        statements.insert(statements.index(statement), call)
        return compile(ast.fix_missing_locations(tree), loader.path, "exec", dont_inherit=True)

    setattr(SourceFileLoader, "get_code", get_marked_code)  # noqa: B010
    vars(builtins)["_run_place"] = RUN_PLACES.add


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what makes no cheap killer: simulations, Hypothesis, a test's later cases."""
    n_cases = Counter[str]()
    for test in list(items):
        name = test.nodeid.partition("[")[0]
        n_cases[name] += 1
        is_random = hasattr(getattr(test, "obj", None), "hypothesis")
        if is_random or test.get_closest_marker("slow") or n_cases[name] > N_CASES:
            items.remove(test)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Write down the CPU seconds of a test, its name, and the places that it runs."""
    RUN_PLACES.clear()
    start = sum(os.times()[:4])
    outcome = yield
    seconds = round(sum(os.times()[:4]) - start, 2)
    with open(f"{os.environ['MUTANTS_TRACE']}/{os.getpid()}.jsonl", "a") as file:
        file.write(json.dumps([seconds, name_killer(item.nodeid), sorted(RUN_PLACES)]) + "\n")
    return outcome


def name_killer(node_id: str) -> str:
    """Return the id of a test without the folder of its file."""
    path, _, test = node_id.partition("::")
    return f"{Path(path).name}::{test}"


def trace(sites: Sequence[Site], paths: Sequence[Path]) -> list[list[str]]:
    """Run the tests in paths; return for each site the names of those that run it, cheap first."""
    with tempfile.TemporaryDirectory() as folder:
        places = [site.mutant.place for site in sites]
        Path(folder, "places.json").write_text(json.dumps(places))
        environment = {"PYTHONPATH": f"{SOURCES}:{ROOT / 'scripts'}", "MUTANTS_TRACE": folder}
        options = ["-q", "-p", "mutants", "-p", "no:cacheprovider", "-m", "not more"]
        command = [sys.executable, "-m", "pytest", *options, "-n", str(N_WORKERS)]
        environment = os.environ | environment
        subprocess.run([*command, *paths], env=environment, cwd=ROOT, check=False)  # noqa: S603
        lines = [line for path in Path(folder).glob("*.jsonl") for line in path.open()]
    killers: list[list[str]] = [[] for _ in sites]
    for _, killer, numbers in sorted(json.loads(line) for line in lines):
        for i in numbers:
            killers[i].append(killer)
    return killers


# ---- trials -------------------------------------------------------------------------------------


@dataclass
class Trial:
    """A run of tests with a changed source, until one fails, or of all with the sources as is."""

    site: Site | None
    tests: list[str]
    started: list[str] = field(default_factory=list)
    passed: set[str] = field(default_factory=set)
    status: int = 0  # of pytest; negative: the signal that ended it

    @property
    def killer(self) -> str:
        """The test that failed or took too long; empty: none did, or they could not run."""
        return self.started[-1] if self.started and (self.status == 1 or self.status < 0) else ""


class Diary:
    """A plugin of pytest that writes the tests that start and that pass into a file."""

    def __init__(self, path: Path, tests: set[str]) -> None:
        self.path, self.tests = path, tests

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out what is in the same file as the tests that are asked for."""
        items[:] = [item for item in items if name_killer(item.nodeid) in self.tests]

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Write that a test starts."""
        with self.path.open("a") as file:
            file.write(f"started {name_killer(nodeid)}\n")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write that a test passed."""
        if report.when == "call" and report.passed:
            with self.path.open("a") as file:
                file.write(f"passed {name_killer(report.nodeid)}\n")


def run_trials(trials: Sequence[Trial], profile: str | None) -> None:
    """Run trials, two at a time, each in a child of this process."""
    for module in (
        "numpy",
        "scipy.stats",
        "pyarrow.csv",
        "pyarrow.compute",
        "hypothesis",
        "pandas",
    ):
        with suppress(ImportError):
            importlib.import_module(module)  # once for all children
    waiting, running = list(trials)[::-1], dict[int, tuple[Trial, Path]]()
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name, str(i)) for i in range(N_WORKERS)]
        for folder in folders:
            shutil.copytree(SOURCES, folder)
        while waiting or running:
            if waiting and folders:
                trial, folder = waiting.pop(), folders.pop()
                if trial.site:
                    (folder / trial.site.path.relative_to(SOURCES)).write_bytes(trial.site.change())
                folder.with_suffix(".diary").write_text("")
                process = os.fork()
                if not process:
                    _run_child(trial, folder, profile)
                running[process] = trial, folder
                continue
            process, status = os.wait()
            with suppress(ProcessLookupError):
                os.killpg(process, signal.SIGKILL)  # what the tests left running
            trial, folder = running.pop(process)
            folders.append(folder)
            trial.status = os.waitstatus_to_exitcode(status)
            for line in folder.with_suffix(".diary").read_text().splitlines():
                event, _, test = line.partition(" ")
                trial.started.append(test) if event == "started" else trial.passed.add(test)
            if trial.site:
                path = folder / trial.site.path.relative_to(SOURCES)
                shutil.copy2(trial.site.path, path)
                Path(importlib.util.cache_from_source(path)).unlink(missing_ok=True)
            n_ended = len(trials) - len(waiting) - len(running)
            print(f"\r{n_ended} of {len(trials)} runs", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)


def _run_child(trial: Trial, folder: Path, profile: str | None) -> None:
    """Run the tests of a trial with the sources in a folder, and end this process."""
    status = 99
    try:
        os.setsid()
        seconds = CPU_SECONDS if trial.site else 10 * CPU_SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        resource.setrlimit(resource.RLIMIT_DATA, (8 * 2**30, 8 * 2**30))
        signal.alarm(10 * seconds)  # ends what waits for ever
        with folder.with_suffix(".output").open("w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        os.environ["PYTHONPATH"] = str(folder)
        sys.path.insert(0, str(folder))
        path_of_file = {test.partition("::")[0]: "" for test in trial.tests}
        for file_name in path_of_file:
            path_of_file[file_name] = str(next(TESTS.rglob(file_name), file_name))
        options = [
            "-q",
            "-p",
            "no:cacheprovider",
            "-W",
            "ignore::pytest.PytestAssertRewriteWarning",
        ]
        options += ["--rootdir", str(ROOT), "-c", str(ROOT / "pyproject.toml")]
        options += ["--profile", profile] if profile else []
        if trial.site:
            parts = [test.partition("::") for test in trial.tests]
            options += ["-x", *(f"{path_of_file[name]}::{test}" for name, _, test in parts)]
        else:
            options += path_of_file.values()
        diary = Diary(folder.with_suffix(".diary"), set(trial.tests))
        status = int(pytest.main(options, [diary]))
        package = importlib.util.find_spec("cranfield")
        if package is None or not str(package.origin).startswith(f"{folder}/"):
            status = 98  # the tests ran with other sources
    finally:
        os._exit(status)


# ---- the list -----------------------------------------------------------------------------------


def read_mutants() -> list[Mutant]:
    """Return the mutants of the list."""
    return [Mutant(**entry) for entry in json.loads(LIST.read_text())] if LIST.exists() else []


def find_faults(mutants: Sequence[Mutant], profile: str | None) -> dict[Mutant, str]:
    """Run the killers; return the mutants that have no place, or that survive: {mutant: why}."""
    sites, trials, faults = read_sites(), dict[Mutant, Trial](), dict[Mutant, str]()
    for mutant in mutants:
        if mutant.place in sites:
            trials[mutant] = Trial(sites[mutant.place], [mutant.killer])
        else:
            faults[mutant] = f"there is no place for {mutant}"
    unchanged = Trial(None, [mutant.killer for mutant in mutants])
    run_trials([unchanged, *trials.values()], profile)
    for mutant, trial in trials.items():
        if mutant.killer not in unchanged.passed:
            faults[mutant] = f"{trial.site}: {mutant.killer} is gone, or fails without the change"
        elif not trial.killer:
            faults[mutant] = f"{trial.site}: {mutant.killer} ends with status {trial.status}"
    return faults


def draw(sites: dict[Place, Site], seed: int) -> list[Site]:
    """Return a site of each function, both in random order."""
    random_numbers = random.Random(seed)  # noqa: S311
    sites_of_function = defaultdict(list)
    for place in sorted(sites):
        sites_of_function[place[:2]].append(sites[place])
    functions = sorted(sites_of_function)
    random_numbers.shuffle(functions)
    return [random_numbers.choice(sites_of_function[function]) for function in functions]


def find_alike(mutant: Mutant, sites: Sequence[Site]) -> list[Site]:
    """Return the sites where a mutant may be now: in a function of its name or in its module."""
    name, keys = mutant.function.rpartition(".")[2], {}
    for site in sites:
        other = site.mutant
        has_name, is_near = other.function.rpartition(".")[2] == name, other.module == mutant.module
        if (has_name or is_near) and (other.kind, other.before) == (mutant.kind, mutant.before):
            keys[site] = not has_name, not is_near, abs(other.count - mutant.count)
    return sorted(keys, key=lambda site: keys[site])[:10]


def find_killers(sites: list[Site], tests: Sequence[Path], profile: str | None) -> list[Mutant]:
    """Return mutants at those sites where a test notices, with it; `tests` are files or folders."""
    killers = dict(zip(sites, trace(sites, tests), strict=True))
    mutants = dict[Site, Mutant]()
    for first, last in ((0, 12), (12, 120)):
        live = [site for site in sites if site not in mutants and killers[site][first:last]]
        trials = [Trial(site, killers[site][first:last]) for site in live]
        run_trials(trials, profile)
        for site, trial in zip(live, trials, strict=True):
            if trial.killer:
                mutants[site] = replace(site.mutant, killer=trial.killer)
    return [mutants[site] for site in sites if site in mutants]


def refresh(mutants: list[Mutant], profile: str | None, seed: int) -> list[Mutant]:
    """Return the mutants with places and killers found anew, and others drawn for the rest."""
    faults, sites = find_faults(mutants, profile), read_sites()
    mutants = [mutant for mutant in mutants if mutant not in faults]
    print(*faults.values(), sep="\n")

    def choose_free(sites: Sequence[Site]) -> list[Site]:
        functions = {mutant.place[:2] for mutant in mutants}
        return [site for site in sites if site.mutant.place[:2] not in functions]

    free_sites, without_killer = choose_free(list(sites.values())), []
    trials = {m: [Trial(site, [m.killer]) for site in find_alike(m, free_sites)] for m in faults}
    run_trials(list(itertools.chain(*trials.values())), profile)
    for mutant, likely in trials.items():
        places = choose_free([trial.site for trial in likely if trial.site and trial.killer])
        if places:
            mutants.append(replace(places[0].mutant, killer=mutant.killer))
        elif mutant.place in sites:
            without_killer.append(mutant)
    files = {path for m in without_killer for path in TESTS.rglob(m.killer.partition("::")[0])}
    if files:
        places = choose_free([sites[mutant.place] for mutant in without_killer])
        mutants += find_killers(places, sorted(files), profile)
    if len(mutants) < N_MUTANTS:
        places = choose_free(draw(sites, seed))[: 2 * (N_MUTANTS - len(mutants))]
        mutants += find_killers(places, [TESTS], profile)
    faults = find_faults(mutants, profile)
    return [mutant for mutant in mutants if mutant not in faults][:N_MUTANTS]


def main() -> int:
    """Run the killers, or write the list anew; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--profile", help="the profile of the tests")
    parser.add_argument("--refresh", action="store_true", help="find or draw what is missing")
    parser.add_argument("--seed", type=int, default=1, help="of the draw (default: 1)")
    arguments = parser.parse_args()
    mutants = read_mutants()
    if arguments.refresh:
        mutants = refresh(mutants, arguments.profile, arguments.seed)
        lines = [json.dumps(asdict(mutant)) for mutant in sorted(mutants, key=lambda m: m.place)]
        LIST.write_text("[\n" + ",\n".join(lines) + "\n]\n")
        print(f"{len(mutants)} mutants in {LIST.relative_to(ROOT)}")
        return int(len(mutants) < N_MUTANTS)
    faults = find_faults(mutants, arguments.profile)
    print(*faults.values(), sep="\n", end="\n" if faults else "")
    print(f"{len(mutants) - len(faults)} of {len(mutants)} killed")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
