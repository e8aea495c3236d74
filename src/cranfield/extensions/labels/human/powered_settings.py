"""How labels of people and of a model make one estimate: the options."""

from dataclasses import dataclass

from cranfield.comparison.level import ALPHA
from cranfield.options import Options, number_check, option

# The arguments of `option` for lam, here and on the command line.
LAM = (
    None,
    "How much the model's labels count, from 0, not at all, to 1. [default: as much as makes the "
    "estimate least uncertain]",
    number_check(0, 1),
)


@dataclass(frozen=True, kw_only=True)
class PoweredSettings(Options):
    """How labels of people and of a model make one estimate."""

    baseline: str | None = option(
        None, "The system that the others are compared with. [default: the first]"
    )
    alpha: float = option(*ALPHA)
    lam: float | None = option(*LAM)
