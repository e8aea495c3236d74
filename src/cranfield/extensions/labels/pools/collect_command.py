"""`cranfield collect LABELS...`: checks labels of people, and makes judgments of them."""

from typing import Any

from cranfield.cli import flags
from cranfield.cli.data import DataOptions, columns_option
from cranfield.cli.terminal import Format, format_option, show
from cranfield.extensions.labels.pools.collect import collect
from cranfield.extensions.labels.pools.options import CollectSettings
from cranfield.extensions.labels.pools.pool_command import refuse_unreadable_forms


@flags.command("collect")
def command(
    labels: tuple[str, ...] = flags.argument(nargs=-1, required=True, metavar="LABELS..."),
    pool: str | None = flags.option(
        metavar="FILE",
        help="What was to be labelled, as `cranfield pool -o FILE` wrote it: names what is "
        "missing, refuses what nobody asked for, and keeps how documents were drawn.",
    ),
    settings: CollectSettings = flags.family_options(
        CollectSettings, assessor={"metavar": "NAME"}, grades_of={"metavar": "LABEL=GRADE,..."}
    ),
    data: DataOptions = columns_option,
    form: Format = format_option,
) -> None:
    """Check the labels that people, or a model, gave, and make judgments of them.

    LABELS are files of `cranfield pool` filled in, what Label Studio or Argilla exports as JSON, or
    a model's answers to the requests of `cranfield pool`, of which those without a grade are no
    labels. The table shows who labelled how much. The file of -o is read as judgments by every
    command; `cranfield convert` writes it as qrels.

    \b
    cranfield collect ann.csv ben.csv --differing majority -o labels.csv
    cranfield collect ann.csv --pool pool.csv -o labels.csv
    cranfield collect output.jsonl errors.jsonl --pool pool.csv -o model.csv
    cranfield collect export.json --assessor ann@example.org
    cranfield collect export.json --grades-of 'no=0,yes=1' -o labels.csv
    """  # noqa: D301 - click's mark for lines to keep
    refuse_unreadable_forms(form)
    options: Any = {**settings.changed_options(), "columns": data.columns}
    show(collect(list(labels), pool=pool, **options), form)
