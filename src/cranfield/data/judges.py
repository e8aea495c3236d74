"""Judges: which model gave each grade of judgments, beside the grades that people gave."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from cranfield.arrays.ids import Ids
from cranfield.arrays.ranked import Bools, Ints
from cranfield.notes import Note


class Judge(NamedTuple):
    """A model and its prompt; both are empty for a person."""

    model: str = ""
    prompt: str = ""


PERSON = Judge()


class Judges(NamedTuple):
    """The judge of each judgment: people, as far as is known."""

    code: Ints | None = None  # (rows,) the place of the row's judge in `judges`; None: all people
    judges: Sequence[Judge] = (PERSON,)  # the first is PERSON

    def take(self, rows: Any) -> "Judges":
        """Return the judges of the judgments at `rows`."""
        return self if self.code is None else self._replace(code=self.code[rows])

    def count_models(self) -> list[dict[str, Any]]:
        """Return how many judgments each model gave, as a recipe has it."""
        if self.code is None:
            return []
        n_of_code = np.bincount(self.code, minlength=len(self.judges)).tolist()
        pairs = [*zip(self.judges, n_of_code, strict=True)][1:]
        return [{**judge._asdict(), "judgments": n} for judge, n in pairs if n]

    def columns(self) -> dict[str, Ids]:
        """Return {role: cells (rows,)} of the columns that tables have."""
        if self.code is None:
            return {}
        columns = zip(("judge_model", "judge_prompt"), zip(*self.judges, strict=True), strict=True)
        rows = self.code.astype(np.int64)
        return {role: Ids.of_texts(names).take(rows) for role, names in columns}

    def notes(self) -> list[Note]:
        """Return the remark on judgments of models that nobody checked, if there are any."""
        if self.code is None or not (counts := self.count_models()):
            return []
        n = sum(count["judgments"] for count in counts)
        models = (", prompt ".join(filter(None, [c["model"], c["prompt"]])) for c in counts)
        text = (
            f"{n:,} of {len(self.code):,} judgments are a model's ({'; '.join(models)}), and no "
            "person checked them here: cranfield trust says how far they go, --human corrects them."
        )
        return [Note("model-labels", "info", text, count=n)]


PEOPLE = Judges()


def join_judges(parts: Iterable[tuple[Judges, int]]) -> Judges:
    """Return the judges of several judgments, one after the other, from these and their numbers."""
    place_of_judge = {PERSON: 0}
    codes = []
    for judges, length in parts:
        places = [place_of_judge.setdefault(judge, len(place_of_judge)) for judge in judges.judges]
        code = np.zeros(length, np.int64) if judges.code is None else judges.code
        codes.append(np.array(places)[code])
    return Judges(np.concatenate(codes), [*place_of_judge]) if len(place_of_judge) > 1 else PEOPLE


def merge_judges(judges: Judges, pair: Ints, counts: Bools) -> Judges:
    """Return the judges of merged judgments: a model, if no person gave the grade that counts.

    `pair` and `counts` have, for each of the judgments, the number of the merged judgment, and
    whether its grade is the one that counts: (rows,).
    """
    if judges.code is None:
        return judges
    code = np.zeros(pair.max(initial=-1) + 1, np.int64)
    np.maximum.at(code, pair, judges.code)  # of a mean, which nobody gave
    code[pair[counts]] = len(judges.judges)
    np.minimum.at(code, pair[counts], judges.code[counts])
    return judges._replace(code=code)
