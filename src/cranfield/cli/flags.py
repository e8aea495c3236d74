"""Flags: a command's parameter has as its default what declares the option to click.

    @flags.command("check")
    def command(qrels: str = flags.argument(), form: Format = format_option) -> None: ...

Such a default takes the parameter's name and returns click's decorator. Options that belong
together, as the options of a family, are one parameter.
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
from cranfield.options import Check, Option, Options, level_check, list_options
from cranfield.options import check_option as checked_value

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
# The groups of options in help, in this order; before the last come the headings of extensions.
GROUPS = ("Options", "Files", "Ranking", "Statistics", "Output")
_TYPED_KEY = "cranfield.typed"
_MAX_CHOICES_WIDTH = 50  # characters of the choices that are shown beside an option's name
_SHORT_HELP = re.compile(r"-\w*h")  # -h, or with other letters as in -qh
# The options of other groups than the first that the short help shows, too.
_USUAL_OPTIONS = (
    "--format",
    "--output",
    "--per-query",
    "--saved",
    "--ties",
    "--queries",
    "--all-pairs",
)
_METAVARS = {int: "N", float: "X", str: "TEXT"}
_FIRST_SENTENCE = re.compile(
    r".*?(?<!\.)[.?](?= |$)", re.S
)  # the first sentence; dots of RUN... end none


def complete_files(_: click.Context, __: click.Parameter, prefix: str) -> "list[CompletionItem]":
    """Return the item that has the shell complete the name of a file."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(prefix, type="file")]


def complete_measures(_: click.Context, __: click.Parameter, prefix: str) -> "list[CompletionItem]":
    """Return the measures whose names begin with a prefix, in small letters or not."""
    from click.shell_completion import CompletionItem

    return [
        CompletionItem(definition.name, help=definition.summary)
        for definition in definitions()
        if definition.name.casefold().startswith(prefix.casefold())
    ]


class GroupedOption(click.Option):
    """An option that `--help` lists under the name of its group."""

    def __init__(self, *declarations: Any, group: str = "Options", **click_settings: Any) -> None:
        if (
            "metavar" not in click_settings
            and click_settings.get("type") in _METAVARS
            and not click_settings.get("is_flag")
        ):
            click_settings["metavar"] = _METAVARS[click_settings["type"]]
        if click_settings.get("metavar") == "MEASURE":
            click_settings["shell_complete"] = complete_measures
        elif str(click_settings.get("metavar")).startswith("FILE"):
            click_settings["shell_complete"] = complete_files
        super().__init__(*declarations, **click_settings)
        self.group = group

    def is_usual(self) -> bool:
        """Tell whether the short help shows this option."""
        return self.group == "Options" or not {*_USUAL_OPTIONS}.isdisjoint(self.opts)


class Command(click.Command):
    """A command whose `--help` lists the options by groups; `-h` shows the usual ones, in short."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the arguments for `typed_command`; refuse an option that occurs twice."""
        ctx.meta[_TYPED_KEY] = list(args)
        remaining_args = super().parse_args(ctx, args)
        _, _, order = self.make_parser(ctx).parse_args(list(ctx.meta[_TYPED_KEY]))
        for parameter, n in Counter(order).items():
            if (
                n > 1
                and isinstance(parameter, click.Option)
                and not (parameter.multiple or parameter.is_flag)
            ):
                raise OptionError(f"{parameter.opts[-1]} is given {n} times, and takes one value")
        return remaining_args

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the docstring; for the short help, its first paragraph and the examples."""
        if not _is_short(ctx):
            return super().format_help_text(ctx, formatter)
        first_paragraph, *other_paragraphs = (
            inspect.cleandoc(self.help or "").partition("\f")[0].split("\n\n")
        )
        examples = [paragraph for paragraph in other_paragraphs if paragraph.startswith("\b")]
        for paragraph in (first_paragraph, *examples):
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(paragraph)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, group after group."""
        short = _is_short(ctx)
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        headings = [getattr(option, "group", "Options") for option in options]
        for group in dict.fromkeys([*GROUPS[:-1], *sorted({*headings} - {*GROUPS}), GROUPS[-1]]):
            group_options = [
                option
                for option, heading in zip(options, headings, strict=True)
                if heading == group
            ]
            if short:
                group_options = [
                    group_option
                    for group_option in group_options
                    if not isinstance(group_option, GroupedOption) or group_option.is_usual()
                ]
            records = [
                record
                for group_option in group_options
                if (record := group_option.get_help_record(ctx)) is not None
            ]
            if short:
                records = [(option_names, _shorten(sentence)) for option_names, sentence in records]
            if records:
                with formatter.section(group):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write, in the short help, which command shows all options."""
        if _is_short(ctx):
            formatter.write_paragraph()
            formatter.write_text(f"All options: {ctx.command_path} --help")


def _is_short(ctx: click.Context) -> bool:
    """Tell whether help was asked for by -h."""
    typed_args = ctx.meta.get(_TYPED_KEY, ())
    return "--help" not in typed_args and any(
        _SHORT_HELP.fullmatch(typed_arg) for typed_arg in typed_args
    )


def _shorten(sentence: str) -> str:
    """Return the first sentence of an option's help, with the default."""
    first_sentence = _FIRST_SENTENCE.match(sentence)
    default = re.search(r"  \[default: [^\]]{1,20}\]$", sentence)
    if first_sentence is None:
        return sentence
    return first_sentence[0] + (default[0] if default else "")


