"""`cranfield correlate QRELS RUN RUN RUN...`: how alike measures or judgments order runs."""

from pathlib import Path
from typing import Any

from cranfield.cli import flags
from cranfield.cli.data import DataOptions, data_options, judging_options, refuse_two_stdin
from cranfield.cli.several import SystemFiles, alignment_options, saved_option
from cranfield.cli.terminal import Format, format_option, show
from cranfield.comparison.settings import Alignment
from cranfield.data.judging import Judging
from cranfield.errors import InputError
from cranfield.extensions.orderings.correlate import correlate
from cranfield.extensions.orderings.options import CorrelationSettings


@flags.command("correlate")
def command(
    qrels: str = flags.argument(),
    runs: tuple[str, ...] = flags.argument(nargs=-1, metavar="RUN..."),
    names: tuple[str, ...] = flags.measure_option(
        "What to order the runs by",
        "nDCG@10, and AP unless there are other judgments; with --saved all",
    ),
    saved: bool = saved_option,
    alignment: Alignment = alignment_options,
    others: tuple[str, ...] = flags.option(
        "--qrels",
        multiple=True,
        metavar="OTHER",
        help="Other judgments for the same runs: each measure is compared with itself under these. "
        "May be repeated.",
    ),
    reference: str | None = flags.option(
        metavar="NAME",
        help="Compare all others with this measure, or with these judgments (by the file's name).  "
        "[default: every two]",
    ),
    settings: CorrelationSettings = flags.family_options(CorrelationSettings, group="More"),
    rel: float | None = flags.rel_option(),
    judging: Judging = judging_options,
    data: DataOptions = data_options,
    form: Format = format_option,
) -> None:
    """Say how alike measures, or judgments, order the same systems.

    Kendall's tau, with an interval over the queries, of every two orderings of the runs; AP
    correlation, weighted tau and rank-biased overlap; and the pairs of runs that two orderings
    put the other way round although each of them is sure.

    \b
    cranfield correlate demo/qrels.txt demo/*.run -m nDCG@10 -m AP -m RR@10
    cranfield correlate demo/qrels.txt demo/*.run --qrels second.qrels
    cranfield correlate demo/qrels.txt demo/*.run -m 'P@10,20' --reference P@10
    """  # noqa: D301 - click's mark for lines to keep
    inputs = SystemFiles(qrels, runs, names, saved, alignment, rel, judging, data, ("others",))
    refuse_two_stdin(qrels, *others, *runs)
    if others and "-" in runs:
        raise InputError("the standard input, `-`, can be read only once: save the run in a file")
    measures = inputs.measures("nDCG@10" if others else "nDCG@10 AP")
    paths = list(dict.fromkeys((qrels, *others)))
    extra_judgments = [data.read_qrels(path, judging.duplicates) for path in paths[1:]]
    judgments, opened_runs = inputs.read(inputs.files)
    if not saved:
        file_names = [Path(path).name for path in paths]
        all_judgments = [judgments, *extra_judgments]
        judgments = {
            path if file_names.count(name) > 1 else name: file_judgments
            for path, name, file_judgments in zip(paths, file_names, all_judgments, strict=True)
        }
    options: Any = {**settings.changed_options(), **inputs.score_options, "reference": reference}
    show(correlate(judgments, opened_runs, measures, **options), form)
