"""Grammar: text to measures.

    nDCG@10   P(rel=2)@5   nDCG(gain='exp2')@20   IPrec@0.1   P@R   nDCG@min(100,R)

`@` gives the cutoff: a number of ranks; `R`, the number of the query's relevant documents; or the
smaller of both. `IPrec` takes a recall point there. `nDCG@5,10` is two measures, `nDCG@1..100` a
hundred: a curve. Blanks, commas and semicolons separate measures.
Names that other tools use are accepted: `map`, `ndcg_cut_10`, `P.5,10` (trec_eval),
`map@100-l2`, `hit_rate@5`, `rbp.95` (ranx), `nDCG(dcg='exp-log2')@10` (ir_measures), `ndcg_at_10`;
and what people type: `ndcg10`, `mean average precision@10`, `recall at 5`. Upper and lower case,
`-` and `_` do not matter, except in `rbp` and `RBP`: the first is trec_eval's, which is
RBP(p=0.9, gain='linear') here.
"""

import ast
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from cranfield.errors import MeasureError
from cranfield.measures.parameters import NUMBER
from cranfield.measures.plan import Measure
from cranfield.measures.registry import (
    EXACT_NAMES,
    FAMILIES,
    USER_DEFINITIONS,
    Definition,
    bare_name,
    definitions,
    find_variant,
)
from cranfield.render.typed_names import TypedName, as_typed

_MAX_LENGTH = 10_000  # characters
_MAX_CUTOFFS = 10_000  # of one range
_RANGE = r"([0-9]{1,9})\.\.([0-9]{1,9})"  # nDCG@1..100
_UNCUT_NAMES = {"P": "SetP", "F": "SetF"}  # what their other names mean without a cutoff
_MAX_NUMBER = 1e15  # of the numbers behind a name
# Compiled when they are used: names of our own need only the first.
_CALL = r"(?s)(?P<name>[^\s()@]+?)\s*(?:\((?P<args>[^@]*)\))?(?:@(?P<at>[^@]+))?"
_ARGUMENTS_AFTER_CUTOFF = r"(?s)(?P<at>[^(]+)(?<!min)(?P<args>\(.*\))"  # of nDCG@10(gain='exp2')
_LEVEL_SUFFIX = r"(?s)(?P<rest>.+)-[lL](?P<rel>[0-9]{1,9})"  # ranx: map@100-l2
_NUMBERS = rf"-?{NUMBER}(?:,-?{NUMBER})*"
_PAIR = rf"(?:[0-9]{{1,15}}|[a-z]+)=-?{NUMBER}"
_PAIRS = rf"{_PAIR}(?:,{_PAIR})*"
# P_5, iprec_at_recall_0.10, set_F_2.0; ndcg_at_10; P.5,10, ndcg.1=3,2=9, set_F.2
_NAME_AND_VALUES = rf"(?P<name>.+?)(?:_(?:at_)?|\.)(?P<values>{_NUMBERS}|{_PAIRS})"
_NAME_AND_CUTOFFS = r"(?P<name>.*[A-Za-z])(?P<values>[0-9]{1,9}(?:,[0-9]{1,9})*)"  # ndcg10, P5,10
_LISTS_OF_CUTOFFS = (r"(?s)[^@]*@(?P<values>.+)", _NAME_AND_VALUES, _NAME_AND_CUTOFFS)
_NAME_AND_DECIMALS = r"(?P<name>[A-Za-z]+)(?P<decimals>\.[0-9]{1,9})"  # rbp.95
# What goes on after a comma: nDCG@5,10; P@5,R; ndcg.1=3,2=9; and not AP,P@10.
_CONTINUATION = rf"-?{NUMBER}|{_PAIR}|{_RANGE}|[Rr]|min\(.*\)"
_MAX_WORDS = 5  # of a name, as in normalized discounted cumulative gain


