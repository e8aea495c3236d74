"""macro: systems compared over several collections, each of which counts the same.

The mean over all queries of all collections is mostly that of the largest one. So the macro average
is compared: the mean of the collections' means. Two questions have two answers. Whether systems
differ on these collections depends on their queries. Whether they would differ on other collections
like these depends on which collections there are: then each is one observation (Demsar, JMLR 2006).
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Never, Unpack

import numpy as np

from cranfield.comparison.alignment import DEFAULT_MEASURES, AlignedScores, align
from cranfield.comparison.compare import compare_scores
from cranfield.comparison.comparison import Comparison
from cranfield.comparison.corrections import correct_p_values
from cranfield.comparison.flips import Flips
from cranfield.comparison.scale import is_geometric
from cranfield.comparison.score_columns import canonical_name
from cranfield.comparison.settings import Alignment, Settings
from cranfield.data.judging import Judging
from cranfield.errors import InputError, MeasureError, escape_unprintable
from cranfield.extensions import keywords
from cranfield.extensions.collections.collection_files import find_collections
from cranfield.extensions.collections.macro_result import MacroPair, MacroResult, compare_averages
from cranfield.extensions.collections.macro_tables import make_macro_tables
from cranfield.extensions.collections.options import CollectionSettings
from cranfield.measures import Measure
from cranfield.notes import Note, merge_notes, warn_about
from cranfield.options import refuse_unknown_options, takes
from cranfield.progress import Watching, add_progress
from cranfield.render.numbers import format_number, format_count, format_names
from cranfield.render.shown import Shown
from cranfield.render.table import Table
from cranfield.scoring.arguments import Reading
from cranfield.scoring.evaluate import MeasuresLike

MIN_COLLECTIONS = 6  # collections: with fewer, no p over collections can be at most .05


@dataclass(frozen=True, eq=False, repr=False)
class CollectionComparison(Shown):
    """Systems compared over several collections: a MacroResult for each measure.

    `comparisons` has what `compare` returns for each collection alone. A system that a collection
    lacks is in these, and in no average.

    >>> from cranfield import compare_collections
    >>> old, new = {f"q{i}": i / 20 for i in range(9)}, {f"q{i}": i / 15 for i in range(9)}
    >>> few = {"old": {"q1": 0.5, "q2": 0.25}, "new": {"q1": 0.5, "q2": 0.5}}
    >>> found = compare_collections({"A": {"old": old, "new": new}, "B": few})
    >>> pair = found["score"]["new"]
    >>> round(pair.difference, 4), (pair.wins, pair.ties, pair.losses)
    (0.0958, (2, 0, 0))
    """

    header = ("measure", *(one.name for one in fields(MacroPair)))

    comparisons: Mapping[str, Comparison]
    settings: CollectionSettings
    results: Sequence[MacroResult]
    own_notes: tuple[Note, ...]  # on the averages
    data_notes: tuple[Note, ...]  # on files, and on what was stated for some collections

    def __getitem__(self, measure: str | Measure) -> MacroResult:
        """Return the result of one measure."""
        by_name = {one.measure: one for one in self.results}
        wanted = canonical_name(measure, by_name)
        if wanted not in by_name:
            raise KeyError(f"{measure}: there are {', '.join(by_name)}")
        return by_name[wanted]

    @property
    def n_queries(self) -> int:
        """The number of queries of all collections."""
        return sum(len(one.aligned.query_ids) for one in self.comparisons.values())

    @property
    def notes(self) -> tuple[Note, ...]:
        """The notes on files and averages, then those on each collection's data, with its name.

        Those on the tests of a collection alone are in its comparison.
        """
        of_each = (
            (name, one) for name, found in self.comparisons.items() for one in found.data_notes
        )
        of_data = merge_notes(of_each, len(self.comparisons), format_names)
        return (*self.data_notes, *self.own_notes, *of_data)

    def tables(self) -> list[Table]:
        """Return, for each measure, a table of the collections, and one for each question."""
        return make_macro_tables(self.results, self.comparisons, self.settings, [*self._page_notes()])

    def _page_notes(self) -> Iterator[Note]:
        """Yield the notes that a page has room for, and how many others there are."""
        own = len(self.data_notes) + len(self.own_notes)
        yield from self.notes[:own]
        others = self.notes[own:]
        yield from (one for one in others if one.is_grave)
        doubted = [
            escape_unprintable(name)
            for name, found in self.comparisons.items()
            if any(note.is_grave for one in found.results for note in one.notes)
        ]
        if doubted:
            text = (
                f"The tests on single collections are doubtful, with few queries or few that "
                f"differ, on {format_names(doubted)}: `cranfield compare` on that collection says why."
            )
            yield Note("doubtful", "info", text, len(doubted))
        if left := sum(not one.is_grave for one in others):
            text = f"{format_count(left, 'note')} on single collections: --format json has them."
            yield Note("more-notes", "info", text, left)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each measure and pair; what does not exist is None."""
        return self._rows_as_dicts(
            (one.measure, *(getattr(pair, name) for name in self.header[1:]))
            for one in self.results
            for pair in one.pairs
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, as for JSON, with what is needed to repeat it."""
        return {
            "settings": vars(self.settings),
            "collections": {name: one.to_dict() for name, one in self.comparisons.items()},
            "results": [asdict(one) for one in self.results],
            "notes": [one.to_dict() for one in self.notes],
        }


@add_progress
@takes(CollectionSettings, Alignment, Reading, Judging, Watching, omit=("queries",))
def compare_collections(
    collections: Any,
    measures: MeasuresLike | None = None,
    *_more: Never,
    **options: "Unpack[keywords.CompareCollections]",
) -> CollectionComparison:
    """Compare systems over several collections, each of which counts the same.

    The same query id in two collections is two queries. Two questions are answered: do the systems
    differ on these collections, and would they on other collections like these? A system that has
    no run on some collection has no average, and is named in a note.

    Args:
        collections: `{name: (qrels, runs)}`, as `compare` takes them, or `{name: (qrels, runs,
            measures)}` where measures differ, or `{name: scores}`; or a folder with a folder for
            each collection; or a table of files with the columns collection, qrels, run (the
            system's name) and path, and measure where these differ.
        measures: which to compare. Of collections with measures of their own, the first ones are
            averaged together, then the second ones. [default: nDCG@10 for runs, else all]
        **options: each option of `CollectionSettings` and `Alignment`; for judgments and runs, also
            of `Reading` and `Judging`.

    Returns:
        A CollectionComparison, which prints as tables; `comparisons` has each collection's own.

    Warns:
        CranfieldWarning: once, if fewer than six collections leave the second question open, if a
            system lacks a run, or where `evaluate` warns of a collection. Whether tests on single
            collections are doubtful is in the notes of `comparisons`.

    Raises:
        InputError: fewer than two collections; a baseline that one lacks; what `compare` raises.
        MeasureError: a measure with a geometric mean, such as GMAP, which has no macro average;
            different numbers of measures.
        OptionError: an option with an unknown value.

    Sources: Demsar, JMLR 2006; Benavoli, Corani & Mangili, JMLR 2016; Welch, Biometrika 1947.

    >>> scores = [[.10, .05, -.02, .08, .04], [.30, -.10, .20], [-.02, 0, .01, -.03, .02, .01]]
    >>> def of(gains, level):
    ...     return {f"q{i}": 0.5 + level * gain for i, gain in enumerate(gains)}
    >>> three = {f"c{i}": {"old": of(d, 0), "new": of(d, 1)} for i, d in enumerate(scores)}
    >>> pair = compare_collections(three)["score"]["new"]
    >>> round(pair.difference, 4), round(pair.micro, 4), round(pair.others_p, 4)
    (0.0606, 0.0457, 0.5)

    """
    refuse_unknown_options(compare_collections, options)
    settings = CollectionSettings.of(options)
    how = Alignment.of(options), Judging.of(options), Reading.of(options)
    given, notes = _find_inputs(collections)
    notes += _own_measures_notes(given, measures)
    aligned = {name: _align_collection(name, one, measures, how) for name, one in given.items()}
    found = compare_aligned(aligned, settings, notes)
    warn_about(found.notes)
    return found


def _find_inputs(collections: Any) -> tuple[dict[str, Any], list[Note]]:
    """Return what each collection has, and notes on files that are not read."""
    if isinstance(collections, str | os.PathLike):
        files, notes = find_collections(os.fspath(collections))
        return {name: (one.qrels, one.runs, one.measure) for name, one in files.items()}, notes
    if not isinstance(collections, Mapping):
        raise InputError(
            f"expected collections, got a {type(collections).__name__}",
            hint="As in {'dl19': (qrels, runs), 'dl20': (qrels, runs)}, a folder, or a table.",
        )
    return {str(name): one for name, one in collections.items()}, []


def _own_measures_notes(given: Mapping[str, Any], measures: MeasuresLike | None) -> Iterator[Note]:
    """Yield a note if collections have measures of their own, in place of those for all."""
    own = [
        escape_unprintable(name)
        for name, one in given.items()
        if isinstance(one, tuple) and len(one) == 3 and one[2] is not None
    ]
    if own and measures is not None:
        named = [measures] if isinstance(measures, str | Measure) else measures
        what = ", ".join(map(str, named))
        text = (
            f"{format_count(len(own), 'collection has', 'collections have')} measures of their own, "
            f"in place of {what}: {format_names(own)}."
        )
        yield Note("own-measures", "info", text, len(own))


def _align_collection(
    name: str, given: Any, measures: MeasuresLike | None, how: tuple[Alignment, Judging, Reading]
) -> AlignedScores:
    """Return the scores on one collection."""
    qrels, runs, own = given, None, measures
    if isinstance(given, tuple):
        if len(given) not in (2, 3):
            raise InputError(
                f"the collection {name!r:.80}: expected (qrels, runs) or (qrels, runs, measures), "
                f"got {format_count(len(given), 'value')}"
            )
        qrels, runs = given[:2]
        stated = given[2] if len(given) == 3 else None
        own = (DEFAULT_MEASURES if measures is None else measures) if stated is None else stated
    try:
        return align(qrels, runs, own, *how)
    except InputError as error:
        raise error.add_reason(f"In the collection {escape_unprintable(name)}.") from None


def compare_aligned(
    aligned_scores: Mapping[str, AlignedScores], settings: CollectionSettings, notes: Sequence[Note] = ()
) -> CollectionComparison:
    """Compare aligned scores of several collections as `compare_collections` does."""
    if len(aligned_scores) < 2:
        raise InputError(
            f"{format_count(len(aligned_scores), 'collection')}: expected two or more",
            hint="Systems on one collection are compared by compare(qrels, runs).",
        )
    names = dict.fromkeys(name for one in aligned_scores.values() for name in one.system_names)
    there = {name: [key for key, one in aligned_scores.items() if name in one.system_names] for name in names}
    complete = [name for name in names if len(there[name]) == len(aligned_scores)]
    baseline = None
    if not settings.all_pairs:
        baseline = settings.baseline or next(iter(complete), None)
    if baseline is not None and baseline not in names:
        raise InputError(
            f"the baseline: there is no system {baseline!r:.80}",
            hint=f"The systems are {', '.join(map(escape_unprintable, names))}.",
        )
    said = [*_lacking_notes(there, len(aligned_scores), list(aligned_scores))]
    if len(complete) < 2 or (baseline is not None and baseline not in complete):
        problem = "no two systems have a run on every collection"
        if len(complete) > 1:
            problem = f"the baseline {baseline!r:.80} has no run on some collections"
        raise InputError(
            problem,
            hint=" ".join(one.text for one in said if one.code == "lacking")
            or f"The systems are {', '.join(map(escape_unprintable, names))}.",
        )
    of_each = Settings(**{**settings.to_dict(), "baseline": baseline})
    comparisons = {name: compare_scores(one, of_each, with_slow_columns=False) for name, one in aligned_scores.items()}
    measures = _match_measures(aligned_scores)
    results = [
        compare_averages(aligned_scores, complete, settings, baseline, name, columns)
        for name, columns in measures
    ]
    said += _doubt_notes(aligned_scores, results, settings)
    said += [
        Note("mixed", "warning", f"The average is of different measures: {name}.")
        for name, columns in measures
        if len(set(columns)) > 1
    ]
    return CollectionComparison(comparisons, settings, results, tuple(said), tuple(notes))


def _lacking_notes(there: Mapping[str, Sequence[str]], n: int, every: Sequence[str]) -> Iterator[Note]:
    """Yield a note on each system that some collection lacks."""
    for name, collections in there.items():
        missing = [one for one in every if one not in collections]
        if missing:
            text = (
                f"{escape_unprintable(name)} has runs on {len(collections)} of {n} collections, and no "
                f"average: none on {format_names([escape_unprintable(one) for one in missing])}."
            )
            yield Note("lacking", "warning", text, len(missing))


def _match_measures(aligned_scores: Mapping[str, AlignedScores]) -> list[tuple[str, Sequence[str]]]:
    """Return what is averaged: a name, and each collection's measure."""
    every = [one.measures for one in aligned_scores.values()]
    if len({len(one) for one in every}) > 1:
        shown = "; ".join(
            f"{escape_unprintable(name)} {', '.join(one.measures)}" for name, one in aligned_scores.items()
        )
        raise MeasureError(f"the collections have different numbers of measures: {shown:.300}")
    found: list[tuple[str, Sequence[str]]] = []
    for columns in zip(*every, strict=True):
        for name, measure in zip(aligned_scores, columns, strict=True):
            if is_geometric(aligned_scores[name].find_measure(measure)):
                raise MeasureError(
                    f"{measure} has a geometric mean over the queries, and no average over "
                    "collections; its arithmetic counterpart, such as AP, has one"
                )
        rising = {
            one.is_higher_better(measure) for one, measure in zip(aligned_scores.values(), columns, strict=True)
        }
        if len(rising) > 1:
            raise MeasureError(
                f"of some of {', '.join(dict.fromkeys(columns))}, less is better, of others more: "
                "these have no average"
            )
        found.append((", ".join(dict.fromkeys(columns)), columns))
    return found


def _far_apart_notes(results: Sequence[MacroResult], settings: CollectionSettings) -> Iterator[Note]:
    """Warn where flips find less than a t-test, as differences vary between the collections."""
    from scipy.special import stdtrit

    times = {}
    for result in results:
        for one in result.pairs:
            if one.low is None or one.high is None or not one.error or one.df is None:
                continue
            width = 2 * one.error * float(stdtrit(one.df, 1 - settings.alpha / 2))
            if one.high - one.low > _MAX_WIDTH_RATIO * width:
                named = f"{escape_unprintable(one.system)} - {escape_unprintable(one.other)} ({result.measure})"
                times[named] = (one.high - one.low) / width
    if times:
        text = (
            "Differences vary so much between these collections that flips, to which that is "
            "noise, show less than there is: their interval is up to "
            f"{format_number(max(times.values()), 1)} times as wide as by the t-test (--test t), which "
            f"takes each collection alone: {format_names([*times])}."
        )
        yield Note("far-apart", "warning", text, len(times))


_MAX_WIDTH_RATIO = 1.5  # times the t interval


def _doubt_notes(
    aligned_scores: Mapping[str, AlignedScores], results: Sequence[MacroResult], settings: CollectionSettings
) -> Iterator[Note]:
    """Yield what so few collections, or queries of one, cannot show."""
    n, alpha = len(aligned_scores), settings.alpha
    comparisons = max(len(one.pairs) for one in results)
    if settings.test == "randomization":
        yield from _far_apart_notes(results, settings)
    if settings.test == "t":
        if n < MIN_COLLECTIONS:
            text = (
                f"{n} collections: the t-test over them assumes that their differences are normal, "
                "which so few cannot show."
            )
            yield Note("few-collections", "warning", text, n)
        single = [escape_unprintable(name) for name, one in aligned_scores.items() if len(one.query_ids) == 1]
        if single:
            text = (
                f"{format_names(single)}: one query, which has no variance, so that there is no t-test "
                "about these collections; the randomization test needs none."
            )
            yield Note("one-query", "warning", text, len(single))
        return
    flips = Flips(n, settings.flips, settings.seed)
    least = float(flips.p_values(np.array(1 if flips.is_exact else 0)))
    how = "none" if settings.correction == "maxt" else settings.correction
    # The least corrected p, where every pair has the least one.
    floor = float(correct_p_values(how, np.full(comparisons, least)).min())
    if least > alpha:
        text = (
            f"{n} collections: no p over collections can be below {least:.3g}. They show what "
            "holds on these, not what would hold on others."
        )
        yield Note("few-collections", "warning", text, n)
    elif floor > alpha:
        text = (
            f"{n} collections: over collections, no corrected p can be below {floor:.2g}, so that "
            f"nothing can be significant in {format_count(comparisons, 'comparison')}."
        )
        yield Note("few-collections", "warning", text, n)
