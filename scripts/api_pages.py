"""The pages of the Python API, made from signatures and docstrings.

Each public name is on one page. Options that a function takes from a family (see
`cranfield/options.py`) are in its signature and docstring like all others.
"""

import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any

from griffe import Docstring, DocstringSectionKind, parse_google

from cranfield.render.shown import Shown

# page: (title, what it is for, names). A name with a dot is that of another public module.
PAGES: dict[str, tuple[str, str, str]] = {
    "evaluate": (
        "Evaluate",
        "Score runs against judgments.",
        "evaluate Scores Systems conventions SideBySide grades Graded GradedSystems",
    ),
    "data": (
        "Judgments and runs",
        "Read, hold, check and write them.",
        "read_qrels read_run Qrels Run check Check with_texts",
    ),
    "measures": (
        "Measures",
        "Name measures, and write your own. Each measure has [a section of its own]"
        "(../measures/index.md).",
        "parse parse_all Measure Names Cutoff RecallPoint definitions measure Parameter Rel Traits"
        " Ranked ratio",
    ),
    "explain": (
        "Explain",
        "How a value, a mean or a difference came about.",
        "explain Explanation MeanExplanation Difference QueryDifferences",
    ),
    "compare": (
        "Compare",
        "Which system is better, by how much, and how sure that is.",
        "compare Comparison joint_bounds JointBounds paper_table PaperTable report Report",
    ),
    "gate": ("Gate", "Whether a change may pass.", "gate Gate Verdict"),
    "power": (
        "Power",
        "How many queries an experiment needs, and what it can show.",
        "power queries_needed detectable",
    ),
    "orderings": (
        "Orderings and overlap",
        "How alike orderings of systems, and rankings, are.",
        "correlate Correlation OrderingPair kendall Kendall tau_ap tau_ap_a tau_ap_b weighted_tau"
        " discriminative_power DiscriminativePower swap_rate SwapRate rbo RBO RunRBO",
    ),
    "agreement": ("Assessors", "How far two assessors agree.", "agreement Agreement"),
    "nuggets": ("Nuggets", "Answers by the facts they hold.", "nugget_recall NuggetScores"),
    "figures": ("Figures", "Pictures, as functions of `cranfield.figures`.", "figures.*"),
    "others": (
        "In place of others",
        "`cranfield.pytrec_eval`, adapters of other packages, and the demonstration.",
        "pytrec_eval.* demo.*",
    ),
    "errors": (
        "Errors and warnings",
        "What is raised and warned of. All errors are CranfieldError.",
        "CranfieldError InputError MeasureError OptionError LibraryError CranfieldWarning Note",
    ),
}
_PLAIN: dict[str, bool] = {
    "warnings": False,
    "returns_multiple_items": False,
    "returns_named_value": False,
}
_RESULT = "Every result has these: see [results](results.md)."
_INTRODUCTION = """# Python

`import cranfield` has everything; heavy libraries are loaded when they are first needed. The
judgments come first, then the runs, then the measures. These pages are made from the docstrings,
which `help(cranfield.evaluate)` shows, too; their examples run in the tests.

"""


def names_of(page: str) -> list[str]:
    """Return the names of a page, those of another module with its name before a dot."""
    found = []
    for name in PAGES[page][2].split():
        module, _, star = name.partition(".")
        if star:
            public = vars(importlib.import_module(f"cranfield.{module}"))
            own = (one for one, it in public.items() if callable(it) and not one.startswith("_"))
            found += [f"{module}.{one}" for one in own if _is_ours(public[one])]
        else:
            found.append(name)
    return found


def _is_ours(it: Any) -> bool:
    return str(getattr(it, "__module__", "")).startswith("cranfield")


def found(name: str) -> Any:
    """Return what a name is, of the package or of another of its public modules."""
    module, _, own = name.rpartition(".")
    return getattr(importlib.import_module(f"cranfield.{module}" if module else "cranfield"), own)


def api_pages() -> dict[str, str]:
    """Return the pages: {name of the file: text}."""
    rows = ["| page | what for | names |", "|---|---|---|"]
    pages = {}
    for page, (title, what_for, _) in PAGES.items():
        names = names_of(page)
        links = ", ".join(f"[`{one}`]({page}.md#{anchor(one)})" for one in names)
        rows.append(f"| [{title}]({page}.md) | {what_for} | {links} |")
        parts = [f"# {title}\n\n{what_for}\n", *(entry(one) for one in names)]
        pages[f"{page}.md"] = "\n".join(parts)
    rows.append("| [Results](results.md) | How every result is shown and exported. | |")
    pages["results.md"] = "\n".join(
        [
            "# Results\n\nEvery result, such as Scores, Comparison or Gate, can be printed, "
            "drawn by a notebook, and exported in these ways.\n",
            *members(Shown, "##"),
        ]
    )
    pages["index.md"] = _INTRODUCTION + "\n".join(rows) + "\n"
    return pages


