"""`cranfield trec-eval`, in place of trec_eval."""

from collections.abc import Sequence
from typing import Any

import click
from click.core import ParameterSource

from cranfield.cli import Refusal, flags, name_errors_option, printable_error
from cranfield.cli.measures import write_definition
from cranfield.cli.terminal import print_refusal, print_text
from cranfield.errors import ContradictionError, CranfieldError, DuplicateError
from cranfield.extensions.tools.compat.names import (
    CALCULATION,
    FILE,
    USAGE,
    TrecEvalError,
    requested,
)
from cranfield.extensions.tools.compat.trec_eval import TrecEvalOptions, trec_eval
from cranfield.formats.block import LARGEST_GRADE
from cranfield.measures import find_definition
from cranfield.version import __version__


class _TrecEvalCommand(click.Command):
    """A command with trec_eval's exit statuses."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            print_refusal(printable_error(error))
            option = error.param if isinstance(error, click.BadParameter) else None
            is_format = option is not None and option.name in ("qrels_format", "results_format")
            ctx.exit(FILE if is_format else USAGE)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except CranfieldError as error:
            print_refusal(Refusal(name_errors_option(command, str(error))))
            status = FILE
            if isinstance(error, DuplicateError | ContradictionError):
                status = CALCULATION
            ctx.exit(error.status if isinstance(error, TrecEvalError) else status)


def _print_version(ctx: click.Context, option: click.Parameter, is_set: bool) -> None:
    if is_set and not ctx.resilient_parsing:
        click.echo(f"trec_eval version 10.0, by cranfield {__version__}", err=True)
        ctx.exit()


def _parse_topic(ctx: click.Context, option: click.Parameter, level_text: str | None) -> str | None:
    return level_text.partition(".")[2] or None if level_text else None


_WHOLE_NUMBER = {"type": click.IntRange(0, LARGEST_GRADE), "metavar": "N"}


@flags.command("trec-eval", cls=_TrecEvalCommand, add_help_option=False)
def command(
    qrels: str | None = flags.argument(required=False),
    run: str | None = flags.argument(required=False),
    options: TrecEvalOptions = flags.family_options(
        TrecEvalOptions,
        per_query={"names": ("-q", "--query_eval_wanted")},
        complete={"names": ("-c", "--complete_rel_info_wanted")},
        no_summary={"names": ("-n", "--nosummary")},
        level={"names": ("-l", "--level_for_rel"), **_WHOLE_NUMBER},
        depth={
            "names": ("-M", "--Max_retrieved_per_topic"),
            "type": click.IntRange(min=1),
            "metavar": "N",
        },
        judged_only={"names": ("-J", "--Judged_docs_only")},
        n_documents={"names": ("-N", "--Number_docs_in_coll"), **_WHOLE_NUMBER},
        measures={"names": ("-m", "--measure"), "multiple": True, "metavar": "MEASURE[.PARAMS]"},
        qrels_format={"names": ("-R", "--Rel_info_format")},
        results_format={"names": ("-T", "--Results_format")},
        zscores={"names": ("-Z", "--Zscore"), "metavar": "FILE"},
        topic={
            "names": ("-D", "--Debug_level"),
            "metavar": "LEVEL[.TOPIC]",
            "callback": _parse_topic,
        },
    ),
    old_format: bool = flags.option("-o", "--Output_old_results_format", is_flag=True, hidden=True),
    version: bool = flags.option(
        "-v",
        "--version",
        help="Print the version of trec_eval whose output this is, and exit.",
        is_flag=True,
        is_eager=True,
        callback=_print_version,
    ),
    help_wanted: bool = flags.option(
        "-h", "--help", is_flag=True, help="Print this, and what the measures of -m are, and exit."
    ),
) -> None:
    """Print what trec_eval prints for the same options and files.

    QRELS holds judgments, lines of `topic iteration document grade`, RUN a run, lines of `topic Q0
    document rank score tag`; `-` reads the standard input. Lines that begin with # are comments.
    Exit status: 0; 1 for an option or a measure that does not exist; 2 for a file that cannot be
    read, or parameters of a measure that cannot be taken; 4 for topics without results (unless -c
    is given), duplicate documents, or measures that need other judgments; 7 if there is no topic to
    evaluate.

    \b
    cranfield trec-eval demo/qrels.txt demo/bm25.run
    cranfield trec-eval -q -c -m all_trec demo/qrels.txt demo/bm25.run
    cranfield trec-eval -m map -m P.5,10 -l 2 demo/qrels.txt demo/bm25.run
    """  # noqa: D301 - click's mark for lines to keep
    ctx = click.get_current_context()
    if help_wanted:
        click.echo(ctx.get_help())
        is_typed = ctx.get_parameter_source("measures") is ParameterSource.COMMANDLINE
        _explain_measures(options.measures if is_typed else ())
        return
    if qrels is None or run is None:
        missing = "QRELS" if qrels is None else "RUN"
        print_refusal(click.UsageError(f"Missing argument '{missing}'.", ctx))
        ctx.exit(USAGE)
    lines = trec_eval(qrels, run, options)
    print_text("".join(lines))


def _explain_measures(measures: Sequence[str]) -> None:
    measure_names = [name for name in requested(measures) if name != "runid"]
    for definition in dict.fromkeys(map(find_definition, measure_names)):
        formatter = click.HelpFormatter(width=100)
        formatter.write("\n")
        write_definition(definition, formatter)
        click.echo(formatter.getvalue(), nl=False)
