"""How two assessors are compared: the options."""

from dataclasses import dataclass

from cranfield.comparison.level import ALPHA
from cranfield.comparison.settings import SEED_OPTION, count_from
from cranfield.options import Options, option


@dataclass(frozen=True, kw_only=True)
class AgreementSettings(Options):
    """How two assessors are compared."""

    rel: int = option(
        1,
        "The lowest grade that is relevant, for kappa and overlap (a measure states its own).",
        count_from(0),
    )
    mixtures: int = option(
        1_000,
        "How many mixtures of both qrels to draw, or, with confusion, how many qrels.",
        count_from(1),
    )
    seed: int = option(*SEED_OPTION)
    alpha: float = option(*ALPHA)
