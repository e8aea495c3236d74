"""`cranfield trec-eval`, in place of trec_eval."""

from typing import Any

import click

from cranfield.cli import Refused, quoted
from cranfield.cli.flags import Decorator
from cranfield.cli.measures import explain
from cranfield.cli.terminal import Reading, refuse, say
from cranfield.compat.names import CALCULATION, FILE, RELATIONS, USAGE, TrecEvalError, requested
from cranfield.compat.trec_eval import Options, trec_eval
from cranfield.errors import ContradictionError, CranfieldError, DuplicateError
from cranfield.formats.block import LARGEST_GRADE
from cranfield.formats.source import Source
from cranfield.measures import find
from cranfield.version import __version__


class _AsTrecEval(click.Command):
    """A command with trec_eval's exit statuses."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            refuse(quoted(error))
            option = error.param if isinstance(error, click.BadParameter) else None
            of_format = option is not None and option.name in ("qrels_format", "results_format")
            ctx.exit(FILE if of_format else USAGE)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except CranfieldError as error:
            refuse(Refused(str(error)))
            status = FILE
            if isinstance(error, DuplicateError | ContradictionError):
                status = CALCULATION
            ctx.exit(error.status if isinstance(error, TrecEvalError) else status)


def _version(ctx: click.Context, option: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        click.echo(f"trec_eval version 10.0, by cranfield {__version__}", err=True)
        ctx.exit()


def _topic(ctx: click.Context, option: click.Parameter, value: str | None) -> str | None:
    return value.partition(".")[2] or None if value else None


def _option(letter: str, name: str, parameter: str, sentence: str, **more: Any) -> Decorator:
    """Return an option as trec_eval has it: a letter and a long name; a flag without `more`."""
    more = more or {"is_flag": True}
    if "default" in more:
        more["show_default"] = True
    return click.option(f"-{letter}", f"--{name}", parameter, help=sentence, **more)


_NATURAL = {"type": click.IntRange(0, LARGEST_GRADE), "metavar": "N"}


@click.command("trec-eval", cls=_AsTrecEval, add_help_option=False)
@click.argument("qrels", required=False)
@click.argument("run", required=False)
@_option("q", "query_eval_wanted", "per_query", "Print every topic, too.")
@_option(
    "c",
    "complete_rel_info_wanted",
    "complete",
    "Average over all topics of the judgments; one without results counts as 0.",
)
@_option(
    "n",
    "nosummary",
    "summary",
    "Print no values over all topics.",
    is_flag=True,
    callback=lambda ctx, option, wanted: not wanted,
)
@_option(
    "l",
    "level_for_rel",
    "level",
    "The lowest grade that counts as relevant.",
    default=1,
    **_NATURAL,
)
@_option(
    "M",
    "Max_retrieved_per_topic",
    "depth",
    "Keep only the best N documents of each topic.",
    type=click.IntRange(min=1),
    metavar="N",
)
@_option(
    "J",
    "Judged_docs_only",
    "judged_only",
    "Drop documents that are unjudged or of negative grade before measuring.",
)
@_option(
    "N",
    "Number_docs_in_coll",
    "n_documents",
    "The number of documents in the collection (for utility).",
    default=0,
    **_NATURAL,
)
@_option(
    "m",
    "measure",
    "measures",
    "What to compute: a measure of trec_eval, as in -m map -m P.5,10 -m ndcg.1=2,2=4, or "
    "official, set, all_trec, prefs, all_prefs or qrels_jg. May be repeated.  [default: official]",
    multiple=True,
    metavar="MEASURE[.PARAMS]",
)
@_option(
    "R",
    "Rel_info_format",
    "qrels_format",
    "What the judgments are.",
    type=click.Choice(RELATIONS),
    default="qrels",
)
@_option(
    "T",
    "Results_format",
    "results_format",
    "What the run is.",
    type=click.Choice(["trec_results"]),
    default="trec_results",
    expose_value=False,
)
@_option(
    "Z",
    "Zscore",
    "zscores",
    "Print by how many standard deviations each value is above its mean; FILE holds lines of "
    "topic, measure, mean, standard deviation.",
    metavar="FILE",
)
@_option(
    "D",
    "Debug_level",
    "topic",
    "Evaluate only that topic; the level itself has no effect.",
    metavar="LEVEL[.TOPIC]",
    callback=_topic,
)
@click.option("-o", "--Output_old_results_format", is_flag=True, expose_value=False, hidden=True)
@click.option(
    "--version-9",
    "version",
    is_flag=True,
    callback=lambda ctx, option, wanted: 9 if wanted else 10,
    help="Rules of trec_eval 9 (and pytrec_eval): scores as 32-bit floats, its recall points, and "
    "topics that both files have.",
)
@_option(
    "v",
    "version",
    "print_version",
    "Print the version of trec_eval whose output this is, and exit.",
    is_flag=True,
    is_eager=True,
    callback=_version,
    expose_value=False,
)
@_option("h", "help", "help_wanted", "Print this, and what the measures of -m are, and exit.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    qrels: str | None,
    run: str | None,
    measures: tuple[str, ...],
    help_wanted: bool,
    **options: Any,
) -> None:
    """Print what trec_eval prints for the same options and files.

    QRELS holds judgments, lines of `topic iteration document grade`, RUN a run, lines of `topic Q0
    document rank score tag`; `-` reads the standard input. Lines that begin with # are comments.
    Exit status: 0; 1 for an option or a measure that does not exist; 2 for a file that cannot be
    read, or parameters of a measure that cannot be taken; 4 for topics without results (unless -c
    is given), duplicate documents, or measures that need other judgments; 7 if there is no topic to
    evaluate.

    \b
    cranfield trec-eval qrels.txt bm25.run
    cranfield trec-eval -q -c -m all_trec qrels.txt bm25.run
    cranfield trec-eval -m map -m P.5,10 -l 2 qrels.txt bm25.run
    """  # noqa: D301 - click's mark for lines to keep
    if help_wanted:
        click.echo(ctx.get_help())
        _explain(measures)
        return
    if qrels is None or run is None:
        missing = "QRELS" if qrels is None else "RUN"
        refuse(click.UsageError(f"Missing argument '{missing}'.", ctx))
        ctx.exit(USAGE)
    with Reading(Source(run).size) as progress:
        lines = trec_eval(qrels, run, Options(measures or ("official",), **options), progress)
    say("".join(lines))


def _explain(measures: tuple[str, ...]) -> None:
    named = [name for name in requested(measures) if name != "runid"]
    for definition in dict.fromkeys(map(find, named)):
        formatter = click.HelpFormatter(width=100)
        formatter.write("\n")
        explain(definition, formatter)
        click.echo(formatter.getvalue(), nl=False)
