"""Call: reads the data in the call of a measure, and says what is wrong with a call."""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from cranfield.data.lists import missing_relevant_docs
from cranfield.errors import InputError, nearest_words
from cranfield.formats.objects import grade_by_one, read_grade_list, score_by_position
from cranfield.formats.shapes import is_sequence
from cranfield.measures.registry import PAGE_WIDTH, Definition, definitions
from cranfield.options import is_whole_number

# What a list is called in a call; what others call it; and what others call the cutoff.
_SIDES = ("truth", "ranking")
_SIDE_SYNONYMS = frozenset(
    (
        *("actual", "predicted", "relevant", "retrieved", "y_true", "y_pred", "y_score"),
        *("qrels", "run", "ground_truth"),
    )
)
CUTOFF_SYNONYMS = frozenset(("cutoff", "k", "at", "top_k", "at_k"))


@dataclass(frozen=True)
class Call:
    """A call of a measure, which is written `text`: with data, or with parameters.

    `rel` is the lowest grade that counts as relevant, None where the measure depends on the grades
    themselves; `is_uncut` says whether everything retrieved counts.
    """

    definition: Definition
    text: str
    rel: float | None
    is_uncut: bool

    def read_lists(
        self, positional: Sequence[Any], parameters: dict[str, Any]
    ) -> tuple[Mapping[Any, Any], Mapping[Any, Any]] | None:
        """Return {document: grade} and {document: score} of a call, None if it sets parameters.

        The lists, and `n_relevant`, are taken out of `parameters`. Raises TypeError for a call that
        is neither, InputError for data that cannot be meant.
        """
        sides = [parameters.pop(name) for name in _SIDES[len(positional) :] if name in parameters]
        n_relevant = parameters.pop("n_relevant", None)
        lists = [*positional, *sides]
        takes_text = self.definition.names.unnamed is not None
        is_text = takes_text and len(lists) == 1 and isinstance(lists[0], str)
        if n_relevant is None and (is_text or not lists):
            return None
        if len(lists) == 1 and not sides and not parameters and is_sequence(lists[0]):
            lists = [*self._read_grades(lists[0], n_relevant)]
        elif n_relevant is not None:
            raise TypeError(
                f"n_relevant goes with a list of grades alone: {self.text}([1, 0], n_relevant=5)"
            )
        if len(lists) != 2 or parameters or is_whole_number(lists[1]):
            raise TypeError(
                f"{self._misuse_hint(lists, parameters)}{self.text}(truth, ranking), or "
                f"{self.text}(grades), scores one list, {self.definition.name}(parameter=value) "
                "sets parameters; use one of the two"
            )
        truth, ranking = lists
        if is_sequence(truth) and is_sequence(ranking) and any(map(is_sequence, truth)):
            raise InputError(
                f"{self.text}(truth, ranking) scores one list, and got lists of lists",
                hint=f"Of a list for each query: evaluate(actual, predicted, {self.text!r}).",
            )
        grades: Mapping[Any, Any] = truth if isinstance(truth, Mapping) else grade_by_one(truth)
        docs = self._order_set(ranking) if isinstance(ranking, Set) else ranking
        scores: Mapping[Any, Any] = (
            docs if isinstance(docs, Mapping) else score_by_position("the list", docs)
        )
        self._check_sides(truth, ranking, list(grades), list(scores))
        return grades, scores

    def _read_grades(
        self, grades: Iterable[Any], n_relevant: int | None
    ) -> tuple[dict[str, float], list[str]]:
        """Return {document: grade} and the ranking of a list of grades; InputError for others."""
        where = f"{self.text} of a list of grades"
        truth, ranking = read_grade_list(grades, where)
        if n_relevant is not None:
            if self.rel is None and max(truth.values(), default=0) > 1:
                raise InputError(
                    f"{where}: n_relevant={n_relevant!r} says how many documents are relevant, not "
                    f"their grades, on which {self.definition.name} depends",
                    hint="State the grades of all: "
                    f"evaluate(*grades([3, 0], collection=[3, 2, 0]), {self.text!r}).",
                )
            rel = 1 if self.rel is None else self.rel
            truth |= missing_relevant_docs(truth, n_relevant, rel, where)
        return truth, ranking

    def _order_set(self, docs: Set[Any]) -> list[Any]:
        """Return the documents of a set as a list; InputError if their order matters."""
        if self.definition.traits.of_sets and self.is_uncut:
            return list(docs)
        of_sets = (definition for definition in definitions() if definition.traits.of_sets)
        names = ", ".join(definition.name for definition in of_sets)
        raise InputError(
            f"{self.text}: a set has no order, and the value depends on it: {docs!r:.80}",
            hint=f"Give a list, best first. The order does not matter to {names}, uncut.",
        )

    def _check_sides(
        self, truth: Any, ranking: Any, judged_ids: list[Any], ranked_ids: list[Any]
    ) -> None:
        """Raise InputError for what looks like a ranking first, or like grades without documents.

        `judged_ids` and `ranked_ids` are the ids of the documents.
        """
        scores = ranking.values() if isinstance(ranking, Mapping) else ()
        if scores and is_sequence(truth) and all(map(_may_be_grade, scores)):
            raise InputError(
                f"{self.text}(truth, ranking) got a list, and then a dict of whole numbers: is "
                "that the truth?",
                hint=f"The truth comes first: {self.text}({{document: grade}}, [document, ...]). "
                "If the list has the relevant documents and the dict scores, make a set of the "
                "list.",
            )
        ids_differ = all(map(_is_numeric_id, judged_ids)) != all(map(_is_numeric_id, ranked_ids))
        share_none = {*map(str, judged_ids)}.isdisjoint(map(str, ranked_ids))
        if judged_ids and ranked_ids and ids_differ and share_none:
            raise InputError(
                f"{self.text}(truth, ranking): the ids of one are whole numbers, those of the "
                "other are not, and they share none",
                hint="Both name documents in one way. Grades in the order of the ranking are a "
                f"call of their own, {self.text}([1, 0]), or come with documents, "
                "{document: grade}.",
            )

    def _misuse_hint(self, lists: Sequence[Any], parameters: Mapping[str, Any]) -> str:
        """Return what was wrong with a call, an empty text where it is not known."""
        name, next_lists = self.definition.name, lists[1:]
        arguments = (*next_lists, *parameters.values())
        number = next(filter(is_whole_number, arguments), None)
        if number is not None and (CUTOFF_SYNONYMS & parameters.keys() or len(next_lists) == 2):
            return f"a cutoff is written before the lists: ({name}@{number})(truth, ranking); "
        if number is not None and len(next_lists) == 1:
            return (
                f"{number} is no ranking: a cutoff is written ({name}@{number})(grades), the "
                f"number of relevant documents {self.text}(grades, n_relevant={number}); "
            )
        if _SIDE_SYNONYMS & parameters.keys():
            return "the lists are called truth= and ranking=; "
        grade_options = " and ".join(name for name in ("collection", "top") if name in parameters)
        if grade_options:
            return (
                f"{grade_options}: an argument of cranfield.grades, not of a measure, as in "
                f"evaluate(*grades([1, 0], {grade_options.split()[0]}=...), {self.text!r}); "
            )
        if isinstance(lists[0], str | bytes):
            return f"{lists[0]!r:.40} is a string, no list of grades such as [1, 0]; "
        return ""


