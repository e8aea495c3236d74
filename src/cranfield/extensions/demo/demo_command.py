"""`cranfield demo`: evaluates, saves or reports on the demonstration collection."""

import click

from cranfield.cli import flags
from cranfield.cli.terminal import Format, echo, show
from cranfield.comparison.compare import compare
from cranfield.extensions import demo
from cranfield.extensions.report.report_command import check_html_name, write_report
from cranfield.measures import parse
from cranfield.scoring.evaluate import evaluate

_MEASURES = "nDCG@10 AP RR P@10 R@10"


@flags.command("demo")
def command(
    folder: str | None = flags.option(
        "--save",
        type=click.Path(file_okay=False),
        help="Write the collection's files into this folder, to try commands on.",
    ),
    page: str | None = flags.option(
        "--report",
        metavar="FILE",
        callback=check_html_name,
        help="Write the report of its four systems, a page to look at, as cranfield report does.",
    ),
) -> None:
    """Evaluate a small collection that comes with the package.

    40 questions that Python programmers ask, the modules of the standard library as documents,
    judged on grades 0 to 3, ranked by four systems.
    """
    if folder is not None:
        for path in demo.save(folder):
            click.echo(f"wrote {path}")
    if page is not None:
        comparison = compare(demo.QRELS, list(demo.RUNS), _MEASURES)
        write_report(
            comparison,
            page,
            title="Questions to Python's standard library",
            query_texts=demo.queries(),
            doc_texts=demo.modules(),
        )
    if folder is not None or page is not None:
        return
    systems = evaluate(demo.QRELS, demo.RUNS)
    show(systems, Format())
    measure = parse("nDCG@10")
    best, second, *_ = sorted(systems.values(), key=lambda scores: -scores[measure])
    echo(
        f"\nSeen: for {len(demo.queries())} questions to Python's standard library, {best.name} "
        f"puts the modules that help highest ({measure} {best[measure]:.3f}; {second.name} "
        f"{second[measure]:.3f}).\n"
        "Next: `cranfield demo --save demo` writes the files; then try\n"
        "`cranfield evaluate demo/qrels.txt demo/*.run -q -m nDCG@10`.\n"
    )
