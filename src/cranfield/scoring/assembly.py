"""Values and what is known of them put together: Scores, with their notes, counts and slices."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cranfield.arrays.ranked import Floats
from cranfield.data.counts import Counts
from cranfield.data.judging import Judging
from cranfield.data.meeting import Met
from cranfield.data.qrels import Qrels
from cranfield.measures import Measure
from cranfield.notes import Note
from cranfield.render.numbers import plain
from cranfield.scoring.ends import NO_ENDS, Ends
from cranfield.scoring.scores import Scores
from cranfield.version import __version__

if TYPE_CHECKING:
    from cranfield.formats.small.labels import LabelRows


class Assembly:
    """What the scores of all runs share: the measures, the judgments, how runs are judged."""

    def __init__(
        self,
        measures: tuple[Measure, ...],
        qrels: Qrels,
        judging: Judging,
        slices: "LabelRows | None" = None,
    ) -> None:
        self._measures, self._slices = measures, slices
        self._options = options_of(judging)
        self._ideals = ideals_of(measures, qrels)
        self._how: dict[str, Any] = {
            "cranfield": __version__,
            **judging.to_dict(),
            "qrels": qrels.form,
        }

    def scores(
        self,
        name: str,
        met: Met,
        query_ids: Sequence[str],
        values: Floats,
        counts: Counts,
        ends: Ends = NO_ENDS,
    ) -> Scores:
        """Return the scores of a run that has met the judgments; `values` are those of Scores."""
        recipe = {**self._how, "run": met.run.form}
        if met.run.made_of is not None:
            recipe["made_of"] = met.run.made_of.said
        notes = [*counts.notes(), *met.notes, *self._ideals]
        recipe |= ends.recipe
        notes += ends.notes(self._measures)
        notes += self._options
        measures = self._measures
        whole = Scores(name, measures, query_ids, values, counts, recipe, tuple(notes), ends)
        return whole if self._slices is None else _with_slices(whole, met, self._slices)


def _with_slices(scores: Scores, met: Met, slices: "LabelRows") -> Scores:
    from cranfield.scoring.slices import slices_of  # which few need

    parts, said = slices_of(slices, scores.query_ids)
    sliced = [
        (str(label), str(name), scores.of(rows, met.counts_of(rows))) for label, name, rows in parts
    ]
    return replace(scores, notes=(*scores.notes, *said), slices=tuple(sliced))


def options_of(judging: Judging) -> list[Note]:
    """Return a note on the options that are not at their defaults, if there are any."""
    unusual = [f"{name}={value}" for name, value in judging.unusual().items()]
    text = f"Options: {', '.join(unusual)}."
    return [Note("options", "info", text)] if unusual else []


def ideals_of(measures: Iterable[Measure], qrels: Qrels) -> list[Note]:
    """Return notes on which ideal ranking each measure has, where the judgments are lists."""
    if qrels.lists_of != "grades":
        return []
    meanings = {
        "top": f"has the top grade, {plain(qrels.top_grade)}, at every rank",
        "retrieved": "is what was retrieved, sorted",
    }
    found, others = [], []
    for one in measures:
        kind = one.parameters.get("ideal")
        if kind in meanings:
            text = f"{one}: the ideal ranking {meanings[kind]}."
            found.append(Note(f"ideal-{kind}", "info", text))
        else:
            others.append(one)
    if others:
        which = "another measure" if found else "a measure"
        text = f"The ideal ranking, where {which} has one: these grades, sorted."
        found.append(Note("ideal-sorted", "info", text))
    return found
