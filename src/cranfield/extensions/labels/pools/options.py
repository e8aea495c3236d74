"""The options of `pool`, of its requests to a model, and of `collect`."""

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from cranfield.comparison.flips import DEFAULT_SEED
from cranfield.data.combined import DifferingGrades
from cranfield.errors import OptionError
from cranfield.extensions.labels.pools.draw import Strata, read_strata
from cranfield.formats.block import Errors
from cranfield.formats.small.read import parse_number
from cranfield.options import Options, option, whole_check

PoolMethod = Literal["depth", "fusion", "rbp", "chance", "decide", "move-to-front"]
DrawUnit = Literal["documents", "queries"]
Likelihood = Literal["equal", "rank"]
# Methods that put unjudged documents into an order, whose first n documents are taken.
IN_ORDER = ("decide", "move-to-front")


@dataclass(frozen=True, kw_only=True)
class PoolSettings(Options):
    """The options of `pool`: which documents are pooled, and which of them are drawn."""

    by: PoolMethod = option(
        "depth",
        'What to label. "depth": all documents in the first k of any run. "fusion": the first k of '
        'the runs fused by reciprocal ranks; "rbp": those with the greatest weight in all runs by '
        'RBP, with p = 0.8. "chance": of the pool by depth, a part drawn by chance, whose '
        'probabilities are stated. "decide": unjudged documents of two runs, in the order in which '
        'they narrow what their difference may be. "move-to-front": unjudged documents of the '
        "runs that found relevant ones, as far as judgments show it.",
    )
    k: int = option(
        10,
        "How deep the pool is: the first k documents of each run, or of the runs fused. At least "
        "the cutoff of the measures to come.",
        whole_check(1),
    )
    n: int | None = option(
        None,
        "With chance: how many documents, or queries, to draw. With decide and move-to-front: how "
        "many of the first.",
        whole_check(1),
    )
    strata: Strata | str | None = option(
        None,
        "With chance, in place of n: the share of documents to draw down to each rank, as in "
        "10=100%,100=10%. The rank is the best in any run; for xinfAP and statAP.",
        read_strata,
    )
    measure: str | None = option(
        None, "With decide: the measure of the difference. [default: nDCG@10]"
    )
    draw: DrawUnit = option(
        "documents",
        "With chance: what is drawn. Single documents are for measures that add documents up, as "
        "P@10 and DCG; whole queries, all pooled documents of which are to be labelled, for any "
        "measure.",
    )
    likely: Likelihood = option(
        "equal",
        "Whether all documents are equally likely to be drawn, or those near the top of a run "
        "more. By rank, the probability is proportional to 1 / log2(best rank + 1).",
    )
    unjudged: bool = option(False, "Leave out documents that the judgments judge.")
    seed: int = option(
        DEFAULT_SEED,
        "The same seed draws the same. With move-to-front, it says which of several runs comes "
        "first.",
        whole_check(0),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        by_chance = self.by == "chance"
        if by_chance and self.n is None and self.strata is None:
            raise OptionError(
                "by='chance' draws n documents or queries, or a share of each stratum: state n "
                "(-n 200) or strata"
            )
        if self.n is not None and not by_chance and self.by not in IN_ORDER:
            methods = ", ".join(("chance", *IN_ORDER))
            raise OptionError(f"n={self.n} applies to by={methods}, and by={self.by!r} takes all")
        if self.by != "decide" and self.measure is not None:
            raise OptionError(
                f"measure={self.measure!r:.40} says by what two runs differ: state by='decide', too"
            )
        if self.by in IN_ORDER and self.unjudged:
            raise OptionError(f"by={self.by!r} takes unjudged documents alone: leave unjudged out")
        for name in ("k", "seed"):
            if self.by == "decide" and name in self.changed_options():
                raise OptionError(
                    f"by='decide' looks as deep as the measure, and draws nothing: leave {name} out"
                )
        if not by_chance and (
            self.draw != "documents" or self.likely != "equal" or self.strata is not None
        ):
            raise OptionError(
                "draw, likely and strata say what is drawn by chance: state by='chance', too"
            )
        if self.draw == "queries" and self.likely != "equal":
            raise OptionError("likely='rank' applies to documents: queries are equally likely")
        if self.strata is None:
            return
        for name in ("n", "k", "draw", "likely"):
            if name in self.changed_options():
                raise OptionError(
                    f"strata say how deep the pool is and how much is drawn: leave {name} out"
                )

    @property
    def depth(self) -> int:
        """How many documents of each run, or of the fused runs, are in the pool."""
        return self.k if self.shares is None else max(self.shares)

    @property
    def shares(self) -> Strata | None:
        """{last rank: share} of each stratum, or None without strata."""
        return None if self.strata is None else read_strata(self.strata)


def read_scale(scale: Any) -> tuple[int, ...]:
    """Read the grades that may be given, "0,1,2" or whole numbers; ValueError for anything else."""
    members = scale.split(",") if isinstance(scale, str) else scale
    numbers = {*map(parse_number, members)} if isinstance(members, Iterable) else set()
    grades = {int(n) for n in numbers if n is not None and n.is_integer() and 0 <= n < 1e6}
    if len(grades) < 2 or grades != numbers:
        raise ValueError("two or more whole numbers from 0, as in '0,1,2'")
    return tuple(sorted(grades))


_OWN_MEMBERS = ("model", "messages", "system", "contents", "systemInstruction")  # of a body


def _read_patch(changes: Any) -> dict[str, Any]:
    """Read changes to a body, a mapping or JSON; ValueError for no object, or a member of ours."""
    expected = f"a JSON object without {', '.join(_OWN_MEMBERS)}, as in '{{\"temperature\": 0}}'"
    try:
        text = changes if isinstance(changes, str) else json.dumps(changes, allow_nan=False)
        members = json.loads(text, parse_constant=float)
        json.dumps(members, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        raise ValueError(expected) from None
    if not isinstance(members, dict) or not members.keys().isdisjoint(_OWN_MEMBERS):
        raise ValueError(expected)
    return members


@dataclass(frozen=True, kw_only=True)
class RequestSettings(Options):
    """The options of files of requests to a model."""

    heading = "Requests to a model"
    flags = {"answered": {"metavar": "FILE", "multiple": True}}  # noqa: RUF012 - as of `Options`
    model: str | None = option(None, "The model that is asked, as its provider names it.")
    prompt: str = option(
        "graded",
        "What the model is told: graded (grades 0 to 3), binary (0 and 1), or a text file, which "
        "may have {{query}} and {{document}}.",
    )
    grades: Any = option(
        None,
        "The grades that it may give, as in 0,1,2.  [default: those of the prompt]",
        read_scale,
    )
    samples: int = option(
        1, "How often it is asked for each document: each is an assessor.", whole_check(1, 20)
    )
    doc_chars: int = option(
        8000, "Texts of more characters are cut, at a blank if possible.", whole_check(1)
    )
    body: Any = option(
        None,
        "Changes to the body of each call, a JSON object as of RFC 7396: null removes a member.",
        _read_patch,
    )
    answered: Any = option(
        (), "Answers that came already: requests with a grade there are left out. May be repeated."
    )


def read_grades(grades: Any) -> dict[str, float]:
    """Read grades of words, from {word: grade} or "no=0,yes=1"; ValueError for what is neither."""
    expected = "grades of labels, as in 'not relevant=0,relevant=1' or {'no': 0, 'yes': 1}"
    if isinstance(grades, str):  # a word may hold commas: a comma behind a number ends its grade
        parts = [part.rpartition("=") for part in re.split(r"(?<=\d)\s*,", grades)]
        grades = {word.strip(): parse_number(grade.strip()) for word, _, grade in parts}
    if not isinstance(grades, Mapping) or not grades:
        raise ValueError(expected)
    number_of_word = {str(word): parse_number(grade) for word, grade in grades.items()}
    if any(
        not word or grade is None or not 0 <= grade < math.inf
        for word, grade in number_of_word.items()
    ):
        raise ValueError(expected)
    return {word: grade for word, grade in number_of_word.items() if grade is not None}


def label_word(label: Any) -> str:
    """Return a label as a word: 1, 1.0 and "1.0" give one word, and so do Yes and yes."""
    number = parse_number(label)
    return str(label).strip().casefold() if number is None else f"{number:g}"


@dataclass(frozen=True, kw_only=True)
class CollectSettings(Options):
    """The options of `collect`: which labels count, and as which grade."""

    assessor: str | None = option(None, "Only the labels of this person.")
    grades_of: Mapping[str, float] | str | None = option(
        None, "The grades of labels that are words, as in 'not relevant=0,relevant=1'.", read_grades
    )
    grades: Any = option(
        None,
        "Of a model's answers: the grades that it may give, as in 0,1,2.  [default: those of the "
        "prompt]",
        read_scale,
    )
    differing: DifferingGrades = option(
        "refuse",
        "Which grade counts of a document that was given several: none, so that they are refused, "
        "or one of these. The latest is the last in the files; of two as frequent the higher "
        "counts.",
    )
    errors: Errors = option(
        "strict",
        "Refuse the first label that cannot be used, or of a document that the pool lacks; or "
        "leave such labels out and count them.",
    )
