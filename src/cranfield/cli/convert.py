"""`cranfield convert IN OUT`."""

import glob
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, get_args

import click

from cranfield.cli import flags
from cranfield.cli.data import DataOptions, data_options, duplicates_option, refuse_two_inputs
from cranfield.cli.terminal import note, say_notes
from cranfield.data.altered import removal_note
from cranfield.data.combined import DifferingGrades
from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.data.run_notes import duplicates_of, list_notes
from cranfield.errors import InputError, NothingSharedError, OptionError, printable
from cranfield.formats.block import LeftOut
from cranfield.formats.columns import COLUMNS, What, plain_name
from cranfield.formats.files import names_of, what_is
from cranfield.formats.small.listed_ids import listed_ids
from cranfield.formats.source import Source
from cranfield.formats.url import URL, local_path, real_path
from cranfield.notes import Note
from cranfield.options import whole


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
    without: tuple[str, ...] = flags.option(
        multiple=True,
        metavar="FILE",
        help="Leave out what FILE has, as for --only: what users have seen already, for example. "
        "Of a table, that is its column excluded_ids, seen_ids or the like, or else its documents; "
        "--columns query_id=id,excluded_ids=gold says which is which. May be repeated.",
    ),
    top: int | None = flags.checked(
        whole(1), type=int, metavar="K", help="Keep the first K documents of each query of a run."
    ),
    kept: Judging = duplicates_option,
    data: DataOptions = data_options,
) -> None:
    """Write a run or judgments in another format, all of it or a part.

    The format of IN is found out, that of OUT is what its suffix names
    (docs/reference/formats.md lists them; .run, .qrels, .txt and .trec are TREC files); .gz, .bz2,
    .xz, .zst and .lz4 behind it compress. Its columns tell whether IN is a run or judgments;
    where that cannot be, --run or --qrels says it. A round trip changes nothing.

    --merge, --only, --without and --top are applied in this order.

    \b
    cranfield convert demo/bm25.run bm25.parquet
    cranfield convert demo/qrels.txt qrels.tsv --to beir
    cranfield convert clicks.csv out.run --run-columns query_id=user,doc_id=item
    cranfield convert demo/bm25.run judged.run --only demo/qrels.txt --top 10
    """  # noqa: D301 - click's mark for lines to keep
    named = [*merge, *only, *without, *filter(None, [data.map_docs])]
    refuse_own_input([source, *named], target)
    refuse_two_inputs(source, *named)
    if _holds_qrels(source, is_qrels=is_qrels, is_run=is_run):
        flags.refuse_options({"top"}, "applies to a run")
        if not merge:
            flags.refuse_options({"differing"}, "applies to --merge")
        judgments = _read_qrels([source, *merge], only, without, differing, kept, data)
        _write_qrels(judgments, target, format, kept)
    else:
        flags.refuse_options({"differing"}, "applies to judgments")
        run = _read_run([source, *merge], only, without, data)
        run = run if top is None else run.top(top, duplicates=kept.duplicates)
        _write_run(run, target, format, kept)


def _holds_qrels(source: str, *, is_qrels: bool, is_run: bool) -> bool:
    """Tell whether a file holds judgments, not a run: as the user says, or as its columns do."""
    path = local_path(source)
    if path != "-" and not URL.match(path) and not glob.glob(path):
        Source(source).start(1)  # says that there is no such file
    if is_qrels and is_run:
        raise click.UsageError("--qrels and --run exclude each other")
    if is_qrels or is_run:
        return is_qrels
    what = what_is(source)
    if what is None:
        raise click.UsageError(f"is {source!r} a run, or judgments? Say --run or --qrels.")
    return what is What.QRELS


def _read_qrels(
    sources: Sequence[str],
    only: Sequence[str],
    without: Sequence[str],
    differing: DifferingGrades,
    kept: Judging,
    data: DataOptions,
) -> Qrels:
    """Read judgments, merge them, and choose the queries that other files name."""
    judgments, *others = (data.read_qrels(source, kept.duplicates) for source in sources)
    if others:
        judgments = judgments.merge(*others, differing=differing)
    for path in only:
        judgments = _of_queries(judgments, path, keeps=True)
    for path in without:
        judgments = _of_queries(judgments, path, keeps=False)
    return judgments


