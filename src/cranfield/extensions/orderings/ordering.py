"""Orderings: what several systems scored under a measure and some judgments, for `correlate`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from cranfield.arrays.ranked import Floats, Ints, mean
from cranfield.comparison.aligned_scores import AlignedScores
from cranfield.comparison.alignment import align
from cranfield.comparison.flips import MANY_UNITS, Flips, PairedScores
from cranfield.comparison.pair_tests import p_values
from cranfield.comparison.scale import is_geometric, to_compared_unit
from cranfield.comparison.settings import Alignment
from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels
from cranfield.errors import InputError
from cranfield.extensions.orderings.coefficients import round_scores
from cranfield.extensions.orderings.options import SignFlips
from cranfield.formats.stated_columns import take_together
from cranfield.lazy import cached_property
from cranfield.notes import Note, merge_notes
from cranfield.scoring.arguments import Reading
from cranfield.scoring.evaluate import MeasuresLike
from cranfield.scoring.scores import Systems


@dataclass(frozen=True, eq=False)
class Ordering:
    """Several systems by what they scored under one measure and one set of judgments.

    `scores` (n_systems,) are the values over all queries. `query_merits` (n_queries, n_systems) are
    the queries' values, turned where less is better, and logarithms where the mean is geometric, so
    that the system with the greatest mean is the best.
    """

    label: str
    source: str  # the label of the judgments; "" if they have none
    measure: str
    higher_is_better: bool  # whether more is better
    query_ids: tuple[str, ...]
    scores: Floats
    query_merits: Floats
    recipe: Mapping[str, Any]  # of the aligned scores

    @cached_property
    def merits(self) -> Floats:
        """The scores, rounded, and turned where less is better: (n_systems,)."""
        return round_scores(self.scores if self.higher_is_better else -self.scores)

    def p_values(self, left: Ints, right: Ints, settings: SignFlips) -> Floats | None:
        """Return the two-sided sign-flip test's p-values of pairs of systems; None for one query.

        The systems are columns of `query_merits`: (n_pairs,) of them to the left and to the right.
        """
        if len(self.query_ids) < 2:
            return None
        flips = Flips(len(self.query_ids), settings.flips, settings.seed)
        return p_values(PairedScores(self.query_merits, left, right), flips)


def make_orderings(
    qrels: Any, runs: Any, measures: MeasuresLike | None, options: Mapping[str, object]
) -> tuple[tuple[str, ...], tuple[Ordering, ...], tuple[Note, ...]]:
    """Return the names of the systems, an ordering for each qrels and measure, and notes.

    Qrels and runs are what `align` takes; or qrels are `{label: Qrels or path}`, or, without
    runs, `{label: Systems}`. `options` are some of `Alignment`, `Judging` and `Reading`. Raises
    what `align` raises, and InputError where systems differ.
    """
    orderings: list[Ordering] = []
    names: tuple[str, ...] = ()
    notes: list[tuple[str, Note]] = []
    sources = _label_sources(qrels, runs)
    alignment, judging, reading = Alignment.of(options), Judging.of(options), Reading.of(options)
    with take_together(reading.columns):
        scores_of_source = {
            source: align(*source_data, measures, alignment, judging, reading)
            for source, source_data in sources.items()
        }
    for source, aligned_scores in scores_of_source.items():
        names = names or aligned_scores.system_names
        if set(aligned_scores.system_names) != set(names):
            odd_name = min(set(aligned_scores.system_names) ^ set(names))
            raise InputError(
                f"the system {odd_name!r} is not among those of every one of "
                f"{', '.join(map(repr, sources))}; orderings are to be of the same systems"
            )
        notes += [(source, note) for note in aligned_scores.notes]
        for measure in aligned_scores.measures:
            if is_geometric(aligned_scores.find_measure(measure)):
                text = (
                    f"{measure}: its mean is geometric; intervals and tests apply to the "
                    "logarithms of the queries' values."
                )
                notes.append((source, Note("geometric", "info", text)))
            label = measure
            if len(sources) > 1:
                label = f"{source}: {measure}" if len(aligned_scores.measures) > 1 else source
            orderings.append(_make_ordering(label, source, measure, aligned_scores, names))
    return names, tuple(orderings), tuple(merge_notes(notes, n_sources=len(sources)))


def _label_sources(qrels: Any, runs: Any) -> dict[str, tuple[Any, Any]]:
    """Return {label: (qrels, runs)} of each qrels to align; of one without label, it is ""."""
    kind: Any = Systems if runs is None else Qrels | str | PathLike
    is_labelled = isinstance(qrels, Mapping) and not isinstance(qrels, Systems)
    if is_labelled and qrels and all(isinstance(part, kind) for part in qrels.values()):
        return {str(label): (judgments, runs) for label, judgments in qrels.items()}
    return {"": (qrels, runs)}


def _make_ordering(
    label: str, source: str, measure: str, aligned_scores: AlignedScores, names: Sequence[str]
) -> Ordering:
    """Return the ordering by one measure; `names` are the systems, in the order of all sources."""
    order = [aligned_scores.system_names.index(name) for name in names]
    query_scores = aligned_scores.measure_scores(measure)[:, order]
    parsed_measure = aligned_scores.find_measure(measure)
    aggregate = parsed_measure.aggregate if parsed_measure else mean
    scores = np.array([aggregate(column) for column in query_scores.T])
    rises = aligned_scores.is_higher_better(measure)
    query_values = to_compared_unit(parsed_measure, query_scores)
    query_ids, recipe = aligned_scores.query_ids, aligned_scores.recipe
    query_merits = query_values if rises else -query_values
    return Ordering(label, source, measure, rises, query_ids, scores, query_merits, recipe)


def describe_flips(orderings: Sequence[Ordering], flips: int) -> str:
    """Return a phrase of how many sign flips the tests of some orderings have."""
    query_counts = [len(ordering.query_ids) for ordering in orderings]
    exactness = {Flips(n).is_exact for n in query_counts}
    if exactness == {True}:
        return "all flips"
    prefix = "up to " if max(query_counts) > MANY_UNITS else ""
    return f"{prefix}{flips:,} flips" + (
        " (all where there are 20 queries or fewer)" if True in exactness else ""
    )
