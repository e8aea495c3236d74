"""`cranfield compare QRELS RUN RUN...`."""

from cranfield.cli import flags
from cranfield.cli.data import human_option, powered_options
from cranfield.cli.several import Comparing, collections_option, comparing_options
from cranfield.cli.terminal import Format, format_option, query_texts_option, show
from cranfield.errors import OptionError
from cranfield.extensions.labels.human.powered_settings import PoweredSettings
from cranfield.options import whole


@flags.command("compare")
def command(
    qrels: str | None = flags.argument(required=False),
    runs: tuple[str, ...] = flags.argument(nargs=-1, metavar="RUN..."),
    collections: str | None = collections_option,
    ranks: bool = flags.option(
        group="Statistics",
        is_flag=True,
        help="With --collections: add mean ranks, Friedman's test, and Wilcoxon's of each pair.",
    ),
    human: str | None = human_option,
    powered: PoweredSettings = powered_options,
    comparing: Comparing = comparing_options,
    means: bool = flags.option(
        group="Output", is_flag=True, help="Show each system's mean with its own interval, too."
    ),
    changes: int | None = flags.checked(
        whole(1),
        group="Output",
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
    if human is None:
        flags.refuse_options({"lam"}, "applies to human labels beside a model's: add --human")
    if collections is not None:
        flags.refuse_options({"human"}, "does not apply to collections together")
        if qrels is not None:
            raise OptionError("--collections takes the place of QRELS and RUN: leave these out")
        flags.refuse_options(
            {"means", "changes", "query_texts"}, "does not apply to collections together"
        )
        show(comparing.over(collections, ranks=ranks), form)
        return
    flags.refuse_options({"ranks"}, "applies to several collections: state --collections, too")
    if qrels is None:
        raise OptionError("state QRELS and RUN..., or --collections DIR|FILE")
    if not changes:
        flags.refuse_options(
            {"query_texts"}, "(--topics) has no effect without --changes, which shows queries"
        )
    if human is not None:
        flags.refuse_options({"means", "changes"}, "does not go with --human")
        show(comparing.powered(qrels, runs, human, powered), form)
        return
    found = comparing.compared(qrels, runs)
    of_tables = {"means": means, "changes": changes or 0}
    show(found, form, of_tables=of_tables, query_texts=query_texts)
