"""Judging: the options that say how a run is judged, each with its default, help and check."""

from dataclasses import dataclass
from typing import Literal

from cranfield.errors import OptionError
from cranfield.formats.block import Duplicates, Order
from cranfield.options import Options, list_options, number_check, option, whole_check

Queries = Literal[
    "judged", "both", "relevant", "relevant-and-both", "retrieved", "relevant-and-retrieved", "run"
]
Precision = Literal["double", "single"]
IdenticalIds = Literal["keep", "drop"]
Unretrieved = Literal["leave-out", "below"]
Ties = Literal["document", "ascending", "given", "expected", "best", "worst"]


@dataclass(frozen=True, kw_only=True)
class Judging(Options):
    """How a run is judged: which queries count, what ranks the documents, which are kept.

    Raises OptionError for an option with a value that is not one of its choices, or that has no
    meaning beside another.

    >>> Judging(depth=10).changed_options()
    {'depth': 10}
    """

    queries: Queries = option(
        "judged",
        'Which queries are averaged. "judged": every query of the judgments; one without results '
        'scores 0 (`trec_eval -c`). "both": those that the run has, too. "retrieved": those for '
        'which it retrieved a document. "relevant": those with a grade above 0; '
        '"relevant-and-both" and "relevant-and-retrieved" ask for both. "run": every query for '
        "which the run retrieved a document; one without judgments scores 0.",
    )
    order: Order = option(
        "score",
        'Rank by "score", by the "rank" column, or in the order "given". Ties of scores are by '
        "document id.",
    )
    scores: Precision = option(
        "double",
        'Compare scores as floats of 64 or of 32 bits. The latter, "single", is what trec_eval 9 '
        "and pytrec_eval do.",
    )
    ties: Ties = option(
        "document",
        'How tied documents are ranked. "document": by id, descending. "ascending": by id, '
        'ascending. "given": in the order of the run. "expected": the mean over all orders, for '
        'measures that have a formula for it (P, R, AP, RR, DCG, nDCG, ...). "best" and "worst": '
        "by grade, highest or lowest first, for measures that no other order can raise or lower "
        "further; other measures are refused.",
    )
    depth: int | None = option(
        None, "Keep only the best so many documents of each query (`trec_eval -M`).", whole_check(1)
    )
    judged_only: bool = option(
        False,
        "Drop documents that are unjudged or of negative grade before measuring (`trec_eval -J`).",
    )

    duplicates: Duplicates = option(
        "refuse",
        'What to do with a document that a query has twice. "refuse": an error. "first": keep its '
        'first row. "best": keep the highest score, or grade. "once": every row keeps its rank, '
        'and the best one counts. "each": every row counts, as in tools that see no duplicates; '
        'recall may then be above 1. "joined": so often among the relevant documents, too, as '
        "where tables are joined.",
    )

    identical_ids: IdenticalIds = option(
        "keep",
        'What to do with a document whose id is that of the query. "keep": rank it as any other. '
        '"drop": leave it out before ranking, for collections whose queries are documents, too '
        "(BEIR's ignore_identical_ids).",
    )
    scores_above: float | None = option(
        None, "Drop documents whose score is not above this number before ranking.", number_check()
    )

    unretrieved: Unretrieved = option(
        "leave-out",
        'What to do with judged documents that the run did not retrieve. "leave-out": they have no '
        'rank. "below": they are ranked, tied, below all others, as where scikit-learn and '
        "torchmetrics are given all judged documents; so are those that `depth` cuts off.",
    )

    overlap: float = option(
        0.5,
        "For judgments by span: how much of the shorter span must be shared, 0 to 1. A retrieved "
        "span is the judged one with which it shares at least that much.",
        number_check(0, 1),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        without_ids = self.order == "given" or (self.order == "rank" and not self.has_one_tie_order)
        is_below = self.unretrieved == "below"  # then there are documents of one score
        if self.ties != "document" and without_ids and not is_below:
            raise OptionError(
                f"ties={self.ties!r} has no effect with order={self.order!r}: leave one out"
            )
        if self.scores_above is not None and self.order != "score":
            raise OptionError(
                f"scores_above={self.scores_above:g} compares scores, and order={self.order!r} "
                "ranks by something else: leave one out"
            )
        if self.depth is not None and is_below and not self.has_one_tie_order:
            raise OptionError(
                f"ties={self.ties!r} with depth and unretrieved='below': which documents are cut "
                "off, and ranked below, would depend on the order of tied ones; leave one out, or "
                "cut the measures, as in nDCG@10"
            )
        if self.depth is not None and self.judged_only and not self.has_one_tie_order:
            raise OptionError(
                f"ties={self.ties!r} with depth and judged_only: how many judged documents are "
                "kept would depend on the order of tied ones; leave one out, or cut the measures, "
                "as in nDCG@10"
            )

    @property
    def has_one_tie_order(self) -> bool:
        """Whether the order of tied documents is known without their grades."""
        return self.ties in ("document", "ascending", "given")

    @property
    def keeps_repeats(self) -> bool:
        """Whether every row of a document that occurs more than once has a rank."""
        return self.duplicates in ("once", "each", "joined")

    @property
    def drops_documents(self) -> bool:
        """Whether some documents of a run may be dropped before they are ranked."""
        return self.identical_ids == "drop" or self.scores_above is not None

    @property
    def tie_rule(self) -> str:
        """How equal scores are ranked, in words."""
        rules = {
            "document": "ranked by document id, descending",
            "ascending": "ranked by document id, ascending",
            "given": "ranked in the order given",
            "expected": "averaged over all their orders",
            "best": "ranked by grade, the highest first",
            "worst": "ranked by grade, the lowest first",
        }
        return rules[self.ties]


# Options without effect where no run is ranked: all but one.
RANKING_OPTIONS = frozenset(option.name for option in list_options(Judging)) - {"duplicates"}
