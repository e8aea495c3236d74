"""What every test has at hand."""

import gc
import os
import runpy
from collections.abc import Generator, Iterator
from itertools import compress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--profile",
        choices=("quick", "full"),
        help="how much is tried: `quick`, the default, runs every test with a quarter of its "
        "generated collections, examples, repetitions and cases; `full` with all",
    )
    parser.addoption(
        "--core-alone",
        action="store_true",
        help="refuse the import of extensions: for tests/core, which pass without them",
    )
    parser.addoption(
        "--no-skips",
        action="store_true",
        help="a skipped test is a failure, also one that is marked `more`: for where everything "
        "that tests need must be there",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Set how much is tried, before a test module is imported that asks."""
    from helpers import core_alone, profile

    chosen_profile = config.getoption("--profile") or os.environ.get(profile.VARIABLE, "quick")
    if chosen_profile not in profile.PROFILES:
        raise pytest.UsageError(f"{profile.VARIABLE}={chosen_profile}: quick or full")
    os.environ[profile.VARIABLE] = chosen_profile
    if config.getoption("--core-alone"):
        core_alone.refuse_extensions()
    # No deadline, and no check that data are made fast: a test may run on a busy machine.
    settings.register_profile(
        "cranfield",
        max_examples=profile.examples(100),
        deadline=None,
        derandomize=True,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("cranfield")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without looking for garbage: nothing that is made here goes before the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give the tests of a file to one process, as they share what is made once; if they are few."""
    from helpers import profile
    from xdist.scheduler import LoadFileScheduling

    has_other_distribution = config.getoption("dist") != "load"
    return None if has_other_distribution or profile.is_full() else LoadFileScheduling(config, log)


def pytest_report_header(config: pytest.Config) -> str:
    from helpers import profile

    return f"tests tried: {os.environ[profile.VARIABLE]} (--profile quick or full)"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that the shared data make possible, and those that not every system has.

    The latter, which are found in the sources of all tests, only where `-m` asks for them.
    """
    from helpers.systems_needed import find_marks

    mark_expression = str(config.getoption("markexpr"))
    by_system = "posix" in mark_expression or "linux" in mark_expression
    deselect_cases(config, items)
    for case in items:
        if "data" in getattr(case, "fixturenames", ()):
            case.add_marker("more")
        if case.get_closest_marker("slow"):  # coverage would take minutes for the same lines
            case.add_marker("no_cover")
        if by_system:
            for name in find_marks(case.path, getattr(case, "originalname", "")):
                case.add_marker(name)


def parameter_values(case: pytest.Item) -> list[Any]:
    """Return what identifies the value, or values, that each list of parameters gives a case."""
    params = case.callspec.params if hasattr(case, "callspec") else {}
    names = [
        mark.args[0] if not isinstance(mark.args[0], str) else mark.args[0].split(",")
        for mark in case.iter_markers("parametrize")
    ]
    return [tuple(id(params[name.strip()]) for name in group) for group in names]


def deselect_cases(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out some cases of tests with two or more lists of parameters; none if all is tried."""
    from helpers import profile

    tests: dict[tuple[str, str], dict[pytest.Item, list[Any]]] = {}
    for case in items:
        values = parameter_values(case)
        if len(values) > 1 and isinstance(case, pytest.Function):
            tests.setdefault((str(case.path), case.originalname), {})[case] = values
    left_out_cases: set[pytest.Item] = set()
    for cases in tests.values():
        if len(cases) > 8:
            left_out_cases |= {*cases} - {*compress(cases, profile.choose_cases([*cases.values()]))}
    items[:] = [case for case in items if case not in left_out_cases]
    config.hook.pytest_deselected(items=[*left_out_cases])


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out, on Windows, modules that import what it does not have."""
    from helpers.systems_needed import needs_posix

    if os.name == "nt" and collection_path.suffix == ".py":
        return needs_posix(collection_path) or None
    return None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    may_skip = item.get_closest_marker("more") and not item.config.getoption("--no-skips")
    if report.skipped and not may_skip and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, and may not be: {report.longrepr}"
    return report


@pytest.fixture(scope="session")
def data() -> Path:
    """The shared data: real collections and trec_eval's stored output."""
    folder = os.environ.get("CRANFIELD_DATA")
    if not folder:
        pytest.skip("CRANFIELD_DATA does not name the folder of the shared data")
    path = Path(folder)
    assert path.is_dir(), f"CRANFIELD_DATA={folder} is no folder"
    return path


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A Chromium that the distribution has; one for all tests of a process."""
    from helpers.browser import Browser, find_chromium

    if find_chromium() is None:
        pytest.skip("there is no Chromium: apt-get install chromium")
    with Browser() as browser:
        yield browser


@pytest.fixture(scope="session")
def firefox() -> Iterator[Any]:
    """A Firefox that the distribution has; one for all tests of a process."""
    from helpers.firefox import Firefox, find_firefox

    if find_firefox() is None:
        pytest.skip("there is no Firefox: apt-get install firefox-esr")
    with Firefox() as browser:
        yield browser


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Pages of every kind, made when they are first asked for."""
    from helpers.pages import Pages

    return Pages(tmp_path_factory.mktemp("pages"))


@pytest.fixture(scope="session")
def demo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the demonstration in `demo`, as `cranfield demo --save demo` does."""
    from helpers.folders import DEMO

    folder = tmp_path_factory.mktemp("documents")
    # Not imported, as the core runs alone, too.
    runpy.run_path(str(DEMO / "__init__.py"))["save"](folder / "demo")
    return folder


@pytest.fixture(autouse=True)
def _documents_run_beside_the_demonstration(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if isinstance(request.node, pytest.DoctestItem):
        monkeypatch.chdir(request.getfixturevalue("demo_folder"))
        if request.node.path.name == "adapters.md" and request.node.dtest is not None:
            from helpers import stand_ins

            stand_ins.install_sentence_transformers(monkeypatch)
            request.node.dtest.globs.update(stand_ins.adapter_page_names())


@pytest.fixture(autouse=True)
def _own_measures_are_forgotten() -> Iterator[None]:
    """Leave the registry of measures as it was, no matter what a test or an example declares."""
    from cranfield.measures import registry

    registries: tuple[dict[str, Any], ...] = (
        registry.DEFINITIONS,
        registry.VARIANTS,
        registry.EXACT_NAMES,
        registry.FAMILIES,
        registry.USER_DEFINITIONS,
    )
    contents_before = [dict(registry_dict) for registry_dict in registries]
    yield
    for registry_dict, contents in zip(registries, contents_before, strict=True):
        if len(registry_dict) > len(contents):
            registry_dict.clear()
            registry_dict.update(contents)


@pytest.fixture
def write(tmp_path: Path) -> Any:
    """Write a file into the test's own folder; return its path as text."""

    def write(name: str, content: str | bytes) -> str:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write
