"""trend: how quality changed from one run, or file of saved scores, to the next."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Never, Unpack, cast

import numpy as np

from cranfield.arrays.ranked import Floats, mean
from cranfield.comparison.alignment import align, align_saved_scores
from cranfield.comparison.compare import compare_scores
from cranfield.comparison.margins import aggregate_scores
from cranfield.comparison.origin import OTHER_JUDGMENTS, Origin, compare_origins, list_differences
from cranfield.comparison.result import Pair, Result
from cranfield.comparison.score_columns import (
    GivenScores,
    canonical_names,
    find_measure,
    read_columns,
)
from cranfield.comparison.settings import Alignment, Correction, Settings
from cranfield.comparison.system_pairs import SystemPairs
from cranfield.comparison.tables import list_test_columns
from cranfield.data.judging import Judging
from cranfield.data.run import Run
from cranfield.data.run_names import make_unique_namer
from cranfield.errors import DuplicateError, InputError, MeasureError, OptionError
from cranfield.extensions import keywords
from cranfield.extensions.trend.trend_result import BreakKind, MeasureTrend, Trend, TrendEntry
from cranfield.formats.small.score_files import system_name_of_file
from cranfield.notes import Note, join_names, merge_notes, warn_about
from cranfield.options import refuse_unknown_options, takes
from cranfield.progress import Watching, add_progress
from cranfield.render.numbers import format_count, format_names
from cranfield.render.table import select_shown
from cranfield.scoring.arguments import Reading, check_scores
from cranfield.scoring.evaluate import MeasuresLike, judged_share_measure
from cranfield.scoring.scores import Systems

# Options of a comparison, its alignment and judging without a meaning from entry to entry.
_OMITTED_SETTINGS = ("baseline", "all_pairs", "test", "correction", "family", "rope", "bounds")
OMITTED_OPTIONS = (*_OMITTED_SETTINGS, "missing", "differing", "queries")
_FEWEST_SHARED = 10  # queries, of those that changed, for a step
_LARGE_MOVE, _ROUNDING = 0.05, 1e-12  # of judged shares: a larger move may make a step
_MANY_STEPS = 10  # of which some are marked by chance


@add_progress
@takes(Settings, Alignment, Reading, Judging, Watching, omit=OMITTED_OPTIONS)
def trend(
    qrels: Any,
    runs: Any = None,
    measures: MeasuresLike | None = None,
    *_arguments: Never,
    system: str | None = None,
    baseline: str | None = None,
    **options: "Unpack[keywords.Trend]",
) -> Trend:
    """Follow a system over time: each run, or file of saved scores, against the one before it.

    Each step is the mean difference of two entries on the queries that both have, with the test
    and the interval of `compare`, uncorrected. Entries whose scores were made with other judgments
    or options, or of other queries, are not compared: there the trend breaks. The last entry is
    also compared with the best since the last break; as that was picked by its mean, p is corrected
    over all of these (maxT; Westfall & Young, Resampling-Based Multiple Testing, 1993).

    Args:
        qrels: judgments, as `evaluate` takes them; or, without runs, scores: a list of files saved
            by `evaluate -q` or another tool, or of Scores, or a dict of these by name.
        runs: a list of runs, the oldest first, or a dict by name. None: the first argument holds
            scores.
        measures: which to follow. [default: nDCG@10 for runs, else all that have scores]
        system: of saved scores of several systems, the one to follow.
        baseline: an entry, by its name or file, that the last one is compared with instead of the
            best.
        **options: some options of `compare`; for judgments and runs, also of `Reading` and
            `Judging`.

    Warns:
        CranfieldWarning: once, if tests and intervals are doubtful, as `compare` warns.

    Raises:
        InputError: fewer than two entries; an entry of several systems, or without the named one; a
            file twice; scores in different units; a baseline that is unknown, or before a break.
        MeasureError: a measure that does not exist or has no scores.
        OptionError: an option with an unknown value, or without effect.

    >>> week = {f"q{i}": score for i, score in enumerate([0.1, 0.4, 0.0, 0.5, 0.2] * 2)}
    >>> next_week = {query: score + 0.1 for query, score in week.items()}
    >>> history = trend({"w1": week, "w2": next_week, "w3": next_week})
    >>> [(entry.name, entry.step and entry.step.verdict) for entry in history["score"].entries]
    [('w1', None), ('w2', 'better'), ('w3', None)]

    """
    refuse_unknown_options(trend, options, _arguments)
    settings = replace(Settings.of(options), correction="none")
    alignment, judging, reading = Alignment.of(options), Judging.of(options), Reading.of(options)
    names = None if measures is None else canonical_names(measures)
    parts = name_entries(qrels if runs is None else runs)
    if isinstance(parts, Mapping):  # of which the baseline may be a file
        name_of_path = {_find_path(part): name for name, part in parts.items()}
        baseline = name_of_path.get(str(baseline), baseline)
    if runs is not None:
        if system is not None:
            raise OptionError(f"system={system!r:.80}: applies to saved scores, not to runs")
        scores = align(qrels, parts, measures, alignment, judging, reading)
        assert scores.evaluated_runs is not None  # noqa: S101 - as there are runs
        entries, _ = read_entries(scores.evaluated_runs.systems, None, alignment)
        names, notes = [*scores.measures], [*scores.notes]
    else:
        if run_options := {**judging.changed_options(), **reading.changed_options()}:
            raise OptionError(f"{', '.join(run_options)}: applies to judgments and runs")
        check_scores(qrels)
        entries, notes = read_entries(parts, system, alignment)
        origins = [replace(entry.origin, path=entry.name) for entry in entries if entry.origin]
        origin_notes = compare_origins(origins, replace(alignment, differing="allow"))
        notes += [note for note in origin_notes if note.code != "made-otherwise"]  # said at breaks
    if len(entries) < 2:
        raise InputError("a trend needs two entries: name the files of several days")
    scored_names = dict.fromkeys(chain.from_iterable(entry.columns for entry in entries))
    results = []
    for name in dict.fromkeys(scored_names if names is None else names):
        if name not in scored_names:
            scored_text = ", ".join(scored_names)
            raise MeasureError(f"there are no scores of {name}; there are {scored_text}")
        results.append(_Follower(entries, name, settings, alignment, baseline).follow())
    named_notes = ((result.measure, note) for result in results for note in result.notes)
    order_notes = _note_order([entry.name for entry in entries])
    all_notes = [*merge_notes(named_notes, len(results)), *notes, *order_notes]
    result = Trend(results, replace(settings, baseline=baseline), all_notes)
    warn_about(result.notes)
    return result


def _note_order(names: Sequence[str]) -> Iterator[Note]:
    """Yield a note on the first two neighbours whose names are alike, and whose numbers fall."""
    for name, next_name in pairwise(names):
        numbers, next_numbers = ([*map(int, re.findall(r"\d+", n))] for n in (name, next_name))
        if next_numbers < numbers and re.sub(r"\d+", "", name) == re.sub(r"\d+", "", next_name):
            text = f"{name} comes before {next_name}: the order is as given."
            yield Note("order", "warning", text)
            return


@dataclass(frozen=True, eq=False)
class Entry:
    """The scores of one system: `columns` is {measure: (query ids, scores (n_queries,))}."""

    name: str
    columns: Mapping[str, tuple[Sequence[str], Floats]]
    judged_shares: Mapping[str, float]  # {measure: share of its documents that is judged}
    origin: Origin | None  # None: the scores do not say how they were made

    def find_share(self, measure: str) -> float | None:
        """Return the judged share beside a measure, else that of a Judged; None if unknown."""
        parsed_measure = find_measure(measure)
        share_name = str(parsed_measure and judged_share_measure(parsed_measure))
        share = mean(self.columns[share_name][1]) if share_name in self.columns else None
        return self.judged_shares.get(measure, share)


def name_entries(parts: Any) -> Any:
    """Return {name: part} of a list of runs or scores: a name is a file's stem.

    Where stems agree, a name begins with the folder. What is no list is returned unchanged.
    """
    if not isinstance(parts, list | tuple):
        return parts
    paths = [*map(_find_path, parts)]
    real_paths = [os.path.realpath(path) for path in paths if path]
    for path in real_paths:
        if real_paths.count(path) > 1:
            hint = "Name it once; of several systems in it, --columns system=NAME takes one."
            raise DuplicateError("gives two entries", source=path, hint=hint)
    stems = [
        system_name_of_file(path) if path else getattr(part, "name", "run")
        for part, path in zip(parts, paths, strict=True)
    ]
    names = [
        f"{Path(path).absolute().parent.name}/{stem}" if path and stems.count(stem) > 1 else stem
        for path, stem in zip(paths, stems, strict=True)
    ]
    return dict(zip(map(make_unique_namer(), names), parts, strict=True))


def _find_path(part: Any) -> str:
    """Return the path of a file, or of a run's file; empty for what is in memory."""
    if isinstance(part, Run):
        part = part.sources[0].path if part.sources else ""
    return os.fspath(part) if isinstance(part, str | os.PathLike) else ""


