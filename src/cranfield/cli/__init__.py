"""The command line: commands call the library and print results; nothing is printed elsewhere.

Here belong the commands of the core, how their options are declared, and how results, notes and
errors are printed; what they compute does not. Exit status: 0 done, 2 wrong usage or input that
cannot be scored; `check` also has 1, `gate` 1 and 3.
"""

import codecs
import contextlib
import gc
import io
import os
import re
import signal
import sys
import warnings
from collections.abc import Iterable
from importlib import import_module
from typing import Any

import click

from cranfield.cli.habits import answer_option, answer_words, is_measure
from cranfield.errors import (
    NO_DOCSTRINGS,
    CranfieldError,
    CranfieldWarning,
    OptionError,
    escape_unprintable,
)
from cranfield.extensions import COMMANDS as EXTENSION_COMMANDS
from cranfield.version import __version__

_SECTIONS = {
    "Evaluate": {
        "evaluate": "Score runs against judgments.",
        "explain": "Show how a number came about: term by term, query by query.",
        "measures": "List the measures, or explain some.",
        "check": "Find what makes numbers wrong without an error, before scoring.",
    },
    "Compare": {
        "compare": "Compare systems: which is better, by how much, how sure that is.",
        "gate": "Fail if a run is worse than the baseline by a margin.",
    },
    "Show": {},
    "Runs and judgments": {"convert": "Write a run or judgments in another format."},
}


def _add_extensions(section: str, lines: dict[str, str]) -> dict[str, str]:
    """Return {command: its line} of a section of the help, with the commands of extensions.

    `convert` comes last.
    """
    extension_lines = {
        module_path.rpartition(".")[2]: line
        for module_path, line in EXTENSION_COMMANDS.get(section, {}).items()
    }
    return dict(
        sorted(
            {**lines, **extension_lines}.items(),
            key=lambda command_line: command_line[0] == "convert",
        )
    )


SECTIONS = {section: _add_extensions(section, lines) for section, lines in _SECTIONS.items()}
COMMANDS = {name: line for lines in SECTIONS.values() for name, line in lines.items()}
_ADDED_PLACES = [module_path for places in EXTENSION_COMMANDS.values() for module_path in places]
_FOLDERS = {
    name: folder
    for folder, _, name in (module_path.rpartition(".") for module_path in _ADDED_PLACES)
}


def load_command(name: str) -> click.Command:
    """Return the command of a name, from its module in this folder or in an extension."""
    module = name.replace("-", "_")
    module_path = (
        f"extensions.{_FOLDERS[name]}.{module}_command" if name in _FOLDERS else f"cli.{module}"
    )
    command: click.Command = import_module(f"cranfield.{module_path}").command
    command.help = command.help or NO_DOCSTRINGS
    return command


class Refusal(click.ClickException):
    """An input or an option that the library refuses, shown without a traceback."""

    exit_code = 2

    def __init__(self, message: str) -> None:
        super().__init__("\n".join(map(escape_unprintable, message.split("\n"))))


def _option_names(command: click.Command) -> set[str]:
    """Return the names of a command's options, short and long."""
    return {option_name for parameter in command.params for option_name in parameter.opts}


def name_errors_option(command: click.Command | None, text: str) -> str:
    """Return an error's text; where the command has no option --errors, evaluate's is named."""
    elsewhere = text.replace("(--errors skip)", "(cranfield evaluate --errors skip)")
    return text if command and "--errors" in _option_names(command) else elsewhere


_UNDONE_TEXT = "what was not finished is undone."


class _SignalError(BaseException):
    """The process must end by a signal, once all open files are closed."""

    def __init__(self, number: int) -> None:
        self.number = number


def printable_error(error: click.UsageError) -> click.UsageError:
    """Return the error with the arguments that it quotes made printable."""
    return click.UsageError(escape_unprintable(error.format_message()), error.ctx)


def _no_option_error(error: click.NoSuchOption) -> click.UsageError:
    """Return the error on an unknown option, with what to type in its place if that is known."""
    options = _option_names(error.ctx.command) if error.ctx else ()
    answer = answer_option(error.option_name.partition("=")[0], options)
    return click.UsageError(f"{error.message} {answer}", error.ctx) if answer else error


