"""trend: how quality changed from one run, or file of saved scores, to the next."""

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, NamedTuple, Never, Unpack

import numpy as np

from cranfield.arrays.ranked import mean
from cranfield.comparison.alignment import align, align_saved_scores, check_directions
from cranfield.comparison.compare import compare_scores
from cranfield.comparison.margins import aggregate_scores
from cranfield.comparison.method import deciding_p_name
from cranfield.comparison.origin import OTHER_JUDGMENTS, compare_origins, list_differences
from cranfield.comparison.result import Pair, Result
from cranfield.comparison.score_columns import (
    Columns,
    GivenScores,
    canonical_names,
    find_measure,
    read_columns,
)
from cranfield.comparison.settings import Alignment, Settings
from cranfield.comparison.system_pairs import SystemPairs
from cranfield.comparison.tables import format_difference, format_pair_interval
from cranfield.data.judging import Judging
from cranfield.data.run import Run
from cranfield.data.run_names import make_unique_namer
from cranfield.errors import DuplicateError, InputError, MeasureError, OptionError
from cranfield.extensions import keywords
from cranfield.extensions.trend.trend_result import BreakKind, MeasureTrend, Trend, TrendEntry
from cranfield.formats.identifiers import to_id_text
from cranfield.formats.small.score_files import system_name_of_file
from cranfield.notes import Note, join_names, merge_notes, warn_about
from cranfield.options import refuse_unknown_options, takes
from cranfield.progress import Watching, add_progress
from cranfield.render.numbers import format_count, format_names, format_p
from cranfield.scoring.arguments import Reading, check_scores
from cranfield.scoring.evaluate import MeasuresLike, judged_share_measure
from cranfield.scoring.scores import Systems

# Options of a comparison, its alignment and judging without a meaning from entry to entry.
_OMITTED_SETTINGS = ("baseline", "all_pairs", "test", "correction", "family", "rope", "bounds")
OMITTED_OPTIONS = (*_OMITTED_SETTINGS, "missing", "differing", "queries")
_FEWEST_SHARED = 10  # queries, of those that changed, for a step
_LARGE_MOVE, _ROUNDING = 0.05, 1e-12  # of judged shares: a larger move may make a step
_Pairs = Sequence[tuple[str, str]]  # of entries
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
            file twice; a score out of its measure's range; a baseline that is unknown, or before a
            break.
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
    if isinstance(parts, Mapping) and baseline not in (None, *parts):  # it may be a file
        paths = {os.path.realpath(_find_path(part) or name): name for name, part in parts.items()}
        baseline = paths.get(os.path.realpath(str(baseline)), baseline)
    if runs is not None:
        if system is not None:
            raise OptionError(f"system={system!r:.80}: applies to saved scores, not to runs")
        aligned_scores = align(qrels, parts, measures, alignment, judging, reading)
        assert aligned_scores.evaluated_runs is not None  # noqa: S101 - as there are runs
        scores = read_entries(aligned_scores.evaluated_runs.systems, None, alignment)
        scores, names = scores._replace(notes=[*aligned_scores.notes]), [*aligned_scores.measures]
    else:
        if run_options := {**judging.changed_options(), **reading.changed_options()}:
            raise OptionError(f"{', '.join(run_options)}: applies to judgments and runs")
        check_scores(qrels)
        scores = read_entries(parts, system, alignment)
        check_directions(scores.columns, alignment)
    entry_names = [*dict.fromkeys(entry for _, entry in scores.columns)]
    if len(entry_names) < 2:
        raise InputError("a trend needs two entries: name the files of several days")
    scored_names = dict.fromkeys(measure for measure, _ in scores.columns)
    results = []
    for name in dict.fromkeys(scored_names if names is None else names):
        if name not in scored_names:
            scored_text = ", ".join(scored_names)
            raise MeasureError(f"there are no scores of {name}; there are {scored_text}")
        results.append(_Follower(scores, name, settings, alignment, baseline).follow())
    named_notes = [(result.measure, note) for result in results for note in result.notes]
    notes = merge_notes(named_notes, len(results))
    notes += [*dict.fromkeys(scores.notes), *_note_order(entry_names)]
    measure_results = [result for result in results if find_measure(result.measure)]
    shares = [entry.judged for result in measure_results for entry in result.entries]
    if runs is None and shares and shares.count(None) == len(shares):
        text = "How much is judged is not known: `cranfield evaluate -q -o scores.json` saves it."
        notes.append(Note("judged-unknown", "info", text))
    warn_about(notes)
    return Trend(results, replace(settings, baseline=baseline), notes)


