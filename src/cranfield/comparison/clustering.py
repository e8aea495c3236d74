"""The options of what even a mean alone has: its level, clusters of queries, human labels."""

from dataclasses import dataclass
from typing import Any, TypedDict

from cranfield.errors import OptionError
from cranfield.options import Options, number, option, share

ALPHA = (
    0.05,
    "The level of the tests, above 0 and below 0.5; intervals are 1 - alpha.",
    share(below=0.5),
)


@dataclass(frozen=True, kw_only=True)
class Clustering(Options):
    """Which queries depend on one another."""

    clusters: Any | None = option(
        None,
        "Labels of queries that depend on one another, as those of one session, user or original "
        "question: {query_id: label}, or a file or table of query ids and labels. Whole clusters "
        "are flipped, and errors are cluster-robust. [default: queries are independent]",
    )
    cluster_by: str | None = option(
        None, "Which labels are those of the clusters, where there are several columns."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cluster_by is not None and self.clusters is None:
            raise OptionError(
                f"cluster_by={self.cluster_by!r:.40} names one of the columns of labels: state "
                "these, too (clusters=, --clusters)"
            )


@dataclass(frozen=True, kw_only=True)
class Level(Options):
    """The level of intervals."""

    alpha: float = option(*ALPHA)


@dataclass(frozen=True, kw_only=True)
class PoweredSettings(Options):
    """How labels of people and of a model make one estimate."""

    baseline: str | None = option(
        None, "The system that the others are compared with. [default: the first]"
    )
    alpha: float = option(*ALPHA)
    lam: float | None = option(
        None,
        "How much the model's labels count, from 0, not at all, to 1. [default: as much as makes "
        "the estimate least uncertain]",
        number(0, 1),
    )


# ---- made from the families by scripts/make_docs.py


class ClusteringOptions(TypedDict, total=False):
    """The options of Clustering, as keywords of a function."""

    clusters: Any | None
    cluster_by: str | None


class LevelOptions(TypedDict, total=False):
    """The options of Level, as keywords of a function."""

    alpha: float


class PoweredSettingsOptions(TypedDict, total=False):
    """The options of PoweredSettings, as keywords of a function."""

    baseline: str | None
    alpha: float
    lam: float | None


# ---- end
