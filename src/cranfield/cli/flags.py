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
# The first two are a command's own, of which the short help shows the first.
GROUPS = ("Options", "More", "Files", "Ranking", "Statistics", "Output")
OWN_GROUPS = GROUPS[:2]
_TYPED_KEY = "cranfield.typed"
_MAX_CHOICES_WIDTH = 50  # characters of the choices that are shown beside an option's name
_SHORT_HELP = re.compile(r"-\w*h")  # -h, or with other letters as in -qh
# The options of other groups than the first that the short help shows, too.
_USUAL_OPTIONS = {"--format", "--output", "--per-query", "--saved", "--ties", "--queries"}
_USUAL_OPTIONS |= {"--all-pairs"}
_METAVARS = {int: "N", float: "X", str: "TEXT"}
_FIRST_SENTENCE = re.compile(r".*?(?<!\.)[.?](?= |$)", re.S)  # dots of RUN... end no sentence


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

    def __init__(self, *declarations: Any, group: str = "Options", **attrs: Any) -> None:
        has_type = attrs.get("type") in _METAVARS and not attrs.get("is_flag")
        if has_type and "metavar" not in attrs:
            attrs["metavar"] = _METAVARS[attrs["type"]]
        if attrs.get("metavar") == "MEASURE":
            attrs["shell_complete"] = complete_measures
        elif str(attrs.get("metavar")).startswith("FILE"):
            attrs["shell_complete"] = complete_files
        super().__init__(*declarations, **attrs)
        self.group = group


class Command(click.Command):
    """A command whose `--help` lists the options by groups; `-h` shows the usual ones, in short.

    `--help` has the command's own options in full, and those of groups in short; options, or a
    group, that are named behind it are shown alone, and in full.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the arguments as typed; refuse an option of one value that occurs twice."""
        ctx.meta[_TYPED_KEY] = list(args)
        args = ["--help"] if "--help" in args else args  # what is named behind it has no value
        remaining_args = super().parse_args(ctx, args)
        _, _, order = self.make_parser(ctx).parse_args(list(ctx.meta[_TYPED_KEY]))
        for parameter, n in Counter(order).items():
            if n == 1 or not isinstance(parameter, click.Option):
                continue
            if not (parameter.multiple or parameter.is_flag):
                raise OptionError(f"{parameter.opts[-1]} is given {n} times, and takes one value")
        return remaining_args

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the docstring; for the short help, its first paragraph and the examples."""
        if not _is_short(ctx):
            return (
                None if self._list_named_options(ctx) else super().format_help_text(ctx, formatter)
            )
        text = inspect.cleandoc(self.help or "").partition("\f")[0]
        first_paragraph, *paragraphs = text.split("\n\n")
        examples = [paragraph for paragraph in paragraphs if paragraph.startswith("\b")]
        for paragraph in (first_paragraph, *examples):
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(paragraph)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, group after group; in the short help, the usual ones, shortened."""
        is_short, named_options = _is_short(ctx), self._list_named_options(ctx)
        for group, options in self._group_options(ctx).items():
            lines = [
                option.get_help_record(ctx) or ("", "")
                for option in options
                if (_is_usual(option, group) if is_short else option in (named_options or options))
            ]
            if is_short or not (group in OWN_GROUPS or named_options):
                lines = [_shorten(*line, with_values=is_short) for line in lines]
            if lines:
                with formatter.section(group):
                    formatter.write_dl(lines)

    def _group_options(self, ctx: click.Context) -> dict[str, list[click.Option]]:
        """Return {group: its options that help shows}, the groups in the order of help."""
        options_of_group: dict[str, list[click.Option]] = {}
        for option in self.get_params(ctx):
            if isinstance(option, click.Option) and not option.hidden:
                options_of_group.setdefault(getattr(option, "group", GROUPS[0]), []).append(option)
        order = [*GROUPS[:-1], *sorted(options_of_group.keys() - {*GROUPS}), GROUPS[-1]]
        return {group: options_of_group[group] for group in order if group in options_of_group}

    def _list_named_options(self, ctx: click.Context) -> list[click.Option]:
        """Return the options that are named behind `--help`, or whose groups are."""
        typed_args = ctx.meta.get(_TYPED_KEY, [])
        words = typed_args[typed_args.index("--help") + 1 :] if "--help" in typed_args else []
        return [
            option
            for group, options in self._group_options(ctx).items()
            for option in options
            if {*option.opts, group, group.lower()} & {*words}
        ]

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write which command shows all options, or those in full that are shown in short."""
        groups = [group for group in self._group_options(ctx) if group not in OWN_GROUPS]
        text = f"All options: {ctx.command_path} --help" if _is_short(ctx) else ""
        if not text and groups and not self._list_named_options(ctx):
            text = f"In full: {ctx.command_path} --help {groups[0].lower()}, or an option's name"
        if text:
            formatter.write_paragraph()
            formatter.write_text(text)


def _is_usual(option: click.Option, group: str) -> bool:
    """Tell whether the short help shows an option of a group."""
    return group == GROUPS[0] or not _USUAL_OPTIONS.isdisjoint(option.opts)


def _is_short(ctx: click.Context) -> bool:
    """Tell whether help was asked for by -h."""
    typed_args = ctx.meta.get(_TYPED_KEY, ())
    return "--help" not in typed_args and any(map(_SHORT_HELP.fullmatch, typed_args))


def _shorten(names: str, sentence: str, *, with_values: bool) -> tuple[str, str]:
    """Return an option's names and the first sentence of its help, with choices and default."""
    match = _FIRST_SENTENCE.match(sentence)
    first_sentence = match[0] if match else sentence
    if not with_values:
        return names.partition(" [")[0], first_sentence
    default = re.search(r"  \[default: [^\]]{1,20}\]$", sentence)
    return names, first_sentence + (default[0] if default and match else "")


