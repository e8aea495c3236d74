"""`cranfield reproduce QRELS RUN... REPRODUCED...`: how near an experiment came to another."""

from typing import Any

from cranfield.cli import flags
from cranfield.cli.data import DataOptions, data_options, judging_options, refuse_two_stdin
from cranfield.cli.several import SystemFiles, alignment_options, saved_option
from cranfield.cli.terminal import Format, format_option, show
from cranfield.comparison.alignment import DEFAULT_MEASURES
from cranfield.comparison.settings import Alignment
from cranfield.data.judging import Judging
from cranfield.errors import InputError
from cranfield.extensions.orderings.options import ReproductionSettings
from cranfield.extensions.orderings.reproduce import reproduce


@flags.command("reproduce")
def command(
    qrels: str = flags.argument(),
    runs: tuple[str, ...] = flags.argument(nargs=-1, metavar="RUN... REPRODUCED..."),
    names: tuple[str, ...] = flags.measure_option(
        "What to compute", f"{DEFAULT_MEASURES}, or all that were saved"
    ),
    other_qrels: str | None = flags.option(
        group="More",
        metavar="FILE",
        help="The judgments of the reproduced runs, if these are of another collection: then only "
        "the effect is compared.",
    ),
    saved: bool = saved_option,
    alignment: Alignment = alignment_options,
    settings: ReproductionSettings = flags.family_options(ReproductionSettings, group="More"),
    rel: float | None = flags.rel_option(),
    judging: Judging = judging_options,
    data: DataOptions = data_options,
    form: Format = format_option,
) -> None:
    """Show how near a second experiment came to the first.

    First the original runs, the baseline before the others; then, in the same order, the
    reproduced ones: QRELS old/*.run new/*.run. Root mean squared error of the queries' scores, how
    alike the rankings are, and whether the gain over the baseline came out as large (Breuer et
    al., SIGIR 2020).

    \b
    cranfield reproduce demo/qrels.txt demo/bm25.run demo/tfidf.run -m AP
    cranfield reproduce demo/qrels.txt demo/*.run -m 'nDCG@10 AP'
    """  # noqa: D301 - click's mark for lines to keep
    inputs = SystemFiles(qrels, runs, names, saved, alignment, rel, judging, data)
    refuse_two_stdin(qrels, *runs, *filter(None, [other_qrels]))
    files = inputs.files
    n_originals, remainder = divmod(len(files), 2)
    if remainder:
        raise InputError(
            f"{len(files):,} files of systems: each original run needs its reproduction",
            hint="First all original runs, then their reproductions in the same order.",
        )
    measures = inputs.measures(DEFAULT_MEASURES)
    reproduced_judgments = (
        None if other_qrels is None else data.read_qrels(other_qrels, judging.duplicates)
    )
    judgments, opened_runs = inputs.read(files)
    systems: list[Any] = files if opened_runs is None else [*opened_runs]
    judgments = None if opened_runs is None else judgments
    options: Any = {
        **settings.changed_options(),
        **inputs.score_options,
        "other_qrels": reproduced_judgments,
    }
    show(
        reproduce(judgments, systems[:n_originals], systems[n_originals:], measures, **options),
        form,
    )
