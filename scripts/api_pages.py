"""The pages of the Python reference: made from the docstrings and the declarations of options.

`PAGES` says which names are on which page. Signatures and members are read from the source by
griffe, without importing it; what `options.takes` adds to a function, from the function.
"""

import ast
import builtins
import inspect
import logging
import re
import textwrap
from collections.abc import Iterable, Iterator
from doctest import DocTestParser
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, get_args, get_origin

import griffe

import cranfield
from cranfield.extensions import FAMILIES, load_families
from cranfield.options import Option, list_options
from cranfield.render.shown import Shown

SOURCE = Path(__file__).parent.parent / "src"
HEADINGS = {family.heading for verb in FAMILIES for family in load_families(verb)}
HOMES: dict[str, str] = vars(cranfield)["_HOME"]
# {page: (title, what it is for, public names)}; a name with a dot is below `cranfield`.
PAGES: dict[str, tuple[str, str, str]] = {
    "evaluate": (
        "Evaluate",
        "Score runs against judgments.",
        "evaluate Scores Systems intervals Intervals",
    ),
    "compare": (
        "Compare",
        "Compare systems, with intervals and tests.",
        "compare Comparison compare_collections CollectionComparison detectable power "
        "queries_needed seeds_needed",
    ),
    "gate": ("Gate", "Decide whether a new system may be used.", "gate Gate Verdict GateFailed"),
    "explain": (
        "Explain",
        "See why a score is what it is.",
        "explain Explanation Difference MeanExplanation QueryDifferences with_texts",
    ),
    "data": (
        "Judgments and runs",
        "Read judgments and runs, or make them from objects.",
        "Qrels read_qrels Run read_run grades Graded GradedSystems",
    ),
    "measures": (
        "Measures as objects",
        "Parse measures and declare your own.",
        "Measure parse parse_all definitions measure Names Parameter Cutoff Rel RecallPoint "
        "Traits Ranked ratio",
    ),
    "check": (
        "Check and conventions",
        "Find what is wrong with files, and compare the choices of other tools.",
        "check Check Note conventions SideBySide",
    ),
    "tally": (
        "Tally",
        "Add up scores part by part: batches, files, threads, processes, machines.",
        "Tally Totals",
    ),
    "spark": (
        "Spark",
        "Evaluate DataFrames of Spark. [Which when](../../background/scale.md).",
        "spark.evaluate spark.summarize spark.compare",
    ),
    "bounds": (
        "Joint bounds",
        "Bound a difference between two runs while documents are unjudged.",
        "joint_bounds JointBounds",
    ),
    "human-labels": (
        "Human labels",
        "Estimate from a few labels by people and many by a model; draw what people label.",
        "prediction_powered PredictionPowered PoweredMean pool Pool collect Labels Assessor holes "
        "Holes Hole",
    ),
    "fuse": ("Fuse", "Make one run of several, and choose their weights.", "fuse tune Tuned"),
    "agreement": ("Agreement", "Compare assessors.", "agreement Agreement"),
    "orderings": (
        "Orderings",
        "Correlate orderings of systems, and compare rankings.",
        "correlate Correlation OrderingPair Kendall kendall tau_ap tau_ap_a tau_ap_b weighted_tau "
        "rbo RBO RunRBO discriminative_power DiscriminativePower swap_rate SwapRate reproduce "
        "Reproduction ReproducedRun",
    ),
    "figures": (
        "Figures",
        "Draw systems and measures.",
        "figures.leaderboard figures.differences figures.scatter figures.spread figures.by_cutoff "
        "figures.precision_recall figures.by_slice figures.by_collection "
        "figures.by_relevant figures.pair_matrix "
        "figures.judged_by_rank figures.rank_weights figures.reciprocal_rank figures.Figure",
    ),
    "reports": (
        "Report and table",
        "Make a page of one file, or the table of a paper.",
        "report Report paper_table PaperTable",
    ),
    "nuggets": ("Nuggets", "Score answers by their nuggets.", "nugget_recall NuggetScores"),
    "pytrec-eval": (
        "In the place of pytrec_eval",
        "Keep the code that uses pytrec_eval: `from cranfield import pytrec_eval`.",
        "{pytrec_eval}",
    ),
    "adapters": (
        "Adapters",
        "Use cranfield from other packages. [How to use them](../../how-to/adapters.md).",
        "adapters.ir_measures.CranfieldProvider "
        "adapters.sentence_transformers.InformationRetrievalEvaluator",
    ),
    "demo": (
        "Demonstration",
        "Get the files and texts of the demonstration.",
        "demo.HERE demo.QRELS demo.RUNS demo.queries demo.modules demo.rows demo.save",
    ),
    "errors": (
        "Errors and warnings",
        "Handle what cranfield refuses, and what it warns of.",
        "CranfieldError InputError MeasureError OptionError LibraryError CranfieldWarning",
    ),
    "results": (
        "What every result can do",
        "Print a result, or convert it: to pandas, Markdown, LaTeX, JSON and others.",
        "render.shown.Shown",
    ),
}
INTRODUCTION = """# Python

Everything is imported from `cranfield`; `figures`, `demo`, `pytrec_eval` and `adapters` are modules
in it. `help(cranfield.evaluate)` shows the same text as these pages, which are made from the source
by `scripts/make_docs.py`. Every example runs as it is shown, in a folder where
`cranfield demo --save demo` has put the demonstration.

Types such as `QrelsLike` and `RunLike` mean "anything that can be read as one":

| type | what may be given |
|---|---|
| `QrelsLike` | a `Qrels`; the path of a file; `{query_id: {doc_id: grade}}`; rows or a table |
| `RunLike` | a `Run`; the path of a file; `{query_id: {doc_id: score}}`, or, the best first, \
`{query_id: [doc_id, ...]}`; rows or a table |
| `SeveralRuns` | a list of these, or a dict `{name of the system: run}` |
| `MeasuresLike` | one text, `"nDCG@10 AP"`; a `Measure`; or a list of both |
| `Path` | the path of a file, as a text or a `pathlib.Path` |

[Files and tables that can be read](../formats.md) are described apart, and so are
[the measures](../measures/index.md).

"""
# Members that other parts of the package use, and that users have no need of: these are not public.
INTERNAL = {
    "Difference": "of",
    "InputError": "at because but",
    "Measure": "aggregate bounds check_complete fractions imperfect linear values with_parameters",
    "MeanExplanation": "of of_run",
    "Names": "implied",
    "Note": "of",
    "Qrels": "at check_whole codes_of doc_lists docs ideal in_groups of query range_of_grades "
    "replaced sampling slots spans",
    "QueryDifferences": "of_runs",
    "Run": "against apart blocks docs_of every_row form grouped has_lists has_scores held "
    "in_whole_queries is_text lists_of made_from needed numbers of over ranked_by ranking rankings "
    "repeated roles rows skipping twice",
    "Scores": "cells columns of plain",
    "Shown": "in_form",
    "SideBySide": "of",
    "Verdict": "compared",
}
# Base classes that are not public themselves, and whose members are.
BASES = {
    "Altered": "cranfield.data.altered.Altered",
    "Documents": "cranfield.data.documents.Documents",
    "JudgmentColumns": "cranfield.data.judgment_columns.JudgmentColumns",
    "Pairs": "cranfield.comparison.result.Pairs",
}
INDEXED = {"__getitem__": ("[", "]")}  # methods that are written with brackets
LINKED = re.compile(r"\bdocs/([\w/-]+\.md)")
RESULT = "It can be printed and converted: [what every result can do](results.md)."


