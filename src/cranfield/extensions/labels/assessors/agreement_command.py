"""`cranfield agreement QRELS_A QRELS_B [RUN...]`: shows how far assessors agree."""

from collections.abc import Sequence

import click

from cranfield.cli import flags
from cranfield.cli.data import DataOptions, data_options, duplicates_option, refuse_two_stdin
from cranfield.cli.terminal import Format, format_option, show
from cranfield.data.judging import Judging
from cranfield.errors import InputError, OptionError, escape_unprintable
from cranfield.extensions.labels.assessors.assess import AgreementSettings, agreement
from cranfield.formats.columns import Side
from cranfield.formats.files import guess_side, stem_of
from cranfield.formats.source import Source


@flags.command("agreement")
def command(
    qrels_a: str = flags.argument(),
    files: tuple[str, ...] = flags.argument(nargs=-1, metavar="QRELS_B [RUN]..."),
    names: tuple[str, ...] = flags.measure_option("By what the systems are ordered", "nDCG@10"),
    per_query: bool = flags.per_query_option("Show every query's agreement, too."),
    settings: AgreementSettings = flags.family_options(
        AgreementSettings,
        group="More",
        rel={
            "names": ("-l", "--rel"),
            "help": "The lowest grade that counts as relevant, for kappa and overlap, and for "
            "measures that state none.",
        },
    ),
    others: tuple[str, ...] = flags.option(
        "--qrels",
        multiple=True,
        metavar="OTHER",
        help="The judgments of a further assessor, called by the file's name. May be repeated.",
    ),
    confusion: str | None = flags.option(
        metavar="FILE",
        help="There is no QRELS_B: make other judgments of QRELS_A by these rates. CSV or TSV with "
        'the header grade,given,rate, or JSON, {"0": {"0": 0.9, "1": 0.1}, ...}.',
    ),
    judging: Judging = duplicates_option,
    data: DataOptions = data_options,
    form: Format = format_option,
) -> None:
    """See how far two assessors agree, and what it does to the ordering of systems.

    QRELS_A and QRELS_B hold two assessors' judgments of the same queries: kappa, agreement and the
    overlap of the relevant documents are of what both judge. With runs, the systems are ordered
    under A, under B, and under random mixtures, in which each query has the judgments of one
    assessor drawn by chance. With --confusion, QRELS_B is left out. With --qrels, there are more
    than two. Krippendorff's alpha and other coefficients compare all of them, with intervals.

    \b
    cranfield agreement demo/qrels.txt second.qrels
    cranfield agreement demo/qrels.txt second.qrels demo/*.run -m nDCG@10 -m AP
    cranfield agreement demo/qrels.txt second.qrels --qrels third.qrels
    """  # noqa: D301 - click's mark for lines to keep
    if confusion is None and not files:
        raise click.UsageError("name a second qrels, or the rates of one with --confusion FILE")
    if confusion is not None and others:
        raise OptionError("--qrels is a further assessor, and --confusion has no second one")
    path_of_name = _name_files(others)
    refuse_two_stdin(qrels_a, *files, *others, *([confusion] if confusion else []))
    n_qrels = 1 if confusion is None else 0
    try:
        extra_qrels = {
            name: data.read_qrels(path, judging.duplicates) for name, path in path_of_name.items()
        }
        agreement_result = agreement(
            data.read_qrels(qrels_a, judging.duplicates),
            data.read_qrels(files[0], judging.duplicates) if n_qrels else None,
            data.read_runs(files[n_qrels:]) or None,
            flags.parse_measures(names, "nDCG@10", settings.rel),
            confusion=confusion,
            extra_qrels=extra_qrels or None,
            duplicates=judging.duplicates,
            **settings.changed_options(),
        )
    except InputError as error:
        third_file = next((file for file in files[1:] if guess_side(file) is Side.QRELS), None)
        if third_file is None or error.source != third_file:
            raise
        raise error.replace(
            hint=f"Judgments of a further assessor: --qrels {escape_unprintable(third_file)}"
        ) from None
    show(agreement_result, form, per_query=per_query)


def _name_files(paths: Sequence[str]) -> dict[str, str]:
    """Return {name: path} of further assessors; a name is the file's, without suffixes.

    It is the path where two files have that name, or where it is A or B. Raises OptionError for a
    path that is there twice.
    """
    if len(set(paths)) < len(paths):
        raise OptionError("--qrels: a file is named twice")
    stems = [stem_of(Source(path)) for path in paths]
    return {
        path if stem in ("A", "B") or stems.count(stem) > 1 else stem: path
        for path, stem in zip(paths, stems, strict=True)
    }
