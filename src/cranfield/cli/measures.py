"""`cranfield measures [NAME]`."""

import shutil

import click

from cranfield.measures import Definition, definitions, find


@click.command("measures")
@click.argument("name", required=False)
def command(name: str | None) -> None:
    """List the measures, or explain one: its formula, parameters, source and other names.

    NAME may be any name that the measure is known by: nDCG, ndcg_cut_10, map, hit_rate.
    """
    formatter = click.HelpFormatter(width=min(100, shutil.get_terminal_size().columns))
    if name is None:
        formatter.write_dl([(one.pattern, one.summary) for one in definitions()], col_max=34)
        formatter.write_paragraph()
        formatter.write_text(
            "@k cuts the ranking after k documents; k may be R, the query's number of relevant "
            "documents, or min(10,R). In brackets: may be left out. `cranfield measures nDCG` "
            "says more about one."
        )
    else:
        _explain(find(name), formatter)
    click.echo(formatter.getvalue(), nl=False)


def _explain(definition: Definition, formatter: click.HelpFormatter) -> None:
    formatter.write_text(definition.pattern)
    for paragraph in definition.documentation.split("\n\n"):
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(paragraph.replace("\n", " "))
    formatter.write_paragraph()
    low, high = definition.range
    over = {"mean": "mean", "sum": "sum", "geometric": "geometric mean"}[definition.aggregation]
    facts = [
        ("Formula", definition.formula),
        ("Range", f"from {low:g}" + (f" to {high:g}" if high is not None else " up")),
        ("Over queries", over),
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
