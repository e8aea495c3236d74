"""`cranfield trend QRELS RUN...`: how quality changed from one run, or one file, to the next."""

from typing import Any

import click

from cranfield.cli import flags
from cranfield.cli.compare import command as compare_command
from cranfield.cli.data import data_options, judging_options, refuse_two_stdin
from cranfield.cli.several import SystemFiles, saved_option
from cranfield.cli.terminal import Format, format_option, show
from cranfield.comparison.alignment import DEFAULT_MEASURES
from cranfield.comparison.settings import Alignment, Settings
from cranfield.explanation.pointer import CommandLine, use_command_line
from cranfield.extensions.trend.trend import OMITTED_OPTIONS, name_entries, trend
from cranfield.extensions.trend.trend_result import Trend


def follow_files(
    settings: Settings, system: str | None, baseline: str | None, saved: bool, **inputs: Any
) -> Trend:
    """Return the trend of runs, or of saved scores; `inputs` are the others of SystemFiles."""
    files = SystemFiles(**inputs, are_scores=saved)
    refuse_two_stdin(files.qrels, *files.runs)
    judgments, runs = files.read(files.files)
    entries = name_entries(judgments if runs is None else runs)
    file_of_entry = dict(zip(entries, files.files, strict=False))  # several systems: refused below
    qrels_file = None if runs is None or files.holds_both_sides else files.qrels
    typed_inputs = CommandLine(qrels_file, file_of_entry, flags.typed_options(compare_command))
    click.get_current_context().with_resource(use_command_line(typed_inputs))
    options: dict[str, Any] = {**settings.changed_options(), **files.score_options}
    del options["correction"]  # which a comparison always has
    measures = files.measures(DEFAULT_MEASURES)
    first, second = (entries, None) if runs is None else (judgments, entries)
    return trend(first, second, measures, system=system, baseline=baseline, **options)


trend_option = flags.combined_options(
    follow_files,
    {
        "qrels": flags.argument(),
        "runs": flags.argument(nargs=-1, metavar="RUN..."),
        "names": flags.measure_option(
            "What to follow", f"{DEFAULT_MEASURES}, or all that were saved"
        ),
        "system": flags.option(
            metavar="NAME", help="With --saved: the system to follow, in files of several."
        ),
        "baseline": flags.option(
            metavar="ENTRY",
            help="An entry, by its name or its file, that the last one is compared with.  "
            "[default: the best before it]",
        ),
        "saved": saved_option,
        "alignment": flags.family_options(
            Alignment,
            without=OMITTED_OPTIONS,
            group="Files",
            less_is_better={"multiple": True, "metavar": "NAME"},
        ),
        "settings": flags.family_options(Settings, without=OMITTED_OPTIONS, group="Statistics"),
        "rel": flags.rel_option(),
        "judging": judging_options,
        "data": data_options,
    },
)


@flags.command("trend")
def command(form: Format = format_option, file_trend: Trend = trend_option) -> None:
    """Follow quality over time: each run, or saved scores, against the one before it.

    RUNs are in the order given, the oldest first; all are scored by QRELS. With --saved, all files
    are saved scores, as `cranfield evaluate -q -o FILE.json` writes them: where judgments, options
    or queries changed, the trend breaks. The last entry is compared with the best since then, too.

    \b
    cranfield trend demo/qrels.txt demo/tfidf.run demo/bm25.run demo/dense.run
    """  # noqa: D301 - click's mark for lines to keep
    show(file_trend, form)