def api_pages() -> dict[str, str]:
    """Return the pages: {name of the file: text}."""
    logging.getLogger("griffe").setLevel(logging.CRITICAL)
    package = griffe.load("cranfield", search_paths=[str(SOURCE)])
    made, rows = {}, ["| page | what for | names |", "|---|---|---|"]
    for stem, (title, purpose, _) in PAGES.items():
        names = names_on(stem)
        made[f"{stem}.md"] = "\n\n".join(
            [f"# {title}", purpose, *(_entry(package, name) for name in names)]
        )
        links = ", ".join(_link(package, stem, name) for name in names)
        rows.append(f"| [{title}]({stem}.md) | {purpose} | {links} |")
    made["index.md"] = INTRODUCTION + "\n".join(rows)
    made[".nav.yml"] = "nav:\n" + "\n".join(f"  - {one}.md" for one in ["index", *PAGES])
    return {name: f"{text.rstrip()}\n" for name, text in made.items()}


def names_on(stem: str) -> list[str]:
    """Return the public names on a page."""
    names = PAGES[stem][2]
    if names == "{pytrec_eval}":
        offered = import_module("cranfield.pytrec_eval").__all__
        return [f"compat.pytrec_eval.{name}" for name in offered if name != "__version__"]
    return names.split()


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _entry(package: Any, name: str) -> str:
    """Return the section of a public name."""
    one = _found(package, name)
    return "\n\n".join([f"## {_heading(one)}", *_described(one)])


