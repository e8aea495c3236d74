"""`cranfield convert IN OUT`: a run or judgments in another format, all or a part."""

import glob
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, get_args

import click

from cranfield.cli import flags
from cranfield.cli.data import DataOptions, data_options, duplicates_option, refuse_two_stdin
from cranfield.cli.terminal import print_note, print_notes
from cranfield.data.altered import removal_note
from cranfield.data.combined import DifferingGrades
from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels, read_qrels
from cranfield.data.run import Run, read_run
from cranfield.data.run_notes import duplicates_note, select_list_notes
from cranfield.errors import InputError, NothingSharedError, OptionError, escape_unprintable
from cranfield.formats.block import FaultyRows
from cranfield.formats.columns import COLUMNS, ColumnsOfBoth, Side
from cranfield.formats.files import format_names, guess_side
from cranfield.formats.small.listed_ids import read_id_list
from cranfield.formats.source import Source
from cranfield.formats.stated_columns import refuse_unread, select_columns
from cranfield.formats.url import URL, local_path, real_path
from cranfield.notes import Note
from cranfield.options import whole_check


@flags.command("convert")
def command(
    source: str = flags.argument(metavar="IN"),
    target: str = flags.argument(metavar="OUT"),
    is_qrels: bool = flags.option("--qrels", is_flag=True, help="IN holds judgments."),
    is_run: bool = flags.option("--run", is_flag=True, help="IN holds a run."),
    format: Any = flags.option(  # noqa: A002 - the word for it, as in Qrels.write
        "--to",
        type=click.Choice(format_names(Side.QRELS)),
        help="The format to write.  [default: what OUT's suffix names]",
    ),
    merge: tuple[str, ...] = flags.option(
        multiple=True,
        metavar="FILE",
        help="Add the rows of another file, of the same kind. Where both have a document for a "
        "query, a run keeps the row of IN; of judgments, --differing says which grade counts. May "
        "be repeated.",
    ),
    differing: DifferingGrades = flags.option(
        type=click.Choice(get_args(DifferingGrades)),
        default="refuse",
        show_default=True,
        help="Which grade counts where merged judgments differ: none, the last one's, the highest, "
        "or the most frequent.",
    ),
    only: tuple[str, ...] = flags.option(
        multiple=True,
        metavar="FILE",
        help="Keep only what FILE has for each query: the documents of judgments or of a run; or "
        "the ids that it lists, one to a line, below the line query_id or doc_id. Of several, what "
        "all of them have.",
    ),
    top: int | None = flags.checked_option(
        whole_check(1),
        type=int,
        metavar="K",
        help="Keep the first K documents of each query of a run.",
    ),
    judging: Judging = duplicates_option,
    data: DataOptions = data_options,
) -> None:
    """Write a run or judgments in another format, all of it or a part.

    The format of IN is found out, that of OUT is what its suffix names
    (docs/reference/formats.md lists them; .run, .qrels, .txt and .trec are TREC files); .gz, .bz2,
    .xz, .zst and .lz4 behind it compress. --columns, or else its columns, tell whether IN is a run
    or judgments; where that cannot be, --run or --qrels says it. A round trip changes nothing.

    --merge, --only, --without and --top are applied in this order.

    \b
    cranfield convert demo/bm25.run bm25.parquet
    cranfield convert demo/qrels.txt qrels.tsv --to beir
    cranfield convert clicks.csv out.run --run --columns query_id=user,doc_id=item
    cranfield convert demo/bm25.run judged.run --only demo/qrels.txt --top 10
    """  # noqa: D301 - click's mark for lines to keep
    named_files = [*merge, *only, *(data.without or ()), *filter(None, [data.map_docs])]
    refuse_own_input([source, *named_files], target)
    refuse_two_stdin(source, *named_files)
    if _holds_qrels(source, data, is_qrels=is_qrels, is_run=is_run):
        flags.refuse_options({"top"}, "applies to a run")
        if not merge:
            flags.refuse_options({"differing"}, "applies to --merge")
        judgments = _read_qrels([source, *merge], only, differing, judging, data)
        _write_qrels(judgments, target, format, judging)
    else:
        flags.refuse_options({"differing"}, "applies to judgments")
        run = _read_run([source, *merge], only, data)
        run = run if top is None else run.top(top, duplicates=judging.duplicates)
        _write_run(run, target, format, judging)


def _holds_qrels(source: str, data: DataOptions, *, is_qrels: bool, is_run: bool) -> bool:
    """Tell whether a file holds judgments, not a run: as the user says, or as its columns do."""
    path = local_path(source)
    if path != "-" and not URL.match(path) and not glob.glob(path):
        Source(source).read_start(1)  # says that there is no such file
    if is_qrels and is_run:
        raise click.UsageError("--qrels and --run exclude each other")
    if is_qrels or is_run:
        return is_qrels
    side = guess_side(source, data.columns)
    if side is None:
        raise click.UsageError(f"is {source!r} a run, or judgments? Say --run or --qrels.")
    return side is Side.QRELS


