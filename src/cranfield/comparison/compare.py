"""compare: is one system better than another, by how much, how sure is that, and where."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Never, Unpack

import numpy as np

from cranfield.arrays.ranked import Floats
from cranfield.comparison.aligned_scores import AlignedScores
from cranfield.comparison.alignment import align
from cranfield.comparison.anova import randomised_tukey, tukey
from cranfield.comparison.cells import (
    Cell,
    CorrectionFamily,
    QueryGroup,
    build_result,
    unit_columns,
)
from cranfield.comparison.comparison import Comparison
from cranfield.comparison.corrections import CORRECTIONS
from cranfield.comparison.corrections import correct_p_values as adjusted
from cranfield.comparison.extra_columns import join_columns
from cranfield.comparison.flips import PairedScores
from cranfield.comparison.pair_tests import PairTests, run_pair_tests
from cranfield.comparison.randomization import step_down_p_values
from cranfield.comparison.remarks import RESAMPLING_TESTS
from cranfield.comparison.result import Result
from cranfield.comparison.settings import Alignment, Correction, Settings
from cranfield.comparison.system_pairs import SystemPairs
from cranfield.data.judging import Judging
from cranfield.extensions import load_entries, load_families
from cranfield.formats.small.labels import read_labels
from cranfield.notes import Note, warn_about
from cranfield.options import keywords, refuse_unknown_options, takes
from cranfield.progress import Watching, add_progress
from cranfield.render.numbers import format_names
from cranfield.scoring.arguments import Reading
from cranfield.scoring.evaluate import MeasuresLike
from cranfield.scoring.slices import Slice, find_slices

FAMILIES = load_families("compare")


@add_progress
@takes(Settings, *FAMILIES, Alignment, Reading, Judging, Watching, omit=("queries",))
def compare(
    qrels: Any,
    runs: Any = None,
    measures: MeasuresLike | None = None,
    *_more: Never,
    slices: Any = None,
    **options: "Unpack[keywords.Compare]",
) -> Comparison:
    """Compare systems over the same queries: differences, how sure they are, and where they are.

    Args:
        qrels: judgments, as `evaluate` takes them; or, without runs, scores: Systems, a list of
            Scores, a dict `{name: Scores}` or `{name: {query_id: value}}`; or saved per-query
            scores of any tool: a path, a list of paths, a table.
        runs: several runs, as `evaluate` takes them. None: the first argument holds scores.
        measures: which to compare; each has a table. [default: nDCG@10 for runs, else all that have
            scores]
        slices: labels of queries; the queries of each label are also compared alone: a dict
            `{query_id: label}` or `{name: {query_id: label}}`, or a file or table with a column of
            query ids and one or more of labels.
        **options: each option of `Settings`, of extensions and of `Alignment`; for judgments and
            runs, also of `Reading` and `Judging`.

    A measure with a geometric mean, such as GMAP, is compared by the ratio of the geometric means:
    differences of logarithms are tested, and `tie` and `rope` are differences of logarithms, too.

    With `groups`, a system is the mean of several runs, trained with different seeds. Then there
    are two answers: about these trained models, and about training them again with other seeds.

    Returns:
        A Comparison, which prints as tables.

    Warns:
        CranfieldWarning: once, if tests and intervals are doubtful (fewer than 10 queries, or fewer
            than 10 on which two systems differ; skewed differences), or where `evaluate` warns
            (ranks that contradict the scores, ids that do not match). `notes` has the same.

    Raises:
        InputError: scores that are missing or not numbers; an unknown baseline.
        MeasureError: a measure that does not exist or has no scores.
        OptionError: an option with an unknown value, or options that exclude each other.

    Sources: Smucker, Allan & Carterette, CIKM 2007; Urbano, Lima & Hanjalic, SIGIR 2019; Holm,
    Scandinavian Journal of Statistics 1979; Sakai, SIGIR Forum 2014.

    >>> old = {f"q{i}": score for i, score in enumerate([0.1, 0.4, 0.0, 0.5, 0.2] * 2)}
    >>> new = {query: score + 0.1 for query, score in old.items()}
    >>> pair = compare({"old": old, "new": new})["score"]["new"]
    >>> pair.p == 2 / 2**10, pair.verdict
    (True, 'better')

    """
    refuse_unknown_options(compare, options, _more)
    settings = Settings.of(options)
    families = [family.of(options) for family in FAMILIES]
    alignment, judging, reading = Alignment.of(options), Judging.of(options), Reading.of(options)
    aligned_scores = align(qrels, runs, measures, alignment, judging, reading, families)
    comparison = compare_scores(aligned_scores, settings, slices)
    warn_about(comparison.notes)
    return comparison


def compare_scores(
    aligned_scores: AlignedScores,
    settings: Settings,
    labels: Any = None,
    *,
    pairs: SystemPairs | None = None,
    with_slow_columns: bool = True,
) -> Comparison:
    """Compare aligned scores as `compare` does, without warnings.

    `labels` are the `slices` of `compare`: labels of queries. `pairs`: those to compare in place of
    those that the settings ask for, which then name no baseline. `with_slow_columns`: whether
    extensions add columns that take long.
    """
    names, query_ids = aligned_scores.system_names, aligned_scores.query_ids
    names_baseline = not settings.all_pairs and pairs is None
    has_first_baseline = settings.baseline is None and names_baseline and len(names) > 1
    if names_baseline:
        baselines = map(aligned_scores.find_baseline, settings.baselines or names[:1])
        settings = replace(settings, baseline=[*dict.fromkeys(baselines)])
    if pairs is None:
        pairs = SystemPairs.choose(len(names), [*map(names.index, settings.baselines)])
    aligned_scores.units.check(settings)
    left_column, right_column = pairs
    blocks = list(aligned_scores.extra_columns)
    if with_slow_columns:
        blocks += [block_type() for block_type in load_entries("columns of compare")]
    blocks = [
        block.prepare(aligned_scores, settings, left_column, right_column) for block in blocks
    ]
    slices, notes = find_slices(None if labels is None else read_labels(labels), query_ids)
    all_queries = Slice(None, None, np.ones(len(query_ids), np.bool_))
    all_cells = []
    for query_slice in (all_queries, *slices):
        queries = QueryGroup.of(aligned_scores, query_slice)
        all_cells.append(
            [
                Cell(aligned_scores, settings, left_column, right_column, measure, queries)
                for measure in aligned_scores.measures
            ]
        )
    results = []
    samples = [[cell.sample for cell in cells] for cells in all_cells]
    for cells, tests in zip(all_cells, run_pair_tests(samples, settings), strict=True):
        corrections = _correct_cells(cells, tests)
        columns_of_blocks = [[unit_columns(cell) for cell in cells]]
        columns_of_blocks += [block.pair_columns(cells, settings) for block in blocks]
        columns = map(join_columns, zip(*columns_of_blocks, strict=True))
        for cell, test, (p, family), extra_columns in zip(
            cells, tests, corrections, columns, strict=True
        ):
            results.append(build_result(cell, test, p, family, extra_columns))
        if cells is all_cells[0]:
            notes += _note_families(cells, tests, [p for p, _ in corrections])
    notes += [*_note_best_baseline(results, settings)]
    notes += [note for block in blocks for note in block.notes()]
    all_notes = (*aligned_scores.notes, *notes)
    return Comparison(aligned_scores, settings, tuple(results), all_notes, has_first_baseline)


MANY_DIFFERENCES = 2_000_000  # pairs x queries: of more, `compare_all_pairs` draws no flips


def compare_all_pairs(comparison: Comparison) -> Comparison:
    """Return the comparison of all pairs of systems by the same scores, without slices.

    A comparison that has all pairs already is returned unchanged. Only pairs with a little judged
    system have bounds for unjudged documents. Where pairs x queries are more than 2,000,000, a test
    that draws flips or resamples would take minutes: then it is the t-test without such bounds, and
    a correction by flips becomes Holm's, one by permutations Tukey's. A note says so.

    >>> from cranfield import compare
    >>> half = {"a": {"q1": 0.5, "q2": 1.0}, "b": {"q1": 0.0, "q2": 1.0}, "c": {"q1": 0, "q2": 0}}
    >>> pairs = compare_all_pairs(compare(half))["score"].pairs
    >>> [(pair.system, pair.other, pair.difference) for pair in pairs]
    [('a', 'b', 0.25), ('a', 'c', 0.75), ('b', 'c', 0.5)]
    """
    if comparison.settings.all_pairs:
        return comparison
    aligned_scores = comparison.aligned
    settings = replace(comparison.settings, baseline=None, all_pairs=True, bounds=False)
    n_pairs = math.comb(len(aligned_scores.system_names), 2)
    n_queries = len(aligned_scores.query_ids)
    if n_pairs * n_queries <= MANY_DIFFERENCES or settings.test not in RESAMPLING_TESTS:
        return compare_scores(aligned_scores, settings)
    fast_correction: dict[Correction, Correction] = {"maxt": "holm", "rtukey": "tukey"}
    correction = fast_correction.get(settings.correction, settings.correction)
    settings = replace(settings, test="t", correction=correction)
    comparison_by_t = compare_scores(aligned_scores, settings, with_slow_columns=False)
    text = (
        f"{n_pairs:,} pairs on {n_queries:,} queries are compared by the t-test, which draws no "
        f"flips; those with the baseline by {comparison.settings.test}."
    )
    note = Note("pairs-by-t", "info", text, count=n_pairs)
    return replace(comparison_by_t, data_notes=(*comparison_by_t.data_notes, note))


def _note_families(
    cells: Sequence[Cell], tests: Sequence[PairTests], adjusted_p: Sequence[Floats]
) -> Iterator[Note]:
    """Yield a note that measures are corrected separately, and what one family would keep."""
    settings = cells[0].settings
    n = sum(map(len, adjusted_p))
    if len(cells) == 1 or settings.family == "all" or settings.correction == "none" or not n:
        return
    text = f"Corrected for each measure; --family all: over all {n:,}"
    is_marked = np.concatenate(adjusted_p) <= settings.alpha
    if settings.correction in CORRECTIONS and is_marked.any():
        family_p = np.concatenate([p for p, _ in _correct_family(cells, tests)])
        n_left = int(np.count_nonzero(is_marked & (family_p <= settings.alpha)))
        text += f", which keeps {n_left:,} of {int(np.count_nonzero(is_marked)):,} marks"
    yield Note("family", "info", f"{text}.", count=n)


_FEWEST_CANDIDATES = 4  # systems; of fewer, that the baseline is the best matters little


def _note_best_baseline(results: Sequence[Result], settings: Settings) -> Iterator[Note]:
    """Yield a note if a baseline has the best mean, so that it may have been chosen for it.

    Then any other of k systems that are as good is marked more often than alpha says: the family
    of comparisons is that of all pairs.
    """
    n_systems = len(results[0].systems)
    has_all_pairs = settings.baseline is None or settings.correction in ("tukey", "rtukey")
    if has_all_pairs or settings.correction == "none" or n_systems < _FEWEST_CANDIDATES:
        return
    best_systems = [
        (result.measure, system.name)
        for result in results
        for system in result.ranked_systems
        if result.slice is None and system.mean == result.ranked_systems[0].mean
    ]
    for baseline in settings.baselines:
        if measures := [measure for measure, name in best_systems if name == baseline]:
            text = (
                f"{baseline} has the best mean {format_names(measures)} of {n_systems:,}: if "
                "it was chosen for that, the family is all pairs, all_pairs=True (--all-pairs)."
            )
            yield Note("best-baseline", "info", text, count=n_systems)


def _correct_cells(
    cells: Sequence[Cell], tests: Sequence[PairTests]
) -> list[tuple[Floats, CorrectionFamily]]:
    """Return the corrected p-values (n_pairs,) of each cell, with the family of its comparisons."""
    if cells[0].settings.family == "all":
        return _correct_family(cells, tests)
    corrections = []
    for cell, test in zip(cells, tests, strict=True):
        corrections += _correct_family([cell], [test])
    return corrections


def _correct_family(
    family: Sequence[Cell], tests: Sequence[PairTests]
) -> list[tuple[Floats, CorrectionFamily]]:
    """Return the same for the cells of one family: their p-values are corrected together."""
    settings, pairs = family[0].settings, family[0].unit_pairs
    p = np.concatenate([test.p for test in tests])
    n = len(p)
    if settings.correction in ("tukey", "rtukey"):  # these have no baseline
        n = math.comb(pairs.scores.shape[1], 2)
    match settings.correction if len(p) else "none":
        case "maxt":
            if len(family) > 1:
                differences = [cell.unit_pairs.differences for cell in family]
                pairs = PairedScores.from_differences(np.concatenate(differences, axis=1))
            adjusted_p = step_down_p_values(pairs, family[0].flips)
        case "tukey":
            adjusted_p = tukey(pairs)
        case "rtukey":
            adjusted_p = randomised_tukey(pairs, seed=settings.seed)
        case correction:
            adjusted_p = adjusted(correction, p)
    adjusted_p = np.where(np.isnan(p), np.nan, adjusted_p)
    n_significant = int(np.count_nonzero(adjusted_p <= settings.alpha))
    correction_family = CorrectionFamily(n, n_significant)
    return [(cell_p, correction_family) for cell_p in np.split(adjusted_p, len(family))]
