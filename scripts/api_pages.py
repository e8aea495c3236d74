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
from collections import Counter
from collections.abc import Iterable, Iterator
from doctest import DocTestParser
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, get_args, get_origin

import griffe

import cranfield
from cranfield.extensions import FAMILIES, load_families
from cranfield.options import Option, Options, list_options
from cranfield.render.shown import Shown

SOURCE = Path(__file__).parent.parent / "src"
HEADINGS = {family.heading for verb in FAMILIES for family in load_families(verb)}
HOMES: dict[str, str] = vars(cranfield)["_HOME"]
# {page: (title, what it is for, public names)}; a name with a dot is below `cranfield`.
PAGES: dict[str, tuple[str, str, str]] = {
    "evaluate": (
        "Evaluate",
        "Score runs against judgments.",
        "evaluate Scores Systems intervals Intervals describe",
    ),
    "compare": (
        "Compare",
        "Compare systems, with intervals and tests.",
        "compare Comparison compare_collections CollectionComparison trend Trend detectable power "
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
        "prediction_powered PredictionPowered PoweredMean trust Trust pool Pool collect Labels "
        "Assessor holes Holes Hole",
    ),
    "fuse": ("Fuse", "Make one run of several, and choose their weights.", "fuse tune Tuned"),
    "agreement": ("Agreement", "Compare assessors.", "agreement Agreement"),
    "correlate": (
        "Orderings of systems",
        "Correlate orderings of systems, and tell how well a measure distinguishes them.",
        "correlate Correlation OrderingPair discriminative_power DiscriminativePower swap_rate "
        "SwapRate",
    ),
    "coefficients": (
        "Coefficients",
        "Correlate two orderings or rankings: tau, its kinds, rank-biased overlap.",
        "Kendall kendall tau_ap tau_ap_a tau_ap_b weighted_tau rbo RBO RunRBO",
    ),
    "reproduce": (
        "Reproduce",
        "Tell how near a second experiment came to the first.",
        "reproduce Reproduction ReproducedRun",
    ),
    "figures": (
        "Figures",
        "Draw systems and measures.",
        "figures.leaderboard figures.differences figures.scatter figures.spread figures.by_cutoff "
        "figures.precision_recall figures.by_slice figures.by_collection "
        "figures.by_relevant figures.over_time figures.pair_matrix "
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
in it. `help(cranfield.evaluate)` shows all that these pages say of it, and of its
[options](options.md). Every example runs as it is shown, in a folder where
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
OPTIONS_INTRODUCTION = """# Options of several functions

These are keywords; each function's page says which it takes."""
SHARED: dict[str, type[Options]] = {}  # families of options that several functions take
# Members that other parts of the package use, and that users have no need of: these are not public.
INTERNAL = {
    "Difference": "of",
    "InputError": "add_reason locate replace",
    "MeanExplanation": "of of_run",
    "Measure": "aggregate bounds check_complete fractions imperfect linear values with_parameters",
    "Names": "implied",
    "Note": "add_source",
    "Qrels": "check_whole_grades doc_lists docs find_codes grade_range has_groups ideal "
    "pair_index query replace_fields sampling select_queries select_rows spans",
    "QueryDifferences": "of_runs",
    "Run": "blocks description extra_roles find_repeats first_repeat_error group_block "
    "has_lists has_scores is_text list_kind needed_roles origin read_columns "
    "read_ranking read_rankings read_whole_queries replace_rows resolve_order resolve_spans roles "
    "rows select_queries select_query skip_faults split_queries",
    "Scores": "columns format_cells round_counts select_queries",
    "Shown": "in_form",
    "SideBySide": "of",
    "Verdict": "compared",
}
# Base classes that are not public themselves, and whose members are.
BASES = {
    "RunOperations": "cranfield.data.altered.RunOperations",
    "Documents": "cranfield.data.documents.Documents",
    "JudgmentColumns": "cranfield.data.judgment_columns.JudgmentColumns",
    "Pairs": "cranfield.comparison.result.Pairs",
}
BRACKETS = {"__getitem__": ("[", "]")}  # methods that are written with brackets
DOCS_LINK = re.compile(r"\bdocs/([\w/-]+\.md)")
RESULT = "Forms: [as every result](results.md)."


def make_api_pages() -> dict[str, str]:
    """Return the pages: {name of the file: text}."""
    logging.getLogger("griffe").setLevel(logging.CRITICAL)
    package = griffe.load("cranfield", search_paths=[str(SOURCE)])
    SHARED.update(_find_shared_families(package))
    pages, rows = {}, ["| page | what for | names |", "|---|---|---|"]
    for stem, (title, purpose, _) in PAGES.items():
        names = list_names(stem)
        page = [f"# {title}", purpose, *(_describe_name(package, name) for name in names)]
        pages[f"{stem}.md"] = _say_once("\n\n".join(page))
        links = ", ".join(_link(package, stem, name) for name in names)
        rows.append(f"| [{title}]({stem}.md) | {purpose} | {links} |")
    pages["index.md"] = INTRODUCTION + "\n".join(rows)
    pages["options.md"] = "\n\n".join([OPTIONS_INTRODUCTION, *_describe_families()])
    names = ["index", "options", *PAGES]
    pages[".nav.yml"] = "nav:\n" + "\n".join(f"  - {page}.md" for page in names)
    return {name: f"{text.rstrip()}\n" for name, text in pages.items()}


def _find_shared_families(package: Any) -> dict[str, type[Options]]:
    """Return {name: family} of the families of options that several functions take."""
    family_of_name: dict[str, type[Options]] = {}
    n_functions = Counter[str]()
    for name in (name for page in PAGES for name in list_names(page)):
        declaration = _find_declaration(package, name)
        for function in [declaration, *getattr(declaration, "members", {}).values()]:
            if function.is_function:
                families = dict.fromkeys(_family_of_option(function).values())
                family_of_name |= {family.__name__: family for family in families}
                n_functions.update(family.__name__ for family in families)
    return {name: family for name, family in family_of_name.items() if n_functions[name] > 1}


def _describe_families() -> Iterator[str]:
    """Yield a section for each family of shared options: its own, each described once."""
    family_of_option: dict[tuple[str, str], str] = {}
    for name, family in SHARED.items():
        lines = []
        for option in list_options(family):
            if option.name in inspect.get_annotations(family):
                home = family_of_option.setdefault((option.name, option.sentence), name)
                facts = f"{_option_type(option)}; default `{option.default!r}`"
                text = escape_prose(option.sentence) if home == name else f"as in {home}."
                lines.append(f"- `{option.name}` ({facts}): {text}")
        summary = escape_prose((inspect.getdoc(family) or "").partition("\n")[0])
        yield "\n\n".join([f"## {name}", summary, "\n".join(lines)])


def _say_once(page: str) -> str:
    """Return a page with the lines that five functions or more have once, at its top."""
    counts = Counter(line for line in page.split("\n") if re.match(r"- `.*: ", line))
    repeated_lines = [line for line, n in counts.items() if n >= 5]
    if not repeated_lines:
        return page
    lines = [line for line in page.split("\n") if line not in repeated_lines]
    lines[3:3] = ["", "Where functions here have or raise these, they are:", "", *repeated_lines]
    return re.sub(r"\*\*\w+\*\*\n\n(?!- )", "", "\n".join(lines))


def list_names(page: str) -> list[str]:
    """Return the public names on a page."""
    names = PAGES[page][2]
    if names == "{pytrec_eval}":
        public_names = import_module("cranfield.pytrec_eval").__all__
        return [f"compat.pytrec_eval.{name}" for name in public_names if name != "__version__"]
    return names.split()


def _short_name(name: str) -> str:
    return name.rpartition(".")[2]


def _describe_name(package: Any, name: str) -> str:
    """Return the section of a public name."""
    declaration = _find_declaration(package, name)
    return "\n\n".join([f"## {_make_heading(declaration)}", *_describe(declaration)])


def _link(package: Any, stem: str, name: str) -> str:
    """Return a link to the section of a public name."""
    anchor = _make_heading(_find_declaration(package, name)).lower().replace(" ", "-")
    return f"[`{_short_name(name)}`]({stem}.md#{anchor})"


def _find_declaration(package: Any, name: str) -> Any:
    declaration = package[name if "." in name else f"{HOMES[name]}.{name}"]
    return declaration.final_target if declaration.is_alias else declaration


def _make_heading(declaration: Any) -> str:
    """Return the heading of a public name: `gate` is another than the class `Gate`."""
    return f"class {declaration.name}" if declaration.is_class else str(declaration.name)


def _describe(declaration: Any) -> Iterator[str]:
    if declaration.is_function:
        yield _write_signature(declaration, declaration.name)
        yield from _write_docstring(declaration)
    elif declaration.is_class:
        yield from _describe_class(declaration)
    else:
        yield from _write_docstring(declaration)


def _describe_class(declaration: Any) -> Iterator[str]:
    constructor = declaration.members.get("__init__")
    is_data = any("dataclass" in str(decorator.value) for decorator in declaration.decorators)
    result_class = _find_object(declaration)
    is_result = (
        isinstance(result_class, type)
        and issubclass(result_class, Shown)
        and result_class is not Shown
    )
    is_made_by_users = not is_data or f"{declaration.name}(" in read_docstring(declaration)
    if constructor is not None and not is_result and is_made_by_users:
        yield _write_signature(constructor, declaration.name)
    yield from _write_docstring(declaration)
    if constructor is not None and not is_result and constructor.docstring:
        yield from _write_docstring(constructor)
    if is_result:
        yield RESULT
    internal_names = INTERNAL.get(declaration.name, "").split()
    members = [member for name, member in list_members(declaration).items() if _is_public(name)]
    members = [member for member in members if member.name not in internal_names]
    if is_result:
        members = [member for member in members if not _repeats_result_member(member)]
    if is_data:
        fields = [
            member for member in members if member.is_attribute and "property" not in member.labels
        ]
        rows = [_describe_field(member) for member in fields if member.annotation is not None]
        if rows:
            yield "**Fields**"
            yield "\n".join(rows)
    for member in members:
        if member.is_function:
            yield f"### {_method_heading(declaration.name, member)}"
            if member.name not in BRACKETS:
                yield _write_signature(member, member.name)
            yield from _write_docstring(member)
        elif "property" in member.labels and member.docstring:
            yield f"### {declaration.name}.{member.name}"
            yield f"A property: `{member.annotation}`."
            yield from _write_docstring(member)


def list_members(declaration: Any) -> dict[str, Any]:
    """Return a class's members by name, with those of the base classes that have no page."""
    members = dict(declaration.members)
    for base in getattr(declaration, "bases", ()):
        name = str(base).partition("[")[0]
        if name in BASES:
            for member_name, member in list_members(
                declaration.modules_collection[BASES[name]]
            ).items():
                members.setdefault(member_name, member)
    return members


def _repeats_result_member(member: Any) -> bool:
    """Tell whether a member of a result says no more than that of every result."""
    if member.name == "to_dict":
        return bool(re.match("Return (everything as )?plain values.*$", read_docstring(member)))
    if member.name in BRACKETS or not hasattr(Shown, member.name):
        return False
    return not member.is_function or len(member.parameters) < 2  # self alone


def _method_heading(name: str, method: Any) -> str:
    """Return the heading of a method."""
    if method.name in BRACKETS:
        opening, closing = BRACKETS[method.name]
        return f"`{name}{opening}{method.parameters[1].name}{closing}`"
    return f"{name}.{method.name}"


def _describe_field(field: Any) -> str:
    description = f": {escape_prose(field.docstring.value)}" if field.docstring else ""
    return f"- `{field.name}` (`{field.annotation}`){description}"


def _is_public(name: str) -> bool:
    return not name.startswith("_") or name == "__call__" or name in BRACKETS


def _import_module(declaration: Any) -> ModuleType | None:
    """Return the module in which it is declared; None if that needs a package that is not here."""
    name = declaration.module.path
    return None if "tools.adapters." in name else import_module(name)


def _find_object(declaration: Any) -> Any:
    runtime_object: Any = _import_module(declaration)
    for name in (
        declaration.path.removeprefix(f"{declaration.module.path}.").split(".")
        if runtime_object
        else ()
    ):
        runtime_object = inspect.getattr_static(runtime_object, name, None)
    return runtime_object


def _family_of_option(declaration: Any) -> dict[str, type[Options]]:
    """Return {option: the family that declares it}, of the options in a function's signature."""
    return {
        name: next(base for base in family.__mro__ if name in inspect.get_annotations(base))
        for family in _list_families(declaration)
        for name in _signature_options(declaration)
        if hasattr(family, name)
    }


def _list_families(declaration: Any) -> list[type[Options]]:
    """Return the families of options in a function's decorator."""
    families: list[type[Options]] = []
    for decorator in getattr(declaration, "decorators", ()):
        call = ast.parse(str(decorator.value), mode="eval").body
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "takes":
            for argument in call.args:
                family_name = ast.unparse(argument).removeprefix(
                    "*"
                )  # one family, or a tuple of some
                member = getattr(_import_module(declaration), family_name)
                families += member if isinstance(member, tuple) else (member,)
    return families


def _list_parameters(declaration: Any) -> list[Any]:
    return [
        parameter
        for parameter in declaration.parameters
        if parameter.name not in ("self", "cls")
        and not parameter.name.startswith("_")
        and not (parameter.kind.value == "variadic keyword" and _list_families(declaration))
    ]


def _write_signature(declaration: Any, name: str) -> str:
    """Return how it is called, in at most 80 columns."""
    shows_types = not any(
        section.kind.value == "parameters" for section in split_docstring(declaration)
    )
    if name != declaration.name:  # a class, whose docstring describes what it is made from
        shows_types = False
    parts, is_keyword_only = [], False
    for parameter in _list_parameters(declaration):
        kind = parameter.kind.value
        if kind == "keyword-only" and not is_keyword_only:
            parts.append("*")
            is_keyword_only = True
        stars = {"variadic positional": "*", "variadic keyword": "**"}.get(kind, "")
        is_keyword_only = is_keyword_only or stars == "*"
        kind = (
            f": {parameter.annotation}" if shows_types and parameter.annotation is not None else ""
        )
        equals = " = " if kind else "="
        default = (
            ""
            if stars or parameter.default is None
            else f"{equals}{_default_text(declaration, parameter)}"
        )
        parts.append(f"{stars}{parameter.name}{kind}{default}")
    options = _signature_options(declaration)
    shared_options = _shared_options(declaration)
    if options.keys() > shared_options.keys() and not is_keyword_only:
        parts.append("*")
    parts += [
        f"{option.name}={option.default!r}"
        for option in options.values()
        if option.name not in shared_options
    ]
    parts += ["**options"] * bool(shared_options)
    returns = (
        f" -> {declaration.returns}"
        if declaration.returns is not None and declaration.name != "__init__"
        else ""
    )
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


def _default_text(declaration: Any, parameter: Any) -> str:
    """Return a default as the source has it; a constant's value."""
    text = str(parameter.default)
    if text.isupper() and text.isidentifier():
        constant = getattr(_import_module(declaration), text, None)
        return repr(constant) if isinstance(constant, str | int | float) else text
    return text


def _signature_options(declaration: Any) -> dict[str, Option]:
    """Return the options in a function's signature: of its families, without those left out."""
    families = _list_families(declaration)
    parameters = inspect.signature(_find_object(declaration)).parameters if families else {}
    options = (option for family in families for option in list_options(family))
    return {option.name: option for option in options if option.name in parameters}


def _option_type(option: Option) -> str:
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


def _annotation_text(declaration: Any, annotation: Any) -> str:
    """Return an annotation; a name of several texts as these."""

    def spell_out(match: re.Match[str]) -> str:
        named_type = getattr(_import_module(declaration), match[0], None)
        choices = get_args(named_type) if get_origin(named_type) is Literal else ()
        return " | ".join(f'"{choice}"' for choice in choices) or match[0]

    return re.sub(r"\b[A-Z]\w+\b", spell_out, str(annotation))


def _parameter_facts(declaration: Any, name: str) -> str:
    """Return the type of a parameter, in parentheses; its default is in the signature."""
    option = _signature_options(declaration).get(name)
    if option is not None:
        return f" ({_option_type(option)})"
    parameter = {parameter.name: parameter for parameter in _list_parameters(declaration)}.get(
        name.lstrip("*")
    )
    if parameter is None or parameter.annotation is None or str(parameter.annotation) == "Any":
        return ""
    return f" (`{_annotation_text(declaration, parameter.annotation)}`)"


def read_docstring(declaration: Any) -> str:
    """Return the docstring of an object that griffe has read, with the options of its families."""
    function = (
        _find_object(declaration)
        if declaration.is_function and _list_families(declaration)
        else None
    )
    text = (
        function.__doc__
        if function is not None
        else declaration.docstring and declaration.docstring.value
    )
    return inspect.cleandoc(text or "")


def split_docstring(declaration: Any) -> list[Any]:
    """Return the sections of a docstring, as griffe parses them."""
    return griffe.Docstring(read_docstring(declaration)).parse(
        "google", returns_multiple_items=False, returns_named_value=False
    )


def _write_docstring(declaration: Any) -> Iterator[str]:
    """Yield the paragraphs of a docstring."""
    function = declaration
    if declaration.is_class and "__init__" in declaration.members:
        function = declaration.members["__init__"]
    imports = _import_lines(declaration)
    for section in split_docstring(declaration):
        kind = section.kind.value
        if kind in ("text", "examples"):
            section_value = section.value
            texts = [text for _, text in section_value] if kind == "examples" else [section_value]
            for text in texts:
                for paragraph in _split_paragraphs(text, imports):
                    if paragraph.startswith("```pycon"):
                        imports = ""
                    yield paragraph
        elif kind == "parameters":
            pairs = [(parameter.name, parameter.description) for parameter in section.value]
            yield from _list_arguments("Parameters", pairs, function)
            yield from _link_families(function)
        elif kind == "admonition" and section.title in HEADINGS:
            lines = re.split(r"\n(?=\S)", section.value.description)
            pairs = [tuple(line.split(": ", 1)) for line in lines]
            yield from _list_arguments(section.title, pairs, function)
        elif kind == "returns":
            yield "**Returns** " + " ".join(
                escape_prose(
                    ": ".join(filter(None, [str(returned.annotation or ""), returned.description]))
                )
                for returned in section.value
            )
        elif kind in ("raises", "warns"):
            yield {"raises": "**Raises**", "warns": "**Warns**"}[kind]
            yield "\n".join(
                f"- `{exception.annotation}`: {escape_prose(exception.description)}"
                for exception in section.value
            )
        else:
            yield f"**{kind.capitalize()}** {escape_prose(str(section.value))}"


def _list_arguments(
    heading: str, arguments: Iterable[tuple[str, str]], function: Any
) -> Iterator[str]:
    """Yield a heading and the list of arguments, (name, meaning) each, without shared options."""
    shared_options = _shared_options(function)
    lines = [
        f"- `{name}`{_parameter_facts(function, name)}: {escape_prose(text)}"
        for name, text in arguments
        if name not in shared_options
    ]
    if lines:
        yield f"**{heading}**"
        yield "\n".join(lines)


def _shared_options(function: Any) -> dict[str, str]:
    """Return {option: the name of its family} of the options that other functions take, too."""
    if not function.is_function:
        return {}
    families = _family_of_option(function)
    return {name: family.__name__ for name, family in families.items() if family.__name__ in SHARED}


def _link_families(function: Any) -> Iterator[str]:
    """Yield a list of the families of a function's shared options, with the options' names."""
    family_of_name = _shared_options(function)
    lines = []
    for family in dict.fromkeys(family_of_name.values()):
        names = ", ".join(f"`{name}`" for name, of in family_of_name.items() if of == family)
        lines.append(f"- [{family}](options.md#{family.lower()}): {names}")
    if lines:
        yield "**Options**"
        yield "\n".join(lines)


def _split_paragraphs(text: str, imports: str) -> Iterator[str]:
    """Yield the paragraphs of a text; examples that follow each other are one block."""
    block: list[str] = []
    for paragraph in [*re.split(r"\n[ \t]*\n", text), ""]:
        plain_text = textwrap.dedent(paragraph).strip("\n")
        if plain_text.startswith(">>>"):
            block.append(plain_text)
            continue
        if block:
            yield f"```pycon\n{imports}" + "\n\n".join(block) + "\n\n```"
            block, imports = [], ""
        if not plain_text:
            continue
        if paragraph.startswith("    "):
            yield f"```text\n{plain_text}\n```"
        else:
            yield plain_text if plain_text.startswith(("- ", "* ")) else escape_prose(plain_text)


def escape_prose(text: str) -> str:
    """Return a text on one line, in which only what is code is not taken word for word."""
    code_and_text = re.split(
        r"(`+[^`]+`+)", DOCS_LINK.sub(r"[\1](../../\1)", " ".join(text.split()))
    )
    return "".join(
        text if text.startswith("`") else re.sub(r"([*<$|])", r"\\\1", text)
        for text in code_and_text
    )


def _import_lines(declaration: Any) -> str:
    """Return the lines that import what the examples of a docstring use."""
    module = _import_module(declaration)
    if module is None:  # an adapter, which users import by its short name
        path = declaration.module.path.replace("extensions.tools.", "")
        return f">>> from {path} import {declaration.name}\n"
    trees = [
        ast.parse(example.source)
        for example in DocTestParser().get_examples(read_docstring(declaration))
    ]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    loaded = {node.id for node in nodes if isinstance(node, ast.Name)}
    stored = set(_bound_names(nodes))
    public, lines = [], []
    for name in sorted(loaded - stored - set(dir(builtins))):
        namespace_object = vars(module).get(name)
        if isinstance(namespace_object, ModuleType):
            short = namespace_object.__name__.removeprefix("cranfield.")
            if namespace_object.__name__.startswith("cranfield.") and "." not in short:
                public.append(name)
            else:
                alias = "" if name == namespace_object.__name__ else f" as {name}"
                lines.append(f">>> import {namespace_object.__name__}{alias}\n")
        elif name in HOMES:
            public.append(name)
        elif (home := _public_home(name, namespace_object)) is not None:
            lines.append(f">>> from {home} import {name}\n")
        elif name in vars(module):
            home = getattr(namespace_object, "__module__", None) or module.__name__
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


def _bound_names(nodes: Iterable[ast.AST]) -> Iterator[str]:
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
