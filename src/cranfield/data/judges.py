"""Judges: which model gave each grade of judgments, beside the grades that people gave."""

from collections import Counter
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
    """The judge of each judgment."""

    code: Ints  # (rows,) the place of the row's judge in `judges`
    judges: Sequence[Judge]  # the first is PERSON

    def take(self, rows: Any) -> "Judges":
        """Return the judges of the judgments at `rows`."""
        return Judges(self.code[rows], self.judges)

    def count_models(self) -> list[dict[str, Any]]:
        """Return how many judgments each model gave, as a recipe has it."""
        n_of_code = Counter(self.code[self.code > 0].tolist())
        return [
            {**self.judges[code]._asdict(), "judgments": n} for code, n in sorted(n_of_code.items())
        ]

    def columns(self) -> dict[str, Ids]:
        """Return {role: cells (rows,)} of the columns that tables have."""
        rows, names = self.code.astype(np.int64), zip(*self.judges, strict=True)
        roles = ("judge_model", "judge_prompt")
        return {role: Ids.of_texts(next(names)).take(rows) for role in roles}

    def notes(self) -> list[Note]:
        """Return the remark on judgments of models that nobody checked, if there are any."""
        if not (counts := self.count_models()):
            return []
        n = sum(count["judgments"] for count in counts)
        models = (", prompt ".join(filter(None, [c["model"], c["prompt"]])) for c in counts)
        text = (
            f"{n:,} of {len(self.code):,} judgments are a model's ({'; '.join(models)}), and no "
            "person checked them here: cranfield trust says how far they go, --human corrects them."
        )
        return [Note("model-labels", "info", text, count=n)]


def join_judges(parts: Iterable[tuple[Judges | None, int]]) -> Judges | None:
    """Return the judges of several judgments, one after the other, from these and their numbers."""
    parts = [*parts]
    if not any(judges for judges, _ in parts):
        return None
    place_of_judge = {PERSON: 0}
    codes = []
    for judges, length in parts:
        code, names = judges or (np.zeros(length, np.int64), [PERSON])
        places = [place_of_judge.setdefault(judge, len(place_of_judge)) for judge in names]
        codes.append(np.array(places)[code])
    return Judges(np.concatenate(codes), [*place_of_judge])


def merge_judges(judges: Judges, pair: Ints, counts: Bools) -> Judges:
    """Return the judges of merged judgments: a model, if no person gave the grade that counts.

    `pair` and `counts` have, for each of the judgments, the number of the merged judgment, and
    whether its grade is the one that counts: (rows,).
    """
    code = np.zeros(pair.max(initial=-1) + 1, np.int64)
    np.maximum.at(code, pair, judges.code)  # of a mean, which nobody gave
    code[pair[counts]] = len(judges.judges)
    np.minimum.at(code, pair[counts], judges.code[counts])
    return Judges(code, judges.judges)
