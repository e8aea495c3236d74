"""What people who join are told is so: commands, workflows, hooks and files agree."""

import re
import tomllib
from itertools import compress, product
from pathlib import Path
from typing import Any

import pytest
import yaml
from helpers import profile
from helpers.folders import ROOT
from helpers.systems_needed import find_marks, needs_posix

import cranfield

GUIDE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
RECIPES = dict(re.findall(r"^(\w+):\n    (.*)$", (ROOT / "justfile").read_text("utf-8"), re.M))
CI = (ROOT / ".ci" / "run").read_text("utf-8")


def read_yaml(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text("utf-8"))


def test_the_recipes_are_the_commands_of_the_guide() -> None:
    rows = re.findall(r"^\| .* \| `(.*)` \| `just (\w+)` \|$", GUIDE, re.M)
    assert {recipe: command for command, recipe in rows} == RECIPES


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md"])
def test_what_a_page_names_exists(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / target).exists(), target
    for named_path in re.findall(
        r"`((?:src|docs|tests|scripts|changelog\.d|\.github)/[\w./-]*)`", text
    ):
        assert (ROOT / named_path).exists(), named_path


def test_ci_and_the_hooks_check_what_the_guide_says() -> None:
    lint = RECIPES["lint"].split(" && ")
    hooks = [hook["entry"] for hook in read_yaml(".pre-commit-config.yaml")["repos"][0]["hooks"]]
    steps = read_yaml(".github/workflows/ci.yml")["jobs"]["lint"]["steps"]
    assert hooks == lint
    for command in lint:
        assert re.search(rf"^{re.escape(command)}$", CI, re.M), command
        assert {"run": command} in steps