def read_entries(
    parts: Any, system: str | None, alignment: Alignment
) -> tuple[list[Entry], list[Note]]:
    """Return an entry for each file, Scores or dict of scores, and notes on these.

    Raises InputError for a part of several systems without a named one, or that lacks it.
    """
    part_of_name = parts if isinstance(parts, Mapping) else name_entries([parts])
    entries, notes = [], []
    for name, part in part_of_name.items():
        is_dict = isinstance(part, Mapping) and not isinstance(part, Systems)
        scores = read_columns({name: part} if is_dict else part, alignment)
        systems = [*dict.fromkeys(owner for _, owner in scores.columns)]
        system_name = systems[0] if system is None else system
        if system_name not in systems or (system is None and len(systems) > 1):
            raise InputError(
                f"holds {format_count(len(systems), 'system')}: {join_names(systems, 10)}",
                source=_find_path(part) or name,
                hint="--system NAME says which to follow; every entry must have it (system=).",
            )
        columns = {key[0]: scores.columns[key] for key in scores.columns if key[1] == system_name}
        shares: dict[str, float] = {}
        for origin in scores.origins:
            shares |= origin.judged_shares.get(system_name, {})
        entries.append(Entry(name, columns, shares, next(iter(scores.origins), None)))
        notes += [(name, replace(note, source=None)) for note in scores.notes]
    return entries, merge_notes(notes, n_sources=len(entries))


