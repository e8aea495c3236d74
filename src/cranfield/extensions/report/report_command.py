"""`cranfield report QRELS RUN...`: writes the page that `report` makes of a comparison."""

from typing import Any

import click

from cranfield.cli import flags
from cranfield.cli.several import ComparisonOptions, comparison_options
from cranfield.cli.terminal import (
    doc_texts_option,
    print_note,
    print_notes,
    query_texts_option,
    refuse_outputs,
)
from cranfield.comparison.comparison import Comparison
from cranfield.errors import OptionError, escape_unprintable
from cranfield.extensions.report.rankings import BUDGET, DEPTH
from cranfield.extensions.report.report import MAX_DEPTH, report
from cranfield.extensions.report.sheets import SHEET_QUERIES
from cranfield.options import whole_check

_DEFAULT_PATH = "report.html"


def check_html_name(_: click.Context, option: click.Parameter, path: str | None) -> str | None:
    """Return a path, "-" or None; raise OptionError for another ending than .html or .htm."""
    if path not in ("-", None) and not path.lower().endswith((".html", ".htm")):
        option_text = f"{option.opts[0]} {escape_unprintable(path)}"
        raise OptionError(f"{option_text}: a report is a page: name a file .html")
    return path


output_option = flags.option(
    "-o",
    "--output",
    group="Output",
    metavar="FILE",
    default=_DEFAULT_PATH,
    show_default=True,
    callback=check_html_name,
    help="The page to write; `-` is the standard output.",
)


@flags.command("report")
def command(
    qrels: str = flags.argument(),
    runs: tuple[str, ...] = flags.argument(nargs=-1, metavar="RUN..."),
    comparing: ComparisonOptions = comparison_options,
    query_texts: str | None = query_texts_option,
    doc_texts: tuple[str, ...] = doc_texts_option,
    title: str | None = flags.option(group="More", metavar="TEXT", help="What the page is called."),
    ranks: int = flags.checked_option(
        whole_check(1, MAX_DEPTH),
        group="More",
        type=int,
        default=DEPTH,
        show_default=True,
        help="How many documents of each system to show for a query.",
    ),
    worksheets: int = flags.checked_option(
        whole_check(0),
        group="More",
        type=int,
        default=SHEET_QUERIES,
        show_default=True,
        help="For how many queries to show what `cranfield explain` prints, for the best system "
        "and the baseline.",
    ),
    budget: int = flags.checked_option(
        whole_check(0),
        group="More",
        type=int,
        metavar="BYTES",
        default=BUDGET,
        show_default=True,
        help="How many bytes the rankings with their texts may take. If not all fit, the queries "
        "on which scores differ most are shown.",
    ),
    output: str = output_option,
) -> None:
    """Make one page to look at: tables, charts, and the rankings of every query side by side.

    The page is one file, which opens in any browser, loads nothing and sends nothing. Systems are
    compared as `cranfield compare` compares them, with the first, or with --baseline.

    \b
    cranfield report demo/qrels.txt demo/*.run -m "nDCG@10 AP"
    cranfield report demo/qrels.txt demo/*.run --topics demo/queries.tsv
    cranfield report demo/rag.json demo/rag-new.json -m recall@5
    """  # noqa: D301 - click's mark for lines to keep
    refuse_outputs([output])
    comparison = comparing.compare_files(qrels, runs)
    write_report(
        comparison,
        output,
        title=title,
        query_texts=query_texts,
        doc_texts=doc_texts or None,
        depth=ranks,
        worksheets=worksheets,
        budget=budget,
        inputs=(qrels, *runs) if comparing.saved else (),
    )


def write_report(comparison: Comparison, path: str, **options: Any) -> None:
    """Write the report of a comparison to a file; print its warnings, and where it is."""
    page = report(comparison, command=flags.typed_command(), **options)
    page.save(path)
    print_notes(note for note in page.notes if note.is_grave)
    if path != "-":
        print_note(f"wrote {path}: open it in a browser")
