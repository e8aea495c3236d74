"""Habits: options that people type out of habit or by guess, and what to type here."""

import shlex
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from cranfield.formats.url import without_secrets


@dataclass(frozen=True)
class Habit:
    """Options that people type, separated by blanks, and the answer to them.

    The answer is given by commands that have the option `needed_option`, if there is one, and only
    by `commands`, if there are some. In it, {value} is the whole number behind the option, else N.
    `replacement` is what stands in place of the option here.
    """

    options: str
    answer: str
    needed_option: str | None = None
    commands: str = ""
    replacement: str | None = None


def _habit_of_option(options: str, own_option: str) -> Habit:
    """Return the habit of options in place of which there is one of another name here."""
    return Habit(options, f"Did you mean '{own_option}'?", own_option)


_TWO_RUNS_ANSWER = (
    "`cranfield explain` with the same files, two of them runs, lists the queries that got worse "
    "or better, the worst first; so does --changes N here."
)
_WORST_OPTIONS = "-q --per-query --sort --sort-by --worst --bottom --changes"
_EXCLUDING_ANSWER = (
    "`cranfield convert RUN NEW_RUN --run --without FILE` writes a run without the documents of a "
    "file, such as what users have seen already"
)
_EXCLUDING_OPTIONS = (
    "--exclude --drop --without --remove --filter --skip --ignore --seen --train --exclude-seen "
    "--drop-seen --filter-seen --remove-seen --excluded-ids --ignore-identical-ids"
)

# The first that fits is answered.
HABITS = (
    Habit(
        "--convention",
        "Save the scores first: cranfield evaluate QRELS RUN... --convention NAME -q -o "
        "scores.json; then --saved scores.json.",
        "--saved",
    ),
    Habit(
        "--queries",
        "Systems are compared over the same queries: --missing drop leaves out those that one of "
        "them has not answered.",
        "--missing",
    ),
    _habit_of_option("-q", "--query"),
    _habit_of_option("--rows", "--limit"),
    _habit_of_option("--columns", "--layout"),
    _habit_of_option("--min --minimum --threshold --atleast", "--at-least"),
    _habit_of_option("--doc-map", "--map-docs"),
    _habit_of_option("--collapse", "--map-docs-keep"),
    Habit(
        _WORST_OPTIONS,
        "`cranfield explain` with the same files lists the queries of one run, the worst first, or "
        "of two runs those that changed; -q shows all queries here.",
        commands="evaluate",
    ),
    Habit(_WORST_OPTIONS, _TWO_RUNS_ANSWER, commands="compare gate"),
    Habit(
        "-c",
        "Leave it out: all queries of the judgments are averaged here, as by trec_eval -c.",
        "--judged-only",
        replacement="",
    ),
    Habit("-J", "Type --judged-only.", "--judged-only", replacement="--judged-only"),
    Habit("-M", "Type --depth {value}.", "--depth", replacement="--depth"),
    Habit("-n -N -R -T -Z -D", "`cranfield trec-eval` takes this option.", "--judged-only"),
    Habit(
        _EXCLUDING_OPTIONS,
        f"{_EXCLUDING_ANSWER}; --identical-ids drop leaves out those whose id is the query's.",
        "--identical-ids",
    ),
    Habit(_EXCLUDING_OPTIONS, f"{_EXCLUDING_ANSWER}.", "--depth"),
)


def answer_option(
    option: str, command: str | None, known_options: Collection[str], words: Sequence[str]
) -> str | None:
    """Return the answer to an option that a command with `known_options` lacks, None without one.

    `words` are those typed behind the command.
    """
    for habit in HABITS:
        is_meant = option in habit.options.split()
        has_option = habit.needed_option is None or habit.needed_option in known_options
        if is_meant and has_option and command in (habit.commands.split() or [command]):
            return habit.answer.format(value=_find_value(option, words))
    return None


def _find_value(option: str, words: Sequence[str]) -> str:
    """Return the whole number that is typed behind an option, as -M 10 or -M10, else N."""
    for word, next_word in zip(words, [*words[1:], ""], strict=True):
        value = next_word if word == option else word.removeprefix(option).lstrip("=")
        if word.startswith(option) and value.isdecimal():
            return value
    return "N"


def answer_without_command(
    words: Sequence[str], commands: Iterable[str], known_options: Collection[str]
) -> str | None:
    """Return what to type for words that begin with no command, but with an option or a file.

    None where neither a command nor two files are among them, or the option is not known, as
    `known_options` of evaluate and the habits are.
    """
    replacements = {
        option: habit.replacement
        for habit in HABITS
        if habit.replacement is not None
        for option in habit.options.split()
    }
    command = next((word for word in words if word in commands), None)
    if command is not None:
        rest = [word for word in words if word != command]
        return f"The command comes first: `{_join_words(['cranfield', command, *rest])}`."
    n_files = sum(not word.startswith("-") for word in words)
    option = words[0].partition("=")[0]
    if n_files < 2 or option.startswith("-") and option not in {*known_options, *replacements}:
        return None
    own_words = [word for word in (replacements.get(word, word) for word in words) if word]
    evaluate_line = _join_words(["cranfield", "evaluate", *own_words])
    return (
        f"Type a command first: `{evaluate_line}`, or, to have what trec_eval prints, "
        f"`{_join_words(['cranfield', 'trec-eval', *words])}`."
    )


def _join_words(words: Iterable[str]) -> str:
    """Return words as a shell takes them, addresses without their secrets."""
    return shlex.join(map(without_secrets, words))
