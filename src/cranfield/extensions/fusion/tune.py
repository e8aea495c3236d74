"""tune: weights, or a parameter, of fusion, chosen on some queries and judged on others."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack, get_args

import numpy as np

from cranfield.arrays.ranked import Floats, Ints
from cranfield.comparison.alignment import align
from cranfield.comparison.compare import compare_scores
from cranfield.comparison.comparison import Comparison
from cranfield.comparison.flips import DEFAULT_SEED
from cranfield.comparison.level import ALPHA
from cranfield.comparison.result import Pair
from cranfield.comparison.settings import Settings, count_check
from cranfield.comparison.significance import TIE
from cranfield.comparison.tables import format_pair_interval
from cranfield.data.judge import list_warnings
from cranfield.data.judging import Judging
from cranfield.data.run import Run
from cranfield.errors import InputError, MeasureError, OptionError, check_choice
from cranfield.extensions import keywords
from cranfield.extensions.fusion.fuse import NOT_FOR_FUSION
from cranfield.extensions.fusion.fusing import Fusing, Method
from cranfield.extensions.fusion.methods import METHODS
from cranfield.extensions.fusion.trials import Trials, TuningTarget, count_parts, list_settings
from cranfield.formats.small.labels import read_cluster_labels
from cranfield.measures import Measure, parse
from cranfield.notes import Note, warn_about
from cranfield.options import Options, is_whole_number, option, refuse_unknown_options, takes
from cranfield.progress import Watching, add_progress
from cranfield.render.numbers import (
    finite_or_none,
    format_count,
    format_names,
    format_number,
    format_p,
    format_percent,
    format_query_count,
    format_short,
    format_signed,
)
from cranfield.render.shown import Shown
from cranfield.render.table import Table
from cranfield.scoring.arguments import Reading, arrange_arguments
from cranfield.scoring.evaluate import score_runs

_MAX_LISTED = 10  # settings of the weights of three runs or more that a table shows
_MAX_NAMES_WIDTH = 45  # characters that the names of runs may take above their weights
_TUNED_NAME, _UNTUNED_NAME = "tuned", "untuned"


def _read_folds(folds: Any) -> Any:
    """Return the number of folds, or labels of queries as they are; else raise ValueError."""
    if isinstance(folds, str) and folds.strip().isdecimal():
        folds = int(folds)
    if (is_whole_number(folds) and folds < 2) or isinstance(folds, bool | float) or folds is None:
        raise ValueError("a whole number of at least 2, or labels of queries")
    return folds


@dataclass(frozen=True, kw_only=True)
class Tuning(Options):
    """What is tried, and on which queries."""

    over: TuningTarget | None = option(
        None,
        'What is chosen: the "weights" of the runs, or the method\'s "parameter", such as the k of '
        "rrf. [default: weights, if the method has them]",
    )
    steps: int | None = option(
        None,
        "In how many parts the weights divide 1: with 10, weights are 0, 0.1, ..., 1. [default: "
        "10, or fewer, so that there are at most 300 settings]",
        count_check(1),
    )
    folds: Any = option(
        5,
        "In how many parts the queries are divided by chance; or labels of queries, as {query_id: "
        "label} or a file, such as the collection, each of which is a part.",
        _read_folds,
    )
    seed: int = option(DEFAULT_SEED, "The same seed draws the same by chance.", count_check(0))
    alpha: float = option(*ALPHA)


@dataclass(frozen=True, eq=False, repr=False)
class Tuned(Shown):
    """Settings of fusion that were tried, and what the chosen ones are worth on other queries.

    `best` is the setting with the best mean on all queries, {run: weight} or {parameter: value};
    `held_out` compares the settings that were chosen on the other folds with the untuned one, as
    `compare` does, `against_best` with the best run alone. `means` are those of `settings`, all
    that were tried.

    >>> import random
    >>> from cranfield import tune
    >>> chance = random.Random(3)
    >>> def run(noise):
    ...     return {
    ...         f"q{i}": {f"d{j}": (j < 3) + chance.gauss(0, noise) for j in range(10)}
    ...         for i in range(40)
    ...     }
    >>> qrels = {f"q{i}": {f"d{j}": 1 for j in range(3)} for i in range(40)}
    >>> found = tune(qrels, {"good": run(0.3), "poor": run(3.0)}, "sum", "AP")
    >>> found.best["good"] > 0.5, found.folds
    (True, 5)
    """

    method: str
    measure: str
    over: TuningTarget
    settings: Sequence[Mapping[str, float]]
    means: Sequence[float]
    errors: Sequence[float | None]  # of each mean's difference from the best; None: 0 or unknown
    chosen: Mapping[str, int]  # {fold: the position in `settings` that was chosen for it}
    place: int  # of the best, in `settings`
    held_out: Comparison
    against_best: Comparison
    alone: Mapping[str, float]  # the mean of each run without the others
    run: Run  # fused with the best setting
    notes: tuple[Note, ...]
    recipe: Mapping[str, Any]

    @property
    def header(self) -> tuple[str, ...]:
        """The columns of the rows: a setting, its mean, less the best, error, how often chosen."""
        prefix = "weight_" if self.over == "weights" else ""
        settings = (f"{prefix}{name}" for name in self.settings[0])
        return (*settings, "mean", "difference", "error", "chosen")

    @property
    def best(self) -> Mapping[str, float]:
        """The setting with the best mean on all queries."""
        return self.settings[self.place]

    @property
    def folds(self) -> int:
        """In how many parts the queries were divided."""
        return len(self.chosen)

    @property
    def pair(self) -> Pair:
        """The chosen settings, on queries that they were not chosen on, less the untuned one."""
        return self.held_out[self.measure][_TUNED_NAME]

    @property
    def close(self) -> int:
        """How many settings are within a standard error of the best, or tied: itself, too."""
        rising = self.held_out[self.measure].higher_is_better
        best = self.means[self.place]
        gaps = ((best - mean) * (1 if rising else -1) for mean in self.means)
        return sum(gap <= (error or TIE) for gap, error in zip(gaps, self.errors, strict=True))

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each setting that was tried, to every digit."""
        fold_counts = [list(self.chosen.values()).count(i) for i in range(len(self.settings))]
        best = self.means[self.place]
        setting_rows = zip(self.settings, self.means, self.errors, fold_counts, strict=True)
        return self._rows_as_dicts(
            (*setting.values(), mean, mean - best, error, n)
            for setting, mean, error, n in setting_rows
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the fused run's rows as plain values, as for JSON."""
        return {
            "recipe": dict(self.recipe),
            "best": dict(self.best),
            "close": self.close,
            "held_out": self.held_out.to_dict(),
            "against_best": self.against_best.to_dict(),
            "alone": dict(self.alone),
            "chosen": {fold: dict(self.settings[i]) for fold, i in self.chosen.items()},
            "settings": self.rows(),
            "notes": [note.to_dict() for note in self.notes],
        }

    def tables(self) -> list[Table]:
        """Return what tuning is worth on other queries, and the settings with their means."""
        return [self._held_out_table(), self._settings_table()]

    def _held_out_table(self) -> Table:
        """Return the means of the best run alone and of the untuned and the tuned fusion."""
        result, best_alone = self.held_out[self.measure], str(self.against_best.settings.baseline)
        level = format_percent(1 - self.recipe["alpha"])
        untuned_label = "equal weights"
        if self.over == "parameter":
            untuned_label = _describe_setting(self.recipe["untuned"])
        tuned_label = f"chosen on the other {format_count(self.folds - 1, 'fold')}"
        phrases = {None: "not significantly other than", "better": "significantly better than"}
        best_pair = self.against_best[self.measure][_TUNED_NAME]
        rows, verdicts = [], []
        for label, pair in (f"{best_alone}, the best run", best_pair), (untuned_label, self.pair):
            change = format_signed(pair.difference), format_pair_interval(pair)
            rows.append([label, format_number(pair.other_mean), *change, format_p(pair.p)])
            verdicts.append(phrases.get(pair.verdict, "significantly worse than"))
        rows.append([tuned_label, format_number(self.pair.mean), "", "", ""])
        sentences = [
            "diff: of the tuned fusion, on queries that it was not chosen on. There, it is "
            f"{verdicts[0]} {best_alone} and {verdicts[1]} the untuned one: the randomization "
            "test, two-sided. The best run was chosen here: that it is better is no finding.",
            *map(str, self.notes),
        ]
        title = f"{self.method} of {format_names(self.recipe['runs'])}   {self.measure}   "
        title += f"{format_query_count(len(result.query_ids))} in {self.folds} folds"
        header = ["setting", "mean", "diff", f"{level} interval", "p"]
        return Table(header, rows, sentences, 1, title=[title])

    def _settings_table(self) -> Table:
        """Return the settings in their order, or, of weights of three or more runs, the best."""
        order = list(range(len(self.settings)))
        positions = order
        if len(self.settings[0]) > 2:
            sign = -1 if self.held_out[self.measure].higher_is_better else 1
            # Of settings with the same mean, the setting that was taken is the first.
            positions = sorted(order, key=lambda i: (i != self.place, sign * self.means[i]))
            positions = positions[:_MAX_LISTED]
        low, high = min(self.means), max(self.means)
        fold_counts = [list(self.chosen.values()).count(i) for i in order]
        names = [*self.settings[0]]
        has_weight_columns = sum(len(name) + 3 for name in names) <= _MAX_NAMES_WIDTH
        rows = []
        for i in positions:
            numbers, mean = list(map(format_short, self.settings[i].values())), self.means[i]
            cells = numbers if has_weight_columns else ["  ".join(numbers)]
            fold_count = f"{fold_counts[i]}" if fold_counts[i] else ""
            share = (mean - low) / (high - low) if high > low else 1.0
            bar = "=" * max(1, round(10 * share))
            rows.append([*cells, format_number(mean), fold_count, bar])
        n = len(self.settings)
        verb, is_flat = "is" if self.close == 1 else "are", self.close - 1 > (n - 1) / 4
        sentences = [
            f"On all queries; the best is {_describe_setting(self.best)}. Its mean here is too "
            "high a promise, as it was chosen on these queries: the table above has the "
            "cross-validated one.",
            f"{self.close:,} of {n:,} settings {verb} within a standard error of the best"
            f"{': the optimum is flat' if is_flat else ''}.",
            "chosen: the number of folds for which the setting was the best.",
            *([] if has_weight_columns else [f"weights: of {', '.join(names)}."]),
        ]
        labels = names if has_weight_columns else ["weights"]
        best = frozenset({(positions.index(self.place), len(labels))})
        title = f"The best {len(positions)} of {n:,} settings" if len(positions) < n else "Settings"
        header = [*labels, "mean", "chosen", ""]
        return Table(header, rows, sentences, len(labels), best, title=[title], n_sentences=1)


def _describe_setting(setting: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {format_short(value)}" for name, value in setting.items())


@add_progress
@takes(Tuning, Fusing, Judging, Reading, Watching, omit=(*NOT_FOR_FUSION, "weights"))
def tune(
    qrels: Any,
    runs: Any,
    method: Method = "sum",
    measure: str | Measure = "nDCG@10",
    **options: "Unpack[keywords.Tune]",
) -> Tuned:
    """Choose weights, or a parameter, of fusion on some queries, and judge them on others.

    The queries are divided into folds. For each fold, the setting with the best mean on the other
    folds is taken, and scored on this one: so every query has a score of a setting that was not
    chosen on it. Their mean is what tuning is worth, beside equal weights (or the parameter
    untuned). The best on all queries is what to use; its mean there is too high a promise.

    Weights are whole numbers of parts, of which there are `steps`: no sum of weights misses 1. Of
    settings with the same mean, the nearest to the untuned one is taken.

    Args:
        qrels: judgments, as `evaluate` takes them.
        runs: two runs or more, as `fuse` takes them. They are held in memory.
        method: how values become a score, as of `fuse`.
        measure: what is to be good.
        **options: each option of `Tuning`; of `Fusing` except weights; of `Judging` and `Reading`
            as `fuse` takes them.

    Returns:
        A Tuned, which prints as tables; `best` has the setting, `run` the fused run.

    Raises:
        InputError: a query without a label, or one label for all; what `fuse`, `evaluate` refuse.
        MeasureError: a measure that is no mean over the queries.
        OptionError: an option with an impossible value, or without effect; fewer queries than
            folds; too many settings; a method of which nothing can be chosen.

    Warns:
        CranfieldWarning: once, where `compare` or `fuse` does, as of few queries, or if a run alone
            is as good.

    Source: Stone, Cross-Validatory Choice and Assessment of Statistical Predictions, JRSS-B 1974.

    >>> runs = ["demo/bm25.run", "demo/dense.run"]
    >>> found = tune("demo/qrels.txt", runs, "sum", "nDCG@10")
    >>> dict(found.best), round(found.pair.difference, 4)
    ({'bm25': 0.2, 'dense': 0.8}, 0.0366)
    >>> found.run.recipe["weights"]
    [0.2, 0.8]

    """
    refuse_unknown_options(tune, options)
    check_choice("method", method, get_args(Method))
    tuning, judging, reading = Tuning.of(options), Judging.of(options), Reading.of(options)
    fusing = Fusing.of(options)
    aim = parse(measure) if isinstance(measure, str) else measure
    if aim.definition.aggregation != "mean":
        raise MeasureError(f"{aim}: is no mean over the queries, so no fold has a part of it")
    judgments, run_or_runs, _ = arrange_arguments(
        qrels, runs, None, None, reading=reading, duplicates=judging.duplicates, verb=tune
    )
    run_of_name = {run_or_runs.name: run_or_runs} if isinstance(run_or_runs, Run) else run_or_runs
    over = tuning.over or ("weights" if METHODS[method].is_weighted else "parameter")
    settings, untuned_setting = list_settings(
        method, over, tuple(run_of_name), tuning.steps, fusing
    )
    judged_runs = {name: run.only(queries=judgments) for name, run in run_of_name.items()}
    fixed_options = {**fusing.changed_options(), **judging.changed_options()}
    trials = Trials(
        judgments, judged_runs, method, over, aim, fixed_options, settings, untuned_setting
    )
    tuning_result = _choose_settings(trials, run_of_name, judging, tuning)
    warn_about(tuning_result.notes)
    return tuning_result


def _choose_settings(
    trials: Trials, runs: Mapping[str, Run], judging: Judging, tuning: Tuning
) -> Tuned:
    """Return the best setting on all queries, and the best for each fold on the other folds.

    `runs` have all queries; the runs of `trials` have the judged queries.
    """
    untuned_run = trials.fuse(None if trials.over == "weights" else trials.untuned_setting)
    query_ids, untuned_scores, scores = trials.score_all(untuned_run)
    fold, fold_names = _divide_queries(tuning, query_ids)
    setting_of_fold = {
        name: trials.find_best(scores[:, fold != i].mean(axis=1))
        for i, name in enumerate(fold_names)
    }
    held_out_scores = scores[np.array([*setting_of_fold.values()])[fold], np.arange(len(query_ids))]
    means = scores.mean(axis=1)
    place = trials.find_best(means)
    best_run = replace(trials, runs=runs).fuse(trials.settings[place])
    scores_alone = score_runs(trials.qrels, trials.runs, [trials.measure], judging)
    alone = {name: float(run_scores[trials.measure]) for name, run_scores in scores_alone.items()}
    best = (max if trials.higher_is_better else min)(alone, key=alone.__getitem__)
    columns = untuned_scores.tolist(), held_out_scores.tolist()
    untuned_score, tuned_score = (dict(zip(query_ids, x, strict=True)) for x in columns)
    scores_of_best = scores_alone[best].per_query(trials.measure)
    rivals = {_UNTUNED_NAME: untuned_score, f"{best} alone": scores_of_best}
    measure = str(trials.measure)
    held_out, against_best = (
        compare_scores(
            align({name: {measure: rival_scores}, _TUNED_NAME: {measure: tuned_score}}),
            Settings(baseline=name, alpha=tuning.alpha, seed=tuning.seed),
        )
        for name, rival_scores in rivals.items()
    )
    return Tuned(
        method=trials.method,
        measure=measure,
        over=trials.over,
        settings=trials.settings,
        means=means.tolist(),
        errors=[*map(_standard_error, scores - scores[place])],
        chosen=setting_of_fold,
        place=place,
        held_out=held_out,
        against_best=against_best,
        alone=alone,
        run=best_run,
        notes=(
            *list_warnings(trials.qrels, runs.values()),
            *untuned_run.rows.notes,
            *dict.fromkeys([*held_out.notes, *against_best.notes]),
            *_gain_warnings(best, against_best[measure][_TUNED_NAME], trials),
        ),
        recipe={
            **{k: part for k, part in best_run.recipe.items() if k not in ("runs", "weights")},
            "runs": list(runs),
            "over": trials.over,
            **({"steps": count_parts(tuning.steps, len(runs))} if trials.over == "weights" else {}),
            "folds": len(fold_names),
            "seed": tuning.seed,
            "alpha": tuning.alpha,
            "untuned": dict(trials.untuned_setting),
        },
    )


def _gain_warnings(best_run: str, pair: Pair, trials: Trials) -> Iterator[Note]:
    """Yield a warning if the best run alone is as good as the tuned fusion, its pair."""
    if (pair.difference if trials.higher_is_better else -pair.difference) <= TIE:
        text = (
            f"{best_run} alone is as good as the tuned fusion, or better: on these queries, "
            "fusing is not worth it."
        )
        yield Note("no-gain", "warning", text, source=best_run)


def _standard_error(gaps: Floats) -> float | None:
    """Return the standard error of the mean of queries' gaps, (n_queries,); None for 0."""
    return finite_or_none(float(gaps.std(ddof=1)) / math.sqrt(len(gaps))) or None


def _divide_queries(tuning: Tuning, query_ids: Sequence[str]) -> tuple[Ints, list[str]]:
    """Return the fold of each query, (n_queries,), and the names of the folds."""
    n = len(query_ids)
    if is_whole_number(tuning.folds):
        k = int(tuning.folds)
        if k > n:
            raise OptionError(f"folds={k}: expected at most the number of queries, {n:,}")
        order = np.random.default_rng(tuning.seed).permutation(n)
        fold = np.empty(n, np.int64)
        fold[order] = np.arange(n) % k
        return fold, [str(i + 1) for i in range(k)]
    labels = read_cluster_labels(tuning.folds)
    unlabelled_ids = [query_id for query_id in query_ids if query_id not in labels]
    if unlabelled_ids:
        raise InputError(
            f"folds: {format_count(len(unlabelled_ids), 'query has', 'queries have')} no label, as "
            f"{unlabelled_ids[0]!r:.80}"
        )
    names = [*dict.fromkeys(labels[query_id] for query_id in query_ids)]
    if len(names) < 2:
        raise InputError(f"folds: all queries have the label {names[0]!r:.80}; two are needed")
    fold_of_label = {name: i for i, name in enumerate(names)}
    return np.array([fold_of_label[labels[query_id]] for query_id in query_ids]), names
