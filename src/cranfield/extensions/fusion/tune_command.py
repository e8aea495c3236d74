"""`cranfield tune QRELS RUN...`: chooses the weights, or the parameter, of fusion."""

from typing import Any, get_args

import click

from cranfield.cli import flags
from cranfield.cli.convert import refuse_own_input
from cranfield.cli.data import DataOptions, data_options, refuse_two_stdin
from cranfield.cli.terminal import Format, format_option, print_note, refuse_outputs, show
from cranfield.data.judging import Judging
from cranfield.extensions.fusion.fuse import NOT_FOR_FUSION
from cranfield.extensions.fusion.fusing import Fusing, Method
from cranfield.extensions.fusion.tune import Tuning, tune
from cranfield.formats.files import choose_format


@flags.command("tune")
def command(
    qrels: str = flags.argument(),
    runs: tuple[str, ...] = flags.argument(nargs=-1, required=True, metavar="RUN..."),
    measure: str = flags.option(
        *("-m", "--measure"),
        metavar="MEASURE",
        default="nDCG@10",
        show_default=True,
        help="The measure to optimise.",
    ),
    method: Method = flags.option(
        type=click.Choice(get_args(Method)),
        default="sum",
        show_default=True,
        help="How a document's values become its score, as of `cranfield fuse`.",
    ),
    tuning: Tuning = flags.family_options(Tuning, folds={"metavar": "N or FILE"}),
    fusing: Fusing = flags.family_options(
        Fusing, without=("weights",), group="Ranking", k={"names": ("-k",)}
    ),
    target: str | None = flags.option(
        "--write-run",
        group="Output",
        metavar="OUT",
        help="A file to write the run to, fused with the best setting.",
    ),
    judging: Judging = flags.family_options(Judging, without=NOT_FOR_FUSION, group="Ranking"),
    data: DataOptions = data_options,
    form: Format = format_option,
) -> None:
    """Choose the weights of fusion on some queries, and judge them on others.

    Every setting is tried. For each fold of the queries, the best on the other folds is taken, and
    scored on this one: so no query has a score of a setting that was chosen on it. These scores are
    compared with those of equal weights.

    \b
    cranfield tune demo/qrels.txt demo/bm25.run demo/dense.run
    cranfield tune demo/qrels.txt demo/*.run --method rrf --over parameter -m AP
    cranfield tune demo/qrels.txt demo/*.run --steps 5 --write-run tuned.run
    """  # noqa: D301 - click's mark for lines to keep
    refuse_two_stdin(qrels, *runs)
    if target is not None:
        refuse_own_input([qrels, *runs, *filter(None, [data.map_docs])], target)
        refuse_outputs([target])  # before all is computed
        choose_format(target, None)
    options: Any = {
        **tuning.changed_options(),
        **fusing.changed_options(),
        **judging.changed_options(),
    }
    judgments = data.read_qrels(qrels, judging.duplicates)
    tuning_result = tune(judgments, data.read_runs(runs), method, measure, **options)
    show(tuning_result, form)
    if target is not None:
        write_counts = tuning_result.run.write(target)
        print_note(
            f"made {tuning_result.run.description}; wrote {write_counts.rows:,} rows to {target}"
        )
