"""Keywords of functions, fields of results, for type checkers: scripts/make_docs.py writes this."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypedDict

from cranfield.comparison.settings import (
    Correction,
    Differing,
    Family,
    GateTestName,
    Missing,
    Test,
    UndecidedCount,
)
from cranfield.data.judging import IdenticalIds, Precision, Queries, Ties, Unretrieved
from cranfield.formats.block import Duplicates, Errors, Order
from cranfield.formats.columns import ColumnsOfBoth, TextMatching
from cranfield.formats.small.score_files import Layout
from cranfield.progress import ProgressLike


class Alignment(TypedDict, total=False):
    missing: Missing | None
    layout: Layout
    differing: Differing
    percent: bool
    less_is_better: Sequence[str]


class Clustering(TypedDict, total=False):
    clusters: Any | None
    cluster_by: str | None


class Convening(TypedDict, total=False):
    convention: str | None


class Goal(TypedDict, total=False):
    effect: float | None
    difference: float | None
    width: float | None
    margin: float | None
    sd: float | None
    power: float
    alpha: float


class Grouping(TypedDict, total=False):
    groups: Any | None
    deterministic: Sequence[str]


class Judging(TypedDict, total=False):
    queries: Queries
    order: Order
    scores: Precision
    ties: Ties
    depth: int | None
    judged_only: bool
    duplicates: Duplicates
    identical_ids: IdenticalIds
    scores_above: float | None
    unretrieved: Unretrieved
    overlap: float


class Reading(TypedDict, total=False):
    columns: ColumnsOfBoth | None
    without: Any
    texts: TextMatching


class Watching(TypedDict, total=False):
    progress: ProgressLike


class Check(Reading, Watching): ...


class Compare(Clustering, Grouping, Alignment, Reading, Judging, Watching, total=False):
    baseline: str | Sequence[str] | None
    all_pairs: bool
    test: Test
    correction: Correction
    family: Family
    alpha: float
    flips: int
    seed: int
    tie: float
    rope: float | None
    bounds: bool


class Evaluate(Reading, Judging, Convening, Watching, total=False):
    threads: int | None
    buckets: int | None
    temp: str | None
    bounds: bool
    slices: Any
    fingerprints: bool
    errors: Errors


class Explain(Reading, Judging, Convening, Watching): ...


class Gate(Clustering, Grouping, Alignment, Reading, Judging, Watching, total=False):
    equivalence: bool
    alpha: float
    test: GateTestName
    flips: int
    seed: int
    range: tuple[float, float] | None
    changes: int | None
    at_least: Mapping[str, float] | None
    limit: bool
    undecided: UndecidedCount | None
    tried: int
    trained_again: bool
    human: Any | None
    lam: float | None


class Intervals(Clustering, total=False):
    alpha: float


class PairValues:
    d_z: ClassVar[Any]
    hedges: ClassVar[Any]
    glass: ClassVar[Any]
    d_av: ClassVar[Any]
    es_e: ClassVar[Any]
    cliff: ClassVar[Any]
    dominance: ClassVar[Any]
    superiority: ClassVar[Any]
    clusters: ClassVar[Any]
    changed_clusters: ClassVar[Any]
    design_effect: ClassVar[Any]
    training_low: ClassVar[Any]
    training_high: ClassVar[Any]
    training_p: ClassVar[Any]
    training_p_adjusted: ClassVar[Any]
    training_df: ClassVar[Any]
    training_verdict: ClassVar[Any]
    rank_biserial: ClassVar[Any]
    probability_better: ClassVar[Any]
    probability_same: ClassVar[Any]
    probability_worse: ClassVar[Any]
    unjudged_low: ClassVar[Any]
    unjudged_high: ClassVar[Any]
    unjudged_method: ClassVar[Any]
    unjudged_robust: ClassVar[Any]


class RemarkValues:
    ties: ClassVar[Any]
    swap: ClassVar[Any]
    judgments: ClassVar[Any]
    untried: ClassVar[Any]
