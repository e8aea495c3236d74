"""`cranfield describe RUN...`: what lists are like."""

from typing import Any

from cranfield.cli import flags
from cranfield.cli.data import DataOptions, data_options, refuse_two_stdin
from cranfield.cli.terminal import Format, format_option, show
from cranfield.data.judging import Judging
from cranfield.extensions.lists.describe import NO_OPTIONS, describe
from cranfield.extensions.lists.facts import ListInputs
from cranfield.options import list_options

_METAVARS: dict[str, Any] = {
    option.name: {"metavar": "FILE"} for option in list_options(ListInputs)
}
_METAVARS["category"] = {"metavar": "NAME"}


@flags.command("describe")
def command(
    runs: tuple[str, ...] = flags.argument(nargs=-1, required=True, metavar="RUN..."),
    names: tuple[str, ...] = flags.measure_option("What to compute", "what the files allow, @10"),
    inputs: ListInputs = flags.family_options(ListInputs, **_METAVARS),
    per_query: bool = flags.per_query_option("Show every user, too."),
    query: str | None = flags.option(
        metavar="USER", help="Show how the numbers of this user's list came about."
    ),
    slices: str | None = flags.slices_option("show those of each label alone, too"),
    intervals: bool = flags.option(
        group="More", is_flag=True, help="Show intervals, and differences from the baseline."
    ),
    baseline: str | None = flags.option(
        group="More", metavar="NAME", help="The run to compare with.  [default: the first]"
    ),
    judging: Judging = flags.family_options(Judging, without=NO_OPTIONS, group="Ranking"),
    data: DataOptions = data_options,
    form: Format = format_option,
) -> None:
    """Tell what the lists of runs are like: coverage, popularity, novelty, diversity.

    Means are over the users who have a list, judged or not. With --qrels, measures of judged
    documents are in the same table.

    \b
    cranfield describe als.parquet pop.csv
    cranfield describe als.parquet pop.csv --train train.parquet --catalogue 3706
    cranfield describe als.parquet --items movies.csv -m Categories@10
    """  # noqa: D301 - click's mark for lines to keep
    if not intervals:
        flags.refuse_options({"baseline"}, "applies to intervals: add --intervals")
    if intervals or query:
        flags.refuse_options({"per_query"}, "does not go with --intervals or --query")
    options: dict[str, Any] = inputs.changed_options()
    refuse_two_stdin(*runs, *map(str, options.values()))
    opened_runs = data.read_runs(runs, more_follow=True)
    if inputs.qrels is not None:
        options["qrels"] = data.read_qrels(inputs.qrels, judging.duplicates)
    if inputs.base is not None:
        options["base"] = data.read_run(inputs.base, more_follow=True)
    result = describe(
        opened_runs if len(opened_runs) > 1 else opened_runs[0],
        flags.parse_measures(names, "", None) if names else None,
        slices=slices,
        intervals=intervals,
        baseline=baseline,
        query=query,
        errors=data.errors,
        columns=data.columns,
        **options,
        **judging.changed_options(),
    )
    of_scores: dict[str, Any] = {} if intervals or query else {"per_query": per_query}
    show(result, form, **of_scores)
