"""The command line: arguments to the library to standard output. Only here is anything printed.

Exit status: 0 done, 2 wrong usage or input that cannot be scored; `gate` has 1 and 3, too.
"""

import codecs
import gc
import io
import os
import sys
import warnings
from importlib import import_module
from typing import Any

import click

from cranfield.errors import CranfieldError, printable
from cranfield.notes import CranfieldWarning
from cranfield.version import __version__

_COMMANDS = {
    "evaluate": "Score runs against judgments.",
    "explain": "Show how a number came about: term by term, query by query.",
    "compare": "Compare systems: which is better, by how much, how sure that is.",
    "gate": "Fail if a run is worse than the baseline by a margin.",
    "power": "Tell how many queries an experiment needs, or what so many can show.",
    "check": "Find what silently ruins numbers, before scoring.",
    "correlate": "Say how alike measures, or judgments, order the same systems.",
    "agreement": "See how far two assessors agree, and what it does to the ordering of systems.",
    "nuggets": "Score answers by the nuggets that they support.",
    "convert": "Write a run or judgments in another format.",
    "measures": "List the measures, or explain some.",
    "figure": "Draw a picture: weights of ranks, a precision-recall curve.",
    "trec-eval": "Take the place of trec_eval: its options, its output.",
    "demo": "Evaluate a small collection that comes with the package.",
}


class _Refused(click.ClickException):
    """What the library refuses, shown without a traceback."""

    exit_code = 2

    def __init__(self, message: str) -> None:
        super().__init__("\n".join(map(printable, message.split("\n"))))


def quoted(error: click.UsageError) -> click.UsageError:
    """Return the error with what it quotes of the arguments made printable."""
    return click.UsageError(printable(error.format_message()), error.ctx)


class _Commands(click.Group):
    """Commands that are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        # Every command needs it. Imported from deeper in the stack of calls it was seen to take
        # 20 ms longer, every time (Python 3.11).
        import numpy  # noqa: F401

        command: click.Command = import_module(f"cranfield.cli.{name.replace('-', '_')}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        name = args[0]
        if name not in _COMMANDS and not name.startswith("-"):
            import difflib

            near = difflib.get_close_matches(name, _COMMANDS, 1)
            guess = f" Did you mean {near[0]!r}?" if near else ""
            ctx.fail(f"No such command {name!r}.{guess}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except CranfieldError as error:
            raise _Refused(str(error)) from None
        except click.UsageError as error:
            raise quoted(error) from None


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "--version", prog_name="cranfield")
def cli() -> None:
    """Evaluate ranked retrieval: judgments and runs to measures.

    \b
    cranfield demo
    cranfield evaluate qrels.txt bm25.run dense.run -m nDCG@10 -m AP
    cranfield compare qrels.txt bm25.run dense.run -m nDCG@10
    cranfield measures nDCG
    """  # noqa: D301 - click's mark for lines to keep


def main() -> None:
    """Run the command."""
    sys.stdout, sys.stderr = (
        stream if stream is not None else open(os.devnull, "w")  # noqa: SIM115 - until the end
        for stream in (sys.stdout, sys.stderr)  # None: it was closed
    )
    if isinstance(sys.stdout, io.TextIOWrapper):
        utf8 = codecs.lookup(sys.stdout.encoding).name == "utf-8"
        # An id of bytes that are no UTF-8 goes out as it came in.
        sys.stdout.reconfigure(errors="surrogateescape" if utf8 else "backslashreplace")
    # A short life: the collector of cycles would only cost time, at the end most of all.
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CranfieldWarning)  # tables and notes say the same
            cli.main(prog_name="cranfield")
    except OSError as error:
        # What is still to be written would fail again when the interpreter ends.
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - until then
        click.echo(f"Error: cannot read or write: {error.strerror or error}", err=True)
        sys.exit(_Refused.exit_code)
    finally:
        gc.freeze()
