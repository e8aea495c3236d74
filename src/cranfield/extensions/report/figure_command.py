"""`cranfield figure KIND`: draws a picture of compared systems, or of measures, into a file."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import click

from cranfield.cli import flags
from cranfield.cli.data import refuse_two_stdin
from cranfield.cli.several import ComparisonOptions, comparison_options
from cranfield.cli.terminal import print_note, print_notes, refuse_outputs
from cranfield.comparison.comparison import Comparison
from cranfield.comparison.settings import Alignment, Settings
from cranfield.errors import OptionError, escape_unprintable
from cranfield.extensions.collections.way import compare_collection_files
from cranfield.extensions.report import figures
from cranfield.extensions.report.figures.choice import choose_two
from cranfield.extensions.report.figures.curves import CUTOFFS
from cranfield.extensions.report.figures.figure import SUFFIXES, check_installed, read_suffix
from cranfield.extensions.report.figures.matrix import DEPTH as RANKS
from cranfield.extensions.report.figures.style import STYLES, StyleName
from cranfield.extensions.report.figures.weights import DEFAULT_MEASURES, DEPTH
from cranfield.extensions.trend.trend_command import trend_option
from cranfield.extensions.trend.trend_result import Trend
from cranfield.options import list_options, whole_check


def _check_suffix(_: click.Context, __: click.Parameter, path: str) -> str:
    read_suffix(path)  # raises OptionError before anything is read
    return path


_output_option = flags.option(
    "-o",
    "--output",
    group="Output",
    metavar="FILE",
    required=True,
    callback=_check_suffix,
    help=f"The file to write; its suffix says the form: {', '.join(SUFFIXES)} (Vega-Lite).",
)
_style_option = flags.option(
    group="Output",
    type=click.Choice(STYLES),
    default=STYLES[0],
    show_default=True,
    help="For a screen; for a paper of two columns, as wide as one (3.33 inches), of which the "
    "caption is printed; or for slides.",
)
_depth_option = flags.option(
    type=int, default=DEPTH, show_default=True, help="How many ranks, 2 to 100."
)
_system_option = flags.option(
    metavar="NAME", help="One of the systems, by its name or its file.  [default: the best]"
)
_other_option = flags.option(
    metavar="NAME",
    help="The other system.  [default: the baseline; if that is the best, the next best]",
)
_systems_option = flags.option(
    "--system",
    multiple=True,
    metavar="NAME",
    help="A system to draw in colour, by its name or its file. May be repeated, up to 7 times.  "
    "[default: all of up to 4, else the best and the baseline]",
)


@dataclass(frozen=True)
class Canvas:
    """The file of a picture, and its style."""

    style: StyleName
    output: str

    def __post_init__(self) -> None:
        check_installed()  # now, not after everything is read
        refuse_outputs([self.output])

    def write(self, figure: figures.Figure) -> None:
        """Write a picture to its file; print notes on its numbers, a paper's caption, the file."""
        figure.save(self.output)
        print_notes(figure.notes)
        if figure.style == "paper":
            print_note(figure.caption, "caption")
        print_note(f"wrote {self.output}")


_canvas_options = flags.combined_options(Canvas, {"style": _style_option, "output": _output_option})


@dataclass(frozen=True)
class ComparedSystems:
    """What every picture of compared systems takes: judgments, runs, options, and its file."""

    qrels: str
    runs: tuple[str, ...]
    comparing: ComparisonOptions
    canvas: Canvas

    def compare_systems(self, *, allows_slices: bool = False) -> Comparison:
        """Compare the systems; OptionError for slices, unless allowed, or several measures."""
        if not allows_slices:
            flags.refuse_options({"slices"}, "applies to `cranfield figure by-slice` only")
        comparison = self.comparing.compare_files(self.qrels, self.runs)
        if len(comparison.aligned.measures) > 1 and self.comparing.names:
            measure_names = ", ".join(map(escape_unprintable, comparison.aligned.measures))
            raise OptionError(f"-m {measure_names}: a picture shows one measure; name one")
        return comparison

    def draw(self, kind: Callable[..., figures.Figure], *choices: Any, **options: Any) -> None:
        """Compare the systems, and write the picture of a kind.

        `choices` are its arguments; in a picture of two systems, the last two name them.
        """
        comparison = self.compare_systems(allows_slices=kind is figures.by_slice)
        if kind in (figures.differences, figures.scatter, figures.by_relevant):
            drawn_pair = choose_two(comparison, comparison.results[0], *choices[-2:])
            other_systems = [
                name for name in comparison.aligned.system_names if name not in drawn_pair
            ]
            if other_systems and None in choices[-2:]:
                sentence = (
                    f"{' and '.join(drawn_pair)} are drawn, of {2 + len(other_systems)} systems"
                )
                print_note(f"{sentence}: --system and --other name two")
        self.canvas.write(kind(comparison, *choices, style=self.canvas.style, **options))


_compared_options = flags.combined_options(
    ComparedSystems,
    {
        "qrels": flags.argument(),
        "runs": flags.argument(nargs=-1, metavar="RUN..."),
        "comparing": comparison_options,
        "canvas": _canvas_options,
    },
)


