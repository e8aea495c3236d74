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
    untried: str  # why no judgment was tried; empty if some were

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
        """Yield the order of ties, the best swap and the best judgment."""
        yield from _tie_sentences(query_value)
        yield from _swap_sentences(query_value)
        yield from _judgment_sentences(query_value)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        up, down = self.judgments.up, self.judgments.down
        return {
            "ties": [asdict(one) for one in self.ties],
            "best_swap": self.swap and asdict(self.swap),
            "judgment_up": up and asdict(up),
            "judgment_down": down and asdict(down),
        }


def _tie_sentences(query_value: QueryValue) -> Iterator[str]:
    if query_value.options.get("ties") == "expected":
        scores = [one.score for one in query_value.retrieved if one.score is not None]
        if len(set(scores)) < len(scores):
            yield "Ranks of tied documents are those of one of many orders."
    seen = [one for one in query_value.ties if f"{one.lowest:.4f}" != f"{one.highest:.4f}"][:N_NAMED]
    yield from (_tie_sentence(query_value, one) for one in seen)
    others = len(query_value.ties) - len(seen)
    if others:
        more, less = ("more group", "less") if seen else ("group", "little")
        yield f"The order of {format_count(others, more)} of tied documents mattered {less}."


def _tie_sentence(query_value: QueryValue, tie: Tie) -> str:
    n_kept = len(tie.docs)
    docs = ", ".join(tie.docs[:N_NAMED]) + ", ..." * (n_kept > N_NAMED)
    kept = f"; of these, {n_kept or 'none'} {'was' if n_kept < 2 else 'were'} kept"
    pair = (tie.lowest, tie.highest) if _improvement_verb(query_value) == "lower" else (tie.highest, tie.lowest)
    return (
        f"Ranks {tie.first} to {tie.first + tie.size - 1} are tied"
        f"{kept * (n_kept < tie.size)}{f' ({docs})' * bool(docs)}: the best and the worst "
        f"order by grade would give {pair[0]:.4f} and {pair[1]:.4f}."
    )


def _swap_sentences(query_value: QueryValue) -> Iterator[str]:
    dropping = query_value.options.get("judged_only")
    n_kept = sum(is_judged(one) or not dropping for one in query_value.retrieved)
    of = "two ranks" + f" among the first {N_RANKS}" * (n_kept > N_RANKS)
    one = query_value.swap
    if one is not None:
        yield (
            f"Best swap of {of}: {one.i} ({one.doc_i}) and {one.j} ({one.doc_j}): "
            f"{_change_text(query_value, one.value)}."
        )
    elif n_kept > 1 and not query_value.measure.definition.is_text:
        yield f"No swap of {of} would {_improvement_verb(query_value)} it."


def _judgment_sentences(query_value: QueryValue) -> Iterator[str]:
    if not query_value.unjudged or query_value.measure.definition.is_text:
        return
    if query_value.untried:
        yield f"No judgment of an unjudged document was tried: {query_value.untried}."
        return
    deep = f" down to rank {DEEPEST:,}" * (query_value.unjudged[-1][0] > DEEPEST)
    *some, last = query_value.judgments.grades or [0]
    first = ", ".join(map(format_short, some))
    tried = f" (of grades {first} and {format_short(last)})" if some else ""
    up, down = query_value.judgments.up, query_value.judgments.down
    for one, way in ((up, "Highest"), (down, "Lowest")):
        if one is not None:
            yield (
                f"{way} value with one more judgment{tried}{deep}: grade {format_short(one.grade)} for "
                f"{one.doc} at rank {one.rank}: {_change_text(query_value, one.value)}."
            )
    if up is None and down is None:
        yield f"One more judgment{tried}{deep} would not change it."


def _improvement_verb(query_value: QueryValue) -> str:
    return "lower" if query_value.measure.definition.higher_is_better is False else "raise"


def _change_text(query_value: QueryValue, value: float) -> str:
    assert isinstance(query_value.value, float)  # noqa: S101 - a string is not changed
    return f"{format_score(query_value.measure, value)} ({format_change(value - query_value.value)})"
