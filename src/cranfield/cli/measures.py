"""`cranfield measures [NAME...]`: what the measures are."""

import shutil

import click

from cranfield.cli import flags
from cranfield.errors import NO_DOCSTRINGS, MeasureError
from cranfield.measures import (
    EXAMPLE,
    Definition,
    definitions,
    find_definition,
    make_example,
    search_definitions,
)
from cranfield.measures.declaration import WITHOUT_DOCSTRINGS


@flags.command("measures")
def command(
    names: tuple[str, ...] = flags.argument(
        nargs=-1, metavar="[NAME]...", shell_complete=flags.complete_measures
    ),
    full: bool = flags.option(is_flag=True, help="Explain every measure."),
) -> None:
    """List the measures, or explain some: formula, parameters, range, source and other names.

    NAME may be any name that a measure is known by: nDCG, ndcg_cut_10, map, hit_rate. What is no
    name is looked for in the measures' documentation: `cranfield measures novelty`.
    """
    formatter = click.HelpFormatter(width=min(100, shutil.get_terminal_size().columns))
    of_lists = [*definitions("run"), *definitions("lists")]
    listed_definitions: list[Definition] = [] if full or names else [*definitions(), *of_lists]
    explained_definitions: list[Definition] = [*definitions(), *of_lists] if full else []
    if not full:
        try:
            explained_definitions = [find_definition(name) for name in names]
        except MeasureError:
            listed_definitions = search_definitions(names)
            if not listed_definitions:
                raise
    if listed_definitions:
        formatter.write_dl(
            [(definition.pattern, definition.summary) for definition in listed_definitions],
            col_max=34,
        )
        formatter.write_paragraph()
        formatter.write_text(
            "@k cuts the ranking after k documents; k may be R, the query's number of relevant "
            "documents, or min(10,R). In brackets: may be left out. `cranfield measures nDCG` "
            "says more about one, --full about all. The last are measures of lists, by `cranfield "
            "describe`, from Coverage on."
        )
    for i, definition in enumerate(explained_definitions):
        if i:
            formatter.write("\n\n")
        write_definition(definition, formatter)
    if WITHOUT_DOCSTRINGS:
        formatter.write_paragraph()
        formatter.write_text(
            f"What each measures, its formula and its source are missing here {NO_DOCSTRINGS}"
        )
    click.echo(formatter.getvalue(), nl=False)


def _example_sentence(definition: Definition) -> str:
    example_measure, example_value = make_example(definition)
    value_text = example_value if isinstance(example_value, str) else f"{example_value:.4f}"
    grades = ", ".join(f"{doc} {grade}" for doc, grade in EXAMPLE[0].items())
    return (
        f"{example_measure} of the ranking {' '.join(EXAMPLE[1])} is {value_text}; judged are "
        f"{grades}"
    )


def write_definition(definition: Definition, formatter: click.HelpFormatter) -> None:
    """Write the page of a measure: text, facts, an example, parameters."""
    formatter.write_text(definition.pattern)
    for paragraph in filter(None, definition.documentation.split("\n\n")):
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(paragraph.replace("\n", " "))
    formatter.write_paragraph()
    *facts, source, other_names = definition.facts
    if definition.of == "queries":
        facts.append(("Example", _example_sentence(definition)))
    facts += [source, other_names]
    formatter.write_dl([(name, fact) for name, fact in facts if fact])
    if definition.parameters:
        with formatter.section("Parameters"):
            formatter.write_dl(definition.meanings)
