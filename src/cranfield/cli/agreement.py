"""`cranfield agreement QRELS_A QRELS_B [RUN...]`."""

from typing import Literal, get_args

import click

from cranfield.cli.data import DataOptions, data_options, refuse_two_inputs
from cranfield.cli.terminal import as_json, note, say, show
from cranfield.comparison.assessors import MIXTURES, agreement
from cranfield.comparison.flips import SEED
from cranfield.errors import InputError
from cranfield.measures import parse_all
from cranfield.render import delimited, to_latex, to_markdown

Format = Literal["table", "tsv", "csv", "json", "markdown", "latex"]
_PAGES = {"markdown": to_markdown, "latex": to_latex}
_COLUMNS = ("part", "measure", "name", "other", "quantity", "value")


@click.command("agreement")
@click.argument("qrels_a")
@click.argument("files", nargs=-1, metavar="QRELS_B [RUN]...")
@click.option(
    "-m",
    "--measure",
    "names",
    multiple=True,
    metavar="MEASURE",
    help="By what the systems are ordered. May be repeated.  [default: nDCG@10]",
)
@click.option("-q", "--per-query", is_flag=True, help="Show every query's agreement, too.")
@click.option(
    "-l",
    "--rel",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="The lowest grade that counts as relevant, also for measures that state none.",
)
@click.option(
    "--mixtures",
    type=click.IntRange(min=1),
    default=MIXTURES,
    show_default=True,
    help="How many mixtures of both qrels, or, with --confusion, generated qrels.",
)
@click.option(
    "--confusion",
    metavar="FILE",
    help="There is no QRELS_B: make other judgments of QRELS_A by these rates. CSV or TSV with the "
    'header grade,given,rate, or JSON, {"0": {"0": 0.9, "1": 0.1}, ...}.',
)
@click.option("--seed", type=click.IntRange(min=0), default=SEED, show_default=True)
@click.option(
    "--alpha",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="A difference of two systems is significant if p is not above it.",
)
@data_options
@click.option(
    "--format",
    "form",
    type=click.Choice(get_args(Format)),
    default="table",
    show_default=True,
    help="How to print.",
)
def command(
    qrels_a: str,
    files: tuple[str, ...],
    names: tuple[str, ...],
    per_query: bool,
    rel: int,
    mixtures: int,
    confusion: str | None,
    seed: int,
    alpha: float,
    data: DataOptions,
    form: Format,
) -> None:
    """See how far two assessors agree, and what it does to the ordering of systems.

    QRELS_A and QRELS_B hold two assessors' judgments of the same queries: kappa, agreement and the
    overlap of the relevant documents are of what both judge. With runs, the systems are ordered
    under A, under B, and under random mixtures, in which each query has the judgments of one
    assessor drawn by chance. With --confusion, QRELS_B is left out.

    \b
    cranfield agreement first.qrels second.qrels
    cranfield agreement first.qrels second.qrels *.run -m nDCG@10 -m AP
    cranfield agreement first.qrels *.run --confusion rates.csv --mixtures 500
    """  # noqa: D301 - click's mark for lines to keep
    if confusion is None and not files:
        raise click.UsageError("name a second qrels, or the rates of one with --confusion FILE")
    refuse_two_inputs(qrels_a, *files, *([confusion] if confusion else []))
    n_qrels = 1 if confusion is None else 0
    found = agreement(
        data.read_qrels(qrels_a),
        data.read_qrels(files[0]) if n_qrels else None,
        data.read_runs(files[n_qrels:]) or None,
        [one for name in names or ("nDCG@10",) for one in parse_all(name, rel)],
        rel=rel,
        mixtures=mixtures,
        seed=seed,
        confusion=None if confusion is None else _rates(confusion),
        alpha=alpha,
    )
    if form == "json":
        say(as_json(found.to_dict(), indent=2) + "\n")
        return
    tables = found.tables(per_query=per_query)
    if form == "table":
        for i, table in enumerate(tables):
            if i:
                click.echo()
            show(table)
        return
    if form in _PAGES:
        say("\n".join(_PAGES[form](table) for table in tables))
        return
    rows = [
        [*row[:-1], "" if row[-1] is None else row[-1]] for row in found.rows(per_query=per_query)
    ]
    say(delimited([_COLUMNS, *rows], "," if form == "csv" else "\t"))
    for line in (*found.remarks, *found.notes):
        note(line)


def _rates(path: str) -> dict[int, dict[int, float]]:
    """Read {grade: {given: rate}}."""
    import csv
    import json

    try:
        with click.open_file(path, encoding="utf-8") as file:
            content = file.read()
    except UnicodeDecodeError:
        raise InputError("is no text", source=path) from None
    found: dict[int, dict[int, float]] = {}
    try:
        if content.lstrip().startswith("{"):
            for true, row in json.loads(content).items():
                found[int(true)] = {int(given): float(rate) for given, rate in row.items()}
            return found
        lines = content.splitlines()
        delimiter = "\t" if "\t" in content else ","
        for line in csv.DictReader(lines, delimiter=delimiter):
            row = found.setdefault(int(line["grade"]), {})
            row[int(line["given"])] = float(line["rate"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"expected CSV with the header grade,given,rate, or JSON ({error})", source=path
        ) from None
    return found
