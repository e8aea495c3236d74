"""The parameters of commands: what click must know about each is its default in the signature.

    @flags.command("check")
    def command(qrels: str = flags.argument(), form: Format = format_option) -> None: ...

Such a default takes the parameter's name and returns click's decorator. Options that belong
together, as those of a family, are one parameter.
"""

import functools
import inspect
import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from cranfield.errors import NO_DOCSTRINGS, OptionError
from cranfield.extensions import load_families, load_ways
from cranfield.formats.url import without_secrets
from cranfield.measures import Measure, definitions, parse_all
from cranfield.options import Check, Option, Options, level, options_of
from cranfield.options import checked as checked_value

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
# The groups of options in help, in this order; before the last come the headings of extensions.
GROUPS = ("Options", "Files", "Ranking", "Statistics", "Output")
_TYPED = "cranfield.typed"
_LONGEST = 50  # characters of the choices that are shown beside an option's name
_SHORT = re.compile(r"-\w*h")  # -h, or with other letters as in -qh
# The options of other groups than the first that the short help shows, too.
_USUAL = ("--format", "--output", "--per-query", "--saved", "--ties", "--queries", "--all-pairs")
_METAVARS = {int: "N", float: "X", str: "TEXT"}
_FIRST = re.compile(r".*?(?<!\.)[.?](?= |$)", re.S)  # the first sentence; dots of RUN... end none