def _link(package: Any, stem: str, name: str) -> str:
    """Return a link to the section of a public name."""
    anchor = _heading(_found(package, name)).lower().replace(" ", "-")
    return f"[`{_short(name)}`]({stem}.md#{anchor})"


def _found(package: Any, name: str) -> Any:
    one = package[name if "." in name else f"{HOMES[name]}.{name}"]
    return one.final_target if one.is_alias else one


def _heading(one: Any) -> str:
    """Return the heading of a public name: `gate` is another than the class `Gate`."""
    return f"class {one.name}" if one.is_class else str(one.name)


def _described(one: Any) -> Iterator[str]:
    if one.is_function:
        yield _signature(one, one.name)
        yield from _text(one)
    elif one.is_class:
        yield from _class(one)
    else:
        yield from _text(one)


def _class(one: Any) -> Iterator[str]:
    made_by = one.members.get("__init__")
    is_data = any("dataclass" in str(mark.value) for mark in one.decorators)
    kind = _at_run_time(one)
    is_result = isinstance(kind, type) and issubclass(kind, Shown) and kind is not Shown
    if made_by is not None and not is_result:
        yield _signature(made_by, one.name)
    yield from _text(one)
    if made_by is not None and not is_result and made_by.docstring:
        yield from _text(made_by)
    if is_result:
        yield RESULT
    left_out = INTERNAL.get(one.name, "").split()
    public = [part for name, part in members_of(one).items() if _is_public(name)]
    public = [part for part in public if part.name not in left_out]
    if is_result:
        public = [part for part in public if not _says_no_more(part)]
    if is_data:
        fields = [part for part in public if part.is_attribute and "property" not in part.labels]
        rows = [_field(part) for part in fields if part.annotation is not None]
        if rows:
            yield "**Fields**"
            yield "\n".join(rows)
    for part in public:
        if part.is_function:
            yield f"### {_called(one.name, part)}"
            if part.name not in INDEXED:
                yield _signature(part, part.name)
            yield from _text(part)
        elif "property" in part.labels and part.docstring:
            yield f"### {one.name}.{part.name}"
            yield f"A property: `{part.annotation}`."
            yield from _text(part)


def members_of(one: Any) -> dict[str, Any]:
    """Return a class's members by name, with those of the base classes that have no page."""
    found = dict(one.members)
    for base in getattr(one, "bases", ()):
        name = str(base).partition("[")[0]
        if name in BASES:
            for inherited, part in members_of(one.modules_collection[BASES[name]]).items():
                found.setdefault(inherited, part)
    return found


def _says_no_more(part: Any) -> bool:
    """Tell whether a member of a result says no more than that of every result."""
    if part.name in INDEXED or part.name == "to_dict" or not hasattr(Shown, part.name):
        return False
    return not part.is_function or len(part.parameters) < 2  # self alone


def _called(name: str, part: Any) -> str:
    """Return the heading of a method."""
    if part.name in INDEXED:
        opening, closing = INDEXED[part.name]
        return f"`{name}{opening}{part.parameters[1].name}{closing}`"
    return f"{name}.{part.name}"


def _field(part: Any) -> str:
    described = f": {_prose(part.docstring.value)}" if part.docstring else ""
    return f"- `{part.name}` (`{part.annotation}`){described}"


def _is_public(name: str) -> bool:
    return not name.startswith("_") or name == "__call__" or name in INDEXED


def _module(one: Any) -> ModuleType | None:
    """Return the module in which it is declared; None if that needs a package that is not here."""
    name = one.module.path
    return None if "tools.adapters." in name else import_module(name)


def _at_run_time(one: Any) -> Any:
    found: Any = _module(one)
    for name in one.path.removeprefix(f"{one.module.path}.").split(".") if found else ():
        found = inspect.getattr_static(found, name, None)
    return found


def _options(one: Any) -> dict[str, Option]:
    """Return the options that the families in its decorator give to a function."""
    found = {}
    for mark in getattr(one, "decorators", ()):
        call = ast.parse(str(mark.value), mode="eval").body
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "takes":
            for argument in call.args:
                names = ast.unparse(argument).removeprefix("*")  # one family, or a tuple of some
                named = getattr(_module(one), names)
                for family in named if isinstance(named, tuple) else (named,):
                    found.update({option.name: option for option in list_options(family)})
    return found


