"""Results of a comparison: systems, pairs of them, and one measure's result."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

import numpy as np

from cranfield.arrays.ranked import Bools, Floats
from cranfield.comparison.ranks import BestTest, Rank
from cranfield.comparison.scale import is_geometric
from cranfield.comparison.score_columns import find_measure
from cranfield.comparison.units import EACH_QUERY, Units
from cranfield.extensions import PAIR_VALUES
from cranfield.lazy import cached_property
from cranfield.notes import Note
from cranfield.render.numbers import finite_or_none

Outcome = Literal["better", "worse"]

if TYPE_CHECKING:
    from cranfield.keywords import PairValues
else:
    PairValues = object

# How p was found: by all possible flips; by as many drawn flips, or resamples, as asked for; by
# fewer, as p was known; or without flips, as an upper bound.
Method = Literal["exact", "drawn", "sequential", "bound"]
# Names of the values that extensions add to pairs.
_EXTENSION_VALUES = frozenset(chain.from_iterable(PAIR_VALUES.values()))
Scale = Literal["difference", "ratio"]


IntervalName = Literal["t", "wilson"]  # how the interval of a mean was made


@dataclass(frozen=True)
class System:
    """One system's mean over the queries, with its interval, and its judged share.

    For a measure with a geometric mean, such as GMAP, the mean and its interval are geometric.
    """

    name: str
    mean: float
    low: float | None  # None: no interval, of one query
    high: float | None
    # Share of judged documents among those that the measure looks at; None: not known.
    judged: float | None
    judged_lags: bool  # 0.05 or more below another system's
    little_judged: bool = False  # below 0.8 times another system's, too little to place the system
    # Of a system that is the mean of several runs: {run: its mean}.
    runs: Mapping[str, float] | None = None
    seed_sd: float | None = None  # the standard deviation of these means; None for one run
    interval: IntervalName = "t"  # by Student's t, or Wilson's score of zeros and ones

    @property
    def seeds(self) -> int:
        """The number of runs."""
        return 1 if self.runs is None else len(self.runs)


@dataclass(frozen=True)
class Change:
    """A query on which the systems of a Pair differ, with the scores of `other` and of `system`."""

    query_id: str
    other_score: float
    score: float


@dataclass(frozen=True)
class Effects:
    """Effect sizes of the difference of two systems. None: the value does not exist."""

    d_z: float | None  # difference / sd
    hedges: float | None  # d_z, corrected for few queries
    glass: float | None  # difference / sd of the other's scores
    d_av: float | None  # difference / root of the mean variance of the two systems' scores
    es_e: float | None  # difference / root of the residual variance of all systems
    cliff: float  # Cliff's delta, of unpaired scores
    dominance: float  # (wins - losses) / n
    superiority: float  # (wins + ties / 2) / n
    rank_biserial: float | None = None  # of Wilcoxon's ranks, with that test


@dataclass(frozen=True)
class Beliefs:
    """How probable it is that a system is better, the same, worse: None without rope or "bayes"."""

    probability_better: float | None = None
    probability_same: float | None = None
    probability_worse: float | None = None


def field_names(dataclass_type: type[Any]) -> list[str]:
    """Return the names of the fields of a dataclass."""
    return [field.name for field in fields(dataclass_type)]


_NESTED_CLASSES: Mapping[str, type[Any]] = {"effects": Effects, "beliefs": Beliefs}  # of a Pair
# {name of a nested value: the field of a Pair that holds it}
_NESTED_FIELD_OF = {
    name: field_name
    for field_name, dataclass_type in _NESTED_CLASSES.items()
    for name in field_names(dataclass_type)
}
# This effect and those after it are exported later.
_FIRST_SHARE = field_names(Effects).index("cliff")
# {field of a Pair: the nested values that are exported after it}
_EXPORTED_AFTER = {
    "skewness": field_names(Effects)[:_FIRST_SHARE],
    "losses": [*field_names(Effects)[_FIRST_SHARE:], *field_names(Beliefs)],
}


@dataclass(frozen=True)
class Pair(PairValues):
    """One system compared with another over the same queries. None: the value does not exist.

    The values of `effects`, of `beliefs` and of `more` are attributes of the pair, too: `pair.d_z`.

    `difference` is the mean of `system` minus that of `other`, [low, high] its 1 - alpha interval.

    `method` is how p was found: "exact", by all possible flips; "drawn", by as many flips or
    resamples as were asked for; "sequential", by fewer, since 1,000 of these had a mean difference
    as large; "bound", without flips: p is an upper bound, below 0.000001.

    Where systems are means of several runs, all this is about these runs' models. `training_low` to
    `training_verdict` are about training the systems again, with other seeds.

    `changes` are the queries on which the two differ, in the order of their ids, if there are fewer
    than 10; else empty (`Comparison.changes` returns any number). CSV leaves it out.

    Where the measure has a geometric mean, such as GMAP, `scale` is "ratio": natural logarithms of
    the queries' values are compared, where values below 0.00001 count as 0.00001. Then
    `difference`, its ends, `sd`, the effect sizes, `detectable` and a rope are in logarithms, and
    `ratio`, the geometric mean of `system` divided by that of `other`, is exp(difference), with the
    ends `ratio_low` and `ratio_high`; else these three are None.

    >>> from cranfield import compare
    >>> halves = {f"q{i}": 0.5 ** (1 + i % 3) for i in range(12)}
    >>> doubled = {query: 2 * value for query, value in halves.items()}
    >>> pair = compare({"old": {"GMAP": halves}, "new": {"GMAP": doubled}})["GMAP"]["new"]
    >>> pair.mean / pair.other_mean, pair.scale, pair.ratio, pair.verdict
    (2.0, 'ratio', 2.0, 'better')
    """

    system: str
    other: str
    n: int  # queries
    mean: float
    other_mean: float
    scale: Scale
    difference: float
    percent: float | None  # of the other's mean
    low: float | None
    high: float | None
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    interval: str  # how the interval was made
    p: float | None  # two-sided, of this pair alone
    p_adjusted: float | None  # for the whole family
    p_t: float | None  # of the paired t-test, with any test
    p_error: float | None  # the standard error of p, from drawing flips or resamples; else 0
    exact: bool  # whether all flips were tried
    method: Method | None  # how p was found; None for a test without flips or resamples
    verdict: Outcome | None  # if p_adjusted is at most alpha; with "bayes", by the beliefs
    sd: float | None  # of the queries' differences
    skewness: float | None
    changed: int  # queries on which the two differ, by more than rounding
    changes: tuple[Change, ...]  # these queries, if they are fewer than 10
    wins: int  # queries on which `system` is better; then those on which it ties, or is worse
    ties: int
    losses: int
    # The difference that a t-test finds with 80 % power on this many queries, at the level after
    # Holm's or Bonferroni's correction; with other corrections, before it.
    detectable: float | None
    effects: Effects
    beliefs: Beliefs
    more: Mapping[str, Any] = field(hash=False)  # by name, what extensions add

    @classmethod
    def of(cls, value_of_name: Mapping[str, Any], more: Mapping[str, Any]) -> "Pair":
        """Return the pair that has these values, some of which are effects and beliefs."""
        own_values = dict(value_of_name)
        nested_values = {
            field_name: dataclass_type(
                **{
                    name: own_values.pop(name)
                    for name in field_names(dataclass_type)
                    if name in own_values
                }
            )
            for field_name, dataclass_type in _NESTED_CLASSES.items()
        }
        return cls(**own_values, **nested_values, more=more)

    if not TYPE_CHECKING:  # which has PairValues

        def __getattr__(self, name):
            """Return a value of a part by its name; None for what no extension was asked to add."""
            if name in _NESTED_FIELD_OF:
                return getattr(getattr(self, _NESTED_FIELD_OF[name]), name)
            if name not in _EXTENSION_VALUES:
                refusal = f"'Pair' object has no attribute {name!r}"
                raise AttributeError(refusal, name=name, obj=self)
            return self.more.get(name)

    def __dir__(self) -> list[str]:
        """Return the names of all attributes, for completion."""
        return [*{*super().__dir__(), *self.names()}]

    @classmethod
    def names(cls) -> list[str]:
        """Return the names of all values, in the order in which they are exported."""
        own_names = [name for name in field_names(cls) if name not in (*_NESTED_CLASSES, "more")]
        names = [
            name
            for own_name in own_names
            for name in (own_name, *_EXPORTED_AFTER.get(own_name, ()))
        ]
        return [name for own_name in names for name in (own_name, *PAIR_VALUES.get(own_name, ()))]

    def to_dict(self) -> dict[str, Any]:
        """Return every value by its name, as for JSON."""
        value_of_name = {name: getattr(self, name) for name in self.names()}
        return {**value_of_name, "changes": [asdict(change) for change in self.changes]}


class _SystemPair(Protocol):
    """What every compared pair of two systems has."""

    @property
    def system(self) -> str: ...
    @property
    def other(self) -> str: ...
    @property
    def difference(self) -> float: ...
    @property
    def verdict(self) -> Outcome | None: ...


P = TypeVar("P", bound=_SystemPair)


class Pairs(Generic[P]):
    """Pairs of systems, found by their names."""

    pairs: Sequence[P]

    @cached_property
    def pair_of_names(self) -> Mapping[tuple[str, str], P]:
        """{(system, other): pair}."""
        return {(pair.system, pair.other): pair for pair in self.pairs}

    def between(self, system: str, other: str) -> tuple[float, Outcome | None]:
        """Return the difference and the verdict of two systems, compared in either order."""
        if (system, other) in self.pair_of_names:
            pair = self.pair_of_names[system, other]
            return pair.difference, pair.verdict
        reversed_outcome: dict[Outcome | None, Outcome] = {"better": "worse", "worse": "better"}
        pair = self.pair_of_names[other, system]
        return -pair.difference, reversed_outcome.get(pair.verdict)

    def __getitem__(self, system: str | tuple[str, str]) -> P:
        """Return a pair, by its system, or by (system, other) if several pairs have the system."""
        matching_pairs = [
            pair
            for pair_names, pair in self.pair_of_names.items()
            if system in (pair_names, pair_names[0])
        ]
        if len(matching_pairs) != 1:
            pair_list = ", ".join(f"{name} - {other}" for name, other in self.pair_of_names)
            raise KeyError(f"{system!r}: the pairs are {pair_list}")
        return matching_pairs[0]


def find_verdicts(
    is_marked: Bools, direction: Floats, *, higher_is_better: bool
) -> list[Outcome | None]:
    """Return the verdict of each pair, (n_pairs,); None where a pair has no mark or no direction.

    `direction` (n_pairs,) is above 0 where the first system has the greater scores, which is better
    if `higher_is_better`.
    """
    outcomes: tuple[Outcome, Outcome] = (
        ("better", "worse") if higher_is_better else ("worse", "better")
    )
    return [
        None if not is_marked_pair or sign == 0 else outcomes[0] if sign > 0 else outcomes[1]
        for is_marked_pair, sign in zip(is_marked, direction.tolist(), strict=True)
    ]


def column_to_list(column: Any, n_rows: int = 0) -> list[Any]:
    """Return an array as a list, None where not finite; a list as it is; else `n_rows` times it."""
    if not isinstance(column, np.ndarray):
        return column if isinstance(column, list) else [column] * n_rows
    column_list: list[Any] = column.tolist()
    return list(map(finite_or_none, column_list)) if column.dtype == np.float64 else column_list


def is_placed(pair: Pair, systems: Sequence[System]) -> bool:
    """Tell whether a verdict on a pair holds: no system of it is little judged, or bounds allow it.

    Bounds allow it if the difference has the same sign however unjudged documents are graded.
    """
    names = {system.name for system in systems if system.little_judged}
    return bool(pair.unjudged_robust) or names.isdisjoint((pair.system, pair.other))


@dataclass(frozen=True, eq=False)
class Result(Pairs[Pair]):
    """Systems compared under one measure, on all queries or on those of one slice."""

    measure: str
    label: str | None  # what the queries are sliced by
    slice: str | None
    higher_is_better: bool
    query_ids: Sequence[str]
    queries_hash: str  # SHA-256 of the ids
    systems: Sequence[System]  # in the given order
    pairs: Sequence[Pair]
    comparisons: int  # in the family that p-values are adjusted for
    letters: Sequence[str] | None  # of each system; those that share a letter do not differ
    notes: tuple[Note, ...]  # on how far to trust the result
    units: Units = EACH_QUERY  # what the tests took as independent
    # None: not all pairs, or no correction that bounds the chance of any false alarm.
    best_test: BestTest | None = None

    @cached_property
    def ranks(self) -> Mapping[str, Rank] | None:
        """{system: its Rank}, the places that it may have; None without all pairs.

        None, too, where no correction bounds the chance of any false alarm: with "bh", "by",
        "none", and the test "bayes".
        """
        if self.best_test is None or not all(is_placed(p, self.systems) for p in self.pairs):
            return None
        ranks, p_values = {}, self.best_test.best_p_values().tolist()
        for system, p in zip(self.systems, p_values, strict=True):
            verdicts = self.list_verdicts(system.name)
            low, high = 1 + verdicts.count("worse"), 1 + len(verdicts) - verdicts.count("better")
            ranks[system.name] = Rank(low, high, p, may_be_best=p > self.best_test.alpha)
        return ranks

    def list_verdicts(self, system: str) -> list[Outcome | None]:
        """Return the verdict on a system beside each other, all of them compared with it."""
        rivals = (rival.name for rival in self.systems if rival.name != system)
        return [self.between(system, rival)[1] for rival in rivals]

    @property
    def n_clusters(self) -> int | None:
        """The number of clusters of queries; None where each query is alone."""
        return self.units.n_groups

    @property
    def slice_label(self) -> str:
        """The slice, as `type=how to`; empty for all queries."""
        return "" if self.slice is None else f"{self.label}={self.slice}"

    @cached_property
    def by_ratio(self) -> bool:
        """Whether systems are compared by the ratio of their geometric means."""
        return is_geometric(find_measure(self.measure))  # there need not be a pair to say so

    @cached_property
    def ranked_systems(self) -> Sequence[System]:
        """Return the systems, the best first; of equal ones, the most judged, then by name."""
        sign = -1 if self.higher_is_better else 1
        return sorted(self.systems, key=lambda s: (sign * s.mean, -(s.judged or 0.0), s.name))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as for JSON."""
        plain_values: dict[str, Any] = {
            "measure": self.measure,
            "label": self.label,
            "slice": self.slice,
            "higher_is_better": self.higher_is_better,
            "queries": len(self.query_ids),
            "clusters": self.units.n_groups,
            **({} if self.slice is None else {"query_ids": list(self.query_ids)}),
            "queries_sha256": self.queries_hash,
            "comparisons": self.comparisons,
            "systems": [asdict(system) for system in self.systems],
            "pairs": [pair.to_dict() for pair in self.pairs],
        }
        if self.letters is not None:
            system_names = [system.name for system in self.systems]
            plain_values["letters"] = dict(zip(system_names, self.letters, strict=True))
        if self.ranks is not None:
            plain_values["ranks"] = {name: asdict(rank) for name, rank in self.ranks.items()}
        return {**plain_values, "notes": [note.to_dict() for note in self.notes]}