def test_the_matrix_is_what_the_package_states() -> None:
    matrix = read_yaml(".github/workflows/ci.yml")["jobs"]["test"]["strategy"]["matrix"]
    versions = [
        classifier.rpartition(" ")[2]
        for classifier in PROJECT["project"]["classifiers"]
        if re.search(r"Python :: 3\.\d+$", classifier)
    ]
    assert matrix["python"] == versions
    assert PROJECT["project"]["requires-python"] == f">={versions[0]}"


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda path: path.name
)
def test_a_workflow_or_a_form_has_what_a_host_asks_for(path: Path) -> None:
    form = yaml.safe_load(path.read_text("utf-8"))
    if path.parent.name == "workflows":
        assert {"name", True, "permissions", "jobs"} <= set(form)  # YAML reads `on` as True
        for job in form["jobs"].values():
            assert job["runs-on"]
            assert all(("uses" in step) != ("run" in step) for step in job["steps"])
    else:
        ids = [field["id"] for field in form["body"] if field["type"] != "markdown"]
        assert len(ids) == len(set(ids)) > 0
        assert form["name"]
        assert form["description"]


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github" / "workflows").iterdir()), ids=lambda path: path.name
)
def test_an_action_is_pinned_by_its_hash(path: Path) -> None:
    for line in path.read_text("utf-8").splitlines():
        if "uses:" in line:
            assert re.fullmatch(r" *- uses: [\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line


def test_a_release_is_built_where_only_pinned_tools_are() -> None:
    jobs = read_yaml(".github/workflows/release.yml")["jobs"]
    commands = [step["run"] for step in jobs["build"]["steps"] if "run" in step]
    install_commands = [command for command in commands if "install" in command]
    assert len(install_commands) == 1
    for requirement in install_commands[0].removeprefix("pip install ").split():
        assert re.fullmatch(r"'\w+==[\d.]+'", requirement), requirement
    assert "python -m build --no-isolation" in commands
    assert jobs["publish"]["needs"] == ["test", "build"]
    rights = {name: "id-token" in job.get("permissions", {}) for name, job in jobs.items()}
    assert rights == {"test": False, "build": False, "publish": True}
    assert not any("run" in step for step in jobs["publish"]["steps"])


# Clocks that go on while other programs have the processor, and limits in their seconds.
_CLOCK = re.compile(r"\btime\.(?:time|monotonic|perf_counter)(?:_ns)?\b|from[ ]time\b|[ ]now\(")
_LIMIT = re.compile(
    r"(?:\btimeout|PATIENCE|\bdeadline) *[=:] *(\d[\d_.]*)"
    r"|\.(?:wait|join|get|result)\((\d[\d_.]*)\)"
)


@pytest.mark.parametrize(
    "path",
    [ROOT / "conftest.py", *sorted((ROOT / "tests").rglob("*.py"))],
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_no_test_looks_at_a_clock_of_the_wall(path: Path) -> None:
    """Time is that of the processor (`time.process_time`); a limit only ends what hangs."""
    text = path.read_text("utf-8")
    assert not _CLOCK.findall(text)
    for limit in _LIMIT.finditer(text):
        assert float(limit[1] or limit[2]) >= 60, limit[0]
    for settings in re.findall(r"suppress_health_check=\[(.*?)\]", text, re.S):
        assert "HealthCheck.too_slow" in settings


def test_what_is_cited_is_this_version() -> None:
    citation = read_yaml("CITATION.cff")
    assert citation["version"] == cranfield.__version__
    assert citation["license"] == PROJECT["project"]["license"]
    assert {"cff-version", "message", "title", "authors"} <= set(citation)


def test_fragments_of_the_changelog_have_a_kind() -> None:
    kinds = {kind["directory"] for kind in PROJECT["tool"]["towncrier"]["type"]}
    for path in (ROOT / "changelog.d").iterdir():
        if path.name != "README.md":
            assert path.suffixes[-1] == ".md", path.name
            assert path.suffixes[-2][1:] in kinds, path.name


@pytest.mark.parametrize(
    ("file", "test", "marks"),
    [
        ("test_endings", "test_a_signal_leaves_no_file", {"posix", "linux"}),  # by a constant
        (
            "test_processes",
            "test_a_child_forked_within_a_cached_property_evaluates",
            {"posix"},
        ),  # by a function
        ("test_docs", "test_the_readme_shows_commands", {"posix"}),  # by an import
        ("test_ids", "test_the_bytes_come_back", set()),
    ],
)
def test_a_test_says_which_systems_it_can_run_on(file: str, test: str, marks: set[str]) -> None:
    (path,) = (ROOT / "tests").rglob(f"{file}.py")
    assert find_marks(path, test) == marks


def test_what_only_some_systems_have_is_not_named_where_a_file_is_imported(tmp_path: Path) -> None:
    (path := tmp_path / "test_this.py").write_text(
        "import os\n\n@mark(os.fork)\ndef test_decorated() -> None: ...\n"
    )
    assert needs_posix(path)
    (path := tmp_path / "test_that.py").write_text(
        "import os\n\ndef forks() -> None:\n    os.fork()\n\ndef test_it() -> None:\n    forks()\n"
    )
    assert not needs_posix(path)
    assert find_marks(path, "test_it") == {"posix"}
    assert find_marks(path, "test_other") == set()


@pytest.mark.parametrize(("name", "share"), [("quick", 1 / 4), ("full", 1)])
def test_a_profile_tries_every_value_of_each_list_of_parameters(
    name: str, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(profile.VARIABLE, name)
    for lengths in ([3, 51], [6, 4], [2, 2, 3], [4, 4], [5, 7, 4], [1, 9]):
        cases = [*product(*map(range, lengths))]
        tried_cases = [*compress(cases, profile.choose_cases(cases))]
        for values, length in zip(zip(*tried_cases, strict=True), lengths, strict=True):
            assert {*values} == {*range(length)}
        assert len(tried_cases) <= max(len(cases) * share + 1, *lengths) + len(lengths)


@pytest.mark.parametrize(
    ("name", "expected_cases"),
    [
        ("full", ([*range(9)], [*range(6)], [0, 1, 2, 3, 4], 300, 2_000)),
        ("quick", ([0, 4, 8], [0, 4, 5], [0, 4], 75, 400)),
    ],
)
def test_a_profile_says_how_much_is_tried(
    name: str, expected_cases: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(profile.VARIABLE, name)
    sampled_cases = (
        profile.sample_cases(range(9)),
        profile.sample_cases(range(6)),
        [*profile.seeds(5)],
    )
    assert (*sampled_cases, profile.examples(300), profile.repetitions(2_000)) == expected_cases


def test_files_have_the_same_bytes_on_every_system() -> None:
    assert "* -text" in (ROOT / ".gitattributes").read_text("utf-8").splitlines()
