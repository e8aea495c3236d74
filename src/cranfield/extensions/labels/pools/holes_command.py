"""`cranfield holes QRELS RUN...`: shows what the judgments lack for each run."""

from typing import Any

from cranfield.cli import flags
from cranfield.cli.data import DataOptions, data_options, refuse_two_stdin
from cranfield.cli.terminal import Format, format_option, show
from cranfield.data.judging import Judging
from cranfield.extensions.labels.pools.holes import NOT_FOR_HOLES, HolesSettings, holes


@flags.command("holes")
def command(
    qrels: str = flags.argument(),
    runs: tuple[str, ...] = flags.argument(nargs=-1, required=True, metavar="RUN..."),
    measure: str = flags.option(
        *("-m", "--measure"),
        metavar="MEASURE",
        default="nDCG@10",
        show_default=True,
        help="The measure that each run is scored by.",
    ),
    settings: HolesSettings = flags.family_options(HolesSettings, k={"names": ("-k",)}),
    judging: Judging = flags.family_options(Judging, without=NOT_FOR_HOLES, group="Ranking"),
    data: DataOptions = data_options,
    form: Format = format_option,
) -> None:
    """Show what the judgments lack for each run, and what each run brought to them.

    RUN... are those that were pooled to be judged. Each is scored once more without the judgments
    that it alone brought, as if it had not been pooled: if that changes little, the judgments can
    be used for new runs (Zobel, SIGIR 1998).

    \b
    cranfield holes demo/qrels.txt demo/*.run
    cranfield holes demo/qrels.txt demo/*.run -m AP -k 20 --pool-depth 20
    """  # noqa: D301 - click's mark for lines to keep
    refuse_two_stdin(qrels, *runs)
    options: Any = {**settings.changed_options(), **judging.changed_options()}
    judgments = data.read_qrels(qrels, judging.duplicates)
    show(holes(judgments, data.read_runs(runs), measure, **options), form)
