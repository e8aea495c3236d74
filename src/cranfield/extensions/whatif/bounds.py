"""Bounds: the lowest and the highest value over every way to grade the unjudged.

Every unjudged document that the run retrieved may have any grade from 0 to the collection's
highest; documents that nobody retrieved stay unjudged. The grades count in the ideal ranking, too,
which is why it is not enough to try the lowest and the highest grade for all.

A completion gives every unjudged document a grade; it is a variant of the query, and measured as
such (see `variants`). Which completions are tried is declared with the measure
(`@measure(bounds=...)`):

- "extremes": all at the lowest grade, all at the highest. Enough where no grade of a document can
  lower the value: P, DCG, SetR. "retrieved": the same, and documents that the run did not retrieve
  change nothing: Success, RR, ERR.
- "split": the m highest-ranked, or the m lowest-ranked, at the highest grade, the others at the
  lowest, for every m; and all at one grade. Enough where a document is relevant or is not, and
  for the low end of ratios of gains: R, F, Rprec, AP, bpref.
- "ratio": "split" for the low end of nDCG; its high end is sought directly (Dinkelbach 1967).
- "sorted": grades that never rise, or never fall, down the ranking: nERR.
- "every": all completions: Q, of which the lowest value may have a low grade in any place. (Of two
  grades "split" is enough.)
- "attained", for any other measure: those of "split". These values were reached; there may be
  lower and higher ones.

Where grades are fractions, any number from 0 to the highest may be one. "extremes", "retrieved",
"split" of what is relevant or not, and "ratio" are still enough, except for a mapping of gains; all
else is attained.

Where "sorted" or "every" are too many for a query, some are tried and its values are attained ones;
where all completions of a query are few, an "attained" measure's are tried, and it has bounds.

Documents below a cutoff only enter the ideal and the number of relevant documents: the lowest
value has them all relevant, the highest none. Each was tested against all completions of small
collections (tests/extensions/whatif/test_bounds.py).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield.arrays.ranked import Bools, Floats, Ints
from cranfield.arrays.threads import map_in_threads
from cranfield.data.judged import Judged
from cranfield.data.judging import Judging
from cranfield.errors import MeasureError, OptionError
from cranfield.extensions.whatif.completions import (
    BoundsSearch,
    Completions,
    CompletionSet,
    find_reachable_grade,
    judge_completions,
    list_rankings,
)
from cranfield.extensions.whatif.variants import pack_variants
from cranfield.measures import Measure, Plan
from cranfield.notes import Note
from cranfield.progress import watch_steps
from cranfield.render.numbers import format_shortest
from cranfield.scoring.ends import Ends


@dataclass(frozen=True, eq=False)
class Bounds(Ends):
    """The lowest and the highest value of each query and measure.

    They are (n_queries, n_measures), NaN for a measure that does not depend on grades. `proved`, of
    the same shape, says where no completion is lower or higher; elsewhere the values are attained
    by the completions that were tried.
    """

    low: Floats
    high: Floats
    proved: Bools
    top_grade: float  # the highest grade that an unjudged document may have
    n_retrieved: int  # documents, of all queries
    n_judged: int  # documents among the retrieved ones

    suffixes = ("low", "high")
    recipe = {"bounds": True}  # noqa: RUF012 - of a class

    def select_queries(self, is_selected: Bools) -> "Bounds":
        """Return the bounds of some queries; the numbers of documents stay those of all queries."""
        low, high, proved = (column[is_selected] for column in (self.low, self.high, self.proved))
        return replace(self, low=low, high=high, proved=proved)

    def columns(self, measure_index: int) -> dict[str, Floats]:
        """Return the bounds of a measure; {} for a measure without bounds."""
        low, high = self.low[:, measure_index], self.high[:, measure_index]
        return {} if np.isnan(low).any() else {"low": low, "high": high}

    def format_cell(self, text: str, *end_texts: str) -> str:
        """Return a value with its ends, as in `0.5058 [0.4312, 0.7120]`."""
        return f"{text} [{', '.join(end_texts)}]"

    def to_dict(self, measures: Sequence[Measure]) -> dict[str, Any]:
        """Return the highest grade, the numbers of documents, and which measures are all proved."""
        is_proved = dict(zip(map(str, measures), map(all, self.proved.T.tolist()), strict=True))
        summary = {"highest_grade": self.top_grade, "retrieved": self.n_retrieved}
        return {"bounds": {**summary, "judged": self.n_judged, "proved": is_proved}}

    @classmethod
    def joined(cls, parts: Sequence["Bounds"], column: Callable[[Iterable[Any]], Any]) -> "Bounds":
        """Return the bounds of all parts of the queries; `column` puts columns together."""
        return replace(
            parts[0],
            low=column(part.low for part in parts),
            high=column(part.high for part in parts),
            proved=column(part.proved for part in parts),
            n_retrieved=sum(part.n_retrieved for part in parts),
            n_judged=sum(part.n_judged for part in parts),
        )

    def notes(self, measures: Sequence[Measure]) -> list[Note]:
        """Return notes: what was graded, which ends are bounds or attained, which change ideals."""
        n_unjudged = self.n_retrieved - self.n_judged
        range_text = (
            f"[low, high]: over every way to grade the {n_unjudged:,} unjudged of the "
            f"{self.n_retrieved:,} documents retrieved, from 0 to "
            f"{format_shortest(self.top_grade)}."
        )
        notes = [Note("bounds", "info", range_text)]
        bounded_names, attained_names = [], []
        for measure, low, is_proved in zip(measures, self.low.T, self.proved.T, strict=True):
            n_queries, n_open = len(is_proved), np.count_nonzero(~is_proved)
            if np.isnan(low).all():
                continue
            if n_open == 0:
                bounded_names.append(str(measure))
            else:
                share_text = (
                    f" (in {n_open:,} of {n_queries:,} queries)" if n_open < n_queries else ""
                )
                attained_names.append(f"{measure}{share_text}")
        if bounded_names:
            notes.append(Note("bounds-proved", "info", f"Bounds: {', '.join(bounded_names)}."))
        if attained_names:
            names_text = ", ".join(attained_names)
            text = f"Attained, not bounds (more extreme values may exist): {names_text}."
            notes.append(Note("bounds-attained", "info", text))
        if ratio_names := [str(measure) for measure in measures if measure.linear == "ratio"]:
            text = (
                f"New grades change the ideal ranking, too, and with it {', '.join(ratio_names)}."
            )
            notes.append(Note("bounds-ideal", "info", text))
        return notes


def check_bounded(measures: Iterable[Measure], judging: Judging) -> None:
    """Raise OptionError or MeasureError if a measure has no bounds with these options."""
    if judging.keeps_repeats:
        raise OptionError(
            "bounds=True gives an unjudged document one grade, and "
            f"duplicates={judging.duplicates!r} several ranks: take 'first' or 'best'"
        )
    if not judging.has_one_tie_order:
        raise OptionError(
            f"bounds=True takes one order of tied documents, and ties={judging.ties!r} ranks them "
            "by grade, or in all orders: leave one of them out"
        )
    if judging.judged_only:
        raise OptionError(
            "bounds=True grades the unjudged documents, and judged_only=True leaves none: "
            "leave one of them out"
        )
    if "relevant" in judging.queries:
        raise OptionError(
            f"bounds=True grades the unjudged documents, and queries={judging.queries!r} averages "
            "over other queries where one of them is relevant: take 'judged', 'both' or 'retrieved'"
        )
    for measure in measures:
        definition, method = measure.definition, measure.bounds
        reason = "it takes more than a grade for each document" if method == "refused" else ""
        if definition.traits.takes_groups and method != "none":
            reason = "it takes judgments in groups or preferences"
        if definition.is_text:
            reason = "its value is a string"
        if reason:
            raise MeasureError(f"{measure} has no bounds: {reason}")


def find_bounds(measures: Sequence[Measure], judged: Judged) -> Bounds:
    """Return the bounds of each query's value of each measure; OptionError for a run with costs."""
    if judged.cost is not None:
        cost_measures = [
            str(measure) for measure in measures if measure.definition.traits.takes_cost
        ]
        raise OptionError(
            f"bounds=True takes no costs, and {', '.join(cost_measures)} takes those of the run's "
            "column cost: leave one of them out"
        )
    shape = len(judged.n_retrieved), len(measures)
    low, high, is_proved = np.full(shape, np.inf), np.full(shape, -np.inf), np.ones(shape, np.bool_)
    top_grade = find_reachable_grade(judged)
    columns_of_search: dict[BoundsSearch, list[int]] = {}
    for i, measure in enumerate(measures):
        if measure.bounds == "none":
            low[:, i] = high[:, i] = np.nan
        else:
            columns_of_search.setdefault(
                BoundsSearch.of(measure, whole_grades=judged.has_whole_grades), []
            ).append(i)
    rankings = list_rankings(judged) if columns_of_search else []
    for search, columns in watch_steps(columns_of_search.items(), "bounds"):
        plan = Plan([measures[i] for i in columns])
        completion_set = CompletionSet(
            search, rankings, top_grade, whole_grades=judged.has_whole_grades
        )

        def measure_block(
            block: Sequence[tuple[Completions, slice]], plan: Plan = plan
        ) -> tuple[Ints, Floats]:
            parts = [part.take(rows) for part, rows in block]
            query_index = np.repeat(
                [part.query_index for part in parts], [len(part.counts) for part in parts]
            )
            return query_index, plan.values(judge_completions(parts, top_grade))

        for query_index, scores in map_in_threads(
            measure_block, pack_variants(completion_set.completions())
        ):
            for i, column in zip(columns, scores.T, strict=True):
                np.minimum.at(low[:, i], query_index, column)
                np.maximum.at(high[:, i], query_index, column)
        is_proved[:, columns] = completion_set.is_proved[:, None]
    n_retrieved, n_judged = int(judged.n_retrieved.sum()), len(judged.hits.rank)
    return Bounds(low, high, is_proved, top_grade, n_retrieved, n_judged)