def command(
    name: str,
    group: click.Group | None = None,
    cls: type[click.Command] = Command,
    **click_settings: Any,
) -> Callable[[Callable[..., None]], click.Command]:
    """Return a decorator that makes a function a command, and adds it to a group, if any."""

    def make_command(function: Callable[..., None]) -> click.Command:
        wrapper: Callable[..., Any] = function
        for parameter in [*inspect.signature(function).parameters.values()][::-1]:
            declaration: Callable[[str], Decorator] = parameter.default
            wrapper = declaration(parameter.name)(wrapper)
        new_command = click.command(name, cls, **click_settings)(wrapper)
        new_command.help = new_command.help or NO_DOCSTRINGS
        if group is not None:
            group.add_command(new_command)
        return new_command

    return make_command


def argument(**click_settings: Any) -> Any:
    """Declare an argument: the name of a file, unless `shell_complete` says otherwise."""
    return lambda name: click.argument(name, **{"shell_complete": complete_files, **click_settings})


def option(*names: str, group: str = "Options", **click_settings: Any) -> Any:
    """Declare an option of a group; without names, it has the name of the parameter."""
    choices = (
        click_settings["type"].choices
        if isinstance(click_settings.get("type"), click.Choice)
        else ()
    )
    if len("|".join(choices)) > _MAX_CHOICES_WIDTH:
        click_settings = {
            "metavar": "NAME",
            **click_settings,
            "help": f"{click_settings['help']} One of {', '.join(choices)}.",
        }

    def declare(name: str) -> Decorator:
        option_names = names or (f"--{name.replace('_', '-')}",)
        return click.option(*option_names, name, cls=GroupedOption, group=group, **click_settings)

    return declare


def _number_reader(kind: type[int] | type[float]) -> Callable[[str], int | float | str]:
    """Return a function that reads a number, and leaves other text to be refused by a check."""

    def read_number(text: str) -> int | float | str:
        try:
            return kind(text)
        except ValueError:
            return text

    return read_number


def checked_option(check: Check, *names: str, **click_settings: Any) -> Any:
    """Declare an option whose value a check reads; an error names the option as it was typed."""
    if click_settings.get("type") in (int, float):
        click_settings = {
            "metavar": _METAVARS[click_settings["type"]],
            **click_settings,
            "type": _number_reader(click_settings["type"]),
        }

    def check_value(_: click.Context, parameter: click.Parameter, value: Any) -> Any:
        for single_value in (
            value if parameter.multiple else ()
        ):  # an error shows the wrong value alone
            checked_value(str(parameter.name), single_value, check)
        return value if value is None else checked_value(str(parameter.name), value, check)

    return option(*names, callback=check_value, **click_settings)


def combined_options(make_parameter: Callable[..., Any], declarations: Mapping[str, Any]) -> Any:
    """Declare one parameter that several options make: make_parameter(**{name: value})."""

    def declare(name: str) -> Decorator:
        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(function)
            def call_with_group(*args: Any, **arguments: Any) -> Any:
                group_arguments = {
                    parameter_name: arguments.pop(parameter_name) for parameter_name in declarations
                }
                return function(*args, **{name: make_parameter(**group_arguments)}, **arguments)

            wrapper: Callable[..., Any] = call_with_group
            for parameter_name, declaration in [*declarations.items()][::-1]:
                wrapper = declaration(parameter_name)(wrapper)
            return wrapper

        return decorate

    return declare


def family_options(
    family_type: type[Options],
    *,
    without: Collection[str] = (),
    group: str = "Options",
    **click_settings: dict[str, Any],
) -> Any:
    """Declare one parameter: a family of options, which are a group of `--help`.

    Options in `without` are left out. `click_settings` has, for an option's name, what click needs
    beside the family's declaration: `help`, `metavar`, or `names`, as in
    `rel={"names": ("-l", "--rel")}`.
    """
    return combined_options(
        family_type, _declare_family(family_type, without, group, click_settings)
    )