def parse(text: str, rel: float | None = None, *, glued: bool = True) -> Measure:
    """Return the one measure that the text names; see `parse_all`.

    Args:
        text: the name of one measure, as in "nDCG@10".
        rel: the lowest relevant grade, where the text states none; None: the measure's default.
        glued: whether `ndcg10` is nDCG@10.

    >>> parse("ndcg_cut_10"), parse("map@100-l2"), parse("P_5", rel=2)
    (nDCG@10, AP(rel=2)@100, P(rel=2)@5)

    """
    measures = parse_all(text, rel, glued=glued)
    if len(measures) != 1:
        names = ", ".join(map(str, measures))
        raise MeasureError(f"{text!r} names several measures: {names}; name one of them")
    return measures[0]


def parse_all(text: str, rel: float | None = None, *, glued: bool = True) -> list[Measure]:
    """Return the measures that the text names, separated by blanks, commas or semicolons.

    A comma between cutoffs separates these: `nDCG@5,10`; and one name of trec_eval may stand for
    several measures (`P.5,10`, `ndcg_cut`). `rel` is given to those that know a relevance level
    and state none. `glued`: `ndcg10` is nDCG@10; not so where a string may be something else, as q1
    is a query rather than Q@1. Raises MeasureError for what is not known, with the nearest names,
    or with what it is elsewhere.

    Args:
        text: the name of one measure or several, as in "nDCG@10".
        rel: the lowest relevant grade, where the text states none; None: the measure's default.
        glued: whether `ndcg10` is nDCG@10.

    >>> parse_all("MAP, P.10,5")
    [AP, P@5, P@10]
    >>> parse_all("nDCG@5,10 mean reciprocal rank")
    [nDCG@5, nDCG@10, RR]

    """
    if not isinstance(text, str):
        raise MeasureError(f"expected the text of a measure, such as 'nDCG@10', got {text!r:.80}")
    if len(text) > _MAX_LENGTH:
        raise MeasureError(f"{text[:40]!r}...: measures of {len(text):,} characters")
    text = as_typed(text) if glued else text
    if rel is None:
        return list(_parse_cached(text, glued, tuple(USER_DEFINITIONS.values())))
    return _parse_measures(text, rel, glued)


@lru_cache(maxsize=512)
def _parse_cached(text: str, glued: bool, _: tuple[Definition, ...]) -> tuple[Measure, ...]:
    """Return the measures in a string, parsed once while the user's measures stay the same."""
    return tuple(_parse_measures(text, None, glued))


def _parse_measures(text: str, rel: float | None, glued: bool) -> list[Measure]:
    """Return the measures in a string, each once, with `rel` where it states none."""
    measures = []
    for word in _split_words(text):
        name, bracket, ending = word.partition("(")
        readings = _read_word(name.replace(" ", "_") + bracket + ending, glued)
        for measure, parameters in readings:
            definition, typed_measure = measure.definition, measure.with_parameters(parameters)
            if rel is not None and "rel" in definition.parameters and "rel" not in parameters:
                parameters = {**parameters, "rel": rel}
            complete_measure = measure.with_parameters(parameters)
            if complete_measure == typed_measure:
                complete_measure = _add_typed_name(complete_measure, word, len(readings))
            complete_measure.check_complete()
            measures.append(complete_measure)
    if not measures:
        raise MeasureError("no measure is named; try nDCG@10")
    return list(dict.fromkeys(measures))


def _add_typed_name(measure: Measure, word: str, n_measures: int) -> Measure:
    """Return a measure with its name as typed, the word; of several, the word with its cutoff."""
    if n_measures == 1:
        name = str(measure)
        return replace(measure, typed_name=None if word == name else TypedName(name, word))
    matches = (re.fullmatch(pattern, word) for pattern in _LISTS_OF_CUTOFFS)
    match = next(filter(None, matches), None)
    own_word = f"{word[: match.start('values')]}{measure.cutoff}" if match else ""
    own_measures = _parse_measures(own_word, None, True) if match and measure.cutoff else []
    typed_name = own_measures[0].typed_name if own_measures == [measure] else None
    return replace(measure, typed_name=typed_name)


