"""What if, in words, below the tables that explain a query's value."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cranfield.explanation.remark import FIRST
from cranfield.explanation.scene import Scene
from cranfield.explanation.sentences import NAMED, change, is_kept
from cranfield.explanation.value import QueryValue
from cranfield.extensions.whatif import swaps
from cranfield.extensions.whatif.swaps import DEEPEST, Judgments, Swap, Tie
from cranfield.measures import Measure
from cranfield.render.numbers import number_of, short
from cranfield.scoring.scores import shown


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
            swaps.ties(scene, measure),
            swaps.best_swap(scene, measure),
            swaps.judgments(scene, measure),
            swaps.untried(scene, measure),
        )

    moved = staticmethod(swaps.moved)

    def sentences(self, found: QueryValue) -> Iterator[str]:
        """Yield the order of ties, the best swap and the best judgment."""
        yield from _of_ties(found)
        yield from _of_swap(found)
        yield from _of_judgments(found)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        up, down = self.judgments.up, self.judgments.down
        return {
            "ties": [asdict(one) for one in self.ties],
            "best_swap": self.swap and asdict(self.swap),
            "judgment_up": up and asdict(up),
            "judgment_down": down and asdict(down),
        }


def _of_ties(found: QueryValue) -> Iterator[str]:
    if found.options.get("ties") == "expected":
        scores = [one.score for one in found.retrieved if one.score is not None]
        if len(set(scores)) < len(scores):
            yield "Ranks of tied documents are those of one of many orders."
    seen = [one for one in found.ties if f"{one.lowest:.4f}" != f"{one.highest:.4f}"][:NAMED]
    yield from (_of_tie(found, one) for one in seen)
    others = len(found.ties) - len(seen)
    if others:
        more, less = ("more group", "less") if seen else ("group", "little")
        yield f"The order of {number_of(others, more)} of tied documents mattered {less}."


def _of_tie(found: QueryValue, tie: Tie) -> str:
    n_kept = len(tie.docs)
    docs = ", ".join(tie.docs[:NAMED]) + ", ..." * (n_kept > NAMED)
    kept = f"; of these, {n_kept or 'none'} {'was' if n_kept < 2 else 'were'} kept"
    pair = (tie.lowest, tie.highest) if _better(found) == "lower" else (tie.highest, tie.lowest)
    return (
        f"Ranks {tie.first} to {tie.first + tie.size - 1} are tied"
        f"{kept * (n_kept < tie.size)}{f' ({docs})' * bool(docs)}: the best and the worst "
        f"order by grade would give {pair[0]:.4f} and {pair[1]:.4f}."
    )


def _of_swap(found: QueryValue) -> Iterator[str]:
    dropping = found.options.get("judged_only")
    n_kept = sum(is_kept(one) or not dropping for one in found.retrieved)
    of = "two ranks" + f" among the first {FIRST}" * (n_kept > FIRST)
    one = found.swap
    if one is not None:
        yield (
            f"Best swap of {of}: {one.i} ({one.doc_i}) and {one.j} ({one.doc_j}): "
            f"{_changed(found, one.value)}."
        )
    elif n_kept > 1 and not found.measure.definition.is_text:
        yield f"No swap of {of} would {_better(found)} it."


def _of_judgments(found: QueryValue) -> Iterator[str]:
    if not found.unjudged or found.measure.definition.is_text:
        return
    if found.untried:
        yield f"No judgment of an unjudged document was tried: {found.untried}."
        return
    deep = f" down to rank {DEEPEST:,}" * (found.unjudged[-1][0] > DEEPEST)
    *some, last = found.judgments.grades or [0]
    first = ", ".join(map(short, some))
    tried = f" (of grades {first} and {short(last)})" if some else ""
    up, down = found.judgments.up, found.judgments.down
    for one, way in ((up, "Highest"), (down, "Lowest")):
        if one is not None:
            yield (
                f"{way} value with one more judgment{tried}{deep}: grade {short(one.grade)} for "
                f"{one.doc} at rank {one.rank}: {_changed(found, one.value)}."
            )
    if up is None and down is None:
        yield f"One more judgment{tried}{deep} would not change it."


def _better(found: QueryValue) -> str:
    return "lower" if found.measure.definition.higher_is_better is False else "raise"


def _changed(found: QueryValue, value: float) -> str:
    assert isinstance(found.value, float)  # noqa: S101 - a string is not changed
    return f"{shown(found.measure, value)} ({change(value - found.value)})"