@click.group("figure", no_args_is_help=False)  # which would be an error of many lines
def command() -> None:
    """Draw a picture, as SVG, PNG, PDF or Vega-Lite.

    It needs Altair: pip install altair vl-convert-python

    \b
    cranfield figure leaderboard demo/qrels.txt demo/*.run -o board.svg
    cranfield figure differences demo/qrels.txt demo/*.run -o d.svg
    cranfield figure precision-recall demo/qrels.txt demo/*.run -o q.svg
    """  # noqa: D301 - click's mark for lines to keep


@flags.command("leaderboard", command)
def _draw_leaderboard(systems: ComparedSystems = _compared_options) -> None:
    """Draw each system's mean with its interval.

    The best is at the top. Marks say which systems are better or worse than the baseline, or, with
    --all-pairs, than the best.

    \b
    cranfield figure leaderboard demo/qrels.txt demo/*.run -o board.svg
    cranfield figure leaderboard demo/rag.json demo/rag-new.json -m RR -o rr.png
    """  # noqa: D301 - click's mark for lines to keep
    systems.draw(figures.leaderboard)


@flags.command("differences", command)
def _draw_differences(
    systems: ComparedSystems = _compared_options,
    system: str | None = _system_option,
    other: str | None = _other_option,
) -> None:
    """Draw by how much two systems differ on each query.

    The largest difference is first; a band shows the mean difference with its interval.

    \b
    cranfield figure differences demo/qrels.txt demo/*.run -o d.svg
    cranfield figure differences demo/qrels.txt demo/*.run --system dense -o d.svg
    """  # noqa: D301 - click's mark for lines to keep
    systems.draw(figures.differences, system, other)


@flags.command("scatter", command)
def _draw_scatter(
    systems: ComparedSystems = _compared_options,
    system: str | None = _system_option,
    other: str | None = _other_option,
) -> None:
    """Draw each query's scores under two systems.

    \b
    cranfield figure scatter demo/qrels.txt demo/bm25.run demo/dense.run -o s.svg
    """  # noqa: D301 - click's mark for lines to keep
    systems.draw(figures.scatter, system, other)


@flags.command("by-cutoff", command)
def _draw_cutoffs(
    systems: ComparedSystems = _compared_options,
    chosen: tuple[str, ...] = _systems_option,
    cutoffs: str | None = flags.option(
        metavar="RANKS",
        help=f"Where to cut, as in 1,5,10.  [default: {len(CUTOFFS)} ranks from {CUTOFFS[0]} to "
        f"{CUTOFFS[-1]}]",
    ),
) -> None:
    """Draw a measure's mean at one cutoff after the other.

    nDCG@10 is drawn from nDCG@1 to nDCG@100, with intervals.

    \b
    cranfield figure by-cutoff demo/qrels.txt demo/*.run -o cutoffs.svg
    cranfield figure by-cutoff demo/qrels.txt demo/bm25.run --cutoffs 5,9 -o r.svg
    """  # noqa: D301 - click's mark for lines to keep
    ranks: Any = CUTOFFS if cutoffs is None else cutoffs.replace(",", " ").split()
    ranks = [int(rank) if isinstance(rank, str) and rank.isdigit() else rank for rank in ranks]
    systems.draw(figures.by_cutoff, None, ranks, systems=chosen or None)


@flags.command("precision-recall", command)
def _draw_precision_recall(
    systems: ComparedSystems = _compared_options,
    query: str | None = flags.option(
        metavar="ID", help="Draw only this query, for one RUN, down its ranking."
    ),
    chosen: tuple[str, ...] = _systems_option,
) -> None:
    """Draw precision against recall: all queries, or one.

    Of all queries, the mean of interpolated precision at recall 0, 0.1, ... 1, for each run, with
    intervals. Of one query, one line goes down the ranking, with a point at every relevant
    document; the other is the highest precision at that recall or beyond, with points at
    IPrec@0.0, IPrec@0.1, ... IPrec@1.0.

    \b
    cranfield figure precision-recall demo/qrels.txt demo/*.run -o curves.svg
    cranfield figure precision-recall demo/qrels.txt demo/*.run -o q.svg
    """  # noqa: D301 - click's mark for lines to keep
    if query is None:
        systems.draw(figures.precision_recall, rel=systems.comparing.rel, systems=chosen or None)
        return
    option_names = {
        option.name for family in (Settings, Alignment) for option in list_options(family)
    }
    option_names |= {"names", "saved", "slices", "chosen"}
    flags.refuse_options(option_names, "has no effect with --query, which draws one ranking")
    if len(systems.runs) != 1:
        raise OptionError(f"--query draws one RUN, and {len(systems.runs)} are named")
    refuse_two_stdin(systems.qrels, *systems.runs)
    comparing, canvas = systems.comparing, systems.canvas
    judgments = comparing.data.read_qrels(systems.qrels, comparing.judging.duplicates)
    system = comparing.data.read_run(systems.runs[0])
    options: Any = {
        "rel": comparing.rel,
        "style": canvas.style,
        **comparing.judging.changed_options(),
    }
    canvas.write(figures.precision_recall(judgments, system, query, **options))