def added_options(verb: str, *, ways: bool = False) -> Any:
    """Declare one parameter: the families of options that extensions add to a verb.

    `ways`: the families that, when an option is given, take the place of what the command does.
    """
    family_types = load_ways(verb) if ways else load_families(verb)
    declarations = {
        name: declare
        for family_type in family_types
        for name, declare in _declare_family(family_type).items()
    }
    return combined_options(
        lambda **values: [family_type.of(values) for family_type in family_types], declarations
    )


def _declare_family(
    kind: type[Options],
    without: Collection[str] = (),
    group: str = "Options",
    more: Mapping[str, Mapping[str, Any]] = {},
) -> dict[str, Any]:
    """Return {name: declaration} of the options of a family, under its heading if it has one."""
    return {
        option.name: _declare_option(
            option,
            **{
                "group": kind.heading or group,
                **kind.flags.get(option.name, {}),
                **more.get(option.name, {}),
            },
        )
        for option in list_options(kind)
        if option.name not in without
    }


def option_names(families: Iterable[Options]) -> set[str]:
    """Return the names of all options of the families."""
    return {option.name for family in families for option in list_options(type(family))}


def _declare_option(family_option: Option, names: Sequence[str] = (), **click_settings: Any) -> Any:
    """Declare an option of a family, checked as the functions check it."""
    click_settings = {
        "help": family_option.sentence,
        "default": family_option.default,
        **click_settings,
    }
    if family_option.kind is bool:
        return option(*names, is_flag=True, **click_settings)
    click_type = (
        click.Choice(family_option.choices) if family_option.choices else family_option.kind
    )
    click_settings = {
        "type": click_type,
        "show_default": click_settings["default"] is not None,
        **click_settings,
    }
    return (
        option(*names, **click_settings)
        if family_option.check is None
        else checked_option(family_option.check, *names, **click_settings)
    )


def measure_option(purpose: str, default: str) -> Any:
    """Declare the option that names measures."""
    sentence = f"{purpose}, as in -m nDCG@10 -m AP, or -m 'nDCG@5,10 AP'.  [default: {default}]"
    return option("-m", "--measure", multiple=True, metavar="MEASURE", help=sentence)


def rel_option(purpose: str = "for measures that state none", default: float | None = None) -> Any:
    """Declare the option that says from which grade a document is relevant."""
    return checked_option(
        level_check(),
        "-l",
        "--rel",
        type=float,
        default=default,
        show_default=default is not None,
        help=f"The lowest grade that counts as relevant, {purpose}.",
    )


def slices_option(purpose: str) -> Any:
    """Declare the option that names a file of labels of queries."""
    sentence = f"Labels of queries (a column of query ids, one or more of labels): {purpose}."
    return option(metavar="FILE", help=sentence)


def per_query_option(sentence: str = "Show every query, too.") -> Any:
    """Declare the option that shows every query."""
    return option("-q", "--per-query", group="Output", is_flag=True, help=sentence)


def parse_measures(names: Sequence[str], default: str, rel: float | None) -> list[Measure]:
    """Return the measures of -m, or of the default."""
    return [measure for name in names or (default,) for measure in parse_all(name, rel)]


def typed_command() -> str:
    """Return the command line as a shell takes it, with addresses without their secrets."""
    context = click.get_current_context()
    command = ["cranfield", *context.command_path.split()[1:]]  # however the program was called
    return shlex.join([*command, *map(without_secrets, context.meta[_TYPED_KEY])])


def typed_options(command: click.Command) -> list[str]:
    """Return the arguments of options that were typed and that another command has, too.

    The measures and the options of the output are left out.
    """
    context = click.get_current_context()
    value_of_parameter, *_ = context.command.make_parser(context).parse_args(
        list(context.meta[_TYPED_KEY])
    )
    shared_names = {
        parameter.name
        for parameter in command.params
        if getattr(parameter, "group", "Output") != "Output"
    }
    shared_names -= {
        "names",
        "query",
        "query_texts",
        "doc_texts",
        "limit",
    }  # gate's limit is another
    typed_parts: list[str] = []
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        if not isinstance(parameter, click.Option) or source is not ParameterSource.COMMANDLINE:
            continue
        if parameter.name not in shared_names:
            continue
        value = value_of_parameter[parameter.name]
        for text in value if parameter.multiple else [value]:
            typed_parts += (
                [parameter.opts[-1]]
                if parameter.is_flag
                else [parameter.opts[-1], without_secrets(str(text))]
            )
    return typed_parts


def refuse_options(names: Collection[str], reason: str) -> None:
    """Raise OptionError if an option of these names was typed, as it would have no effect."""
    context = click.get_current_context()
    for parameter in context.command.params:
        name = str(parameter.name)
        is_typed = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if is_typed and name in names:
            raise OptionError(f"{parameter.opts[-1]} {reason}")
