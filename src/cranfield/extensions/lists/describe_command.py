"""`cranfield describe RUN...`: what lists are like."""

from dataclasses import dataclass
from typing import Any

from cranfield.cli import flags
from cranfield.cli.data import DataOptions, data_options, refuse_two_stdin
from cranfield.cli.terminal import Format, format_option, show
from cranfield.data.judging import Judging
from cranfield.extensions.lists.describe import NO_OPTIONS, describe

_INPUTS = {
    "train": "What users had before: a user and an item in a row.",
    "items": "The categories of items: a column of items, and one of categories.",
    "embeddings": "A vector of each item: a column of items, and one of lists.",
    "catalogue": "All items there are: their number, or a file.  [default: --items, else --train]",
    "users": "All users there are, for UserCoverage.  [default: --qrels, else --train]",
    "base": "Another run, for Unexpectedness.",
    "qrels": "Judgments, for Serendipity and for measures of judged documents.",
}


@dataclass(frozen=True)
class InputFiles:
    """The files beside the runs, by what they hold; the column of categories."""

    category: str | None
    train: str | None
    items: str | None
    embeddings: str | None
    catalogue: str | None
    users: str | None
    base: str | None
    qrels: str | None

    def options(self, data: DataOptions) -> dict[str, Any]:
        """Return them as `describe` takes them, with the columns that are stated for each."""
        files = {name: getattr(self, name) for name in _INPUTS}
        refuse_two_stdin(*(path for path in files.values() if path))
        columns: dict[str, Any] = {**(data.columns or {})}
        if self.category:
            columns["items"] = {"category": self.category}
        return {**files, "columns": columns}


input_options = flags.combined_options(
    InputFiles,
    {
        "category": flags.option(metavar="NAME", help="The column of categories in --items."),
        **{name: flags.option(metavar="FILE", help=text) for name, text in _INPUTS.items()},
    },
)


@flags.command("describe")
def command(
    runs: tuple[str, ...] = flags.argument(nargs=-1, required=True, metavar="RUN..."),
    names: tuple[str, ...] = flags.measure_option("What to compute", "what the files allow, @10"),
    files: InputFiles = input_options,
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
    options = files.options(data)
    opened_runs = data.read_runs(runs, more_follow=True)
    result = describe(
        opened_runs if len(opened_runs) > 1 else opened_runs[0],
        flags.parse_measures(names, "", None) if names else None,
        slices=slices,
        intervals=intervals,
        baseline=baseline,
        query=query,
        **options,
        **judging.changed_options(),
    )
    if intervals or query:
        flags.refuse_options({"per_query"}, "does not go with --intervals or --query")
        show(result, form)
    else:
        show(result, form, per_query=per_query)
