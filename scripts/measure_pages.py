"""The pages of the measures: one a family, filled from the register and `formulas.toml`.

A page is written by hand, except for what follows its line `<!-- measures: P R F -->`: the sections
of these measures, up to `<!-- end -->`. `index.md` has the table of all.
"""

import re
import tomllib
from collections.abc import Callable
from pathlib import Path

from cranfield import figures
from cranfield.compat.names import measure_names
from cranfield.measures import Definition, Measure, definitions, make_example
from cranfield.measures.user_models import USER_MODELS

FOLDER = Path(__file__).parent.parent / "docs" / "reference" / "measures"
FORMULAS: dict[str, dict[str, str]] = tomllib.loads(
    (Path(__file__).parent / "formulas.toml").read_text("utf-8")
)
FAMILY = re.compile(r"(<!-- measures: ([\w ]+) -->\n).*(<!-- end -->)", re.S)
TABLE = re.compile(r"(<!-- table: begin -->\n).*(<!-- table: end -->)", re.S)
LINK = "[Bounds](../../background/incomplete-judgments.md#bounds)"
BOUNDS = {"none": "none: it does not depend on grades", "refused": "none", "attained": "attained"}
# What `docs/pictures` shows of the families; counts have no weights.
WEIGHTS = {
    "precision": "P@5 P@10 R@20 Success@10",
    "average-precision": "RR RR@10 AP",
    "gain": "DCG DCG@10 DCG(discount='ln')",
    "user-models": "RBP(p=0.5) RBP RBP(p=0.95) ERR CWL('INST(T=1)')",
    "classification": "AUC AUC@10 RR",
    "diversity": "alpha_nDCG nNRBP nERR_IA P_IA@10 Dsharp_nDCG",
    "groups": "GroupP@10 GroupAP",
    "incomplete": "Judged@10 Bpref infAP",
    "ntcir": "Q(beta=0.1) Q Q(beta=10)",
    "sets": "SetP P@10 AP",
}


def find_families() -> dict[str, list[str]]:
    """Return the names of the measures on each page: {page: names}."""
    names_of_page = {}
    for page in sorted(FOLDER.glob("*.md")):
        family = FAMILY.search(page.read_text("utf-8"))
        if family is not None:
            names_of_page[page.stem] = family[2].split()
    return names_of_page


def make_measure_pages() -> dict[str, str]:
    """Return the pages: {name of the file: text}."""
    of_lists = [*definitions("run"), *definitions("lists")]
    all_definitions = [*definitions(), *of_lists]
    definition_of_name = {definition.name: definition for definition in all_definitions}
    page_of_name = {name: page for page, names in find_families().items() for name in names}

    def fill_sections(match: re.Match[str]) -> str:
        sections = [make_section(definition_of_name[name]) for name in match[2].split()]
        return match[1] + "\n" + "\n".join(sections) + match[3]

    def fill_table(match: re.Match[str]) -> str:
        rows = ["| measure | what it is |", "|---|---|"]
        for definition in all_definitions:
            link = f"{page_of_name[definition.name]}.md#{definition.name.lower()}"
            rows.append(f"| [`{definition.name}`]({link}) | {definition.summary} |")
        return match[1] + "\n".join(rows) + "\n" + match[2]

    pages = {}
    for page in sorted(FOLDER.glob("*.md")):
        fill: Callable[[re.Match[str]], str] = fill_table if page.stem == "index" else fill_sections
        pattern = TABLE if page.stem == "index" else FAMILY
        pages[page.name] = pattern.sub(fill, page.read_text("utf-8"))
    return pages


def make_weight_pictures() -> dict[str, figures.Figure]:
    """Return what each rank is worth to the measures of some families: {name: picture}."""
    return {
        f"weights-{page}.svg": figures.rank_weights(measures, 20)
        for page, measures in WEIGHTS.items()
    }


def describe_example(measure: Measure, score: float | str) -> str:
    """Return an example's value with the arithmetic that gives it."""
    arithmetic = FORMULAS[measure.name].get("worked")
    if arithmetic is None or isinstance(score, str):
        return f"`{measure}` is `{score}`"
    return f"`{measure}` = `{arithmetic}` = {score:.4f}"


def list_user_models() -> str:
    """Return the list of the user models of CWL."""
    rows = []
    for model in USER_MODELS.values():
        meanings = [
            f"`{name}`: {parameter.meaning}." for name, parameter in model.parameters.items()
        ]
        text = " ".join([*model.documentation.split(), *meanings])
        rows.append(f"- **`{model.pattern}`**: `{model.formula}`. {text} ({model.source})")
    return "\n".join(rows)


def describe_measure(definition: Definition) -> str:
    """Return what a measure's declaration says about it; of CWL, with its user models as a list."""
    text, models, _ = definition.documentation.partition("The user models:")
    return f"{text}{models}\n\n{list_user_models()}" if models else text


def list_other_names(definition: Definition) -> list[str]:
    """Return a line with a measure's other names: those of trec_eval, then all others."""
    names: dict[bool, list[str]] = {True: [], False: []}
    for name in definition.aliases:
        names[name in measure_names()].append(f"`{name}`")
    parts = [
        *([f"{', '.join(names[True])} (trec_eval)"] if names[True] else []),
        *names[False],
    ]
    return [f"- Names elsewhere: {', '.join(parts)}"] if parts else []


def make_section(definition: Definition) -> str:
    """Return the section of a measure."""
    if definition.of == "queries":
        measure, score = make_example(definition)
        facts = [
            f"- Range of a query's value: {definition.range_text}",
            f"- Over queries: {definition.aggregation_text}",
            f"- Example: {describe_example(measure, score)}",
        ]
    else:
        subject = "the value of a run" if definition.of == "run" else "a user's value"
        facts = [f"- Range of {subject}: {definition.range_text}"]
    facts.append(f"- Source: {definition.source}")
    formula = FORMULAS.get(definition.name, {})
    if definition.of == "queries" and not definition.is_text and not definition.traits.takes_groups:
        bounds = BOUNDS.get(Measure(definition.name).bounds, "proved")
        facts.append(f"- {LINK} over unjudged documents: {bounds}")
    facts += list_other_names(definition)
    parts = [
        f"## {definition.name}",
        f"`{definition.pattern}`",
        describe_measure(definition),
        *([f"$${formula['latex']}$$"] if formula else []),
        *([f"Here, {formula['where']}."] if "where" in formula else []),
        f"In words: {definition.formula}.",
        "\n".join(facts),
    ]
    if definition.parameters:
        rows = ["| parameter | default | what it is |", "|---|---|---|"]
        for name, parameter in definition.parameters.items():
            meaning = parameter.meaning.replace("|", "\\|")
            rows.append(f"| `{name}` | `{definition.defaults[name]!r}` | {meaning} |")
        parts.append("\n".join(rows))
    return "\n\n".join(parts) + "\n"
