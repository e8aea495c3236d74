"""Habits: what people type by habit or by guess, and what to type here."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise

from cranfield.errors import CranfieldError

_WORST_OPTIONS = "-q --per-query --sort --sort-by --worst --bottom --changes"
_TREC_EVAL_OPTIONS = "-n -N -R -T -Z -D"
_FLAG_LETTERS = "qcnJ"  # of trec_eval: letters without a value, written together, as in -qc
# Options that people type, the option here by which a command answers, and what it answers: that
# the option here is meant, where the answer is empty. The first that fits is taken.
HABITS = (
    ("-q", "--query", ""),
    ("--rows", "--limit", ""),
    ("--columns", "--layout", ""),
    ("--min --minimum --threshold --atleast", "--at-least", ""),
    ("--doc-map", "--map-docs", ""),
    ("--collapse", "--map-docs-keep", ""),
    ("-J --Judged_docs_only", "--judged-only", ""),
    ("-M --Max_retrieved_per_topic", "--depth", ""),
    ("--exclude --drop --remove --filter --seen --train --exclude-seen", "--without", ""),
    (
        "-c --complete_rel_info_wanted",
        "--judged-only",
        "Leave it out: all queries of the judgments are averaged here, as by trec_eval -c.",
    ),
    (_TREC_EVAL_OPTIONS, "--judged-only", "`cranfield trec-eval` takes it."),
    (
        "--convention",
        "--saved",
        "Save the scores first: cranfield evaluate QRELS RUN... --convention NAME -q -o "
        "scores.json; then --saved scores.json.",
    ),
    (
        "--queries",
        "--missing",
        "Systems are compared over the same queries: --missing drop leaves out those that one of "
        "them has not answered.",
    ),
    (
        _WORST_OPTIONS,
        "--changes",
        "`cranfield explain` with the same files, two of them runs, lists the queries that got "
        "worse or better, the worst first; so does --changes N here.",
    ),
    (
        _WORST_OPTIONS,
        "--per-query",
        "`cranfield explain` with the same files lists the queries of one run, the worst first, or "
        "of two runs those that changed; -q shows all queries here.",
    ),
)


def answer_option(option: str, own_options: Collection[str]) -> str | None:
    """Return the answer to an option that a command with `own_options` lacks, None without."""
    for options, own_option, answer in HABITS:
        if option in options.split() and own_option in own_options:
            return answer or f"Did you mean '{own_option}'?"
    return None


def answer_words(
    words: Sequence[str], commands: Collection[str], evaluate_options: Collection[str]
) -> str:
    """Return what to type for words that begin with no command; "" where that is not known."""
    import shlex

    from cranfield.formats.url import without_secrets

    rest = [without_secrets(word) for word in words]
    has_measures = all(is_measure(name) for option, name in pairwise(words) if option == "-m")
    translated_words = [*_translate_letters(rest)]
    words_of_command = {
        "evaluate": (translated_words, {*evaluate_options} if has_measures else set[str]()),
        "trec-eval": (rest, {*evaluate_options, "-c", "-J", "-M", *_TREC_EVAL_OPTIONS.split()}),
    }
    lines = [
        [word, *(other for other in rest if other != word)] for word in rest if word in commands
    ]
    for command, (command_words, command_options) in words_of_command.items():
        options = {
            option for word in command_words if word[:1] == "-" for option in _list_options(word)
        }
        # Not -o, which may name a file of theirs.
        lines += [[command, *command_words]] if options <= command_options - {"-o"} else []
    return f"A command comes first: `{shlex.join(['cranfield', *lines[0]])}`." if lines else ""


def _translate_letters(words: Iterable[str]) -> Iterator[str]:
    """Yield words with `evaluate`'s options in the place of trec_eval's; -c says what it does."""
    for word in words:
        option, value = word[:2], word[2:]
        if option == "-M":
            yield from ["--depth", *filter(None, [value])]
        elif option in ("-c", "-J"):
            yield from ["--judged-only"] * (option == "-J")
            yield from [f"-{value}"] if value else []
        else:
            yield word


def _list_options(word: str) -> list[str]:
    """Return the options of a word: -q and -c of -qc, -M of -M10."""
    if word.startswith("--"):
        return [word]
    n_flags = len(word) - 1 - len(word[1:].lstrip(_FLAG_LETTERS))
    return [f"-{letter}" for letter in word[1 : n_flags + 2]] or [word]


def is_measure(name: str) -> bool:
    """Tell whether a text is the name of a measure, here or in other tools."""
    from cranfield.measures import parse_all

    try:
        return bool(parse_all(name))
    except CranfieldError:
        return False
