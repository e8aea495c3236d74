"""`cranfield nuggets FILE`: scores answers by the nuggets that they support."""

from cranfield.cli import flags
from cranfield.cli.terminal import Format, format_option, show
from cranfield.extensions.labels.nuggets import nugget_recall


@flags.command("nuggets")
def command(
    file: str = flags.argument(),
    per_query: bool = flags.per_query_option(),
    form: Format = format_option,
) -> None:
    """Score answers by the nuggets that they support.

    FILE has rows of query, answer, nugget, importance (vital, okay) and assignment (support,
    partial_support, not_support): CSV or TSV with a header, JSON lines, or what AutoNuggetizer
    writes. An answer is a run; its scores are means over the queries: of all nuggets, of the vital
    ones, of all with an okay one counting half. Partial support counts half, strictly nothing.

    \b
    cranfield nuggets assignments.jsonl
    cranfield nuggets assignments.jsonl -q --format csv
    """  # noqa: D301 - click's mark for lines to keep
    show(nugget_recall(file), form, per_query=per_query)