def _read_qrels(
    sources: Sequence[str],
    only: Sequence[str],
    differing: DifferingGrades,
    judging: Judging,
    data: DataOptions,
) -> Qrels:
    """Return the merged judgments of the sources, on the queries that other files choose."""
    judgments, *other_judgments = [
        data.read_qrels(source, judging.duplicates) for source in sources
    ]
    refuse_unread(data.columns)
    if other_judgments:
        judgments = judgments.merge(*other_judgments, differing=differing)
    for path in only:
        judgments = _select_queries(judgments, path, keeps=True)
    for path in data.without or ():
        judgments = _select_queries(judgments, path, keeps=False)
    return judgments


def _read_run(sources: Sequence[str], only: Sequence[str], data: DataOptions) -> Run:
    """Return the joined runs of the sources, with the rows that other files choose; print notes."""
    without, data = data.without or (), replace(data, without=None)
    run, *other_runs = [
        data.read_run(source, says_order=True, more_follow=True) for source in sources
    ]
    excluded_columns = select_columns(data.columns, Side.EXCLUDED)
    for other in other_runs:
        run |= other
    for path in only:
        run = run.only(**_read_selection(path, data.columns))
    for path in without:
        ids = _read_selection(path, None)
        run = run.without(**ids, columns=excluded_columns if ids.get("docs") == path else None)
        print_notes([run.rows.notes[-1].add_source(path)])
    refuse_unread(data.columns)
    return run


def _write_qrels(judgments: Qrels, target: str, form: Any, judging: Judging) -> None:
    """Write judgments, and print how they were read and which rows were left out."""
    notes = judgments.write(target, form)
    print_written(
        f"read judgments as {judgments.description}", judgments.left_out, len(judgments), target
    )
    print_notes(notes)
    _print_row_notes(judgments.notes, judgments.repeats, judging)
    if judgments.chunk_counts is not None:
        from cranfield.data.chunks import chunks_note

        print_note(chunks_note(*judgments.chunk_counts, None).text)


def _write_run(run: Run, target: str, form: Any, judging: Judging) -> None:
    """Write a run, and print how it was read and which rows were left out."""
    write_counts = run.write(target, form, judging.duplicates)
    print_written(
        f"read a run as {run.description}", write_counts.left_out, write_counts.rows, target
    )
    notes = (*run.rows.statement_notes, *run.rows.notes)
    _print_row_notes(notes, write_counts.repeats, judging)
    if not write_counts.rows:
        print_note(f"{target} is empty: no document is left", "warning")
    if run.rows.distance_column is not None:
        print_note(f"its scores are minus the distances in column {run.rows.distance_column!r:.60}")
    if run.conversion is not None:
        print_note(run.conversion.make_note(write_counts.n_chunks, write_counts.rows).text)
    for role in write_counts.lost_roles:
        name = COLUMNS[role].public
        print_note(f"this format has no place for the column {name}: it was left out; .tsv has one")


def _read_selection(path: str, statements: ColumnsOfBoth | None) -> dict[str, Any]:
    """Return what a file lists, or its documents, as a keyword of `Run.only`, else its path."""
    listed_ids = None if path == "-" else read_id_list(path)
    if listed_ids is None and statements:
        if guess_side(path, statements) is Side.RUN:
            return {"docs": read_run(path, columns=select_columns(statements, Side.RUN))}
        columns = select_columns(statements, Side.QRELS)
        return {"docs": read_qrels(path, columns=columns, duplicates="first")}
    if listed_ids is None:
        return {"docs": path}
    role, ids = listed_ids
    return {"queries" if role == "query_id" else "docs": ids}


def _select_queries(judgments: Qrels, path: str, *, keeps: bool) -> Qrels:
    """Return the judgments of the queries that a file lists, or, unless `keeps`, of all others."""
    listed_ids = read_id_list(path)
    if listed_ids is None or listed_ids[0] != "query_id":
        raise OptionError(
            f"{escape_unprintable(path)}: of judgments, queries are chosen: expected their ids, "
            "one to a line, below the line query_id"
        )
    listed_queries = set(listed_ids[1])
    if not keeps and listed_queries.isdisjoint(judgments.query_ids):
        raise NothingSharedError("lists no query of the judgments", source=path)
    queries = [
        query_id for query_id in judgments.query_ids if (query_id in listed_queries) == keeps
    ]
    if not queries:
        raise InputError("nothing is left of the judgments", source=judgments.source)
    selected_judgments = judgments.select_queries(queries)
    if not keeps:
        print_notes([removal_note(len(judgments), len(selected_judgments)).add_source(path)])
    return selected_judgments


def refuse_own_input(sources: Iterable[str], target: str) -> None:
    """Raise OptionError if a file would be written over while it is read."""
    if os.path.exists(real_path(target)) and real_path(target) in map(real_path, sources):
        raise OptionError(
            f"{escape_unprintable(target)}: is read by this command; name another file"
        )


def print_written(
    summary: str, left_out: FaultyRows, n_rows: int, target: str, source: str = "IN"
) -> None:
    """Print what was read or made, the number of rows written, and the rows left out."""
    print_note(
        f"{summary}; wrote {n_rows:,} rows to {'standard output' if target == '-' else target}"
    )
    if left_out.count:
        print_note(left_out.describe(source))


def _print_row_notes(notes: Iterable[Note], repeats: FaultyRows, judging: Judging) -> None:
    """Print notes on cells that held lists, and on rows that repeat a document."""
    print_notes(select_list_notes(notes))
    if repeats.count:
        print_note(duplicates_note("IN", repeats, judging.duplicates).text)