def anchor(name: str) -> str:
    """Return the anchor of a name's heading.

    >>> anchor("figures.leaderboard")
    'figuresleaderboard'
    """
    return re.sub(r"[^\w-]", "", name.lower())


def entry(name: str) -> str:
    """Return the section of a name."""
    it = found(name)
    parts = [f"## {name}\n", described(it, name)]
    if inspect.isclass(it):
        if issubclass(it, Shown):
            parts.append(f"{_RESULT}\n")
        parts += members(it, "###")
    return "\n".join(parts)


def members(it: type, level: str) -> Iterator[str]:
    """Yield the sections of a class's public methods and properties, as it defines them."""
    for name, member in vars(it).items():
        plain = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if name.startswith("_") or not hasattr(type(plain), "__get__"):  # a plain attribute
            continue
        if (plain.__doc__ or "").strip():
            shown = described(plain, f"{it.__name__}.{name}", inspect.isfunction(plain))
            yield f"{level} {it.__name__}.{name}\n\n{shown}"


def described(it: Any, name: str, has_signature: bool = True) -> str:
    """Return the signature and the docstring of something as Markdown."""
    parts = []
    if has_signature and callable(it) and not _is_error(it):
        parts.append(f"```python\n{signature(it, name)}\n```")
    text = inspect.getdoc(it) or ""
    parts += [_shown(section) for section in parse_google(Docstring(text), **_PLAIN)]
    return _with_import("\n\n".join(part for part in parts if part), name) + "\n"


def _with_import(text: str, name: str) -> str:
    """Return a section whose first example imports what it is about, unless it does so itself."""
    module, _, own = name.rpartition(".")
    if module not in ("figures", "pytrec_eval", "demo"):  # a member, or a name of the package
        module, own = "", name.partition(".")[0]
    home = f"cranfield.{module}" if module else "cranfield"
    begin = text.find("```pycon\n")
    if begin < 0 or re.search(rf"import .*\b{own}\b", text[begin:]):
        return text
    return text.replace("```pycon\n", f"```pycon\n>>> from {home} import {own}\n", 1)


def _is_error(it: Any) -> bool:
    return inspect.isclass(it) and issubclass(it, BaseException)


def signature(it: Any, name: str) -> str:
    """Return a signature, a parameter a line where it is longer than a line."""
    try:
        known = inspect.signature(it)
    except ValueError:
        return name
    parameters = []
    star = False
    for one in known.parameters.values():
        if one.name == "self" or one.name.startswith("_"):
            continue
        if one.kind is one.KEYWORD_ONLY and not star:
            parameters.append("*")
            star = True
        plain = one.replace(annotation=inspect.Parameter.empty)
        star |= one.kind is one.VAR_POSITIONAL
        parameters.append(re.sub(r"<[\w.]+ object at 0x[0-9a-f]+>", "...", str(plain)))
    line = f"{name}({', '.join(parameters)})"
    if len(line) <= 80:
        return line
    return f"{name}(\n{textwrap.indent(textwrap.fill(', '.join(parameters), 74), '    ')}\n)"


def _shown(section: Any) -> str:
    """Return a section of a docstring as Markdown."""
    kind = section.kind
    if kind is DocstringSectionKind.text:
        return _blocks(section.value)
    if kind is DocstringSectionKind.examples:
        return "\n\n".join(
            text if part is DocstringSectionKind.text else f"```pycon\n{text}\n\n```"
            for part, text in section.value
        )
    if kind is DocstringSectionKind.admonition:
        return f"**{section.title}** {_flat(section.value.description)}"
    titles = {
        DocstringSectionKind.parameters: "Parameters",
        DocstringSectionKind.attributes: "Attributes",
        DocstringSectionKind.returns: "Returns",
        DocstringSectionKind.yields: "Yields",
        DocstringSectionKind.raises: "Raises",
        DocstringSectionKind.warns: "Warns",
    }
    rows = []
    for one in section.value:
        name = getattr(one, "name", "") or ""
        if kind in (DocstringSectionKind.raises, DocstringSectionKind.warns):
            name = str(one.annotation)
        shown = f"`{name}`: " if name else ""
        rows.append(f"- {shown}{_flat(one.description)}")
    return f"**{titles[kind]}**\n\n" + "\n".join(rows)


def _flat(text: str) -> str:
    return " ".join(text.split())


def _blocks(text: str) -> str:
    """Return a text with its examples, which begin with >>>, as blocks."""
    parts = []
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        if paragraph.lstrip().startswith(">>>"):
            parts.append(f"```pycon\n{textwrap.dedent(paragraph)}\n\n```")
        else:
            parts.append(paragraph)
    return "\n\n".join(parts)