def _split_words(text: str) -> list[str]:
    """Return a text's words, one for each name, split at blanks, `,`, `;`, not within brackets."""
    has_separators = "," in text or ";" in text or "@ " in text or " @" in text
    if has_separators or " at " in text.lower() or not text.isprintable():  # tabs, line ends
        text = re.sub(r"\s+[aA][tT]\s+(?=[0-9])", "@", text.replace(";", ","))
        text = re.sub(r"\s*([@,])\s*", r"\1", text)
    if not re.search(r"[][(){},]", text):
        return _join_names(text.split())
    words: list[str] = []
    for word in _split_outside_brackets(str.isspace, text):
        n_words = len(words)
        for part in _split_outside_brackets(",".__eq__, word):
            if len(words) > n_words and re.fullmatch(_CONTINUATION, part):
                words[-1] += f",{part}"
            else:
                words.append(part)
    return _join_names(words)


def _split_outside_brackets(separates: Callable[[str], bool], text: str) -> list[str]:
    """Return the parts of a text between characters outside brackets that `separates` is true of.

    Raises MeasureError for a bracket without its pair.
    """
    words, closing_brackets, word = [], [], ""
    for character in text:
        if character in _CLOSING_BRACKET:
            closing_brackets.append(_CLOSING_BRACKET[character])
        elif character in ")]}" and (not closing_brackets or closing_brackets.pop() != character):
            raise MeasureError(f"{text!r:.80}: the bracket {character} closes none that is open")
        if separates(character) and not closing_brackets:
            words.append(word)
            word = ""
        else:
            word += character
    if closing_brackets:
        raise MeasureError(
            f"{text!r:.80}: a bracket is not closed: {closing_brackets[-1]} is missing"
        )
    return [word for word in [*words, word] if word]


_CLOSING_BRACKET = {"(": ")", "[": "]", "{": "}"}


def _join_names(words: list[str]) -> list[str]:
    """Return words, joined where they are one name, such as mean average precision@10."""
    names, start = [], 0
    while start < len(words):
        end = start + 1
        while end < len(words) and end < start + _MAX_WORDS and _is_bare(words[end - 1]):
            end += 1
        while end > start + 1 and not _are_name(words[start:end]):
            end -= 1
        names.append(" ".join(words[start:end]))
        start = end
    return names


def _is_bare(word: str) -> bool:
    """Tell whether a word is a name, or a part of one, without parameters and cutoff."""
    return word.replace("-", "").isalpha()


def _are_name(words: Sequence[str]) -> bool:
    """Tell whether words are one name: hit rate; but not G MAP, which are two measures."""
    name = re.split("[@(]", "_".join(words))[0]
    is_name = find_variant(name) is not None
    return is_name and (name.lower() in EXACT_NAMES or not all(map(find_variant, name.split("_"))))


_Readings = list[tuple[Measure, Mapping[str, Any]]]  # measures, each with parameters to set


def _read_word(word: str, may_be_glued: bool) -> _Readings:
    """Read a word: trec_eval's families first, then our names, then trec_eval's other names.

    Raises MeasureError for a word that names no measure. `may_be_glued`: `ndcg10` is nDCG@10.
    """
    name, values = FAMILIES.get(word.lower(), (word, ()))
    if word != name:
        parameter = Measure(name).definition.names.parameter.get(word.lower())
        if parameter is not None:
            return [(Measure(name), {parameter: value}) for value in values]
        return [(Measure(name) @ cutoff, {}) for cutoff in values]
    readings = _read_call(word) or _read_decimals(word)
    value_match = None if readings else re.fullmatch(_NAME_AND_VALUES, word)
    if value_match:
        readings = _read_values(value_match["name"], value_match["values"])
    cutoff_match = re.fullmatch(_NAME_AND_CUTOFFS, word) if may_be_glued and not readings else None
    if cutoff_match:
        readings = _read_name_and_cutoffs(cutoff_match["name"], cutoff_match["values"])
    if not readings and word.startswith("("):
        raise _misplaced_error(word, f"P{word}@5")
    if not readings:
        call = re.fullmatch(_CALL, word)
        from cranfield.measures.absent import unknown_measure_error

        raise unknown_measure_error(call["name"] if call else word, word)
    return readings


