"""Options of commands: those made from the families of options, and those that several share."""

import functools
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import click
from click.core import ParameterSource

from cranfield.errors import OptionError
from cranfield.measures import Measure, parse_all
from cranfield.options import Check, Option, Options, checked, options_of, whole

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def gathered(kind: Callable[..., Any], name: str, parts: Iterable[str]) -> Decorator:
    """Give a command those of its arguments that are named in `parts` as one: kind(**parts)."""
    parts = tuple(parts)

    def give(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def with_one(*args: Any, **given: Any) -> Any:
            own = {part: given.pop(part) for part in parts}
            return command(*args, **{name: kind(**own)}, **given)

        return with_one

    return give


def family_options(
    family: type[Options], name: str, *, without: Collection[str] = (), **more: dict[str, Any]
) -> Decorator:
    """Give a command the options of a family, as one argument `name`: a value of the family.

    Those in `without` are left out. `more` has what click is told of an option beside: `help`,
    `metavar`, or `names`, as in `rel={"names": ("-l", "--rel")}`.
    """
    options = [one for one in options_of(family) if one.name not in without]

    def give(command: Callable[..., Any]) -> Callable[..., Any]:
        command = gathered(family, name, [one.name for one in options])(command)
        for one in reversed(options):
            command = option_of(one, **more.get(one.name, {}))(command)
        return command

    return give


def option_of(one: Option, names: tuple[str, ...] = (), **more: Any) -> Decorator:
    """Return click's option for one of a family, checked as the functions check it."""
    names = (*(names or ("--" + one.name.replace("_", "-"),)), one.name)
    more = {"help": one.sentence, "default": one.default, **more}
    if one.kind is bool:
        return click.option(*names, is_flag=True, **more)
    more.setdefault("show_default", more["default"] is not None)
    if one.choices:
        return click.option(*names, type=click.Choice(one.choices), **more)
    return number_option(*names, kind=one.kind, check=one.check, **more)


def number_option(*names: str, kind: type, check: Check | None, **more: Any) -> Decorator:
    """Return an option whose value goes through a check, which names it as it was typed."""

    def of_text(_: click.Context, option: click.Parameter, value: Any) -> Any:
        return value if value is None or check is None else checked(option.opts[-1], value, check)

    return click.option(*names, type=kind, callback=of_text, **more)


def measure_option(what: str, default: str) -> Decorator:
    """Return the option that names measures."""
    return click.option(
        "-m",
        "--measure",
        "names",
        multiple=True,
        metavar="MEASURE",
        help=f"{what}, as in -m nDCG@10 -m AP. May be repeated.  [default: {default}]",
    )


def rel_option(what: str = "for measures that state none", default: int | None = None) -> Decorator:
    """Return the option that says from which grade a document is relevant."""
    return number_option(
        "-l",
        "--rel",
        kind=int,
        check=whole(0),
        default=default,
        show_default=default is not None,
        help=f"The lowest grade that counts as relevant, {what}.",
    )


per_query_option = click.option("-q", "--per-query", is_flag=True, help="Show every query, too.")


def measures_of(names: Sequence[str], default: str, rel: int | None) -> list[Measure]:
    """Return the measures that were named with -m, or those of the default."""
    return [one for name in names or (default,) for one in parse_all(name, rel)]


def refuse_options(names: Collection[str], reason: str) -> None:
    """Raise OptionError if one of these options was typed: it would have no effect."""
    context = click.get_current_context()
    for one in context.command.params:
        name = str(one.name)
        typed = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if typed and name in names:
            raise OptionError(f"{one.opts[-1]} {reason}")
