"""`cranfield fuse RUN... -o OUT`: writes one run made of several."""

from typing import Any, get_args

import click

from cranfield.cli import flags
from cranfield.cli.convert import print_written, refuse_own_input
from cranfield.cli.data import DataOptions, data_options, refuse_two_stdin
from cranfield.cli.terminal import print_notes
from cranfield.data.judging import Judging
from cranfield.extensions.fusion.fuse import NOT_FOR_FUSION, fuse
from cranfield.extensions.fusion.fusing import Fusing, Method
from cranfield.formats.columns import Side
from cranfield.formats.files import format_names


@flags.command("fuse")
def command(
    runs: tuple[str, ...] = flags.argument(nargs=-1, required=True, metavar="RUN..."),
    target: str = flags.option(
        "-o", "--output", required=True, metavar="OUT", help="The file to write; - is the output."
    ),
    method: Method = flags.option(
        type=click.Choice(get_args(Method)),
        default="rrf",
        show_default=True,
        help="How a document's values become its score. rrf, isr, log_isr, logn_isr, rbc and borda "
        "take ranks; the others scores.",
    ),
    fusing: Fusing = flags.family_options(
        Fusing, weights={"metavar": "W,W,... or NAME=W,..."}, k={"names": ("-k",)}
    ),
    name: str | None = flags.option(help="The name of the result.  [default: the method]"),
    format: Any = flags.option(  # noqa: A002 - the word for it, as in Run.write
        "--to",
        group="Output",
        type=click.Choice(format_names(Side.RUN)),
        help="The format to write.  [default: what OUT's suffix names]",
    ),
    judging: Judging = flags.family_options(Judging, without=NOT_FOR_FUSION, group="Ranking"),
    data: DataOptions = data_options,
) -> None:
    """Make one run of several: each document that one of them returned, with one score.

    For each query, a document gets a value from each run, by its rank there or by its score, and a
    score of these: their sum, or what --method says. Equal scores are ranked by document id.

    \b
    cranfield fuse demo/bm25.run demo/dense.run -o hybrid.run
    cranfield fuse demo/*.run --method sum --weights 1,2,1,0.5 -o hybrid.run
    cranfield fuse demo/*.run --method mnz --norm zmuv -o all.run.gz
    """  # noqa: D301 - click's mark for lines to keep
    flags.refuse_options(
        {"qrels_format", "qrels_columns", "map_qrels", "span_pattern"},
        "applies to judgments, and there are none",
    )
    refuse_two_stdin(*runs)
    options: Any = {**fusing.changed_options(), **judging.changed_options()}
    refuse_own_input([*runs, *filter(None, [data.map_docs])], target)
    opened_runs = data.read_runs(runs, says_order=True)
    refuse_own_input([source.path for run in opened_runs for source in run.sources], target)
    fused_run = fuse(opened_runs, method, name, **options)
    write_counts = fused_run.write(target, format)
    print_written(
        f"made {fused_run.description}",
        write_counts.left_out,
        write_counts.rows,
        target,
        "the runs",
    )
    print_notes(fused_run.rows.notes)
