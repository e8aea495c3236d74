"""The parameters of commands: what click is to know of each is its default in the signature.

    @flags.command("check")
    def command(qrels: str = flags.argument(), form: Format = format_option) -> None: ...

Such a default takes the parameter's name and returns click's decorator. Options that belong
together, as those of a family, are one parameter.
"""

import functools
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import click
from click.core import ParameterSource

from cranfield import options
from cranfield.errors import OptionError
from cranfield.measures import Measure, parse_all
from cranfield.options import Check, Option, Options, options_of

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def command(
    name: str,
    group: click.Group | None = None,
    cls: type[click.Command] = click.Command,
    **how: Any,
) -> Callable[[Callable[..., None]], click.Command]:
    """Make a function a command, of a group or alone, with the parameters of its signature."""

    def give(function: Callable[..., None]) -> click.Command:
        made: Callable[..., Any] = function
        for one in [*inspect.signature(function).parameters.values()][::-1]:
            declared: Callable[[str], Decorator] = one.default
            made = declared(one.name)(made)
        found = click.command(name, cls, **how)(made)
        if group is not None:
            group.add_command(found)
        return found

    return give


def argument(**how: Any) -> Any:
    """Declare an argument."""
    return lambda name: click.argument(name, **how)


def option(*names: str, **how: Any) -> Any:
    """Declare an option; without names it is called as the parameter is."""
    return lambda name: click.option(*(names or (f"--{name.replace('_', '-')}",)), name, **how)


def checked(check: Check, *names: str, **how: Any) -> Any:
    """Declare an option whose value goes through a check; an error names it as it was typed."""

    def of_text(_: click.Context, given: click.Parameter, value: Any) -> Any:
        return value if value is None else options.checked(given.opts[-1], value, check)

    return option(*names, callback=of_text, **how)


def gathered(kind: Callable[..., Any], parts: Mapping[str, Any]) -> Any:
    """Declare one parameter that several options make, the parts: kind(**{name: value})."""

    def declared(name: str) -> Decorator:
        def give(function: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(function)
            def with_one(*args: Any, **given: Any) -> Any:
                own = {part: given.pop(part) for part in parts}
                return function(*args, **{name: kind(**own)}, **given)

            made: Callable[..., Any] = with_one
            for part, one in [*parts.items()][::-1]:
                made = one(part)(made)
            return made

        return give

    return declared


def family(kind: type[Options], *, without: Collection[str] = (), **more: dict[str, Any]) -> Any:
    """Declare one parameter, a value of a family of options.

    Those in `without` are left out. `more` has what click is told of an option beside: `help`,
    `metavar`, or `names`, as in `rel={"names": ("-l", "--rel")}`.
    """
    found = [one for one in options_of(kind) if one.name not in without]
    return gathered(kind, {one.name: _one_of(one, **more.get(one.name, {})) for one in found})


def _one_of(one: Option, names: Sequence[str] = (), **more: Any) -> Any:
    """Declare an option of a family, checked as the functions check it."""
    more = {"help": one.sentence, "default": one.default, **more}
    if one.kind is bool:
        return option(*names, is_flag=True, **more)
    kind = click.Choice(one.choices) if one.choices else one.kind
    more = {"type": kind, "show_default": more["default"] is not None, **more}
    return option(*names, **more) if one.check is None else checked(one.check, *names, **more)


def measures(what: str, default: str) -> Any:
    """Declare the option that names measures."""
    sentence = f"{what}, as in -m nDCG@10 -m AP, or -m 'nDCG@5,10 AP'.  [default: {default}]"
    return option("-m", "--measure", multiple=True, metavar="MEASURE", help=sentence)


def rel(what: str = "for measures that state none", default: int | None = None) -> Any:
    """Declare the option that says from which grade a document is relevant."""
    return checked(
        options.whole(0),
        "-l",
        "--rel",
        type=int,
        default=default,
        show_default=default is not None,
        help=f"The lowest grade that counts as relevant, {what}.",
    )


def per_query(sentence: str = "Show every query, too.") -> Any:
    """Declare the option that shows every query."""
    return option("-q", "--per-query", is_flag=True, help=sentence)


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
