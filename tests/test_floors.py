"""A file imports only from the floors below its own."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "cranfield"

# From the ground up.
FLOORS = [
    "version",
    "cached",
    "errors",
    "options",
    "notes",
    "render.numbers",
    "render.table",
    "render.shown",
    "render",
    "derivation",
    "ranked",
    "ids",
    "run_notes",
    "formats.pipe",
    "formats.url",
    "formats.compression",
    "formats.source",
    "formats.block",
    "formats.columns",
    "formats.identifiers",
    "formats.values",
    "formats.objects",
    "formats.batches",
    "formats.frames",
    "formats.text",
    "formats.register",
    "formats.writing",
    "formats.lines",
    "formats.white_space",
    "formats.trec",
    "formats.delimited",
    "formats.json_text",
    "formats.jsonl",
    "formats.json",
    "formats.columnar",
    "formats.groups",
    "formats.small.read",
    "formats.small.nuggets",
    "formats.small.scores",
    "formats.small.labels",
    "formats.small.rates",
    "formats.small.lists",
    "formats.small.zscores",
    "formats.small",
    "formats.writing",
    "formats",
    "judging",
    "ranking",
    "preferences",
    "subtopics",
    "relevance",
    "qrels",
    "runs",
    "judged",
    "spelling",
    "match",
    "judge",
    "measures.parameters",
    "measures.registry",
    "measures.plan",
    "measures.grammar",
    "measures.gain",
    "measures.precision",
    "measures.sampled",
    "measures.coverage",
    "measures.users",
    "measures.user_models",
    "measures.cwl",
    "measures.cascade",
    "measures.ntcir",
    "measures.agreement",
    "measures.sets",
    "measures.review",
    "measures.groups",
    "measures.diversity",
    "measures",
    "variants",
    "completions",
    "bounds",
    "scores",
    "arguments",
    "evaluation",
    "explanation.scene",
    "explanation.following",
    "explanation.expressions",
    "explanation.words",
    "explanation.entries",
    "explanation.worksheet",
    "explanation.whatif",
    "explanation.query",
    "explanation.difference",
    "explanation.mean",
    "explanation.explaining",
    "explanation",
    "figures",
    "nuggets",
    "pairs.overlap",
    "pairs.documents",
    "pairs.extremes",
    "pairs.joint_bounds",
    "pairs.judgments",
    "pairs.relabelled",
    "pairs",
    "graded",
    "comparison.doubts",
    "comparison.geometric",
    "comparison.flips",
    "comparison.products",
    "comparison.letters",
    "comparison.corrections",
    "comparison.significance",
    "comparison.anova",
    "comparison.settings",
    "comparison.power",
    "comparison.score_columns",
    "comparison.alignment",
    "comparison.effects",
    "comparison.result",
    "comparison.ranges",
    "comparison.remarks",
    "comparison.bounded",
    "comparison.noninferiority",
    "comparison.margins",
    "comparison.verdicts",
    "comparison.gate",
    "comparison.legend",
    "comparison.tables",
    "comparison.unjudged",
    "comparison.cells",
    "comparison.compared",
    "comparison.comparing",
    "comparison.correlation",
    "comparison.orderings",
    "comparison.discrimination",
    "comparison.ordering_pairs",
    "comparison.correlating",
    "comparison.stability",
    "comparison.agreement",
    "comparison.assessors",
    "comparison",
    "scan",
    "checking",
    "compat.names",
    "compat.trec_eval",
    "compat.pytrec_eval",
    "compat",
    "pytrec_eval",
    "demo",
    "cli.terminal",
    "cli.flags",
    "cli.data",
    "cli.report",
    "cli.evaluate",
    "cli.explain",
    "cli.compare",
    "cli.correlate",
    "cli.agreement",
    "cli.check",
    "cli.convert",
    "cli.nuggets",
    "cli.gate",
    "cli.power",
    "cli.measures",
    "cli.figure",
    "cli.trec_eval",
    "cli.demo",
    "cli",
    "__main__",
]


def modules() -> dict[str, Path]:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name:  # the package's own __init__ holds the public names only
            found[name] = path
    return found


def imported(path: Path) -> list[str]:
    """Return the modules of the package that a file imports, within functions, too."""
    names = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are written from the top"
            module = node.module or ""
            if module == "cranfield":
                names += [alias.name for alias in node.names]
            elif module.startswith("cranfield."):
                name = module.removeprefix("cranfield.")
                inner = [f"{name}.{alias.name}" for alias in node.names]
                names += [one if one in FLOORS else name for one in inner]
        elif isinstance(node, ast.Import):
            names += [
                alias.name.removeprefix("cranfield.")
                for alias in node.names
                if alias.name.startswith("cranfield.")
            ]
    return names


def test_every_file_has_its_floor() -> None:
    assert set(modules()) == set(FLOORS)


@pytest.mark.parametrize("name", FLOORS)
def test_nothing_is_imported_from_above(name: str) -> None:
    for other in imported(modules()[name]):
        assert FLOORS.index(other) < FLOORS.index(name), f"{name} imports {other}"


def test_no_test_imports_a_test() -> None:
    """What several of them use stands in tests/helpers."""
    for path in Path(__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert not any(name.startswith("test_") for name in names), path


def test_only_the_command_line_prints_or_exits() -> None:
    for name, path in modules().items():
        if name.startswith("cli") or name == "__main__":
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                assert called not in {"print", "exit", "sys.exit", "os._exit"}, f"{name}: {called}"


def test_only_the_formats_and_the_command_line_open_files() -> None:
    for name, path in modules().items():
        if name.startswith(("formats", "cli", "demo")):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                assert ast.unparse(node.func) not in {"open", "os.open", "io.open"}, name


def test_no_property_takes_a_lock() -> None:
    """functools.cached_property does in Python 3.11: a forked child could wait for it for ever."""
    for name, path in modules().items():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "functools":
                assert "cached_property" not in [alias.name for alias in node.names], name
            if isinstance(node, ast.Attribute):
                assert ast.unparse(node) != "functools.cached_property", name