class _Commands(click.Group):
    """Commands that are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        # Every command needs it. Imported from deeper in the stack of calls it was seen to take
        # 20 ms longer, every time (Python 3.11).
        import numpy  # noqa: F401

        return load_command(name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section, lines in SECTIONS.items():
            if lines:
                with formatter.section(section):
                    formatter.write_dl(list(lines.items()))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        match args:
            case ["help", name, *more] if name not in COMMANDS and is_measure(name):
                args = ["measures", name, *more]
            case ["help", *names]:
                words = [] if names == ["help"] else names
                args = sorted(["--help", *words], key=lambda word: word.startswith("-"))
            case ["version"]:
                args = ["--version"]
        words = [*args]
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            answer = answer_words(words, COMMANDS, _option_names(load_command("evaluate")))
            text = f"{error.message} {answer}" if answer else error.format_message()
            raise printable_error(click.UsageError(text, ctx)) from None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            import difflib

            close_names = difflib.get_close_matches(name, COMMANDS, 1)
            answer = f"Did you mean {close_names[0]!r}?" if close_names else ""
            if os.path.isfile(name):
                answer = answer_words(args, COMMANDS, _option_names(load_command("evaluate")))
            ctx.fail(f"No such command {name!r}. {answer}".rstrip())
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        from cranfield.progress import watch_calls  # and NumPy, which every command needs

        try:
            with warnings.catch_warnings(), watch_calls(True):
                warnings.simplefilter("ignore", CranfieldWarning)  # what is printed says the same
                return super().invoke(ctx)
        except OptionError as error:
            text = re.sub("^columns: ", "--columns: ", str(error))
            raise Refusal(self._as_typed(ctx, text)) from None
        except CranfieldError as error:
            command = self.get_command(ctx, str(ctx.invoked_subcommand))
            raise Refusal(name_errors_option(command, str(error))) from None
        except click.NoSuchOption as error:
            raise printable_error(_no_option_error(error)) from None
        except click.UsageError as error:
            raise printable_error(error) from None
        except KeyboardInterrupt:
            raise _SignalError(signal.SIGINT) from None
        except BrokenPipeError:  # the reader of the output has left
            raise _SignalError(getattr(signal, "SIGPIPE", signal.SIGTERM)) from None

    def _as_typed(self, ctx: click.Context, text: str) -> str:
        """Return the text with each `name='value'` of an option as it is typed: `--name value`."""
        command = self.get_command(ctx, str(ctx.invoked_subcommand))
        for parameter in [] if command is None else command.params:
            if isinstance(parameter, click.Option):
                value_pattern = r"(?:'([^'\s]+)'|(?=[-\w.'\"]))"
                typed_form = max(parameter.opts, key=len) + r" \1"
                if parameter.is_flag:
                    value_pattern, typed_form = "True", typed_form[:-3]
                # Not within a measure, as P(rel=2).
                text = re.sub(rf"(?<![-\w(]){parameter.name}={value_pattern}", typed_form, text)
        return text


def _usual_name(option: str) -> str:
    """Return the usual name of an option: of --metric, --metrics and --measures, "measure"."""
    return "measure" if option in ("measures", "metric", "metrics") else option


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "token_normalize_func": _usual_name},
)
@click.version_option(__version__, "-V", "--version", prog_name="cranfield")
def cli() -> None:
    """Evaluate rankings.

    `COMMAND -h` shows a command, `--help` all of it, `help nDCG` a measure.

    \b
    cranfield demo --save demo
    cranfield compare demo/qrels.txt demo/bm25.run demo/dense.run -m AP

    \b
    Tab key, in ~/.bashrc: eval "$(_CRANFIELD_COMPLETE=bash_source cranfield)"
    """  # noqa: D301 - click's mark for lines to keep


cli.help = cli.help or NO_DOCSTRINGS


def main() -> None:
    """Run the command, and end the process with its exit status.

    A signal that ends it (SIGTERM, SIGHUP, SIGINT; SIGPIPE if the reader of its output has left)
    does so after temporary files are removed.
    """
    sys.stdout, sys.stderr = (
        stream if stream is not None else open(os.devnull, "w")  # noqa: SIM115 - until the end
        for stream in (sys.stdout, sys.stderr)  # None: it was closed
    )
    if isinstance(sys.stdout, io.TextIOWrapper):
        is_utf8 = codecs.lookup(sys.stdout.encoding).name == "utf-8"
        # An id that is not valid UTF-8 is written as it was read.
        sys.stdout.reconfigure(errors="surrogateescape" if is_utf8 else "backslashreplace")
    # numpy's library for linear algebra starts a busily waiting thread for every core, and none of
    # them has work here: see `arrays/products.py`.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # A short life: the collector of cycles would only cost time, at the end most of all.
    gc.disable()
    old_handlers = _install_handlers()
    sys.unraisablehook, old_hook = _raise_again, sys.unraisablehook
    try:
        status = _run(old_handlers)
    except _SignalError as signal_error:
        signal.signal(getattr(signal, "SIGALRM", signal_error.number), signal.SIG_IGN)
        if signal_error.number != getattr(signal, "SIGPIPE", None):
            message = "Interrupted" if signal_error.number == signal.SIGINT else "Ended by a signal"
            with contextlib.suppress(OSError):
                click.echo(f"{message}: {_UNDONE_TEXT}", err=True)
        # The status that a shell gives a process that a signal ended.
        status = 128 + signal_error.number
        old_handlers.pop(signal_error.number, None)
        signal.signal(signal_error.number, signal.SIG_DFL)
        signal.raise_signal(signal_error.number)
    finally:
        sys.unraisablehook = old_hook
        for signal_number, handler in old_handlers.items():
            signal.signal(signal_number, handler)
        gc.freeze()
    sys.exit(status)


def _run(signal_numbers: Iterable[int]) -> int:
    """Run the command; return its exit status, or raise _SignalError if one of the signals came.

    Only a command itself gives another status than 0 or 2: a process that cannot write a message
    must not look like a gate that has failed.
    """
    try:
        try:
            command_status = cli.main(prog_name="cranfield", standalone_mode=False)
            status = command_status if isinstance(command_status, int) else 0
            sys.stdout.flush()
        finally:  # also where Python ignored the exception, or raised another in its place
            for signal_number in signal_numbers:
                if signal.getsignal(signal_number) == signal.SIG_DFL:
                    raise _SignalError(signal_number)
    except click.ClickException as error:
        status = error.exit_code
        import_module("cranfield.cli.terminal").print_refusal(error)
    except click.Abort:
        raise _SignalError(signal.SIGINT) from None
    except OSError as error:
        status = Refusal.exit_code
        file_prefix = (
            "" if error.filename is None else f"{escape_unprintable(str(error.filename))}: "
        )
        with contextlib.suppress(OSError):
            click.echo(
                f"Error: {file_prefix}cannot read or write: {error.strerror or error}", err=True
            )
    except Exception:  # noqa: BLE001 - our own mistake is not a verdict of a gate, either
        status = Refusal.exit_code
        sys.excepthook(*sys.exc_info())
    for name in ("stdout", "stderr"):
        try:
            getattr(sys, name).flush()
        except OSError:  # buffered text would fail again when the interpreter ends
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - until then
    return status


def _install_handlers() -> dict[int, Any]:
    """Have signals that end the process raise _SignalError; return {signal: its handler before}.

    A signal that is ignored stays ignored, as with nohup.
    """
    old_handlers = {}
    default_handlers = (signal.SIG_DFL, signal.default_int_handler)
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        signal_number = getattr(signal, name, None)  # Windows has no SIGHUP
        if signal_number is not None and signal.getsignal(signal_number) in default_handlers:
            with contextlib.suppress(ValueError):  # not the main thread, which alone may ask
                old_handlers[signal_number] = signal.signal(signal_number, _raise_signal_error)
    return old_handlers


def _raise_signal_error(signal_number: int, _: object) -> None:
    signal.signal(signal_number, signal.SIG_DFL)  # a second signal ends the process at once
    raise _SignalError(signal_number)


def _raise_again(unraisable: Any) -> None:
    """Have a _SignalError that Python ignored, as in `__del__`, raised again a moment later."""
    error = unraisable.exc_value
    if not isinstance(error, _SignalError):
        sys.__unraisablehook__(unraisable)
    elif sys.platform != "win32":  # where it is raised at the end of the command
        signal.signal(signal.SIGALRM, lambda *_: _raise_signal_error(error.number, None))
        signal.setitimer(signal.ITIMER_REAL, 0.05)