def _read_run(
    sources: Sequence[str], only: Sequence[str], without: Sequence[str], data: DataOptions
) -> Run:
    """Read runs, join them, and choose the rows that other files name."""
    columns, names = None, COLUMNS["doc"].lists[What.EXCLUDED]
    if without and any(plain_name(name) in names for name in data.columns or ()):
        columns, data = data.columns, replace(data, columns=None)
    run, *others = (data.read_runs([source], says_order=True)[0] for source in sources)
    for other in others:
        run |= other
    for path in only:
        run = run.only(**_named(path))
    for path in without:
        ids = _named(path)
        run = run.without(**ids, columns=columns if ids.get("docs") == path else None)
        say_notes([run.rows.notes[-1].of(path)])
    return run


def _write_qrels(judgments: Qrels, target: str, form: Any, kept: Judging) -> None:
    """Write judgments, and say what was understood and left out."""
    judgments.write(target, form)
    say_written(f"read as {judgments.form}", judgments.left_out, len(judgments), target)
    _say_rows(judgments.notes, judgments.repeated, kept)
    if judgments.chunks is not None:
        from cranfield.data.chunks import merged_note

        note(merged_note(*judgments.chunks, None).text)


def _write_run(run: Run, target: str, form: Any, kept: Judging) -> None:
    """Write a run, and say what was understood and left out."""
    written = run.write(target, form, kept.duplicates)
    say_written(f"read as {run.form}", written.left_out, written.rows, target)
    _say_rows(run.rows.notes, written.repeated, kept)
    if not written.rows:
        note(f"{target} is empty: no document is left", "warning")
    if run.rows.distance is not None:
        note(f"its scores are minus the distances in column {run.rows.distance!r:.60}")
    if run.made_of is not None:
        note(run.made_of.note(written.chunks, written.rows).text)
    for role in written.lost:
        name = COLUMNS[role].public
        note(f"this format has no place for the column {name}: it was left out; .tsv has one")


def _named(path: str) -> dict[str, Any]:
    """Return what a file names, as `only` and `without` of a Run take it."""
    listed = listed_ids(path)
    if listed is None:
        return {"docs": path}
    role, ids = listed
    return {"queries" if role == "query_id" else "docs": ids}


def _of_queries(judgments: Qrels, path: str, *, keeps: bool) -> Qrels:
    """Return the judgments of the queries that a file lists, or of the others."""
    listed = listed_ids(path)
    if listed is None or listed[0] != "query_id":
        raise OptionError(
            f"{printable(path)}: of judgments, queries are chosen: expected their ids, one to a "
            "line, below the line query_id"
        )
    wanted = set(listed[1])
    if not keeps and wanted.isdisjoint(judgments.query_ids):
        raise NothingSharedError("lists no query of the judgments", source=path)
    queries = [one for one in judgments.query_ids if (one in wanted) == keeps]
    if not queries:
        raise InputError("nothing is left of the judgments", source=judgments.source)
    part = judgments.of(queries)
    if not keeps:
        say_notes([removal_note(len(judgments), len(part)).of(path)])
    return part


def refuse_own_input(sources: Iterable[str], target: str) -> None:
    """Raise OptionError if a file would be written over while it is read."""
    if os.path.exists(real_path(target)) and real_path(target) in map(real_path, sources):
        raise OptionError(f"{printable(target)}: is read by this command; name another file")


def say_written(what: str, left_out: LeftOut, n_rows: int, target: str, source: str = "IN") -> None:
    """Say what was understood or made, how much of it was written, and what was left out."""
    note(f"{what}; wrote {n_rows:,} rows to {'standard output' if target == '-' else target}")
    if left_out.count:
        note(left_out.said(source))


def _say_rows(notes: Iterable[Note], repeated: LeftOut, kept: Judging) -> None:
    """Say how many cells held lists, and how many rows had a document that another one has."""
    say_notes(list_notes(notes))
    if repeated.count:
        note(duplicates_of("IN", repeated, kept.duplicates).text)
