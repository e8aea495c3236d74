"""trend: how quality changed from one run, or file of saved scores, to the next."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from typing import Any, Never, Unpack, cast

import numpy as np

from cranfield.comparison.alignment import align_columns, check_ranges, find_sides, note_unknown
from cranfield.comparison.compare import compare_scores
from cranfield.comparison.margins import aggregate_scores
from cranfield.comparison.origin import (
    OTHER_JUDGMENTS,
    list_differences,
    note_other_documents,
    note_unknown_judgments,
)
from cranfield.comparison.result import Pair, Result
from cranfield.comparison.score_columns import canonical_names, find_measure
from cranfield.comparison.settings import Alignment, Correction
from cranfield.comparison.system_pairs import SystemPairs
from cranfield.comparison.tables import test_columns
from cranfield.data.judging import Judging
from cranfield.errors import DuplicateError, InputError, MeasureError, OptionError
from cranfield.extensions import keywords
from cranfield.extensions.trend.options import OMITTED_OPTIONS, TrendSettings
from cranfield.extensions.trend.trend_entries import Entry, enter_runs, enter_scores
from cranfield.extensions.trend.trend_result import BreakKind, MeasureTrend, Trend, TrendEntry
from cranfield.notes import Note, warn_about
from cranfield.options import refuse_unknown_options, takes
from cranfield.progress import Watching, add_progress
from cranfield.render.numbers import format_names
from cranfield.render.table import select_shown
from cranfield.scoring.arguments import Reading
from cranfield.scoring.evaluate import MeasuresLike

_FEWEST_SHARED = 10  # queries, of those that changed, for a step
_LARGE_MOVE = 0.05  # of judged shares: a larger move may make a step
_MANY_STEPS = 10  # of which some are marked by chance


@add_progress
@takes(TrendSettings, Alignment, Reading, Judging, Watching, omit=OMITTED_OPTIONS)
def trend(
    qrels: Any,
    runs: Any = None,
    measures: MeasuresLike | None = None,
    *_more: Never,
    system: str | None = None,
    baseline: str | None = None,
    **options: "Unpack[keywords.Trend]",
) -> Trend:
    """Follow a system over time: each run, or file of saved scores, against the one before it.

    Each step is the mean difference of two entries on the queries that both have, with the test
    and the interval of `compare`, uncorrected. Entries whose scores were made with other judgments
    or options, or of other queries, are not compared: there the trend breaks. The last entry is
    also compared with the best since the last break; as that was picked by its mean, p is corrected
    over all of these (maxT).

    Args:
        qrels: judgments, as `evaluate` takes them; or, without runs, scores: a list of files saved
            by `evaluate -q` or another tool, or of Scores, or a dict of these by name.
        runs: a list of runs, the oldest first, or a dict by name. None: the first argument holds
            scores.
        measures: which to follow. [default: nDCG@10 for runs, else all that have scores]
        system: of saved scores of several systems, the one to follow.
        baseline: an entry, by its name or file, that the last one is compared with instead of the
            best.
        **options: each option of `TrendSettings`, some of `Alignment`; for judgments and runs,
            also of `Reading` and `Judging`.

    Returns:
        A Trend, which prints as tables.

    Warns:
        CranfieldWarning: once, if tests and intervals are doubtful, as `compare` warns.

    Raises:
        InputError: fewer than two entries; an entry of several systems, or without the named one; a
            file twice; scores in different units; a baseline that is unknown, or before a break.
        MeasureError: a measure that does not exist or has no scores.
        OptionError: an option with an unknown value, or without effect.

    Source of the correction: Westfall & Young, Resampling-Based Multiple Testing, 1993.

    >>> week = {f"q{i}": score for i, score in enumerate([0.1, 0.4, 0.0, 0.5, 0.2] * 2)}
    >>> next_week = {query: score + 0.1 for query, score in week.items()}
    >>> found = trend({"w1": week, "w2": next_week, "w3": next_week})
    >>> [(entry.name, entry.step and entry.step.verdict) for entry in found["score"].entries]
    [('w1', None), ('w2', 'better'), ('w3', None)]

    """
    refuse_unknown_options(trend, options, _more)
    settings, alignment = TrendSettings.of(options), Alignment.of(options)
    reading, judging = Reading.of(options), Judging.of(options)
    if runs is not None or find_sides(qrels, reading) is not None:
        if system is not None:
            raise OptionError(f"system={system!r:.80}: applies to saved scores, not to runs")
        entries, notes = enter_runs(qrels, runs, measures, alignment, judging, reading)
        names = list(entries[0].columns)
    else:
        if run_options := {**judging.changed_options(), **reading.changed_options()}:
            raise OptionError(f"{', '.join(run_options)}: applies to judgments and runs")
        entries, notes = enter_scores(qrels, system, alignment)
        scored_names = dict.fromkeys(name for entry in entries for name in entry.columns)
        names = (
            list(scored_names) if measures is None else [*dict.fromkeys(canonical_names(measures))]
        )
        for name in names:
            if name not in scored_names:
                scored_text = ", ".join(scored_names)
                raise MeasureError(f"there are no scores of {name}; there are {scored_text}")
    _check_entries(entries)
    results = [_Follower(entries, name, settings, alignment, baseline).follow() for name in names]
    notes += _note_entries(entries)
    result = Trend(tuple(results), settings, baseline, tuple(notes))
    warn_about(result.notes)
    return result


def _check_entries(entries: Sequence[Entry]) -> None:
    """Raise InputError for fewer than two entries, or for two of one file."""
    if len(entries) < 2:
        raise InputError("a trend needs two entries: name the files of several days")
    paths = [os.path.realpath(entry.path) for entry in entries if entry.path]
    for path in paths:
        if paths.count(path) > 1:
            hint = "Name it once; of several systems in it, --columns system=NAME takes one."
            raise DuplicateError("gives two entries", source=path, hint=hint)


def _note_entries(entries: Sequence[Entry]) -> Iterator[Note]:
    """Yield notes on the order of the entries, and on what is known of how they were made."""
    for name, next_name in pairwise(entry.name for entry in entries):
        numbers, next_numbers = ([*map(int, re.findall(r"\d+", n))] for n in (name, next_name))
        if next_numbers < numbers and re.sub(r"\d+", "", name) == re.sub(r"\d+", "", next_name):
            text = f"{name} comes before {next_name}: the order is as given."
            yield Note("order", "warning", text)
            break
    origins = [replace(entry.origin, path=entry.name) for entry in entries if entry.origin]
    for origin, next_origin in pairwise(origins):
        yield from note_other_documents(origin, next_origin)
    yield from note_unknown_judgments(origins)


@dataclass
class _Follower:
    """Follows one measure through the entries that have it, and collects notes on the way."""

    entries: Sequence[Entry]
    measure: str
    settings: TrendSettings
    alignment: Alignment
    baseline: str | None  # a name or a path
    stretch: list[Entry] = field(default_factory=list)  # the entries since the last break
    break_of: dict[Entry, BreakKind] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)

    def _note(self, code: str, entry: Entry, text: str) -> None:
        """Keep a note on an entry."""
        self.notes.append(Note(code, "info", text, source=entry.name))

    def follow(self) -> MeasureTrend:
        """Return the trend of the measure."""
        pairs_of_queries: dict[frozenset[str], list[tuple[Entry, Entry]]] = {}
        for entry in self.entries:
            if self.measure not in entry.columns:
                self._note("left-out", entry, f"has no {self.measure}: left out of its table.")
                continue
            self._break_before(entry)
            for previous in self.stretch[-1:]:
                ids, previous_ids = self._list_queries([entry, previous])
                pairs_of_queries.setdefault(ids & previous_ids, []).append((entry, previous))
                if ids != previous_ids:
                    counts = f"{len(ids & previous_ids):,} of {max(len(ids), len(previous_ids)):,}"
                    text = f"{counts} queries are in {previous.name}, too: the step is theirs."
                    self._note("shared-queries", entry, text)
            self.stretch.append(entry)
        results = [self._compare(pairs) for pairs in pairs_of_queries.values()]
        pair_of_name = {pair.system: pair for result in results for pair in result.pairs}
        entries = [*self._list_entries(pair_of_name)]
        n, alpha = len(pair_of_name), self.settings.alpha
        if n >= _MANY_STEPS:
            share = f"{n * alpha / 2:.1f}"
            text = f"{n:,} steps at alpha {alpha:g}: about {share} falls and {share} rises are "
            self.notes.append(
                Note("many-steps", "info", f"{text}marked though nothing changed.", n)
            )
        against = self._compare_last()
        notes = dict.fromkeys(  # without what another note, or the hint below the table, says
            replace(note, text=note.text.partition(" --changes")[0])
            for note in self.notes
            if note.code != "correction"
        )
        return MeasureTrend(self.measure, entries, against, results, tuple(notes))

    def _list_entries(self, pair_of_name: Mapping[str, Pair]) -> Iterator[TrendEntry]:
        """Yield the entries, each with its step."""
        parsed_measure, last_share = find_measure(self.measure), None
        for entry in (entry for entry in self.entries if self.measure in entry.columns):
            scores, step = entry.columns[self.measure][1], pair_of_name.get(entry.name)
            share = entry.find_share(self.measure)
            has_moved = False
            if step is not None and share is not None and last_share is not None:
                has_moved = abs(share - last_share) > _LARGE_MOVE
            if has_moved:
                text = f"{share:.2f} judged, {last_share:.2f} before; the step may come from that."
                self._note("judged-moved", entry, text)
            mean, kind = aggregate_scores(parsed_measure, scores), self.break_of.get(entry)
            yield TrendEntry(entry.name, len(scores), mean, share, has_moved, step, kind)
            last_share = share

    def _break_before(self, entry: Entry) -> None:
        """Begin a new stretch if the entry cannot be compared with those since the last break."""
        text, kind = "", cast("BreakKind | None", None)
        for earlier in self.stretch:
            if earlier.origin is None or entry.origin is None:
                continue
            if differences := list_differences(earlier.origin, entry.origin):
                kind = "judgments" if OTHER_JUDGMENTS in differences else "options"
                link = "than" if kind == "judgments" else "as"
                text = f"{'; '.join(differences)} {link} {earlier.name}"
        if kind is None and (scarcity_text := self._scarcity_text([entry, *self.stretch[-1:]])):
            kind, text = "queries", f"only {scarcity_text} are in {self.stretch[-1].name}, too"
        if kind is not None:
            self._note("break", entry, f"{text}. Their means cannot be compared.")
            self.break_of[entry], self.stretch = kind, []

    def _list_queries(self, entries: Sequence[Entry]) -> list[frozenset[str]]:
        """Return the ids of the queries of each entry."""
        return [frozenset(entry.columns[self.measure][0]) for entry in entries]

    def _scarcity_text(self, entries: Sequence[Entry]) -> str:
        """Return how many queries all of some entries have, if too few for a step; else ""."""
        id_sets = self._list_queries(entries)
        n_shared, n_largest = len(frozenset.intersection(*id_sets)), max(map(len, id_sets))
        if n_shared == n_largest or (n_shared >= _FEWEST_SHARED and 2 * n_shared >= n_largest):
            return ""
        return f"{n_shared:,} of {n_largest:,} queries"

    def _compare(
        self, pairs: Sequence[tuple[Entry, Entry]], correction: Correction = "none"
    ) -> Result:
        """Return the comparison of pairs of entries on their shared queries; keep its notes."""
        entries = [*dict.fromkeys(chain.from_iterable(pairs))]
        columns = {(self.measure, entry.name): entry.columns[self.measure] for entry in entries}
        options = self.alignment.changed_options()
        scores = align_columns(columns, [self.measure], "drop", (), options)
        check_ranges(scores, self.alignment, {entry.name: entry.path for entry in entries})
        self.notes += note_unknown(scores)
        if self.notes and self.notes[-1].code == "unit":
            raise InputError(self.notes[-1].text, hint="Bring the scores of all to one unit.")
        positions = np.array([[entries.index(entry) for entry in pair] for pair in pairs])
        settings, system_pairs = self.settings.correct_by(correction), SystemPairs(*positions.T)
        comparison = compare_scores(scores, settings, pairs=system_pairs, with_slow_columns=False)
        self.notes += comparison.results[0].notes if correction == "none" else ()
        return comparison.results[0]

    def _compare_last(self) -> Pair | None:
        """Return the last entry compared with the baseline, or with the best since the break.

        Of entries of the same mean, the best is the latest. None if there are fewer than two. The
        first note says it in a sentence.
        """
        *candidates, last = self.stretch
        correction: Correction = "none" if self.baseline else "maxt"
        if self.baseline:
            candidates = self._find_baseline(candidates, last)
        elif len(candidates) < 2:
            return None
        elif scarcity_text := self._scarcity_text(self.stretch):
            text = f"not compared with the best before it: only {scarcity_text} are in all."
            self._note("no-best", last, text)
            return None
        result = self._compare([(last, entry) for entry in candidates], correction)
        direction = 1 if result.higher_is_better else -1
        pair = max(reversed(result.pairs), key=lambda pair: direction * pair.other_mean)
        if not self.baseline and pair.other != candidates[-1].name:  # else the steps have notes
            self._compare([(last, entry) for entry in candidates if entry.name == pair.other])
        columns = test_columns([result], self.settings.correct_by(correction))
        difference, interval, p = select_shown(columns)
        numbers = f"{difference.cell(pair)[:-2]} {interval.cell(pair)}, {p.heading} {p.cell(pair)}"
        role = "" if self.baseline else ", the best before it"
        if role and self.break_of:
            role += f" with these {[*self.break_of.values()][-1]}"
        outcome = pair.verdict or "not shown to differ"
        text = f"{last.name} against {pair.other}{role}: {numbers}: {outcome}."
        self.notes.insert(0, Note("last", "info", text))
        return pair

    def _find_baseline(self, candidates: Sequence[Entry], last: Entry) -> list[Entry]:
        """Return the stated baseline; InputError if the last entry cannot be compared with it."""
        entries = [entry for entry in candidates if self.baseline in (entry.name, entry.path)]
        if not entries:
            names = format_names([entry.name for entry in candidates], 10) or "no entry"
            break_texts = [str(note) for note in self.notes if note.code == "break"]
            raise InputError(
                f"baseline {self.baseline!r:.80}: {last.name} can be compared with {names}",
                hint=break_texts[-1] if break_texts else None,
            )
        return entries