def command(
    name: str, group: click.Group | None = None, cls: type[click.Command] = Command, **attrs: Any
) -> Callable[[Callable[..., None]], click.Command]:
    """Return a decorator that makes a function a command, and adds it to a group, if any."""

    def make_command(function: Callable[..., None]) -> click.Command:
        wrapper: Callable[..., Any] = function
        for parameter in [*inspect.signature(function).parameters.values()][::-1]:
            declaration: Callable[[str], Decorator] = parameter.default
            wrapper = declaration(parameter.name)(wrapper)
        new_command = click.command(name, cls, **attrs)(wrapper)
        new_command.help = new_command.help or NO_DOCSTRINGS
        if group is not None:
            group.add_command(new_command)
        return new_command

    return make_command


def argument(**attrs: Any) -> Any:
    """Declare an argument: the name of a file, unless `shell_complete` says otherwise."""
    return lambda name: click.argument(name, **{"shell_complete": complete_files, **attrs})


def option(*names: str, group: str = "Options", **attrs: Any) -> Any:
    """Declare an option of a group; without names, it has the name of the parameter."""
    choices = attrs["type"].choices if isinstance(attrs.get("type"), click.Choice) else ()
    if len("|".join(choices)) > _MAX_CHOICES_WIDTH:
        sentence = f"{attrs['help']} One of {', '.join(choices)}."
        attrs = {"metavar": "NAME", **attrs, "help": sentence}

    def declare(name: str) -> Decorator:
        spellings = names or (f"--{name.replace('_', '-')}",)
        return click.option(*spellings, name, cls=GroupedOption, group=group, **attrs)

    return declare


def _number_reader(kind: type[int] | type[float]) -> Callable[[str], int | float | str]:
    """Return a function that reads a number, and leaves other text to be refused by a check."""

    def read_number(text: str) -> int | float | str:
        try:
            return kind(text)
        except ValueError:
            return text

    return read_number


def checked_option(check: Check, *names: str, **attrs: Any) -> Any:
    """Declare an option whose value a check reads; an error names the option as it was typed."""
    if attrs.get("type") in (int, float):
        number_type = attrs["type"]
        attrs = {"metavar": _METAVARS[number_type], **attrs, "type": _number_reader(number_type)}

    def check_value(_: click.Context, parameter: click.Parameter, value: Any) -> Any:
        for part in value if parameter.multiple else ():  # an error shows the wrong part alone
            checked_value(str(parameter.name), part, check)
        return value if value is None else checked_value(str(parameter.name), value, check)

    return option(*names, callback=check_value, **attrs)


def combined_options(make_parameter: Callable[..., Any], declarations: Mapping[str, Any]) -> Any:
    """Declare one parameter that several options make: make_parameter(**{name: value})."""

    def declare(name: str) -> Decorator:
        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(function)
            def call_with_group(*args: Any, **arguments: Any) -> Any:
                group_arguments = {option: arguments.pop(option) for option in declarations}
                return function(*args, **{name: make_parameter(**group_arguments)}, **arguments)

            wrapper: Callable[..., Any] = call_with_group
            for option, declaration in [*declarations.items()][::-1]:
                wrapper = declaration(option)(wrapper)
            return wrapper

        return decorate

    return declare


