"""Change one operator, comparison or constant at a time: there must be a test that notices.

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
import gc
import importlib
import importlib.util
import itertools
import json
import os
import random
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
N_MUTANTS, MIN_LINES, N_CASES, N_WORKERS, CPU_SECONDS = 300, 5, 4, 2, 20
WRONG_SOURCES = 98  # a status of a child: the tests ran with other sources
PRELOADED = "numpy", "scipy.stats", "pyarrow.csv", "pyarrow.compute", "hypothesis", "pandas"

# Classes of ast: what takes the place of what. Not and Invert are doubled: nothing is negated then.
PAIRS = "Lt LtE,Gt GtE,Eq NotEq,Is IsNot,Add Sub,Mult Div,And Or,BitAnd BitOr"
PAIRS += ",In NotIn"  # codespell:ignore notin
CHANGES = {"FloorDiv": "Div", "Mod": "Mult", "Pow": "Mult", "USub": "UAdd"}
for name, opposite_name in (pair.split() for pair in PAIRS.split(",")):
    CHANGES |= {name: opposite_name, opposite_name: name}
DOUBLED = {"Not", "Invert"}
# Defaults and decorators run at import, annotations do not run; messages are not arithmetic.
SKIPPED_FIELDS = ("annotation", "returns", "decorator_list")
SKIPPED_NODES = ast.arguments | ast.JoinedStr

Place = tuple[str, str, str, int]  # module, function, before, count


@dataclass(frozen=True)
class Mutant:
    """A change: the `count`-th (from 0) `before` in a function becomes `after`."""

    module: str
    function: str  # qualified name, without the module
    before: str  # class of ast, or a constant
    count: int
    after: str
    killer: str = ""  # test_file.py::test_name[parameters]

    @property
    def place(self) -> Place:
        """What the mutant is found by."""
        return self.module, self.function, self.before, self.count


@dataclass(frozen=True, eq=False)
class Site:
    """A place in a file where a mutant changes something."""

    mutant: Mutant
    path: Path
    tree: ast.Module  # of the file
    block: list[ast.stmt]  # statements, among them ...
    statement: ast.stmt  # which holds ...
    node: Any  # where ...
    owner: Any  # a list or the variables of the node, has at ...
    key: Any  # what becomes ...
    new: Any

    def change(self) -> str:
        """Return the file with the change, as `ast` writes it."""
        old, self.owner[self.key] = self.owner[self.key], self.new
        source = ast.unparse(self.tree)
        self.owner[self.key] = old
        return source

    def __str__(self) -> str:
        before, old, self.owner[self.key] = ast.unparse(self.node), self.owner[self.key], self.new
        after, self.owner[self.key] = ast.unparse(self.node), old
        place = f"{self.path.relative_to(ROOT)}:{self.node.lineno}: {self.mutant.function}"
        return f"{place}: {before}  ->  {after}"


# ---- places -------------------------------------------------------------------------------------


def read_sites(paths: Sequence[Path] = ()) -> dict[Place, Site]:
    """Return the sites in those functions of files, of all of the core, that have enough lines."""
    sites, folder = {}, SOURCES / "cranfield"
    for path in paths or sorted(set(folder.rglob("*.py")) - set(folder.glob("extensions/**/*.py"))):
        tree, counts = ast.parse(path.read_bytes()), Counter[tuple[str, str]]()
        module = ".".join(path.relative_to(SOURCES).with_suffix("").parts)
        for function, definition in _find_functions(tree, ""):
            for before, after, *details in _find_changes(definition, [], definition):
                count = counts[function, before]
                counts[function, before] += 1
                mutant = Mutant(module, function, before, count, after)
                sites[mutant.place] = Site(mutant, path, tree, *details)
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


def _find_changes(node: Any, block: list[ast.stmt], statement: ast.stmt) -> Iterator[Any]:
    """Yield `before` and `after` of the changes in a node, and what a Site holds from block on."""
    place = block, statement, node
    if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        number = not node.value if isinstance(node.value, bool) else node.value + 1
        if number != node.value:  # as 1e100 + 1 is
            yield repr(node.value), repr(number), *place, vars(node), "value", number
    is_text = any(isinstance(vars(node).get(side), ast.JoinedStr) for side in ("left", "right"))
    operators = [] if is_text else getattr(node, "ops", [getattr(node, "op", None)])
    for i, operator in enumerate(operators):
        name = type(operator).__name__
        if name in DOUBLED:
            double = ast.UnaryOp(operator, node.operand)
            yield name, f"{name} {name}", *place, vars(node), "operand", double
        elif name in CHANGES:
            owner, key = (node.ops, i) if hasattr(node, "ops") else (vars(node), "op")
            yield name, CHANGES[name], *place, owner, key, getattr(ast, CHANGES[name])()
    for name, children in ast.iter_fields(node):
        for child in children if isinstance(children, list) else [children]:
            if name in SKIPPED_FIELDS or isinstance(child, SKIPPED_NODES):
                continue
            if isinstance(child, ast.stmt):
                yield from _find_changes(child, children, child)
            elif isinstance(child, ast.AST):
                yield from _find_changes(child, block, statement)


# ---- which tests run a place: this file is a plugin of pytest in a run of `trace` ---------------

RUN_PLACES = set[int]()  # numbers of the places that the test in progress has run


def pytest_configure() -> None:
    """Load modules so that a statement which holds a place adds its number to RUN_PLACES first."""
    places = json.loads(Path(os.environ["MUTANTS_TRACE"], "places.json").read_text())
    sites, get_code, trees = read_sites(), SourceFileLoader.get_code, dict[str, ast.Module]()
    for i, place in enumerate(places):
        site = sites[tuple(place)]
        call = ast.copy_location(ast.parse(f"_run_place({i})").body[0], site.statement)
        site.block.insert(site.block.index(site.statement), call)
        trees[str(site.path)] = ast.fix_missing_locations(site.tree)

    def get_marked_code(loader: SourceFileLoader, fullname: str) -> CodeType | None:
        if loader.path in trees:
            return compile(trees[loader.path], loader.path, "exec", dont_inherit=True)
        return get_code(loader, fullname)

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
        file.write(json.dumps([seconds, name_test(item.nodeid), sorted(RUN_PLACES)]) + "\n")
    return outcome


def name_test(node_id: str) -> str:
    """Return the id of a test without the folder of its file."""
    path, _, test = node_id.partition("::")
    return f"{Path(path).name}::{test}"


def trace(sites: Sequence[Site], paths: Sequence[Path]) -> list[list[str]]:
    """Run the tests in paths; return for each site the names of those that run it, cheap first."""
    with tempfile.TemporaryDirectory() as folder:
        places = [site.mutant.place for site in sites]
        Path(folder, "places.json").write_text(json.dumps(places))
        variables = {"PYTHONPATH": f"{SOURCES}:{ROOT / 'scripts'}", "MUTANTS_TRACE": folder}
        options = ["-q", "-p", "mutants", "-p", "no:cacheprovider", "-m", "not more"]
        command = [sys.executable, "-m", "pytest", *options, "-n", str(N_WORKERS)]
        command += [str(path) for path in paths]
        subprocess.run(command, env=os.environ | variables, cwd=ROOT, check=False)  # noqa: S603
        lines = [line for path in Path(folder).glob("*.jsonl") for line in path.open()]
    tests: list[list[str]] = [[] for _ in sites]
    for _, test, numbers in sorted(json.loads(line) for line in lines):
        for i in numbers:
            tests[i].append(test)
    return tests


# ---- trials -------------------------------------------------------------------------------------


@dataclass
class Trial:
    """A run of tests with a changed source, until one fails, or of all with the sources as is."""

    site: Site | None
    tests: list[str]
    reports: list[str] = field(default_factory=list)  # what Diary wrote
    status: int = 0  # of pytest; negative: the signal that ended it

    @property
    def killer(self) -> str:
        """The test that failed, took too long or could not be imported; empty: none, or others."""
        if self.status in (0, WRONG_SOURCES):
            return ""
        return self.reports[-1].split(" ", 2)[2] if self.reports else self.tests[0]


class Diary:
    """A plugin of pytest that writes a line for setup, call and teardown of each test."""

    def __init__(self, path: Path, tests: list[str]) -> None:
        self.path, self.tests = path, set(tests)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out what is in the same file as the tests that are asked for."""
        items[:] = [test for test in items if name_test(test.nodeid) in self.tests]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write that a phase of a test ended."""
        with self.path.open("a") as file:
            file.write(f"{report.when} {report.outcome} {name_test(report.nodeid)}\n")


def run_trials(trials: Sequence[Trial], profile: str | None) -> None:
    """Run the trials that have tests, two at a time, each in a child of this process."""
    for module in PRELOADED:
        with suppress(ImportError):
            importlib.import_module(module)  # once for all children
    gc.collect()
    gc.freeze()
    waiting, running = [t for t in trials[::-1] if t.tests], dict[int, tuple[Trial, Path]]()
    n_trials = len(waiting)
    with tempfile.TemporaryDirectory() as name:
        sys.dont_write_bytecode, sys.pycache_prefix = False, f"{name}/bytecode"
        folders = [Path(name, str(i)) for i in range(N_WORKERS)]
        for folder in folders:
            shutil.copytree(SOURCES, folder)
        while waiting or running:
            if waiting and folders:
                trial, folder = waiting.pop(), folders.pop()
                if trial.site:
                    (folder / trial.site.path.relative_to(SOURCES)).write_text(trial.site.change())
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
            trial.reports = folder.with_suffix(".diary").read_text().splitlines()
            if trial.site:
                path = folder / trial.site.path.relative_to(SOURCES)
                shutil.copy2(trial.site.path, path)
                Path(importlib.util.cache_from_source(path)).unlink(missing_ok=True)
            n_ended = n_trials - len(waiting) - len(running)
            print(f"\r{n_ended} of {n_trials} runs", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)


def _run_child(trial: Trial, folder: Path, profile: str | None) -> None:
    """Run the tests of a trial with the sources in a folder, and end this process."""
    import resource  # which Windows does not have

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
        names = [test.partition("::") for test in trial.tests]
        paths = {path.name: path for path in TESTS.rglob("test_*.py")}
        warning = "ignore::pytest.PytestAssertRewriteWarning"  # hypothesis is imported already
        options = ["-q", "-p", "no:cacheprovider", "-W", warning]
        options += ["-c", str(ROOT / "pyproject.toml"), "--basetemp", f"{folder}.tmp"]
        options += ["--profile", profile] if profile else []
        if trial.site:
            options += ["-x", *(f"{paths.get(name)}::{test}" for name, _, test in names)]
        else:
            options += [str(paths[name]) for name in {name for name, *_ in names} & set(paths)]
        status = int(pytest.main(options, [Diary(folder.with_suffix(".diary"), trial.tests)]))
        package = importlib.util.find_spec("cranfield")
        if package is None or not str(package.origin).startswith(f"{folder}/"):
            status = WRONG_SOURCES
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
    unchanged_trial = Trial(None, [mutant.killer for mutant in mutants])
    run_trials([unchanged_trial, *trials.values()], profile)
    passed_reports = set(unchanged_trial.reports)
    for mutant, trial in trials.items():
        if f"call passed {mutant.killer}" not in passed_reports:
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
    """Return sites where a mutant may be now, likely ones first: of its function or module."""
    name, keys = mutant.function.rpartition(".")[2], {}
    for site in sites:
        module, function, before, count = site.mutant.place
        has_name, is_near = function.rpartition(".")[2] == name, module == mutant.module
        if before == mutant.before and (has_name or is_near):
            keys[site] = not has_name, not is_near, abs(count - mutant.count)
    return sorted(keys, key=lambda site: keys[site])[:10]


def find_killers(sites: list[Site], tests: Sequence[Path], profile: str | None) -> list[Mutant]:
    """Return mutants at those sites where a test notices, with it; `tests` are files or folders."""
    killers = dict(zip(sites, trace(sites, tests), strict=True))
    mutants = dict[Site, Mutant]()
    for first, last in ((0, 12), (12, 120)):
        live = [site for site in sites if site not in mutants]
        trials = [Trial(site, killers[site][first:last]) for site in live]
        run_trials(trials, profile)
        for site, trial in zip(live, trials, strict=True):
            if trial.killer:
                mutants[site] = replace(site.mutant, killer=trial.killer)
    return [mutants[site] for site in sites if site in mutants]


def refresh(mutants: list[Mutant], profile: str | None, seed: int) -> list[Mutant]:
    """Return the mutants with the places and killers of today, and others drawn for the rest."""
    faults, sites = find_faults(mutants, profile), read_sites()
    print(*faults.values(), sep="\n")
    mutants = [mutant for mutant in mutants if mutant not in faults]
    n_sound, functions = len(mutants), {mutant.place[:2] for mutant in mutants}

    def add(new_mutants: Sequence[Mutant]) -> None:
        for mutant in new_mutants:
            if len(mutants) < N_MUTANTS and mutant.place[:2] not in functions:
                mutants.append(mutant)
                functions.add(mutant.place[:2])

    def choose_free(sites: Sequence[Site]) -> list[Site]:
        return [site for site in sites if site.mutant.place[:2] not in functions]

    likely_sites = choose_free(list(sites.values()))
    lost_mutants = [mutant for mutant in faults if mutant.place not in sites]
    unchanged_trial = Trial(None, [mutant.killer for mutant in lost_mutants])
    run_trials([unchanged_trial], profile)
    moved_mutants = [
        mutant
        for mutant in lost_mutants
        if f"call passed {mutant.killer}" in unchanged_trial.reports
    ]
    trials = {
        m: [Trial(site, [m.killer]) for site in find_alike(m, likely_sites)] for m in moved_mutants
    }
    run_trials(list(itertools.chain(*trials.values())), profile)
    for killer_trials in trials.values():
        places = choose_free([trial.site for trial in killer_trials if trial.site and trial.killer])
        add([replace(places[0].mutant, killer=killer_trials[0].tests[0])] if places else [])
    survivors = [mutant for mutant in faults if mutant.place in sites]
    files = {path for m in survivors for path in TESTS.rglob(m.killer.partition("::")[0])}
    if files:
        add(find_killers([sites[mutant.place] for mutant in survivors], sorted(files), profile))
    if len(mutants) < N_MUTANTS:
        places = choose_free([sites[mutant.place] for mutant in survivors] + draw(sites, seed))
        add(find_killers(places[: 2 * (N_MUTANTS - len(mutants))], [TESTS], profile))
    faults = find_faults(mutants[n_sound:], profile)
    return [mutant for mutant in mutants if mutant not in faults]


def main() -> int:
    """Run the killers, or mend the list; return the exit status."""
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