def _note_order(names: Sequence[str]) -> Iterator[Note]:
    """Yield a note on the first two neighbours whose names are alike, and whose numbers fall."""
    for parts, next_parts in pairwise(re.split(r"(\d+)", name) for name in names):
        numbers, next_numbers = ([*map(int, digits)] for digits in (parts[1::2], next_parts[1::2]))
        if next_numbers < numbers and parts[::2] == next_parts[::2]:
            text = f"{''.join(parts)} comes before {''.join(next_parts)}: the order is as given."
            yield Note("order", "warning", text)
            return


def name_entries(parts: Any) -> Any:
    """Return {name: part} of a list of runs or scores: a name is a file's stem.

    Where stems agree, a name begins with the folder. A dict gets names of text; what is neither is
    returned unchanged.
    """
    if isinstance(parts, Mapping):
        return {to_id_text(name, "the entries"): part for name, part in parts.items()}
    if not isinstance(parts, list | tuple):
        return parts
    paths = [*map(_find_path, parts)]
    for path, n in Counter(map(os.path.realpath, filter(None, paths))).items():
        if n > 1:
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


def read_entries(parts: Any, system: str | None, alignment: Alignment) -> GivenScores:
    """Return the scores of each file, Scores or dict of scores, whose systems are the entries.

    The path of an origin is its entry. Raises InputError for a part of several systems without a
    named one, or that lacks it.
    """
    part_of_name = parts if isinstance(parts, Mapping) else name_entries([parts])
    columns: Columns = {}
    named_notes, origins = [], []
    for name, part in part_of_name.items():
        is_dict = isinstance(part, Mapping) and not isinstance(part, Systems)
        scores = read_columns({name: part} if is_dict else part, alignment)
        systems = [*dict.fromkeys(owner for _, owner in scores.columns)]
        system_name = systems[0] if system is None else system
        if system_name not in systems or (system is None and len(systems) > 1):
            reason = f"holds {format_count(len(systems), 'system')}: {join_names(systems, 10)}"
            raise InputError(
                reason if system is None else f"has no system {system!r:.80}; it {reason}",
                source=_find_path(part) or name,
                hint="--system NAME says which to follow; every entry must have it (system=).",
            )
        own_columns = (key for key in scores.columns if key[1] == system_name)
        columns |= {
            (measure, name): scores.columns[measure, owner] for measure, owner in own_columns
        }
        all_shares = chain.from_iterable(o.judged_shares.items() for o in scores.origins)
        own_shares = dict(pair for pair in all_shares if pair[0] == system_name)
        origins += [replace(o, path=name, judged_shares=own_shares) for o in scores.origins[:1]]
        named_notes += [(name, replace(note, source=None)) for note in scores.notes]
    notes = merge_notes(named_notes, len(part_of_name))
    origin_notes = compare_origins(origins, replace(alignment, differing="allow"))
    notes += [note for note in origin_notes if note.code != "made-otherwise"]  # said at breaks
    return GivenScores(columns, notes, {}, {}, origins)


class SharedQueries(NamedTuple):
    """The queries that entries have in common; `count_text` is empty if these are all."""

    ids: frozenset[str]
    count_text: str  # "35 of 40 queries"
    is_small: bool  # too few of an entry's to compare it