def family_options(
    family_type: type[Options],
    *,
    without: Collection[str] = (),
    group: str = "Options",
    **attrs: dict[str, Any],
) -> Any:
    """Declare one parameter: a family of options, which are a group of `--help`.

    Options in `without` are left out. `attrs` has, for an option's name, what click takes beside
    or in place of the family's declaration, such as `help`, `metavar`, or `names`, as in
    `rel={"names": ("-l", "--rel")}`.
    """
    return combined_options(family_type, _declare_family(family_type, without, group, attrs))


def added_options(verb: str, *, alternatives: bool = False) -> Any:
    """Declare one parameter: the families of options that extensions add to a verb.

    `alternatives`: the families that, when an option is given, take the command's place.
    """
    family_types = load_ways(verb) if alternatives else load_families(verb)
    declarations: dict[str, Any] = {}
    for family_type in family_types:
        declarations |= _declare_family(family_type)
    return combined_options(
        lambda **options: [kind.of(options) for kind in family_types], declarations
    )


def _declare_family(
    family_type: type[Options],
    without: Collection[str] = (),
    group: str = "Options",
    attrs_of_option: Mapping[str, Mapping[str, Any]] = {},
) -> dict[str, Any]:
    """Return {name: declaration} of the options of a family, under its heading if it has one."""
    declarations: dict[str, Any] = {}
    for option in list_options(family_type):
        if option.name not in without:
            attrs: dict[str, Any] = {"group": family_type.heading or group}
            attrs |= family_type.flags.get(option.name, {})
            attrs |= attrs_of_option.get(option.name, {})
            declarations[option.name] = _declare_option(option, **attrs)
    return declarations


def option_names(families: Iterable[Options]) -> set[str]:
    """Return the names of all options of the families."""
    return {option.name for family in families for option in list_options(type(family))}


def _declare_option(family_option: Option, names: Sequence[str] = (), **attrs: Any) -> Any:
    """Declare an option of a family, checked as the functions check it."""
    attrs = {"help": family_option.sentence, "default": family_option.default, **attrs}
    if family_option.kind is bool:
        return option(*names, is_flag=True, **attrs)
    choices = family_option.choices
    click_type = click.Choice(choices) if choices else family_option.kind
    attrs = {"type": click_type, "show_default": attrs["default"] is not None, **attrs}
    if family_option.check is None:
        return option(*names, **attrs)
    return checked_option(family_option.check, *names, **attrs)


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
    """Return the measures of -m, or of the default; `rel` is for those that state none."""
    return [measure for name in names or (default,) for measure in parse_all(name, rel)]


def typed_command() -> str:
    """Return the command line as a shell takes it, with addresses without their secrets."""
    context = click.get_current_context()
    command = ["cranfield", *context.command_path.split()[1:]]  # however the program was called
    return shlex.join([*command, *map(without_secrets, context.meta[_TYPED_KEY])])


def typed_options(command: click.Command) -> list[str]:
    """Return the arguments of options that were typed and that another command has, too.

    The measures, the query, the texts, --limit and the options of the output are left out.
    """
    context = click.get_current_context()
    parser = context.command.make_parser(context)
    value_of_parameter, *_ = parser.parse_args(list(context.meta[_TYPED_KEY]))
    shared_names = {
        parameter.name
        for parameter in command.params
        if getattr(parameter, "group", "Output") != "Output"
    }
    # The limit of `gate` is another option.
    shared_names -= {"names", "query", "query_texts", "doc_texts", "limit", "baseline"}
    typed_parts: list[str] = []
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        if not isinstance(parameter, click.Option) or source is not ParameterSource.COMMANDLINE:
            continue
        if parameter.name not in shared_names:
            continue
        value = value_of_parameter[parameter.name]
        for text in value if parameter.multiple else [value]:
            typed_parts.append(parameter.opts[-1])
            if not parameter.is_flag:
                typed_parts.append(without_secrets(str(text)))
    return typed_parts


def refuse_options(names: Collection[str], reason: str) -> None:
    """Raise OptionError if an option of these names was typed, as it would have no effect."""
    context = click.get_current_context()
    for parameter in context.command.params:
        name = str(parameter.name)
        is_typed = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if is_typed and name in names:
            raise OptionError(f"{parameter.opts[-1]} {reason}")