@flags.command("spread", command)
def _draw_spread(systems: ComparedSystems = _compared_options) -> None:
    """Draw how each system's scores are spread.

    A dot for each query, a box for the middle half of them.

    \b
    cranfield figure spread demo/qrels.txt demo/*.run -m nDCG@10 -o spread.svg
    """  # noqa: D301 - click's mark for lines to keep
    systems.draw(figures.spread)


@flags.command("pair-matrix", command)
def _draw_pair_matrix(systems: ComparedSystems = _compared_options) -> None:
    """Draw the difference of every pair of systems.

    All pairs are compared, and corrected for their number; cells are filled where the two
    differ significantly.

    \b
    cranfield figure pair-matrix demo/qrels.txt demo/*.run -o pairs.svg
    """  # noqa: D301 - click's mark for lines to keep
    systems.draw(figures.pair_matrix)


@flags.command("judged-by-rank", command)
def _draw_judged_shares(
    systems: ComparedSystems = _compared_options,
    ranks: int = flags.checked_option(
        whole_check(1, 100),
        type=int,
        default=RANKS,
        show_default=True,
        help="How many ranks, 1 to 100.",
    ),
) -> None:
    """Draw how much is judged at each rank.

    \b
    cranfield figure judged-by-rank demo/qrels.txt demo/*.run -o judged.svg
    """  # noqa: D301 - click's mark for lines to keep
    systems.draw(figures.judged_by_rank, ranks)


@flags.command("by-relevant", command)
def _draw_relevant_counts(
    systems: ComparedSystems = _compared_options,
    system: str | None = _system_option,
    other: str | None = _other_option,
) -> None:
    """Draw scores by the number of relevant documents.

    Two systems' scores of each query, and the means of groups of queries with their intervals.

    \b
    cranfield figure by-relevant demo/qrels.txt demo/*.run -m AP -o relevant.svg
    """  # noqa: D301 - click's mark for lines to keep
    systems.draw(figures.by_relevant, None, system, other)


@flags.command("by-slice", command)
def _draw_slices(
    systems: ComparedSystems = _compared_options, chosen: tuple[str, ...] = _systems_option
) -> None:
    """Draw means on slices of the queries.

    --slices names the file of their labels.

    \b
    cranfield figure by-slice demo/qrels.txt demo/*.run --slices kind.csv -o s.svg
    """  # noqa: D301 - click's mark for lines to keep
    systems.draw(figures.by_slice, systems=chosen or None)


@flags.command("by-collection", command)
def _draw_collections(
    path: str = flags.argument(metavar="DIR|FILE"),
    chosen: tuple[str, ...] = _systems_option,
    comparing: ComparisonOptions = comparison_options,
    canvas: Canvas = _canvas_options,
) -> None:
    """Draw differences on several collections.

    They are those of systems to the baseline, on each collection; below, those of the averages.

    DIR has a folder for each collection, FILE is a table of their files, as in `cranfield compare
    --collections`.

    \b
    cranfield figure by-collection collections.csv -m nDCG@10 -o collections.svg
    """  # noqa: D301 - click's mark for lines to keep
    comparison = compare_collection_files(path, comparing)
    canvas.write(figures.by_collection(comparison, systems=chosen or None, style=canvas.style))


@flags.command("over-time", command)
def _draw_trend(canvas: Canvas = _canvas_options, file_trend: Trend = trend_option) -> None:
    """Draw means over time, and which steps are significant.

    Files are as `cranfield trend` takes them, the oldest first.

    \b
    cranfield figure over-time demo/qrels.txt demo/*.run -o t.svg
    """  # noqa: D301 - click's mark for lines to keep
    if len(file_trend.measures) > 1:
        print_note(f"{file_trend.measures[0]} is drawn; -m names another measure")
    canvas.write(figures.over_time(file_trend, style=canvas.style))


@flags.command("rank-weights", command)
def _draw_rank_weights(
    names: Sequence[str] = flags.measure_option("What to draw, seven at most", DEFAULT_MEASURES),
    depth: int = _depth_option,
    canvas: Canvas = _canvas_options,
) -> None:
    """Draw what each rank is worth.

    That is what a relevant document is worth there, compared with rank 1.

    For every rank, each measure scores a ranking whose only relevant document, of grade 1, is
    there; what it gives is divided by what it gives at rank 1.

    \b
    cranfield figure rank-weights -o weights.svg
    cranfield figure rank-weights -m nDCG@10 -m "RBP(p=0.95)" -o weights.png
    """  # noqa: D301 - click's mark for lines to keep
    measures = flags.parse_measures(names, DEFAULT_MEASURES, None)
    canvas.write(figures.rank_weights(measures, depth, style=canvas.style))


@flags.command("reciprocal-rank", command)
def _draw_reciprocal_rank(depth: int = _depth_option, canvas: Canvas = _canvas_options) -> None:
    """Draw how 1/rank falls.

    \b
    cranfield figure reciprocal-rank -o reciprocal-rank.svg
    """  # noqa: D301 - click's mark for lines to keep
    canvas.write(figures.reciprocal_rank(depth, style=canvas.style))
