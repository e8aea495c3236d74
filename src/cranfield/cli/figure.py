"""`cranfield figure`."""

from collections.abc import Sequence

import click

from cranfield.cli import flags
from cranfield.cli.data import DataOptions, data_options, judging_options, refuse_two_inputs
from cranfield.cli.terminal import note
from cranfield.data.judging import Judging
from cranfield.figures import Figure, precision_recall, rank_weights, reciprocal_rank
from cranfield.figures.figure import SUFFIXES, suffix_of
from cranfield.figures.weights import DEPTH, WEIGHTED


def _checked(_: click.Context, __: click.Parameter, path: str) -> str:
    suffix_of(path)  # which says so before anything is read
    return path


_output_option = flags.option(
    "-o",
    "--output",
    metavar="FILE",
    required=True,
    callback=_checked,
    help=f"The file to write; its suffix says the form: {', '.join(SUFFIXES)} (Vega-Lite).",
)
_depth_option = flags.option(
    type=int, default=DEPTH, show_default=True, help="How many ranks, 2 to 100."
)


def _write(figure: Figure, output: str) -> None:
    figure.save(output)
    note(f"wrote {output}")


@click.group("figure", no_args_is_help=False)  # which would be an error of many lines
def command() -> None:
    """Draw a picture, as SVG, PNG or Vega-Lite.

    It needs Altair, which pip install 'cranfield[plot]' brings along.

    \b
    cranfield figure rank-weights -o weights.svg
    cranfield figure precision-recall qrels.txt bm25.run --query q22 -o curve.png
    """  # noqa: D301 - click's mark for lines to keep


@flags.command("rank-weights", command)
def _rank_weights(
    names: Sequence[str] = flags.measures("What to draw, seven at most", WEIGHTED),
    depth: int = _depth_option,
    output: str = _output_option,
) -> None:
    """Draw what each rank is worth.

    That is what a relevant document is worth there, compared with rank 1.

    For every rank, each measure scores a ranking whose only relevant document, of grade 1, stands
    there; what it gives is divided by what it gives at rank 1.

    \b
    cranfield figure rank-weights -o weights.svg
    cranfield figure rank-weights -m nDCG@10 -m "RBP(p=0.95)" -o weights.png
    """  # noqa: D301 - click's mark for lines to keep
    _write(rank_weights(flags.measures_of(names, WEIGHTED, None), depth), output)


@flags.command("reciprocal-rank", command)
def _reciprocal_rank(depth: int = _depth_option, output: str = _output_option) -> None:
    """Draw how 1/rank falls.

    \b
    cranfield figure reciprocal-rank -o reciprocal-rank.svg
    """  # noqa: D301 - click's mark for lines to keep
    _write(reciprocal_rank(depth), output)


@flags.command("precision-recall", command)
def _precision_recall(
    qrels: str = flags.argument(),
    run: str = flags.argument(),
    query: str = flags.option(metavar="ID", required=True, help="The query."),
    rel: float = flags.rel("in both lines", default=1),
    output: str = _output_option,
    data: DataOptions = data_options,
    judging: Judging = judging_options,
) -> None:
    """Draw one query's precision against its recall.

    One line goes down the ranking, with a point at every relevant document; the other is the
    highest precision at that recall or beyond, with points at IPrec@0.0, IPrec@0.1, ... IPrec@1.0.

    \b
    cranfield figure precision-recall qrels.txt bm25.run --query q22 -o curve.svg
    """  # noqa: D301 - click's mark for lines to keep
    refuse_two_inputs(qrels, run)
    judgments = data.read_qrels(qrels, judging.duplicates)
    (system,) = data.read_runs([run])
    _write(precision_recall(judgments, system, query, rel=rel, **judging.unusual()), output)
