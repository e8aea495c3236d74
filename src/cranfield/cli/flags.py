"""Options of commands, made from the families of options that the functions take."""

import functools
from collections.abc import Callable, Collection
from typing import Any

import click

from cranfield.options import Check, Option, Options, checked, options_of

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def family_options(
    family: type[Options], name: str, *, without: Collection[str] = (), **more: dict[str, Any]
) -> Decorator:
    """Give a command the options of a family, as one argument `name`: a value of the family.

    Those in `without` are left out. `more` has what click is told of an option beside: `help`,
    `metavar`, or `names`, as in `rel={"names": ("-l", "--rel")}`.
    """
    options = [one for one in options_of(family) if one.name not in without]

    def give(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def with_family(*args: Any, **given: Any) -> Any:
            own = {one.name: given.pop(one.name) for one in options}
            return command(*args, **{name: family(**own)}, **given)

        found: Callable[..., Any] = with_family
        for one in reversed(options):
            found = option_of(one, **more.get(one.name, {}))(found)
        return found

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