def _has_moved(share: float | None, earlier_share: float | None) -> bool:
    """Tell whether two judged shares, if both are known, differ by much."""
    if share is None or earlier_share is None:
        return False
    return abs(share - earlier_share) > _LARGE_MOVE + _ROUNDING


@dataclass
class _Follower:
    """Follows one measure through the entries that have it, and collects notes on the way."""

    scores: GivenScores
    measure: str
    settings: Settings
    alignment: Alignment
    baseline: str | None
    stretch: list[str] = field(default_factory=list)  # the entries since the last break
    break_of: dict[str, BreakKind] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)

    def __post_init__(self) -> None:
        all_columns = self.scores.columns.items()
        self.columns = {name: scores for (m, name), scores in all_columns if m == self.measure}
        self.origins = {origin.path: origin for origin in self.scores.origins}

    def _note(self, code: str, entry: str, text: str) -> None:
        self.notes.append(Note(code, "info", text, source=entry))

    def follow(self) -> MeasureTrend:
        """Return the trend of the measure."""
        lacking = dict.fromkeys(e for _, e in self.scores.columns if e not in self.columns)
        for entry in lacking:
            self._note("left-out", entry, f"has no {self.measure}: left out of its table.")
        pairs_of_queries: dict[frozenset[str], list[tuple[str, str]]] = {}
        for entry in self.columns:
            shared = self._share_queries([*self.stretch[-1:], entry])
            kind: BreakKind | None = "queries" if shared.is_small else None
            text = f"only {shared.count_text} are in {''.join(self.stretch[-1:])}, too"
            for earlier in self.stretch:
                origins = [self.origins[name] for name in (earlier, entry) if name in self.origins]
                if differences := list_differences(origins[0], origins[-1]) if origins else []:
                    kind = "judgments" if OTHER_JUDGMENTS in differences else "options"
                    link = "than" if kind == "judgments" else "as"
                    text = f"{'; '.join(differences)} {link} {earlier}"
            if kind is not None:
                self._note("break", entry, f"{text}. Their means cannot be compared.")
                self.break_of[entry], self.stretch = kind, []
            for previous in self.stretch[-1:]:
                pairs_of_queries.setdefault(shared.ids, []).append((entry, previous))
                if shared.count_text:
                    text = f"{shared.count_text} are in {previous}, too: the step is theirs."
                    self._note("shared-queries", entry, text)
            self.stretch.append(entry)
        results = [self._compare(pairs, self.settings) for pairs in pairs_of_queries.values()]
        self.notes += chain.from_iterable(result.notes for result in results)
        step_of_entry = {pair.system: pair for result in results for pair in result.pairs}
        entries = [*self._list_entries(step_of_entry)]
        if (n := len(step_of_entry)) >= _MANY_STEPS:
            share = f"{n * self.settings.alpha / 2:.1f}"
            text = f"about {share} falls and {share} rises are marked though nothing changed."
            text = f"{n:,} steps at alpha {self.settings.alpha:g}: {text}"
            self.notes.append(Note("many-steps", "info", text, n))
        against = None if self.baseline in lacking else self._compare_last(entries)
        notes = dict.fromkeys(note for note in self.notes if note.code != "correction")
        return MeasureTrend(self.measure, entries, against, results, tuple(notes))

    def _list_entries(self, step_of_entry: Mapping[str, Pair]) -> Iterator[TrendEntry]:
        """Yield the entries, each with its step."""
        parsed_measure, last_share = find_measure(self.measure), None
        share_name = str(parsed_measure and judged_share_measure(parsed_measure))
        for entry, (_, scores) in self.columns.items():
            origin, share_column = (
                self.origins.get(entry),
                self.scores.columns.get((share_name, entry)),
            )
            share = None if share_column is None else mean(share_column[1])
            if origin is not None and origin.judged_shares:  # of one system
                share = next(iter(origin.judged_shares.values())).get(self.measure)
            step = step_of_entry.get(entry)
            has_moved = step is not None and _has_moved(share, last_share)
            if has_moved:
                text = f"{share:.2f} judged, {last_share:.2f} before; the step may come from that."
                self._note("judged-moved", entry, text)
            entry_mean, kind = aggregate_scores(parsed_measure, scores), self.break_of.get(entry)
            yield TrendEntry(entry, len(scores), entry_mean, share, has_moved, step, kind)
            last_share = share

    def _share_queries(self, entries: Sequence[str]) -> SharedQueries:
        """Return the queries that all of some entries have."""
        id_sets = [frozenset(self.columns[entry][0]) for entry in entries]
        shared_ids, n_largest = frozenset.intersection(*id_sets), max(map(len, id_sets))
        n = len(shared_ids)
        is_small = n < n_largest and (n < _FEWEST_SHARED or 2 * n < n_largest)
        count_text = f"{n:,} of {n_largest:,} queries" * (n < n_largest)
        return SharedQueries(shared_ids, count_text, is_small)

    def _compare(self, pairs: _Pairs, settings: Settings, rivals: Sequence[str] = ()) -> Result:
        """Return the comparison of pairs of entries on the queries that they and rivals have."""
        entries = [e for e in self.columns if e in {*chain.from_iterable(pairs), *rivals}]
        columns = {(self.measure, entry): self.columns[entry] for entry in entries}
        given_scores = self.scores._replace(columns=columns, notes=[])
        scores = align_saved_scores(given_scores, None, self.alignment, "drop")
        self.scores.notes.extend(n for n in scores.notes if n.code in ("direction", "unit"))
        positions = np.array([[entries.index(entry) for entry in pair] for pair in pairs])
        return compare_scores(scores, settings, pairs=SystemPairs(*positions.T)).results[0]

    def _compare_last(self, entries: Sequence[TrendEntry]) -> Pair | None:
        """Return the last entry compared with the baseline, or the best since the break; None: few.

        Of entries of the same mean (to 12 digits), the best is the latest. The first note says it.
        """
        *candidates, last = self.stretch
        settings, best_phrase = self.settings, ""
        if self.baseline is None:
            settings, best_phrase = replace(settings, correction="maxt"), ", the best before it"
            best_phrase += "".join(f" with these {kind}" for kind in [*self.break_of.values()][-1:])
            if len(candidates) < 2:
                return None
        elif self.baseline in candidates:
            candidates = [self.baseline]
        else:
            names = format_names(candidates, 10) or "no entry"
            text = f"baseline {self.baseline!r:.80}: {last} can be compared with {names}"
            hints = [None, *(str(note) for note in self.notes if note.code == "break")]
            raise InputError(text, hint=hints[-1])
        shared = self._share_queries([*candidates, last])
        if shared.is_small:
            text = f"compared with no other: only {shared.count_text} are in all."
            self._note("no-best", last, text)
            return None
        result = self._compare([(last, entry) for entry in candidates], settings)
        find_best = max if result.higher_is_better else min
        pair = find_best(reversed(result.pairs), key=lambda pair: float(f"{pair.other_mean:.12g}"))
        if pair.other != self.stretch[-2]:  # else the steps have notes
            self.notes += self._compare([(last, pair.other)], self.settings, candidates).notes
        numbers = f"{format_difference(pair)} {format_pair_interval(pair)}"
        numbers += f", {deciding_p_name(result, settings)} {format_p(pair.p_adjusted)}"
        verdict = pair.verdict or "not shown to differ"
        queries_phrase = f", on {shared.count_text}" * bool(shared.count_text)
        text = f"{last} against {pair.other}{best_phrase}{queries_phrase}: {numbers}: {verdict}."
        shares = [entry.judged for entry in entries if entry.name in (pair.other, last)]
        if _has_moved(*shares):
            text += f" {shares[1]:.2f} judged, {shares[0]:.2f} then: it may come from that."
        self.notes.insert(0, Note("last", "info", text))
        return pair
