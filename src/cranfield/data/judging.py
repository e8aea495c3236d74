"""Judging: how a run is judged. Each option, its default, its check and its sentence, said once."""

from dataclasses import dataclass
from typing import Literal, TypedDict

from cranfield.errors import OptionError
from cranfield.formats.block import Duplicates, Order
from cranfield.options import Options, number, option, options_of, whole

Queries = Literal["judged", "both"]
Precision = Literal["double", "single"]
Ties = Literal["document", "ascending", "expected", "best", "worst"]


@dataclass(frozen=True, kw_only=True)
class Judging(Options):
    """How a run is judged: which queries count, what ranks the documents, which are kept.

    Raises OptionError for an option with a value that it does not know, or that has no meaning
    beside another.

    >>> Judging(depth=10).unusual()
    {'depth': 10}
    """

    queries: Queries = option(
        "judged",
        'Average over every query of the qrels, where one without results scores 0 ("judged", as '
        '`trec_eval -c`), or over those that the run has, too ("both").',
    )
    order: Order = option(
        "score",
        'Rank by "score" (ties by document id), by the "rank" column, or in the order "given".',
    )
    scores: Precision = option(
        "double",
        'Compare scores as 64-bit floats ("double"), or as 32-bit ones ("single"), as trec_eval 9 '
        "and pytrec_eval do.",
    )
    ties: Ties = option(
        "document",
        'Rank equal scores by "document" id, descending, or "ascending"; take the mean over all '
        'their orders ("expected"), for measures that have a formula for it (P, R, AP, RR, DCG, '
        "nDCG, ...); or rank them by grade, the highest first and unjudged documents last "
        '("best"), or the other way round ("worst"), for measures that no order takes further. '
        "Other measures are refused.",
    )
    depth: int | None = option(
        None, "Keep only the best so many documents of each query (`trec_eval -M`).", whole(1)
    )
    judged_only: bool = option(
        False,
        "Drop documents that are unjudged or of negative grade before measuring (`trec_eval -J`).",
    )

    duplicates: Duplicates = option(
        "refuse",
        'Of a document that stands more than once for a query, "refuse" all; keep the "first" row, '
        'or the "best" one (the highest score; of judgments the highest grade); or count "each" '
        "row of a run at its rank, as tools do that see no duplicates: recall and others may then "
        "be above 1.",
    )

    overlap: float = option(
        0.5,
        "For judgments by span: a retrieved span is the judged one with which it shares at least "
        "so much of the shorter, 0 to 1.",
        number(0, 1),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        without_ids = self.order == "given" or (self.order == "rank" and not self.ties_by_id)
        if self.ties != "document" and without_ids:
            raise OptionError(
                f"ties={self.ties!r} has no effect with order={self.order!r}: leave one out"
            )
        if self.depth is not None and self.judged_only and not self.ties_by_id:
            raise OptionError(
                f"ties={self.ties!r} with depth and judged_only: how many judged documents are "
                "kept would depend on the order of tied ones; leave one out, or cut the measures, "
                "as in nDCG@10"
            )

    @property
    def ties_by_id(self) -> bool:
        """Whether document ids decide between equal scores, and not the grades."""
        return self.ties in ("document", "ascending")

    @property
    def tie_rule(self) -> str:
        """How equal scores are ranked, in words."""
        rules = {
            "document": "ranked by document id",
            "ascending": "ranked by document id, ascending",
            "expected": "averaged over all their orders",
            "best": "ranked by grade, the highest first",
            "worst": "ranked by grade, the lowest first",
        }
        return rules[self.ties]


# Where runs are not ranked, or in one way only: all but what applies to rows as they are read.
RANKING = frozenset(one.name for one in options_of(Judging)) - {"duplicates"}


# ---- made from the families by scripts/make_docs.py


class JudgingOptions(TypedDict, total=False):
    """The options of Judging, as keywords of a function."""

    queries: Queries
    order: Order
    scores: Precision
    ties: Ties
    depth: int | None
    judged_only: bool
    duplicates: Duplicates
    overlap: float


# ---- end