def _misplaced_error(word: str, correction: str) -> MeasureError:
    """Return the error for parameters behind the cutoff, or apart from their measure."""
    return MeasureError(
        f"{word!r}: parameters are written right behind the name, and before the cutoff, as in "
        f"{correction}"
    )


def _read_call(word: str) -> _Readings:
    """Read a word such as `nDCG(gain='exp2')@20` or `map@100-l2`; an empty list if it is none."""
    level_match = re.fullmatch(_LEVEL_SUFFIX, word) if "-l" in word.lower() else None
    call = re.fullmatch(_CALL, level_match["rest"] if level_match else word)
    variant = find_variant(call["name"]) if call else None
    if call is None or variant is None:
        return []
    name, parameters = variant
    parameters = dict(parameters)
    if call["args"]:
        parameters |= read_arguments(word, call["args"], Measure(name).definition.names.unnamed)
    measure, cutoff = Measure(name), (call["at"] or "").strip()
    if not cutoff and bare_name(call["name"]) != bare_name(name):
        measure = Measure(_UNCUT_NAMES.get(name, name))
    misplaced_match = re.fullmatch(_ARGUMENTS_AFTER_CUTOFF, cutoff)
    if misplaced_match:
        raise _misplaced_error(word, f"{name}{misplaced_match['args']}@{misplaced_match['at']}")
    if level_match:
        parameter_names = measure.definition.parameters
        if "rel" not in parameter_names:
            gain_hint = f"; it gives each grade a gain, as in {name}(gain={{1: 0}})"
            gain_hint = gain_hint if "gain" in parameter_names else ""
            raise MeasureError(f"{word!r}: {name} takes no relevance level{gain_hint}")
        parameters["rel"] = int(level_match["rel"])
    if cutoff[:1] in _CLOSING_BRACKET and cutoff[-1:] == _CLOSING_BRACKET[cutoff[0]]:  # ndcg@[5,10]
        cutoff = cutoff[1:-1]
    readings: _Readings = []
    for cutoff_text in _split_outside_brackets(",".__eq__, cutoff):
        range_match = re.fullmatch(_RANGE, cutoff_text.strip())
        if range_match is None or measure.definition.cutoff_kind != "depth":
            readings.append((measure @ cutoff_text.strip(), parameters))
            continue
        first, last = int(range_match[1]), int(range_match[2])
        if not first <= last < first + _MAX_CUTOFFS:
            raise MeasureError(
                f"{word!r}: expected a first and a last cutoff, no more than {_MAX_CUTOFFS:,}, "
                f"as in {name}@1..100"
            )
        readings += [(measure @ k, parameters) for k in range(first, last + 1)]
    return readings or [(measure, parameters)]


def _read_decimals(word: str) -> _Readings:
    """Read a word such as `rbp.95`, as ranx writes RBP(p=0.95); an empty list if it is none."""
    match = re.fullmatch(_NAME_AND_DECIMALS, word)
    variant = find_variant(match["name"]) if match else None
    parameter = variant and Measure(variant[0]).definition.names.decimals
    if match is None or variant is None or parameter is None:
        return []
    return [(Measure(variant[0]), {parameter: float(match["decimals"])})]


def _read_name_and_cutoffs(name: str, cutoffs: str) -> _Readings:
    """Read a word such as `ndcg10` or `P5`; an empty list if the name takes no cutoff."""
    variant = find_variant(name)
    definition = Measure(variant[0]).definition if variant else None
    if definition is None or definition.cutoff == "none" or definition.cutoff_kind != "depth":
        return []
    return _read_values(name, cutoffs)