def complete_files(_: click.Context, __: click.Parameter, typed: str) -> "list[CompletionItem]":
    """Leave it to the shell to complete the name of a file."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(typed, type="file")]


def complete_measures(_: click.Context, __: click.Parameter, typed: str) -> "list[CompletionItem]":
    """Return the measures whose names begin with what was typed, in small letters or not."""
    from click.shell_completion import CompletionItem

    return [
        CompletionItem(one.name, help=one.summary)
        for one in definitions()
        if one.name.casefold().startswith(typed.casefold())
    ]


class GroupedOption(click.Option):
    """An option that `--help` lists under the name of its group."""

    def __init__(self, *declared: Any, group: str = "Options", **how: Any) -> None:
        if "metavar" not in how and how.get("type") in _METAVARS and not how.get("is_flag"):
            how["metavar"] = _METAVARS[how["type"]]
        if how.get("metavar") == "MEASURE":
            how["shell_complete"] = complete_measures
        elif str(how.get("metavar")).startswith("FILE"):
            how["shell_complete"] = complete_files
        super().__init__(*declared, **how)
        self.group = group

    def is_usual(self) -> bool:
        """Tell whether the short help shows it."""
        return self.group == "Options" or not {*_USUAL}.isdisjoint(self.opts)


class Command(click.Command):
    """A command whose `--help` lists the options by groups; `-h` shows the usual ones, in short."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep what was typed, for `typed`; refuse an option twice that has one value."""
        ctx.meta[_TYPED] = list(args)
        rest = super().parse_args(ctx, args)
        _, _, order = self.make_parser(ctx).parse_args(list(ctx.meta[_TYPED]))
        for one, n in Counter(order).items():
            if n > 1 and isinstance(one, click.Option) and not (one.multiple or one.is_flag):
                raise OptionError(f"{one.opts[-1]} is given {n} times, and takes one value")
        return rest

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the command does: in short, the first paragraph and the examples."""
        if not _is_short(ctx):
            return super().format_help_text(ctx, formatter)
        first, *others = inspect.cleandoc(self.help or "").partition("\f")[0].split("\n\n")
        examples = [one for one in others if one.startswith("\b")]
        for paragraph in (first, *examples):
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(paragraph)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, group after group."""
        short = _is_short(ctx)
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        headings = [getattr(option, "group", "Options") for option in options]
        for group in dict.fromkeys([*GROUPS[:-1], *sorted({*headings} - {*GROUPS}), GROUPS[-1]]):
            own = [
                option
                for option, heading in zip(options, headings, strict=True)
                if heading == group
            ]
            if short:
                own = [one for one in own if not isinstance(one, GroupedOption) or one.is_usual()]
            records = [found for one in own if (found := one.get_help_record(ctx)) is not None]
            if short:
                records = [(names, _in_short(sentence)) for names, sentence in records]
            if records:
                with formatter.section(group):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write, in short, where the rest is."""
        if _is_short(ctx):
            formatter.write_paragraph()
            formatter.write_text(f"All options: {ctx.command_path} --help")


def _is_short(ctx: click.Context) -> bool:
    """Tell whether help was asked for by -h."""
    typed = ctx.meta.get(_TYPED, ())
    return "--help" not in typed and any(_SHORT.fullmatch(one) for one in typed)


def _in_short(sentence: str) -> str:
    """Return the first of some sentences, with the default."""
    first = _FIRST.match(sentence)
    default = re.search(r"  \[default: [^\]]{1,20}\]$", sentence)
    if first is None:
        return sentence
    return first[0] + (default[0] if default else "")


def command(
    name: str, group: click.Group | None = None, cls: type[click.Command] = Command, **how: Any
) -> Callable[[Callable[..., None]], click.Command]:
    """Make a function a command, of a group or alone, with the parameters of its signature."""

    def give(function: Callable[..., None]) -> click.Command:
        made: Callable[..., Any] = function
        for one in [*inspect.signature(function).parameters.values()][::-1]:
            declared: Callable[[str], Decorator] = one.default
            made = declared(one.name)(made)
        found = click.command(name, cls, **how)(made)
        found.help = found.help or NO_DOCSTRINGS
        if group is not None:
            group.add_command(found)
        return found

    return give


def argument(**how: Any) -> Any:
    """Declare an argument: the name of a file, if nothing else is told of how to complete it."""
    return lambda name: click.argument(name, **{"shell_complete": complete_files, **how})


def option(*names: str, group: str = "Options", **how: Any) -> Any:
    """Declare an option of a group; without names it is called as the parameter is."""
    choices = how["type"].choices if isinstance(how.get("type"), click.Choice) else ()
    if len("|".join(choices)) > _LONGEST:
        how = {"metavar": "NAME", **how, "help": f"{how['help']} One of {', '.join(choices)}."}

    def declared(name: str) -> Decorator:
        called = names or (f"--{name.replace('_', '-')}",)
        return click.option(*called, name, cls=GroupedOption, group=group, **how)

    return declared


def _number(kind: type[int] | type[float]) -> Callable[[str], int | float | str]:
    """Return what reads a number, and leaves other text as it is, which a check then refuses."""

    def read(text: str) -> int | float | str:
        try:
            return kind(text)
        except ValueError:
            return text

    return read


def checked(check: Check, *names: str, **how: Any) -> Any:
    """Declare an option whose value goes through a check; an error names it as it was typed."""
    if how.get("type") in (int, float):
        how = {"metavar": _METAVARS[how["type"]], **how, "type": _number(how["type"])}

    def of_text(_: click.Context, given: click.Parameter, value: Any) -> Any:
        for one in value if given.multiple else ():  # an error shows the one that is wrong
            checked_value(str(given.name), one, check)
        return value if value is None else checked_value(str(given.name), value, check)

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


def family(
    kind: type[Options],
    *,
    without: Collection[str] = (),
    group: str = "Options",
    **more: dict[str, Any],
) -> Any:
    """Declare one parameter, a value of a family of options, which are a group of `--help`.

    Those in `without` are left out. `more` has what click is told of an option beside what its
    family says: `help`, `metavar`, or `names`, as in `rel={"names": ("-l", "--rel")}`.
    """
    return gathered(kind, _declare(kind, without, group, more))


def families(verb: str, *, ways: bool = False) -> Any:
    """Declare one parameter, the families of options that extensions add to a verb.

    `ways`: those which, when given, take the place of what the command does.
    """
    kinds = load_ways(verb) if ways else load_families(verb)
    declared = {name: declare for kind in kinds for name, declare in _declare(kind).items()}
    return gathered(lambda **values: [kind.of(values) for kind in kinds], declared)


def _declare(
    kind: type[Options],
    without: Collection[str] = (),
    group: str = "Options",
    more: Mapping[str, Mapping[str, Any]] = {},
) -> dict[str, Any]:
    """Return {name: declaration} of the options of a family, under its heading if it has one."""
    return {
        option.name: _one_of(
            option,
            **{
                "group": kind.heading or group,
                **kind.flags.get(option.name, {}),
                **more.get(option.name, {}),
            },
        )
        for option in options_of(kind)
        if option.name not in without
    }


def names_of(families: Iterable[Options]) -> set[str]:
    """Return the names of the options of some families."""
    return {option.name for family in families for option in options_of(type(family))}


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


def rel(what: str = "for measures that state none", default: float | None = None) -> Any:
    """Declare the option that says from which grade a document is relevant."""
    return checked(
        level(),
        "-l",
        "--rel",
        type=float,
        default=default,
        show_default=default is not None,
        help=f"The lowest grade that counts as relevant, {what}.",
    )


def slices(what: str) -> Any:
    """Declare the option that names a file of labels of queries."""
    sentence = f"Labels of queries (a column of query ids, one or more of labels): {what}."
    return option(metavar="FILE", help=sentence)


def per_query(sentence: str = "Show every query, too.") -> Any:
    """Declare the option that shows every query."""
    return option("-q", "--per-query", group="Output", is_flag=True, help=sentence)


def measures_of(names: Sequence[str], default: str, rel: float | None) -> list[Measure]:
    """Return the measures that were named with -m, or those of the default."""
    return [one for name in names or (default,) for one in parse_all(name, rel)]


def typed() -> str:
    """Return the command as it was typed, as a shell takes it; addresses without their secrets."""
    context = click.get_current_context()
    command = ["cranfield", *context.command_path.split()[1:]]  # however the program was called
    return shlex.join([*command, *map(without_secrets, context.meta[_TYPED])])


def typed_for(command: click.Command) -> list[str]:
    """Return the options that were typed and that another command has, too, as a shell has them.

    The measures and the options of the output are left out.
    """
    context = click.get_current_context()
    values, *_ = context.command.make_parser(context).parse_args(list(context.meta[_TYPED]))
    known = {one.name for one in command.params if getattr(one, "group", "Output") != "Output"}
    known -= {"names", "query", "query_texts", "doc_texts", "limit"}  # gate's limit is another
    found: list[str] = []
    for one in context.command.params:
        source = context.get_parameter_source(str(one.name))
        if not isinstance(one, click.Option) or source is not ParameterSource.COMMANDLINE:
            continue
        if one.name not in known:
            continue
        value = values[one.name]
        for text in value if one.multiple else [value]:
            found += [one.opts[-1]] if one.is_flag else [one.opts[-1], without_secrets(str(text))]
    return found


def refuse_options(names: Collection[str], reason: str) -> None:
    """Raise OptionError if one of these options was typed: it would have no effect."""
    context = click.get_current_context()
    for one in context.command.params:
        name = str(one.name)
        typed = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if typed and name in names:
            raise OptionError(f"{one.opts[-1]} {reason}")
