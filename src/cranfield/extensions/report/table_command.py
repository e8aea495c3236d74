"""`cranfield table QRELS RUN...`: the table of a paper."""

from dataclasses import replace

from cranfield.cli import flags
from cranfield.cli.data import refuse_two_stdin
from cranfield.cli.several import ComparisonOptions, comparison_options, find_position
from cranfield.cli.terminal import Format, format_option, print_notes, show
from cranfield.errors import OptionError
from cranfield.extensions.collections.way import CollectionSource, compare_collection_files
from cranfield.extensions.report.paper_result import Paper
from cranfield.extensions.report.paper_table import paper_table
from cranfield.render.shown import ROW_FORMS

_CODES_BELOW = {"texts", "percent", "little-judged", "model-labels"}  # of notes that are not grave


@flags.command("table")
def command(
    qrels: str | None = flags.argument(required=False),
    runs: tuple[str, ...] = flags.argument(nargs=-1, metavar="[RUN]..."),
    named_files: tuple[str, ...] = flags.option(
        "--collection",
        multiple=True,
        metavar="NAME=FILE",
        help="A group of columns for a collection: FILE has its saved scores of every query, as "
        "`cranfield evaluate QRELS RUN... -q -o FILE` writes them. May be repeated; in place of "
        "QRELS and RUN.",
    ),
    over: CollectionSource = flags.family_options(CollectionSource),
    comparing: ComparisonOptions = comparison_options,
    paper: Paper = flags.family_options(
        Paper,
        without=("percent",),  # which saved scores have, too
        group="More",
        caption={"metavar": "TEXT"},
        label={"metavar": "KEY"},
    ),
    form: Format = format_option,
) -> None:
    """Make the table of a paper: systems by measures, marked by a test.

    The best value of each measure is bold, the second underlined. With --all-pairs, superscript
    letters name the systems that a value is significantly better than; else daggers mark what
    differs from the first system, or --baseline. The caption names the test, its correction and the
    number of queries. With --percent, measures between 0 and 1 are in percent: 51.2 for 0.512.
    Files and statistics are those of `cranfield compare`.

    \b
    cranfield table demo/qrels.txt demo/*.run -m 'nDCG@10 AP' -o results.tex
    cranfield table demo/qrels.txt demo/*.run --all-pairs --format latex
    cranfield evaluate demo/qrels.txt demo/*.run -m AP -q -o one.json
    cranfield table --collection Demo=one.json
    """  # noqa: D301 - click's mark for lines to keep
    flags.refuse_options(
        {"slices", "bounds"}, "does not apply to this table, only to `cranfield compare`"
    )
    paper = replace(paper, percent=comparing.alignment.percent)
    comparing = replace(comparing, saved=comparing.saved or bool(named_files))
    if not comparing.saved:
        comparing = replace(comparing, alignment=replace(comparing.alignment, percent=False))
    if over.is_asked():
        if qrels is not None or named_files:
            raise OptionError(
                "--collections takes the place of QRELS, RUN and --collection: leave these out"
            )
        table = paper_table(
            compare_collection_files(str(over.collections), comparing), **paper.changed_options()
        )
    elif named_files:
        if qrels is not None:
            raise OptionError("--collection takes the place of QRELS and RUN: leave these out")
        path_of_name = dict(map(_parse_collection, named_files))
        if len(path_of_name) < len(named_files):
            raise OptionError("--collection: two have the same name")
        refuse_two_stdin(*path_of_name.values())
        for path in form.outputs:
            if find_position(path, [*path_of_name.values()]) is not None:
                raise OptionError(f"-o {path}: is read by this command; name another file")
        comparison_of_name = {
            name: comparing.compare_files(path, ()) for name, path in path_of_name.items()
        }
        table = paper_table(comparison_of_name, **paper.changed_options())
    elif qrels is None:
        raise OptionError(
            "state QRELS and RUN..., --collection NAME=FILE, or --collections DIR|FILE"
        )
    else:
        table = paper_table(comparing.compare_files(qrels, runs), **paper.changed_options())
    show(table, form)
    if form.name not in (*ROW_FORMS, "json"):  # there is nothing below the table
        print_notes(note for note in table.notes if note.is_grave or note.code in _CODES_BELOW)


def _parse_collection(text: str) -> tuple[str, str]:
    """Return the name and the file of NAME=FILE."""
    name, equals, path = text.partition("=")
    if not equals or not name.strip() or not path:
        raise OptionError(f"--collection {text}: expected NAME=FILE, as in 'DL 2019=dl19.json'")
    return name.strip(), path