@dataclass
class _Follower:
    """Follows one measure through the entries that have it, and collects notes on the way."""

    entries: Sequence[Entry]
    measure: str
    settings: Settings
    alignment: Alignment
    baseline: str | None
    stretch: list[Entry] = field(default_factory=list)  # the entries since the last break
    break_of: dict[Entry, BreakKind] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)

    def _note(self, code: str, entry: Entry, text: str) -> None:
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
                shared_ids, count_text, _ = self._share_queries([entry, previous])
                pairs_of_queries.setdefault(shared_ids, []).append((entry, previous))
                if count_text:
                    text = f"{count_text} are in {previous.name}, too: the step is theirs."
                    self._note("shared-queries", entry, text)
            self.stretch.append(entry)
        results = [self._compare(pairs) for pairs in pairs_of_queries.values()]
        self.notes += chain.from_iterable(result.notes for result in results)
        pair_of_name = {pair.system: pair for result in results for pair in result.pairs}
        entries = [*self._list_entries(pair_of_name)]
        n, alpha = len(pair_of_name), self.settings.alpha
        if n >= _MANY_STEPS:
            share = f"{n * alpha / 2:.1f}"
            text = f"about {share} falls and {share} rises are marked though nothing changed."
            text = f"{n:,} steps at alpha {alpha:g}: {text}"
            self.notes.append(Note("many-steps", "info", text, n))
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
            share, has_moved = entry.find_share(self.measure), False
            if step and share is not None and last_share is not None:
                has_moved = abs(share - last_share) > _LARGE_MOVE + _ROUNDING
            if has_moved:
                text = f"{share:.2f} judged, {last_share:.2f} before; the step may come from that."
                self._note("judged-moved", entry, text)
            entry_mean, kind = aggregate_scores(parsed_measure, scores), self.break_of.get(entry)
            yield TrendEntry(entry.name, len(scores), entry_mean, share, has_moved, step, kind)
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
        _, count_text, has_few_queries = self._share_queries([*self.stretch[-1:], entry])
        if kind is None and has_few_queries:
            kind, text = "queries", f"only {count_text} are in {self.stretch[-1].name}, too"
        if kind is not None:
            self._note("break", entry, f"{text}. Their means cannot be compared.")
            self.break_of[entry], self.stretch = kind, []

    def _share_queries(self, entries: Sequence[Entry]) -> tuple[frozenset[str], str, bool]:
        """Return the ids of shared queries, their count unless all are, and if they are too few."""
        id_sets = [frozenset(entry.columns[self.measure][0]) for entry in entries]
        shared_ids, n_largest = frozenset.intersection(*id_sets), max(map(len, id_sets))
        n = len(shared_ids)
        count_text = f"{n:,} of {n_largest:,} queries" * (n < n_largest)
        return shared_ids, count_text, n < n_largest and (n < _FEWEST_SHARED or 2 * n < n_largest)

    def _compare(
        self, pairs: Sequence[tuple[Entry, Entry]], correction: Correction = "none"
    ) -> Result:
        """Return the comparison of pairs of entries on their shared queries."""
        entries = [*dict.fromkeys(chain.from_iterable(pairs))]
        columns = {(self.measure, entry.name): entry.columns[self.measure] for entry in entries}
        given_scores = GivenScores(columns, [], {}, {})
        scores = align_saved_scores(given_scores, None, self.alignment, "drop")
        for note in scores.notes:
            if note.code == "unit":
                raise InputError(note.text, hint="Bring the scores of all to one unit.")
        self.notes += [note for note in scores.notes if note.code == "direction"]
        positions = np.array([[entries.index(entry) for entry in pair] for pair in pairs])
        settings = replace(self.settings, correction=correction)
        system_pairs = SystemPairs(*positions.T)
        return compare_scores(
            scores, settings, pairs=system_pairs, with_slow_columns=False
        ).results[0]

    def _compare_last(self) -> Pair | None:
        """Return the last entry compared with the baseline, or the best since the break; None: few.

        Of entries of the same mean, the best is the latest. The first note says it in a sentence.
        """
        *candidates, last = self.stretch
        correction: Correction = "none" if self.baseline else "maxt"
        if self.baseline is not None:
            names = format_names([entry.name for entry in candidates], 10) or "no entry"
            candidates = [e for e in candidates if e.name == self.baseline]
            if not candidates:
                text = f"baseline {self.baseline!r:.80}: {last.name} can be compared with {names}"
                hints = [None, *(str(note) for note in self.notes if note.code == "break")]
                raise InputError(text, hint=hints[-1])
        elif len(candidates) < 2:
            return None
        _, count_text, has_few_queries = self._share_queries([*candidates, last])
        if has_few_queries:
            self._note("no-best", last, f"compared with no other: only {count_text} are in all.")
            return None
        result = self._compare([(last, entry) for entry in candidates], correction)
        direction = 1 if result.higher_is_better else -1
        pair = max(reversed(result.pairs), key=lambda pair: direction * pair.other_mean)
        if pair.other != self.stretch[-2].name:  # else the steps have notes
            self.notes += result.notes
        columns = list_test_columns([result], replace(self.settings, correction=correction))
        difference, interval, p = select_shown(columns)
        numbers = f"{difference.cell(pair)[:-2]} {interval.cell(pair)}, {p.heading} {p.cell(pair)}"
        phrases = [f"{last.name} against {pair.other}", ", the best before it"]
        phrases += [f" with these {kind}" for kind in [*self.break_of.values()][-1:]]
        subject = phrases[0] if self.baseline else "".join(phrases)
        text = f"{subject}: {numbers}: {pair.verdict or 'not shown to differ'}."
        self.notes.insert(0, Note("last", "info", text))
        return pair