def _parameters(one: Any) -> list[Any]:
    return [
        each
        for each in one.parameters
        if each.name not in ("self", "cls")
        and not each.name.startswith("_")
        and not (each.kind.value == "variadic keyword" and _options(one))
    ]


def _signature(one: Any, name: str) -> str:
    """Return how it is called, in at most 80 columns."""
    typed = not any(part.kind.value == "parameters" for part in sections_of(one))
    if name != one.name:  # a class, whose docstring describes what it is made from
        typed = False
    parts, named = [], False
    for each in _parameters(one):
        kind = each.kind.value
        if kind == "keyword-only" and not named:
            parts.append("*")
            named = True
        stars = {"variadic positional": "*", "variadic keyword": "**"}.get(kind, "")
        named = named or stars == "*"
        kind = f": {each.annotation}" if typed and each.annotation is not None else ""
        equals = " = " if kind else "="
        default = "" if stars or each.default is None else f"{equals}{_default(one, each)}"
        parts.append(f"{stars}{each.name}{kind}{default}")
    shown = _taken(one)
    if shown and not named:
        parts.append("*")
    parts += [f"{option.name}={option.default!r}" for option in shown.values()]
    returns = f" -> {one.returns}" if one.returns is not None and one.name != "__init__" else ""
    line = f"{name}({', '.join(parts)}){returns}"
    if len(line) > 80:
        inner = textwrap.fill(
            ", ".join(parts) + ",",
            80,
            initial_indent="    ",
            subsequent_indent="    ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        line = f"{name}(\n{inner}\n){returns}"
    return f"```python\n{line}\n```"


def _default(one: Any, parameter: Any) -> str:
    """Return a default as the source has it; a constant's value."""
    text = str(parameter.default)
    if text.isupper() and text.isidentifier():
        value = getattr(_module(one), text, None)
        return repr(value) if isinstance(value, str | int | float) else text
    return text


def _taken(one: Any) -> dict[str, Option]:
    """Return the options in a function's signature: of its families, without those left out."""
    known = _options(one)
    if not known:
        return {}
    there = inspect.signature(_at_run_time(one)).parameters
    return {name: option for name, option in known.items() if name in there}


def _kind_of_option(option: Option) -> str:
    """Return which values an option may have."""
    if option.choices:
        kind = ", ".join(f'`"{choice}"`' for choice in option.choices)
    else:
        kind = option.kind.__name__
        if option.check is not None:
            try:
                option.check(object())
            except (ValueError, TypeError) as error:
                kind = str(error) or kind
    return f"{kind} or None" if option.allows_none and "None" not in kind else kind


def _kind_of_annotation(one: Any, annotation: Any) -> str:
    """Return an annotation; a name of several texts as these."""

    def spelt(found: re.Match[str]) -> str:
        named = getattr(_module(one), found[0], None)
        choices = get_args(named) if get_origin(named) is Literal else ()
        return " | ".join(f'"{choice}"' for choice in choices) or found[0]

    return re.sub(r"\b[A-Z]\w+\b", spelt, str(annotation))


def _facts(one: Any, name: str) -> str:
    """Return the type and default of a parameter, in parentheses."""
    option = _taken(one).get(name)
    if option is not None:
        return f" ({_kind_of_option(option)}; default `{option.default!r}`)"
    given = {each.name: each for each in _parameters(one)}.get(name.lstrip("*"))
    if given is None or given.annotation is None:
        return ""
    default = f"; default `{_default(one, given)}`" if given.default is not None else ""
    if "variadic" in given.kind.value:
        default = ""
    return f" (`{_kind_of_annotation(one, given.annotation)}`{default})"


def docstring_of(one: Any) -> str:
    """Return the docstring of an object that griffe has read, with the options of its families."""
    there = _at_run_time(one) if one.is_function and _options(one) else None
    text = there.__doc__ if there is not None else one.docstring and one.docstring.value
    return inspect.cleandoc(text or "")


def sections_of(one: Any) -> list[Any]:
    """Return the sections of a docstring, as griffe parses them."""
    return griffe.Docstring(docstring_of(one)).parse(
        "google", returns_multiple_items=False, returns_named_value=False
    )


def _text(one: Any) -> Iterator[str]:
    """Yield the paragraphs of a docstring."""
    function = one
    if one.is_class and "__init__" in one.members:
        function = one.members["__init__"]
    imports = _imports(one)
    for section in sections_of(one):
        kind = section.kind.value
        if kind in ("text", "examples"):
            value = section.value
            texts = [part for _, part in value] if kind == "examples" else [value]
            for text in texts:
                for part in _paragraphs(text, imports):
                    if part.startswith("```pycon"):
                        imports = ""
                    yield part
        elif kind == "parameters":
            pairs = ((parameter.name, parameter.description) for parameter in section.value)
            yield _arguments("Parameters", pairs, function)
        elif kind == "admonition" and section.title in HEADINGS:
            lines = re.split(r"\n(?=\S)", section.value.description)
            yield _arguments(section.title, (line.split(": ", 1) for line in lines), function)
        elif kind == "returns":
            yield "**Returns** " + " ".join(
                _prose(": ".join(filter(None, [str(each.annotation or ""), each.description])))
                for each in section.value
            )
        elif kind in ("raises", "warns"):
            yield {"raises": "**Raises**", "warns": "**Warns**"}[kind]
            yield "\n".join(
                f"- `{each.annotation}`: {_prose(each.description)}" for each in section.value
            )
        else:
            yield f"**{kind.capitalize()}** {_prose(str(section.value))}"


def _arguments(heading: str, arguments: Iterable[Iterable[str]], function: Any) -> str:
    """Return a heading, and the list of some arguments: pairs of a name and what it means."""
    lines = [f"- `{name}`{_facts(function, name)}: {_prose(text)}" for name, text in arguments]
    return "\n\n".join([f"**{heading}**", "\n".join(lines)])


def _paragraphs(text: str, imports: str) -> Iterator[str]:
    """Yield the paragraphs of a text; examples that follow each other are one block."""
    block: list[str] = []
    for part in [*re.split(r"\n[ \t]*\n", text), ""]:
        plain = textwrap.dedent(part).strip("\n")
        if plain.startswith(">>>"):
            block.append(plain)
            continue
        if block:
            yield f"```pycon\n{imports}" + "\n\n".join(block) + "\n\n```"
            block, imports = [], ""
        if not plain:
            continue
        if part.startswith("    "):
            yield f"```text\n{plain}\n```"
        else:
            yield plain if plain.startswith(("- ", "* ")) else _prose(plain)


def _prose(text: str) -> str:
    """Return a text on one line, in which only what is code is not taken word for word."""
    parts = re.split(r"(`+[^`]+`+)", LINKED.sub(r"[\1](../../\1)", " ".join(text.split())))
    return "".join(
        part if part.startswith("`") else re.sub(r"([*<$|])", r"\\\1", part) for part in parts
    )


def _imports(one: Any) -> str:
    """Return the lines that import what the examples of a docstring use."""
    module = _module(one)
    if module is None:  # an adapter, which users import by its short name
        return f">>> from {one.module.path.replace('extensions.tools.', '')} import {one.name}\n"
    trees = [
        ast.parse(example.source) for example in DocTestParser().get_examples(docstring_of(one))
    ]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    loaded = {node.id for node in nodes if isinstance(node, ast.Name)}
    stored = set(_bound(nodes))
    public, lines = [], []
    for name in sorted(loaded - stored - set(dir(builtins))):
        value = vars(module).get(name)
        if isinstance(value, ModuleType):
            short = value.__name__.removeprefix("cranfield.")
            if value.__name__.startswith("cranfield.") and "." not in short:
                public.append(name)
            else:
                known = "" if name == value.__name__ else f" as {name}"
                lines.append(f">>> import {value.__name__}{known}\n")
        elif name in HOMES:
            public.append(name)
        elif (home := _public_home(name, value)) is not None:
            lines.append(f">>> from {home} import {name}\n")
        elif name in vars(module):
            home = getattr(value, "__module__", None) or module.__name__
            is_there = hasattr(import_module(home), name)
            lines.append(f">>> from {home if is_there else module.__name__} import {name}\n")
    if public:
        lines.append(f">>> from cranfield import {', '.join(public)}\n")
    return "".join(lines)


def _public_home(name: str, value: Any) -> str | None:
    """Return the public module below `cranfield` that has an object by this name."""
    for home in ("cranfield.figures", "cranfield.demo", "cranfield.pytrec_eval"):
        if value is not None and getattr(import_module(home), name, None) is value:
            return home
    return None


def _bound(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names that code binds."""
    for node in nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.alias):
            yield node.asname or node.name.partition(".")[0]
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
