"""`cranfield convert IN OUT`."""

import os
from collections.abc import Iterable
from typing import Any

import click

from cranfield.cli import flags
from cranfield.cli.data import DataOptions, data_options, duplicates_option
from cranfield.cli.terminal import note
from cranfield.data.judging import Judging
from cranfield.data.run_notes import duplicates_of
from cranfield.errors import OptionError, printable
from cranfield.formats.block import LeftOut
from cranfield.formats.columns import COLUMNS, What
from cranfield.formats.files import names_of, what_is


@flags.command("convert")
def command(
    source: str = flags.argument(metavar="IN"),
    target: str = flags.argument(metavar="OUT"),
    is_qrels: bool = flags.option("--qrels", is_flag=True, help="IN holds judgments."),
    is_run: bool = flags.option("--run", is_flag=True, help="IN holds a run."),
    format: Any = flags.option(  # noqa: A002 - the word for it, as in Qrels.write
        "--to",
        type=click.Choice(names_of(What.QRELS)),
        help="The format to write.  [default: what OUT's suffix names]",
    ),
    kept: Judging = duplicates_option,
    data: DataOptions = data_options,
) -> None:
    """Write a run or judgments in another format.

    The format of IN is found out, that of OUT is what its suffix names
    (docs/reference/formats.md lists them; .run, .qrels, .txt and .trec are TREC files); .gz, .bz2,
    .xz, .zst and .lz4 behind it compress. Its columns tell whether IN is a run or judgments;
    where that cannot be, --run or --qrels says it. A round trip changes nothing.

    \b
    cranfield convert demo/bm25.run bm25.parquet
    cranfield convert demo/qrels.txt qrels.tsv --to beir
    cranfield convert clicks.csv out.run --run-columns query_id=user,doc_id=item
    """  # noqa: D301 - click's mark for lines to keep
    refuse_own_input([source, *filter(None, [data.map_docs])], target)
    if is_qrels and is_run:
        raise click.UsageError("--qrels and --run exclude each other")
    if not (is_qrels or is_run):
        what = what_is(source)
        if what is None:
            raise click.UsageError(f"is {source!r} a run, or judgments? Say --run or --qrels.")
        is_qrels = what is What.QRELS
    if is_qrels:
        judgments = data.read_qrels(source, kept.duplicates)
        judgments.write(target, format)
        say_written(f"read as {judgments.form}", judgments.left_out, len(judgments), target)
        _say_twice(judgments.repeated, kept)
        if judgments.chunks is not None:
            from cranfield.data.chunks import merged_note

            note(merged_note(*judgments.chunks, None).text)
        return
    (run,) = data.read_runs([source])
    written = run.write(target, format, kept.duplicates)
    say_written(f"read as {run.form}", written.left_out, written.rows, target)
    _say_twice(written.repeated, kept)
    if run.made_of is not None:
        note(run.made_of.note(written.chunks, written.rows).text)
    for role in written.lost:
        name = COLUMNS[role].public
        note(f"this format has no place for the column {name}: it was left out; .tsv has one")


def refuse_own_input(sources: Iterable[str], target: str) -> None:
    """Raise OptionError if a file would be written over while it is read."""
    if os.path.exists(target) and os.path.realpath(target) in map(os.path.realpath, sources):
        raise OptionError(f"{printable(target)}: is read by this command; name another file")


def say_written(what: str, left_out: LeftOut, n_rows: int, target: str, source: str = "IN") -> None:
    """Say what was understood or made, how much of it was written, and what was left out."""
    note(f"{what}; wrote {n_rows:,} rows to {'standard output' if target == '-' else target}")
    if left_out.count:
        note(left_out.said(source))


def _say_twice(repeated: LeftOut, kept: Judging) -> None:
    """Say how many rows had a document that another one has, if any had."""
    if repeated.count:
        note(duplicates_of("IN", repeated, kept.duplicates).text)
