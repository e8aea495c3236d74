"""Assembly: makes Scores of the values of a run, with their recipe, notes, counts and slices."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cranfield.arrays.ranked import Floats
from cranfield.data.counts import Counts
from cranfield.data.judging import Judging
from cranfield.data.meeting import JudgedRun
from cranfield.data.qrels import Qrels
from cranfield.measures import Measure
from cranfield.notes import Note
from cranfield.render.numbers import format_shortest
from cranfield.scoring.ends import NO_ENDS, Ends
from cranfield.scoring.measure_notes import compare_lengths, find_common_length, list_run_notes
from cranfield.scoring.scores import Scores, Systems
from cranfield.version import __version__

if TYPE_CHECKING:
    from cranfield.formats.small.labels import LabelRows


class Assembly:
    """Makes the scores of runs that share measures, judgments, options and labels of slices."""

    def __init__(
        self,
        measures: tuple[Measure, ...],
        qrels: Qrels,
        judging: Judging,
        slices: "LabelRows | None" = None,
    ) -> None:
        self._measures, self._slices = measures, slices
        self._lengths: dict[str, int] = {}
        self._option_notes = option_notes(judging)
        self._ideal_ranking_notes = ideal_ranking_notes(measures, qrels)
        self._recipe: dict[str, Any] = {
            "cranfield": __version__,
            **judging.to_dict(),
            "qrels": qrels.description,
        }
        if counts := qrels.judges.count_models():
            self._recipe["judges"] = counts

    def build_scores(
        self,
        name: str,
        matched_run: JudgedRun,
        query_ids: Sequence[str],
        values: Floats,
        counts: Counts,
        ends: Ends = NO_ENDS,
    ) -> Scores:
        """Return the scores of a judged run; `values` are (n_queries, n_measures) as in Scores."""
        recipe = {**self._recipe, "run": matched_run.run.description}
        if matched_run.run.conversion is not None:
            recipe["made_of"] = matched_run.run.conversion.description
        run_notes = list_run_notes(matched_run, self._measures, values)
        notes = [*counts.notes(), *run_notes, *self._ideal_ranking_notes]
        recipe |= ends.recipe
        notes += ends.notes(self._measures)
        notes += self._option_notes
        measures = self._measures
        self._lengths[name] = find_common_length(matched_run)
        scores = Scores(name, measures, query_ids, values, counts, recipe, tuple(notes), ends)
        return scores if self._slices is None else _add_slices(scores, matched_run, self._slices)

    def build_systems(self, all_scores: Iterable[Scores]) -> Systems:
        """Return the scores of the runs together, with notes on the lengths of their lists."""
        if not (length_notes := compare_lengths(self._measures, self._lengths)):
            return Systems(all_scores)
        systems = []
        for scores in all_scores:
            notes = (note for note in scores.notes if note.code != "depth")
            systems.append(replace(scores, notes=(*notes, *length_notes)))
        return Systems(systems)


def _add_slices(scores: Scores, matched_run: JudgedRun, slices: "LabelRows") -> Scores:
    from cranfield.scoring.slices import find_slices  # which few need

    """Return the scores with those of each slice, and with notes on the slices."""
    label_slices, slice_notes = find_slices(slices, scores.query_ids)
    slice_scores = []
    for label, name, has_label in label_slices:
        counts = matched_run.count_queries(has_label)
        slice_scores.append((str(label), str(name), scores.select_queries(has_label, counts)))
    return replace(scores, notes=(*scores.notes, *slice_notes), slices=tuple(slice_scores))


def option_notes(judging: Judging) -> list[Note]:
    """Return a note on the options that are not at their defaults, if there are any."""
    changes = [f"{name}={value}" for name, value in judging.changed_options().items()]
    text = f"Options: {', '.join(changes)}."
    return [Note("options", "info", text)] if changes else []


def ideal_ranking_notes(measures: Iterable[Measure], qrels: Qrels) -> list[Note]:
    """Return notes on the ideal ranking of each measure, where the judgments are lists."""
    if qrels.list_kind != "grades":
        return []
    meanings = {
        "top": f"has the top grade, {format_shortest(qrels.top_grade)}, at every rank",
        "retrieved": "is what was retrieved, sorted",
    }
    notes, other_measures = [], []
    for measure in measures:
        kind = measure.parameters.get("ideal")
        if kind in meanings:
            text = f"{measure}: the ideal ranking {meanings[kind]}."
            notes.append(Note(f"ideal-{kind}", "info", text))
        else:
            other_measures.append(measure)
    if other_measures:
        subject = "another measure" if notes else "a measure"
        text = f"The ideal ranking, where {subject} has one: these grades, sorted."
        notes.append(Note("ideal-sorted", "info", text))
    return notes
