"""The options of fusion: how the lists of several runs become one."""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any, Literal

from cranfield.errors import OptionError
from cranfield.options import Options, finite_number, number_check, option, share_check
from cranfield.render.numbers import format_names

Method = Literal[
    "rrf",
    "sum",
    "mnz",
    "anz",
    "max",
    "min",
    "med",
    "gmnz",
    "mixed",
    "isr",
    "log_isr",
    "logn_isr",
    "rbc",
    "borda",
]
Norm = Literal["none", "min-max", "min-max-inverted", "max", "sum", "zmuv", "l2", "rank", "borda"]
Absent = Literal["left-out", "zero", "lowest"]


def _read_weights(weights: Any) -> list[float] | dict[str, float]:
    """Return weights in the order of the runs, or {name: weight}; ValueError if they are wrong."""
    raw_weights = weights.split(",") if isinstance(weights, str) else weights
    if isinstance(weights, str) and all("=" in text for text in raw_weights):
        pairs = [text.rpartition("=")[::2] for text in raw_weights]
        raw_weights = {name.strip(): number for name, number in pairs}
        if len(raw_weights) < len(pairs):
            raise ValueError("one weight for each run, and a run is named twice")
    try:
        if isinstance(raw_weights, Set):
            raise TypeError
        raw_numbers = (
            [*raw_weights.values()] if isinstance(raw_weights, Mapping) else [*raw_weights]
        )
        checked_numbers = [
            finite_number(
                float(number_or_text) if isinstance(number_or_text, str) else number_or_text
            )
            for number_or_text in raw_numbers
        ]
    except (TypeError, ValueError):
        checked_numbers = []
    numbers = [
        float(number_or_none)
        for number_or_none in checked_numbers
        if number_or_none is not None and number_or_none >= 0
    ]
    if not checked_numbers or len(numbers) < len(checked_numbers) or not any(numbers):
        raise ValueError(
            "a number of at least 0 for each run, not all 0: [0.7, 0.3] or {'bm25': 0.7, ...} "
            "(--weights 0.7,0.3 or bm25=0.7,dense=0.3)"
        )
    return (
        dict(zip(map(str, raw_weights), numbers, strict=True))
        if isinstance(raw_weights, Mapping)
        else numbers
    )


@dataclass(frozen=True, kw_only=True)
class Fusing(Options):
    """How the lists of several runs become one."""

    norm: Norm | None = option(
        None,
        "How a run's scores are made comparable with others', for each query and run alone. "
        '"min-max": from 0, the lowest, to 1. "min-max-inverted": the same of distances, of which '
        'the lowest is the best. "max", "sum" and "l2": as a share of the highest; of the sum, '
        'less the lowest; of the root of the sum of squares. "zmuv": standard deviations from the '
        'mean. "rank" and "borda": by the rank alone, among the documents of the list, or of all '
        "lists. [default: min-max for methods of scores, none for methods of ranks]",
    )
    weights: Any = option(
        None,
        "A weight for each run, of at least 0: in their order, or by name. A run of weight 0 adds "
        "nothing; its documents stay in the list. [default: all weigh the same]",
        _read_weights,
    )
    absent: Absent | None = option(
        None,
        'How a document counts that a run has not returned. "left-out": not at all. "zero": with '
        'a score of 0. "lowest": as the last of that run\'s list. [default: left-out; for Borda, '
        "an equal share of the points that are left]",
    )
    k: float = option(60, "Of rrf: 1 / (k + rank).", number_check(0))
    gamma: float = option(1.0, "Of gmnz: the power of the number of runs.", number_check(0))
    sigma: float = option(
        0.01, "Of logn_isr: what is added to the number of runs.", number_check(0)
    )
    phi: float = option(
        0.8, "Of rbc: how likely a user goes on to the next document.", share_check()
    )

    def weights_of(self, names: tuple[str, ...]) -> list[float]:
        """Return the weight of each run, in the order of `names`; 1 for each without weights.

        Raises OptionError if the weights are of other runs, or of another number of runs.
        """
        weights = self.weights
        if weights is None:
            return [1.0] * len(names)
        if isinstance(weights, Mapping):
            unknown_names = [name for name in weights if name not in names]
            missing_names = [name for name in names if name not in weights]
            if unknown_names or missing_names:
                problem = (
                    f"there is no run {unknown_names[0]!r:.80}"
                    if unknown_names
                    else f"none of {missing_names[0]!r}"
                )
                raise OptionError(f"weights: {problem}; the runs are {format_names(names)}")
            return [weights[name] for name in names]
        if len(weights) != len(names):
            raise OptionError(
                f"{len(weights)} weights for {len(names)} runs: {format_names(names)}"
            )
        return list(weights)
