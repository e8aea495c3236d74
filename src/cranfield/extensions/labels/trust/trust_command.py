"""`cranfield trust MODEL [RUN...] --human FILE`: how far a model's labels go."""

from typing import Any

from cranfield.cli import flags
from cranfield.cli.data import DataOptions, data_options, judging_options, refuse_two_stdin
from cranfield.cli.terminal import Format, format_option, show
from cranfield.comparison.alignment import DEFAULT_MEASURES
from cranfield.data.judging import Judging
from cranfield.errors import OptionError
from cranfield.extensions.labels.human.way import HumanLabels
from cranfield.extensions.labels.trust.trust import trust
from cranfield.extensions.labels.trust.trust_result import TrustSettings


@flags.command("trust")
def command(
    model: str = flags.argument(),
    runs: tuple[str, ...] = flags.argument(nargs=-1, metavar="[RUN]..."),
    human: HumanLabels = flags.family_options(
        HumanLabels, without=("lam",), human={"group": "Options"}
    ),
    names: tuple[str, ...] = flags.measure_option(
        "What to estimate",
        f"P@10 where people labelled single documents, else {DEFAULT_MEASURES}",
    ),
    settings: TrustSettings = flags.family_options(
        TrustSettings,
        group="More",
        rel={
            "names": ("-l", "--rel"),
            "help": "The lowest grade that counts as relevant, for agreement, and for measures "
            "that state none.",
        },
    ),
    judging: Judging = judging_options,
    data: DataOptions = data_options,
    form: Format = format_option,
) -> None:
    """See how far a model's labels go, where people labelled a part that was drawn by chance.

    For each two systems: do people confirm the order that the model's labels make? For each system:
    how far is its mean off, and is it favoured? For the labels: sensitivity, specificity, kappa.
    Without runs, these alone.

    \b
    cranfield trust model.qrels bm25.run dense.run -m P@10 --human human.csv
    cranfield trust model.qrels bm25.run dense.run --human human.csv --width 0.03
    """  # noqa: D301 - click's mark for lines to keep
    if not human.is_asked():
        raise OptionError("state people's labels, too: --human FILE")
    refuse_two_stdin(model, *runs, str(human.human))
    labels: Any = human.open_files(data, judging.duplicates).human
    result = trust(
        data.read_qrels(model, judging.duplicates),
        data.read_runs(runs) or None,
        flags.parse_measures(names, "", settings.rel) if names else None,
        human=labels,
        **settings.changed_options(),
        **judging.changed_options(),
    )
    show(result, form)
