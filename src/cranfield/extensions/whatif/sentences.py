"""What if, in words, below the tables that explain a query's value."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cranfield.explanation.remark import N_RANKS
from cranfield.explanation.scene import Scene
from cranfield.explanation.sentences import N_NAMED, format_change, is_judged
from cranfield.explanation.value import QueryValue
from cranfield.extensions.whatif import swaps
from cranfield.extensions.whatif.swaps import DEEPEST, Judgments, Swap, Tie
from cranfield.measures import Measure
from cranfield.render.numbers import format_count, format_short
from cranfield.scoring.scores import format_score


@dataclass(frozen=True, eq=False)
class WhatIf:
    """What other orders and one more judgment would make of a value."""

    ties: Sequence[Tie]
    swap: Swap | None
    judgments: Judgments
    untried: str  # why no judgment could be tried; empty without such a reason

    @classmethod
    def of(cls, scene: Scene, measure: Measure) -> "WhatIf":
        """Return the remark on the value of a scene's query."""
        return cls(
            swaps.find_ties(scene, measure),
            swaps.find_best_swap(scene, measure),
            swaps.find_judgments(scene, measure),
            swaps.untried_reason(scene, measure),
        )

    moved = staticmethod(swaps.measure_moves)

    def sentences(self, query_value: QueryValue) -> Iterator[str]:
        """Yield sentences on the order of ties, the best swap, and one more judgment."""
        yield from _tie_sentences(query_value)
        yield from _swap_sentences(query_value)
        yield from _judgment_sentences(query_value)

    def to_dict(self) -> dict[str, Any]:
        """Return the ties, the swap and the judgments as plain values, None where there is none."""
        up, down = self.judgments.up, self.judgments.down
        return {
            "ties": [asdict(tie) for tie in self.ties],
            "best_swap": self.swap and asdict(self.swap),
            "judgment_up": up and asdict(up),
            "judgment_down": down and asdict(down),
        }


def _tie_sentences(query_value: QueryValue) -> Iterator[str]:
    if query_value.options.get("ties") == "expected":
        scores = [
            document.score for document in query_value.retrieved if document.score is not None
        ]
        if len(set(scores)) < len(scores):
            yield "Ranks of tied documents are those of one of many orders."
    named_ties = [tie for tie in query_value.ties if f"{tie.lowest:.4f}" != f"{tie.highest:.4f}"][
        :N_NAMED
    ]
    yield from (_tie_sentence(query_value, tie) for tie in named_ties)
    n_unnamed = len(query_value.ties) - len(named_ties)
    if n_unnamed:
        group_noun, amount = ("more group", "less") if named_ties else ("group", "little")
        groups_text = format_count(n_unnamed, group_noun)
        yield f"The order of {groups_text} of tied documents mattered {amount}."


def _tie_sentence(query_value: QueryValue, tie: Tie) -> str:
    n_docs = len(tie.docs)
    docs = ", ".join(tie.docs[:N_NAMED]) + ", ..." * (n_docs > N_NAMED)
    docs_text = f"; of these, {n_docs or 'none'} {'was' if n_docs < 2 else 'were'} kept"
    ends = (tie.lowest, tie.highest)
    best, worst = ends if _improvement_verb(query_value) == "lower" else reversed(ends)
    return (
        f"Ranks {tie.first} to {tie.first + tie.size - 1} are tied"
        f"{docs_text * (n_docs < tie.size)}{f' ({docs})' * bool(docs)}: the best and the worst "
        f"order by grade would give {best:.4f} and {worst:.4f}."
    )


def _swap_sentences(query_value: QueryValue) -> Iterator[str]:
    drops_unjudged = query_value.options.get("judged_only")
    n_docs = sum(is_judged(document) or not drops_unjudged for document in query_value.retrieved)
    ranks_text = "two ranks" + f" among the first {N_RANKS}" * (n_docs > N_RANKS)
    swap = query_value.swap
    if swap is not None:
        yield (
            f"Best swap of {ranks_text}: {swap.i} ({swap.doc_i}) and {swap.j} ({swap.doc_j}): "
            f"{_change_text(query_value, swap.value)}."
        )
    elif n_docs > 1 and not query_value.measure.definition.is_text:
        yield f"No swap of {ranks_text} would {_improvement_verb(query_value)} it."


def _judgment_sentences(query_value: QueryValue) -> Iterator[str]:
    if not query_value.unjudged or query_value.measure.definition.is_text:
        return
    if query_value.untried:
        yield f"No judgment of an unjudged document was tried: {query_value.untried}."
        return
    depth_text = f" down to rank {DEEPEST:,}" * (query_value.unjudged[-1][0] > DEEPEST)
    *first_grades, last_grade = query_value.judgments.grades or [0]
    grades_text = ", ".join(map(format_short, first_grades))
    grades_note = (
        f" (of grades {grades_text} and {format_short(last_grade)})" if first_grades else ""
    )
    up, down = query_value.judgments.up, query_value.judgments.down
    for judgment, adjective in ((up, "Highest"), (down, "Lowest")):
        if judgment is not None:
            yield (
                f"{adjective} value with one more judgment{grades_note}{depth_text}: grade "
                f"{format_short(judgment.grade)} for {judgment.doc} at rank {judgment.rank}: "
                f"{_change_text(query_value, judgment.value)}."
            )
    if up is None and down is None:
        yield f"One more judgment{grades_note}{depth_text} would not change it."


def _improvement_verb(query_value: QueryValue) -> str:
    return "lower" if query_value.measure.definition.higher_is_better is False else "raise"


def _change_text(query_value: QueryValue, value: float) -> str:
    assert isinstance(query_value.value, float)  # noqa: S101 - a string is not changed
    return (
        f"{format_score(query_value.measure, value)} ({format_change(value - query_value.value)})"
    )