def _read_values(name: str, values: str) -> _Readings:
    """Read values behind a name as trec_eval does: gains, a parameter, or cutoffs; else none."""
    variant = find_variant(name)
    if variant is None:
        return []
    canonical, parameters = variant
    measure = Measure(canonical)
    definition = measure.definition
    if "=" in values:
        pairs = [pair.split("=") for pair in values.split(",")]
        gains = {int(grade): float(gain) for grade, gain in pairs if grade.isdigit()}
        pair_values: dict[str, Any] = {"gain": gains} if gains else {}
        pair_values |= {key: float(value) for key, value in pairs if not key.isdigit()}
        has_parameters = pair_values.keys() <= definition.parameters.keys()
        return [(measure, {**parameters, **pair_values})] if has_parameters else []
    numbers = [float(number) for number in values.split(",")]
    if max(map(abs, numbers)) > _MAX_NUMBER:
        return []
    unique_numbers = sorted(set(numbers))
    parameter = definition.names.parameter.get(name.lower())
    if parameter is not None and name.lower() in FAMILIES:
        return [(measure, {**parameters, parameter: number}) for number in unique_numbers]
    if parameter is not None:
        value = tuple(numbers) if len(numbers) > 1 else numbers[0]
        return [(measure, {**parameters, parameter: value})]
    if definition.cutoff == "none":
        return []
    cutoffs = (str(int(number) if number == int(number) else number) for number in unique_numbers)
    return [(measure @ cutoff, parameters) for cutoff in cutoffs]


def read_arguments(word: str, text: str, positional: str | None = None) -> dict[str, Any]:
    """Return the keyword arguments in a text, each a literal; a bare word is a string.

    The first may be written without a name, and is the parameter `positional`: AP, 'INST(T=2)'.
    Raises MeasureError, which names the `word`, for any other text.
    """
    try:
        call = ast.parse(f"f({text})", mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise ValueError
        positional_pairs = [(positional, argument) for argument in call.args]
        keyword_pairs = [(keyword.arg, keyword.value) for keyword in call.keywords]
        names = [name for name, _ in positional_pairs + keyword_pairs]
        if None in names or len(set(names)) < len(names):
            raise ValueError
        parameters = {str(name): _text_or_literal(value) for name, value in positional_pairs}
        for name, value in keyword_pairs:
            parameters[str(name)] = (
                value.id if isinstance(value, ast.Name) else ast.literal_eval(value)
            )
        return parameters
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        raise MeasureError(
            f"{word!r}: expected name=value within the parentheses, and a cutoff behind @, as in "
            "P(rel=2)@5"
        ) from None


def _text_or_literal(node: ast.expr) -> Any:
    return node.value if isinstance(node, ast.Constant) else ast.unparse(node)


def find_definition(name: str) -> Definition:
    """Return the definition of a measure by any name that it is known by, cut or not.

    >>> find_definition("map").name, find_definition("ndcg_cut_10").name
    ('AP', 'nDCG')
    """
    variant = find_variant(name)
    return (Measure(variant[0]) if variant else parse_all(name)[0]).definition


def find_measure(name: str) -> Measure | None:
    """Return the measure of this name, uncut; None if there is none.

    >>> [find_measure(name) for name in ("MAP", "HitRate", "CG", "figures")]
    [AP, Success, DCG(discount='none'), None]
    """
    variant = find_variant(name)
    return Measure(variant[0]).with_parameters(variant[1]) if variant else None


def search_definitions(words: Iterable[str]) -> list[Definition]:
    """Return the definitions whose names, documentation, formula and source have all the words.

    >>> search_definitions(["reciprocal", "cascade"]), search_definitions(["Chapelle"])[0].name
    ([], 'ERR')
    """
    lower_words = [word.lower() for word in words]

    def text_of(definition: Definition) -> str:
        texts = (
            definition.name,
            *definition.aliases,
            definition.documentation,
            definition.formula,
            definition.source,
        )
        return " ".join(texts).lower()

    return [
        definition
        for subject in ("queries", "run", "lists")
        for definition in definitions(subject)
        if all(word in text_of(definition) for word in lower_words)
    ]
