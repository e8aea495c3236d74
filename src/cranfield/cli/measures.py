"""`cranfield measures [NAME]`."""

import shutil

import click

from cranfield.measures import Definition, definitions, find


@click.command("measures")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--full", is_flag=True, help="Explain every measure.")
def command(names: tuple[str, ...], full: bool) -> None:
    """List the measures, or explain some: formula, parameters, range, source and other names.

    NAME may be any name that a measure is known by: nDCG, ndcg_cut_10, map, hit_rate.
    """
    formatter = click.HelpFormatter(width=min(100, shutil.get_terminal_size().columns))
    chosen = definitions() if full else [find(name) for name in names]
    if not chosen:
        formatter.write_dl([(one.pattern, one.summary) for one in definitions()], col_max=34)
        formatter.write_paragraph()
        formatter.write_text(
            "@k cuts the ranking after k documents; k may be R, the query's number of relevant "
            "documents, or min(10,R). In brackets: may be left out. `cranfield measures nDCG` "
            "says more about one, --full about all."
        )
    for i, definition in enumerate(chosen):
        if i:
            formatter.write("\n\n")
        explain(definition, formatter)
    click.echo(formatter.getvalue(), nl=False)


def explain(definition: Definition, formatter: click.HelpFormatter) -> None:
    """Write what is known of a measure."""
    formatter.write_text(definition.pattern)
    for paragraph in definition.documentation.split("\n\n"):
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(paragraph.replace("\n", " "))
    formatter.write_paragraph()
    facts = [
        ("Formula", definition.formula),
        ("Range", definition.shown_range),
        ("Over queries", definition.over_queries),
        ("Source", definition.source),
        ("Other names", ", ".join(definition.aliases) or "-"),
    ]
    formatter.write_dl(facts)
    if definition.parameters:
        with formatter.section("Parameters"):
            formatter.write_dl(
                [
                    (f"{name}={definition.defaults[name]!r}", parameter.meaning)
                    for name, parameter in definition.parameters.items()
                ]
            )
