"""`cranfield compare QRELS RUN RUN...`: how systems differ, and how sure that is."""

from collections.abc import Sequence

from cranfield.cli import flags
from cranfield.cli.several import ComparisonOptions, comparison_options
from cranfield.cli.terminal import Format, format_option, query_texts_option, show
from cranfield.cli.way import Way, choose_alternative
from cranfield.errors import OptionError
from cranfield.options import whole_check


@flags.command("compare")
def command(
    qrels: str | None = flags.argument(required=False),
    runs: tuple[str, ...] = flags.argument(nargs=-1, metavar="RUN..."),
    alternatives: Sequence[Way] = flags.added_options("compare", alternatives=True),
    comparing: ComparisonOptions = comparison_options,
    means: bool = flags.option(
        group="More", is_flag=True, help="Show each system's mean with its own interval, too."
    ),
    changes: int | None = flags.checked_option(
        whole_check(1),
        group="More",
        type=int,
        metavar="N",
        help="Show of each pair the N queries that get worse most, too, the worst first, then the "
        "N that get better most.",
    ),
    query_texts: str | None = query_texts_option,
    form: Format = format_option,
) -> None:
    """Compare systems: is one better, by how much, how sure is that, and where.

    Each RUN is compared with the first, or with --baseline, over the queries of QRELS. Files are as
    `cranfield evaluate` takes them. With --saved, all files are scores of single queries that were
    saved before, as `cranfield evaluate -q`, `trec_eval -q` or ir_measures write them. With
    --collections, each collection counts the same in the average. With --human, QRELS are a model's
    labels, and those of people correct them.

    \b
    cranfield compare demo/qrels.txt demo/bm25.run demo/dense.run -m nDCG@10
    cranfield compare demo/qrels.txt demo/*.run --all-pairs --correction maxt
    cranfield compare demo/qrels.txt demo/*.run --slices kind.csv --changes 5
    cranfield compare --collections collections.csv -m 'nDCG@10 R@100'
    cranfield compare demo/qrels.txt demo/*.run -m P@10 --human second.qrels
    """  # noqa: D301 - click's mark for lines to keep
    alternative = choose_alternative(alternatives)
    if qrels is None and not (alternative and alternative.in_place_of_files):
        other_inputs = [
            other.in_place_of_files for other in alternatives if other.in_place_of_files
        ]
        raise OptionError(f"state {', or '.join(['QRELS and RUN...', *other_inputs])}")
    if alternative is not None:
        flags.refuse_options({"means", "changes", "query_texts"}, alternative.refusal)
        show(alternative.compare(qrels, runs, comparing), form)
        return
    if not changes:
        flags.refuse_options(
            {"query_texts"}, "(--topics) has no effect without --changes, which shows queries"
        )
    comparison = comparing.compare_files(str(qrels), runs)
    table_options = {"means": means, "changes": changes or 0}
    show(comparison, form, of_tables=table_options, query_texts=query_texts)
