"""Keywords of functions of extensions, for type checkers: scripts/make_docs.py writes this."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from cranfield.data.combined import DifferingGrades
from cranfield.data.judging import Precision, Ties
from cranfield.extensions.collections.options import CollectionCorrection, CollectionTest
from cranfield.extensions.fusion.fusing import Absent, Norm
from cranfield.extensions.fusion.trials import TuningTarget
from cranfield.extensions.labels.pools.draw import Strata
from cranfield.extensions.labels.pools.options import DrawUnit, Likelihood, PoolMethod
from cranfield.extensions.report.paper_result import Marks
from cranfield.formats.block import Duplicates, Errors, Order
from cranfield.formats.columns import ColumnsOfBoth
from cranfield.keywords import Alignment, Goal, Judging, Reading, Watching


class Conditions(TypedDict, total=False):
    changed: float | None
    comparisons: int
    cluster_size: int | None
    icc: float | None
    seeds: int | None
    seed_sd: float | None


class Design(Conditions, Goal): ...


class Fusing(TypedDict, total=False):
    norm: Norm | None
    weights: Any
    absent: Absent | None
    k: float
    gamma: float
    sigma: float
    phi: float


class Paper(TypedDict, total=False):
    marks: Marks | None
    ranks: bool
    sort: bool
    digits: int | None
    percent: bool
    caption: str | None
    label: str | None
    wide: bool


class PoweredSettings(TypedDict, total=False):
    baseline: str | None
    alpha: float
    lam: float | None


class SignFlips(TypedDict, total=False):
    alpha: float
    flips: int
    seed: int


class Agreement(Reading, Watching, total=False):
    rel: int
    mixtures: int
    seed: int
    alpha: float
    duplicates: Duplicates


class Collect(TypedDict, total=False):
    assessor: str | None
    grades_of: Mapping[str, float] | str | None
    grades: Any
    differing: DifferingGrades
    errors: Errors
    columns: ColumnsOfBoth | None


class CompareCollections(Alignment, Reading, Judging, Watching, total=False):
    baseline: str | Sequence[str] | None
    all_pairs: bool
    test: CollectionTest
    correction: CollectionCorrection
    alpha: float
    flips: int
    seed: int
    tie: float


class Conventions(Reading, Watching): ...


class Correlate(SignFlips, Alignment, Reading, Judging, Watching, total=False):
    resamples: int
    rbo_p: float
    discrimination: bool
    splits: int


class Describe(Reading, Watching, total=False):
    train: Any
    items: Any
    category: str | None
    embeddings: Any
    catalogue: Any
    users: Any
    base: Any
    qrels: Any
    order: Order
    scores: Precision
    ties: Ties
    duplicates: Duplicates


class DiscriminativePower(SignFlips, Alignment, Reading, Judging, Watching): ...


class Fuse(Fusing, Reading, total=False):
    order: Order
    ties: Ties
    depth: int | None
    duplicates: Duplicates


class Holes(Reading, Judging, Watching, total=False):
    k: int
    pool_depth: int


class JointBounds(Reading, Judging, Watching): ...


class Pool(Reading, Judging, Watching, total=False):
    by: PoolMethod
    k: int
    n: int | None
    strata: Strata | str | None
    measure: str | None
    draw: DrawUnit
    likely: Likelihood
    unjudged: bool
    seed: int


class PredictionPowered(PoweredSettings, Alignment, Reading, Judging, Watching): ...


class Reproduce(Alignment, Reading, Judging, Watching, total=False):
    alpha: float
    rbo_p: float


class SwapRate(Alignment, Reading, Judging, Watching, total=False):
    splits: int
    seed: int
    bins: Sequence[float]


class Trend(Alignment, Reading, Judging, Watching, total=False):
    alpha: float
    flips: int
    seed: int
    tie: float


class Trust(PoweredSettings, Alignment, Reading, Judging, Watching, total=False):
    rel: float
    width: float | None


class Tune(Fusing, Reading, Watching, total=False):
    over: TuningTarget | None
    steps: int | None
    folds: Any
    seed: int
    alpha: float
    order: Order
    ties: Ties
    depth: int | None
    duplicates: Duplicates
