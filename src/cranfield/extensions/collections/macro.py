"""macro: systems compared over several collections, each of which counts the same.

The mean over all queries of all collections is mostly that of the largest one. So the macro average
is compared: the mean of the collections' means. Two questions have two answers. Whether systems
differ on these collections depends on their queries. Whether they would differ on other collections
like these depends on which collections there are: then each is one observation (Demsar, JMLR 2006).
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Never, Unpack

import numpy as np

from cranfield.comparison.aligned_scores import AlignedScores
from cranfield.comparison.alignment import DEFAULT_MEASURES, align
from cranfield.comparison.compare import compare_scores
from cranfield.comparison.comparison import Comparison
from cranfield.comparison.corrections import correct_p_values
from cranfield.comparison.flips import Flips
from cranfield.comparison.scale import is_geometric
from cranfield.comparison.score_columns import find_result
from cranfield.comparison.settings import Alignment, Settings
from cranfield.data.judging import Judging
from cranfield.errors import InputError, MeasureError, escape_unprintable
from cranfield.extensions import keywords
from cranfield.extensions.collections.collection_files import find_collections
from cranfield.extensions.collections.macro_result import MacroPair, MacroResult, compare_averages
from cranfield.extensions.collections.macro_tables import make_macro_tables
from cranfield.extensions.collections.options import CollectionSettings
from cranfield.formats.stated_columns import take_together
from cranfield.measures import Measure
from cranfield.notes import Note, merge_notes, warn_about
from cranfield.options import refuse_unknown_options, takes
from cranfield.progress import Watching, add_progress
from cranfield.render.numbers import format_count, format_names, format_number
from cranfield.render.shown import Shown
from cranfield.render.table import Table
from cranfield.scoring.arguments import Reading
from cranfield.scoring.evaluate import MeasuresLike

MIN_COLLECTIONS = 6  # fewer cannot show that their differences are normal, as the t-test assumes


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

    header = ("measure", *(field.name for field in fields(MacroPair)))

    comparisons: Mapping[str, Comparison]
    settings: CollectionSettings
    results: Sequence[MacroResult]
    own_notes: tuple[Note, ...]  # on the averages
    data_notes: tuple[Note, ...]  # on files, and on what was stated for some collections

    def __getitem__(self, measure: str | Measure) -> MacroResult:
        """Return the result of one measure."""
        return find_result(measure, self.results)

    @property
    def n_queries(self) -> int:
        """The number of queries of all collections."""
        return sum(len(comparison.aligned.query_ids) for comparison in self.comparisons.values())

    @property
    def notes(self) -> tuple[Note, ...]:
        """The notes on files and averages, then those on each collection's data, with its name.

        Those on the tests of a collection alone are in its comparison.
        """
        named_notes = (
            (name, note)
            for name, comparison in self.comparisons.items()
            for note in comparison.data_notes
        )
        collection_notes = merge_notes(named_notes, len(self.comparisons))
        return (*self.data_notes, *self.own_notes, *collection_notes)

    def tables(self) -> list[Table]:
        """Return, for each measure, a table of the collections, and one for each question."""
        return make_macro_tables(
            self.results, self.comparisons, self.settings, [*self._page_notes()]
        )

    def _page_notes(self) -> Iterator[Note]:
        """Yield the notes that a page has room for, and notes on those that it leaves out."""
        n_own_notes = len(self.data_notes) + len(self.own_notes)
        yield from self.notes[:n_own_notes]
        collection_notes = self.notes[n_own_notes:]
        yield from (note for note in collection_notes if note.is_grave)
        doubtful_collections = [
            escape_unprintable(name)
            for name, comparison in self.comparisons.items()
            if any(note.is_grave for result in comparison.results for note in result.notes)
        ]
        if doubtful_collections:
            text = (
                f"The tests on single collections are doubtful, with few queries or few that "
                f"differ, on {format_names(doubtful_collections)}: `cranfield compare` on that "
                "collection says why."
            )
            yield Note("doubtful", "info", text, len(doubtful_collections))
        if n_minor_notes := sum(not note.is_grave for note in collection_notes):
            notes_text = format_count(n_minor_notes, "note")
            text = f"{notes_text} on single collections: --format json has them."
            yield Note("more-notes", "info", text, n_minor_notes)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each measure and pair; what does not exist is None."""
        return self._rows_as_dicts(
            (averages.measure, *(getattr(pair, name) for name in self.header[1:]))
            for averages in self.results
            for pair in averages.pairs
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, as for JSON, with what is needed to repeat it."""
        return {
            "settings": vars(self.settings),
            "collections": {
                name: comparison.to_dict() for name, comparison in self.comparisons.items()
            },
            "results": [averages.to_dict() for averages in self.results],
            "notes": [note.to_dict() for note in self.notes],
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
            measures)}` where measures differ, or `{name: scores}`; or the path of a folder with a
            folder for each collection, or of a table of files with the columns collection, qrels,
            run (the system's name) and path, and measure where these differ.
        measures: which to compare. Of collections with measures of their own, the first ones are
            averaged together, then the second ones. [default: nDCG@10 for runs, else all]
        **options: each option of `CollectionSettings` and `Alignment`; for judgments and runs, also
            of `Reading` and `Judging`.

    Returns:
        A CollectionComparison, which prints as tables; `comparisons` has each collection's own.

    Warns:
        CranfieldWarning: once, if the number of collections leaves the second question open, if a
            system lacks a run, if the test does not suit these collections, if an average is of
            different measures, or where `evaluate` warns of a collection. Whether tests on single
            collections are doubtful is in the notes of `comparisons`.

    Raises:
        InputError: fewer than two collections, or than two systems on all of them; a baseline that
            one lacks; what `compare` raises.
        MeasureError: a measure with a geometric mean, such as GMAP, which has no macro average;
            different numbers of measures; an average of measures of which some are better when
            lower, others when higher.
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
    option_groups = Alignment.of(options), Judging.of(options), Reading.of(options)
    inputs_of_collection, notes = _find_inputs(collections)
    notes += _own_measures_notes(inputs_of_collection, measures)
    with take_together(option_groups[-1].columns):
        aligned_scores = {
            name: _align_collection(name, inputs, measures, option_groups)
            for name, inputs in inputs_of_collection.items()
        }
    comparison = compare_aligned(aligned_scores, settings, notes)
    warn_about(comparison.notes)
    return comparison


def _find_inputs(collections: Any) -> tuple[dict[str, Any], list[Note]]:
    """Return the judgments and runs, or scores, of each collection, and notes on other files."""
    if isinstance(collections, str | os.PathLike):
        files_of_collection, notes = find_collections(os.fspath(collections))
        return {
            name: (files.qrels, files.runs, files.measure)
            for name, files in files_of_collection.items()
        }, notes
    if not isinstance(collections, Mapping):
        raise InputError(
            f"expected collections, got a {type(collections).__name__}",
            hint="As in {'dl19': (qrels, runs), 'dl20': (qrels, runs)}, a folder, or a table.",
        )
    return {str(name): inputs for name, inputs in collections.items()}, []


def _own_measures_notes(
    inputs_of_collection: Mapping[str, Any], measures: MeasuresLike | None
) -> Iterator[Note]:
    """Yield a note if collections have measures of their own, in place of those for all."""
    collections = [
        escape_unprintable(name)
        for name, inputs in inputs_of_collection.items()
        if isinstance(inputs, tuple) and len(inputs) == 3 and inputs[2] is not None
    ]
    if collections and measures is not None:
        measure_list = [measures] if isinstance(measures, str | Measure) else measures
        measure_names = ", ".join(map(str, measure_list))
        text = (
            f"{format_count(len(collections), 'collection has', 'collections have')} measures of "
            f"their own, in place of {measure_names}: {format_names(collections)}."
        )
        yield Note("own-measures", "info", text, len(collections))


def _align_collection(
    name: str,
    inputs: Any,
    measures: MeasuresLike | None,
    option_groups: tuple[Alignment, Judging, Reading],
) -> AlignedScores:
    """Return the scores on one collection."""
    qrels, runs, collection_measures = inputs, None, measures
    if isinstance(inputs, tuple):
        if len(inputs) not in (2, 3):
            raise InputError(
                f"the collection {name!r:.80}: expected (qrels, runs) or (qrels, runs, measures), "
                f"got {format_count(len(inputs), 'value')}"
            )
        qrels, runs = inputs[:2]
        collection_measures = inputs[2] if len(inputs) == 3 else None
        if collection_measures is None:
            collection_measures = DEFAULT_MEASURES if measures is None else measures
    try:
        return align(qrels, runs, collection_measures, *option_groups)
    except InputError as error:
        raise error.add_reason(f"In the collection {escape_unprintable(name)}.") from None


def compare_aligned(
    aligned_scores: Mapping[str, AlignedScores],
    settings: CollectionSettings,
    notes: Sequence[Note] = (),
) -> CollectionComparison:
    """Compare aligned scores of several collections as `compare_collections` does."""
    if len(aligned_scores) < 2:
        raise InputError(
            f"{format_count(len(aligned_scores), 'collection')}: expected two or more",
            hint="Systems on one collection are compared by compare(qrels, runs).",
        )
    system_names = dict.fromkeys(
        name for scores in aligned_scores.values() for name in scores.system_names
    )
    collections_of_system: dict[str, list[str]] = {name: [] for name in system_names}
    for collection, scores in aligned_scores.items():
        for name in scores.system_names:
            collections_of_system[name].append(collection)
    n_collections = len(aligned_scores)
    complete = [name for name in system_names if len(collections_of_system[name]) == n_collections]
    baselines = () if settings.all_pairs else settings.baselines or complete[:1]
    for baseline in baselines:
        if baseline not in system_names:
            raise InputError(
                f"the baseline: there is no system {baseline!r:.80}",
                hint=f"The systems are {', '.join(map(escape_unprintable, system_names))}.",
            )
    incomplete_baselines = [name for name in baselines if name not in complete]
    average_notes = [*_lacking_notes(collections_of_system, list(aligned_scores))]
    if len(complete) < 2 or incomplete_baselines:
        problem = "no two systems have a run on every collection"
        if len(complete) > 1:
            problem = f"the baseline {incomplete_baselines[0]!r:.80} has no run on some collections"
        raise InputError(
            problem,
            hint=" ".join(note.text for note in average_notes if note.code == "lacking")
            or f"The systems are {', '.join(map(escape_unprintable, system_names))}.",
        )
    collection_settings = Settings(**{**settings.to_dict(), "baseline": [*baselines] or None})
    comparisons = {
        name: compare_scores(scores, collection_settings, with_slow_columns=False)
        for name, scores in aligned_scores.items()
    }
    measures = _match_measures(aligned_scores)
    results = [
        compare_averages(aligned_scores, complete, settings, baselines, measure_name, measure_names)
        for measure_name, measure_names in measures
    ]
    average_notes += _doubt_notes(aligned_scores, results, settings)
    average_notes += [
        Note("mixed", "warning", f"The average is of different measures: {measure_name}.")
        for measure_name, measure_names in measures
        if len(set(measure_names)) > 1
    ]
    return CollectionComparison(comparisons, settings, results, tuple(average_notes), tuple(notes))


def _lacking_notes(
    collections_of_system: Mapping[str, Sequence[str]], all_collections: Sequence[str]
) -> Iterator[Note]:
    """Yield a note on each system that has no run on some collection."""
    for name, collections in collections_of_system.items():
        lacking = [
            escape_unprintable(collection)
            for collection in all_collections
            if collection not in collections
        ]
        if lacking:
            text = (
                f"{escape_unprintable(name)} has runs on {len(collections)} of "
                f"{len(all_collections)} collections, and no average: none on "
                f"{format_names(lacking)}."
            )
            yield Note("lacking", "warning", text, len(lacking))


def _match_measures(aligned_scores: Mapping[str, AlignedScores]) -> list[tuple[str, Sequence[str]]]:
    """Return the measures that are averaged: a name, and the measure of each collection."""
    measure_lists = [scores.measures for scores in aligned_scores.values()]
    if len({len(measure_names) for measure_names in measure_lists}) > 1:
        measures_text = "; ".join(
            f"{escape_unprintable(name)} {', '.join(scores.measures)}"
            for name, scores in aligned_scores.items()
        )
        raise MeasureError(
            f"the collections have different numbers of measures: {measures_text:.300}"
        )
    averages: list[tuple[str, Sequence[str]]] = []
    for columns in zip(*measure_lists, strict=True):
        for name, measure in zip(aligned_scores, columns, strict=True):
            if is_geometric(aligned_scores[name].find_measure(measure)):
                raise MeasureError(
                    f"{measure} has a geometric mean over the queries, and no average over "
                    "collections; its arithmetic counterpart, such as AP, has one"
                )
        directions = {
            scores.is_higher_better(measure)
            for scores, measure in zip(aligned_scores.values(), columns, strict=True)
        }
        if len(directions) > 1:
            raise MeasureError(
                f"of some of {', '.join(dict.fromkeys(columns))}, less is better, of others more: "
                "these have no average"
            )
        names = list(dict.fromkeys(columns))
        averages.append((names[0] if len(names) == 1 else ", ".join(names), columns))
    return averages


def _far_apart_notes(
    results: Sequence[MacroResult], settings: CollectionSettings
) -> Iterator[Note]:
    """Yield a note if flips' intervals are far wider than by t: differences vary by collection."""
    from scipy.special import stdtrit

    ratio_of_pair = {}
    for averages in results:
        for pair in averages.pairs:
            if pair.low is None or pair.high is None or not pair.error or pair.df is None:
                continue
            width = 2 * pair.error * float(stdtrit(pair.df, 1 - settings.alpha / 2))
            if pair.high - pair.low > _MAX_WIDTH_RATIO * width:
                systems = map(escape_unprintable, (pair.system, pair.other))
                pair_name = f"{' - '.join(systems)} ({averages.measure})"
                ratio_of_pair[pair_name] = (pair.high - pair.low) / width
    if ratio_of_pair:
        text = (
            "Differences vary so much between these collections that flips, to which that is "
            "noise, show less than there is: their interval is up to "
            f"{format_number(max(ratio_of_pair.values()), 1)} times as wide as by the t-test "
            f"(--test t), which takes each collection alone: {format_names([*ratio_of_pair])}."
        )
        yield Note("far-apart", "warning", text, len(ratio_of_pair))


_MAX_WIDTH_RATIO = 1.5  # times the t interval


def _doubt_notes(
    aligned_scores: Mapping[str, AlignedScores],
    results: Sequence[MacroResult],
    settings: CollectionSettings,
) -> Iterator[Note]:
    """Yield notes on what flips, so few collections, or a collection of one query cannot show."""
    n_collections, alpha = len(aligned_scores), settings.alpha
    n_comparisons = max(len(averages.pairs) for averages in results)
    if settings.test == "randomization":
        yield from _far_apart_notes(results, settings)
    if settings.test == "t":
        if n_collections < MIN_COLLECTIONS:
            text = (
                f"{n_collections} collections: the t-test over them assumes that their differences "
                "are normal, which so few cannot show."
            )
            yield Note("few-collections", "warning", text, n_collections)
        one_query_collections = [
            escape_unprintable(name)
            for name, scores in aligned_scores.items()
            if len(scores.query_ids) == 1
        ]
        if one_query_collections:
            text = (
                f"{format_names(one_query_collections)}: one query, which has no variance, so that "
                "there is no t-test about these collections; the randomization test needs none."
            )
            yield Note("one-query", "warning", text, len(one_query_collections))
        return
    flips = Flips(n_collections, settings.flips, settings.seed)
    least_p = float(flips.p_values(np.array(1 if flips.is_exact else 0)))
    correction = "none" if settings.correction == "maxt" else settings.correction
    # The least corrected p, where every pair has the least one.
    least_corrected_p = float(correct_p_values(correction, np.full(n_comparisons, least_p)).min())
    if least_p > alpha:
        text = (
            f"{n_collections} collections: no p over collections can be below {least_p:.3g}. They "
            "show what holds on these, not what would hold on others."
        )
        yield Note("few-collections", "warning", text, n_collections)
    elif least_corrected_p > alpha:
        text = (
            f"{n_collections} collections: over collections, no corrected p can be below "
            f"{least_corrected_p:.2g}, so that nothing can be significant in "
            f"{format_count(n_comparisons, 'comparison')}."
        )
        yield Note("few-collections", "warning", text, n_collections)
