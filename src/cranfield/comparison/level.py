"""Level: the option alpha, which every family of statistical options takes over from here."""

from dataclasses import dataclass

from cranfield.options import Options, option, share_check

# The arguments of `option`.
ALPHA = (
    0.05,
    "The level of the tests, above 0 and below 0.5; intervals are 1 - alpha.",
    share_check(upper=0.5),
)


@dataclass(frozen=True, kw_only=True)
class Level(Options):
    """The level of intervals."""

    alpha: float = option(*ALPHA)