def usage_text(definition: Definition) -> str:
    """Return how a measure is called with one query's lists; "" if it takes judgments in groups."""
    from textwrap import fill  # which little else needs

    if definition.traits.takes_groups or definition.of != "queries":
        return ""
    name = definition.name
    cut_text = f"{name}@{0.5 if definition.cutoff_kind == 'recall' else 5}"
    measure_text = f"({cut_text})" if definition.cutoff == "required" else name
    cut_sentence = f" With a cutoff: ({cut_text})(truth, ranking)."
    cut_sentence = cut_sentence if definition.cutoff == "optional" else ""
    text = (
        f"Called: {measure_text}(['d1', 'd3'], ['d3', 'd2']), the relevant documents, then the "
        f"ranking, best first; of grades, {measure_text}({{'d1': 3, 'd3': 1}}, ...); "
        f"{measure_text}([1, 0, 2]), the grades of what was retrieved.{cut_sentence} Two lists of "
        f"numbers are ids: scores, as scikit-learn takes them, are a dict {{document: score}}. "
        f"Over queries: evaluate(qrels, run, {measure_text.strip('()')!r})."
    )
    return "\n" + fill(text, PAGE_WIDTH, subsequent_indent="    ")


def _may_be_grade(value: object) -> bool:
    """Tell whether a value is a whole number, or a float that equals one."""
    return isinstance(value, Real | np.bool_) and float(value).is_integer()


def _is_numeric_id(doc: object) -> bool:
    """Tell whether the id of a document is a whole number, or the digits of one."""
    return is_whole_number(doc) or (isinstance(doc, str) and doc.isdecimal())


def unknown_parameter_text(definition: Definition, key: str, value: Any) -> str:
    """Return the message about a parameter that a measure does not take."""
    parameter_names = ", ".join(definition.parameters) or "no parameter"
    near_names = nearest_words(key, definition.parameters)
    guess = f" Did you mean {near_names[0]}?" if near_names else ""
    if key == "judged_only":
        guess = " Judged documents only is an option of the whole evaluation: judged_only=True."
    elif key in CUTOFF_SYNONYMS:
        k = value if is_whole_number(value) else 10
        cut_text = f"{definition.name}@{k}"
        guess = f" A cutoff is written {cut_text}; called with lists, ({cut_text})(truth, ranking)."
    elif key in _SIDE_SYNONYMS:
        guess = f" The lists are {definition.name}(truth=..., ranking=...)."
    return f"{definition.name} has no parameter {key!r}; it takes {parameter_names}.{guess}"
