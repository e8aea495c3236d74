"""holes: what the judgments lack for each run, and what each run brought to them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from cranfield.arrays.ranked import Floats, Ints, means
from cranfield.data.judge import judge_all, select_warnings
from cranfield.data.judging import Judging
from cranfield.data.meeting import MatchedRun
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.errors import InputError, MeasureError, OptionError
from cranfield.extensions import keywords
from cranfield.extensions.labels.pools.removals import Removals
from cranfield.extensions.orderings.coefficients import kendall
from cranfield.measures import Measure, parse
from cranfield.notes import Note, warn_about
from cranfield.options import Options, option, refuse_unknown_options, takes, whole_check
from cranfield.progress import Watching, add_progress
from cranfield.render.numbers import format_count, format_number, format_query_count, format_signed
from cranfield.render.shown import Shown
from cranfield.render.table import Column, Table, make_table
from cranfield.scoring.arguments import Reading, arrange_arguments
from cranfield.scoring.scores import TIE
from cranfield.version import __version__

#: Names of options of `Judging` that change which documents are judged, or how many are looked at.
NOT_FOR_HOLES = ("queries", "judged_only", "unretrieved", "depth", "overlap")


@dataclass(frozen=True, kw_only=True)
class HolesSettings(Options):
    """Where unjudged documents are looked for, and how deep the pool was."""

    k: int = option(
        10, "How deep to look for unjudged documents: in the first k of each run.", whole_check(1)
    )
    pool_depth: int = option(
        100,
        "How deep the runs were pooled to be judged: a document that one run alone has in so many "
        "would not have been judged without that run.",
        whole_check(1),
    )


@dataclass(frozen=True)
class Hole:
    """One run's part in the judgments.

    >>> from cranfield import holes
    >>> runs = {"a": {"q1": ["d1", "d2"]}, "b": {"q1": ["d2", "d3"]}}
    >>> one = holes({"q1": {"d1": 1, "d2": 1}}, runs, "AP", k=2)["b"]
    >>> one.unjudged, one.judged, one.unique, one.mean, one.left_out
    (1, 0.5, 0, 0.5, 0.5)
    """

    run: str
    unjudged: int  # documents in its first k, over all queries
    judged: float  # the share of its first k that is judged; 1 if it has none
    unique: int  # judged documents that no other run has in the pool
    unique_relevant: int  # of these, relevant ones
    mean: float  # of the measure
    left_out: float  # with the judgments that there would be without this run
    place: int  # in the order by the mean, 1 the best; tied runs share the best place
    place_left_out: int  # the same with those judgments


@dataclass(frozen=True, eq=False, repr=False)
class Holes(Shown):
    """What the judgments lack for each run, and how it would fare had it not been pooled.

    >>> from cranfield import holes
    >>> found = holes("demo/qrels.txt", ["demo/bm25.run", "demo/dense.run"], "nDCG@10")
    >>> one = found["dense"]
    >>> one.unjudged, one.unique_relevant > 0, one.left_out < one.mean
    (0, True, True)
    """

    header = tuple(Hole.__annotations__)

    runs: Sequence[Hole]
    measure: str
    n_queries: int
    tau: float | None  # Kendall's, of all means with those left out; None of two runs
    settings: HolesSettings
    recipe: Mapping[str, Any]
    notes: tuple[Note, ...] = ()

    def __getitem__(self, run: str) -> Hole:
        """Return the row of a run, by its name."""
        for hole in self.runs:
            if hole.run == run:
                return hole
        raise KeyError(f"{run}: there are {', '.join(hole.run for hole in self.runs)}")

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each run, to every digit."""
        return self._rows_as_dicts(tuple(vars(hole).values()) for hole in self.runs)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, as for JSON."""
        return {
            "recipe": dict(self.recipe),
            "settings": vars(self.settings),
            "measure": self.measure,
            "queries": self.n_queries,
            "tau": self.tau,
            "runs": self.rows(),
            "notes": [note.to_dict() for note in self.notes],
        }

    def tables(self) -> list[Table]:
        """Return a table with a row for each run."""
        k, depth = self.settings.k, self.settings.pool_depth
        columns = [
            Column("run", lambda hole: hole.run),
            Column(
                f"unjudged@{k}",
                lambda hole: f"{hole.unjudged:,}",
                f"unjudged@{k}: documents without a judgment in the first {k}, over all queries.",
            ),
            Column(
                "unique",
                lambda hole: f"{hole.unique:,}",
                f"unique: judged documents that no other run has in its first {depth}; rel.: of "
                "these, relevant ones (grade 1 or more).",
            ),
            Column("rel.", lambda hole: f"{hole.unique_relevant:,}"),
            Column(self.measure, lambda hole: format_number(hole.mean)),
            Column(
                "left out",
                lambda hole: format_number(hole.left_out),
                "left out: the mean, had the run not been pooled: without its unique judgments "
                "(Zobel, SIGIR 1998).",
            ),
            Column("diff", lambda hole: format_signed(hole.left_out - hole.mean)),
            Column(
                "place",
                lambda hole: (
                    f"{hole.place}"
                    + (f" > {hole.place_left_out}" if hole.place_left_out != hole.place else "")
                ),
                "place: rank among the runs; behind >, that without its unique judgments, if it is "
                "another.",
            ),
        ]
        sentences = []
        if self.tau is not None:
            sentences = [
                "Kendall's tau of the order with that of the means left out: "
                f"{format_number(self.tau)}."
            ]
        title = [
            f"{self.measure}   {format_query_count(self.n_queries)}, "
            f"{format_count(len(self.runs), 'run')}"
        ]
        return [make_table(self.runs, columns, sentences=sentences, notes=self.notes, title=title)]


@add_progress
@takes(HolesSettings, Reading, Judging, Watching, omit=NOT_FOR_HOLES)
def holes(
    qrels: Any, runs: Any, measures: str | Measure = "nDCG@10", **options: "Unpack[keywords.Holes]"
) -> Holes:
    """Show what the judgments lack for each run, and how it would fare had it not been pooled.

    Judgments of a pool are fair to the runs that were pooled. A new run whose documents nobody saw
    may look worse than it is. How much worse is estimated from the pooled runs: each is left out in
    turn, with the judged documents that it alone has in its first `pool_depth` (leave one out:
    Zobel, SIGIR 1998). If that changes little, the judgments can be used for new runs.

    Args:
        qrels: the judgments, whose queries are looked at.
        runs: the runs that were pooled, two or more, as `evaluate` takes them.
        measures: one measure.
        **options: each option of `HolesSettings`, of `Reading`, and of `Judging` that says how a
            run is ranked.

    Returns:
        A Holes, which prints as a table.

    Raises:
        InputError: one run alone, or what `evaluate` refuses.
        MeasureError: several measures, or a measure that is no mean over the queries.
        OptionError: an option with an impossible value; judgments in groups.

    Warns:
        CranfieldWarning: where `evaluate` does, before anything is left out.

    >>> found = holes("demo/qrels.txt", ["demo/bm25.run", "demo/tfidf.run"], "AP")
    >>> [(one.run, one.place, one.unique_relevant > 0) for one in found.runs]
    [('bm25', 1, True), ('tfidf', 2, True)]

    """
    refuse_unknown_options(holes, options)
    settings, judging = HolesSettings.of(options), Judging.of(options)
    if not isinstance(measures, str | Measure):
        raise MeasureError("one measure is looked at: name one")
    measure = parse(measures) if isinstance(measures, str) else measures
    if measure.definition.aggregation != "mean":
        raise MeasureError(f"{measure}: is no mean over the queries")
    judgments, run_or_runs, _ = arrange_arguments(
        qrels,
        runs,
        None,
        None,
        reading=Reading.of(options),
        duplicates=judging.duplicates,
        verb=holes,
    )
    run_of_name = {run_or_runs.name: run_or_runs} if isinstance(run_or_runs, Run) else run_or_runs
    if len(run_of_name) < 2:
        raise InputError(
            "one run: expected two or more, as each is compared with what the others found"
        )
    if judgments.groups is not None:
        raise OptionError("judgments in groups have no single documents that a run brought")
    numbers = {"number": np.arange(len(judgments))}
    numbered_judgments = judgments.replace_fields(columns={**judgments.columns, **numbers})
    runs_to_judge, costs = [*run_of_name.values()], bool(measure.definition.traits.takes_cost)
    judged_runs = judge_all(numbered_judgments, runs_to_judge, judging, costs=costs)
    matched_runs = dict(zip(run_of_name, judged_runs, strict=True))
    run_warnings = select_warnings(matched_runs.values())
    warn_about(run_warnings)
    holes_of_runs = [*_leave_out_each(judgments, matched_runs, measure, settings)]
    tau = None
    if len(holes_of_runs) > 2:
        tau = kendall(
            [hole.mean for hole in holes_of_runs], [hole.left_out for hole in holes_of_runs]
        ).tau_b
    recipe = {"cranfield": __version__, "runs": list(run_of_name), **judging.changed_options()}
    return Holes(
        holes_of_runs,
        str(measure),
        len(judgments.query_ids),
        tau,
        settings,
        recipe,
        (*run_warnings, *_list_notes(matched_runs)),
    )


def _leave_out_each(
    judgments: Qrels,
    matched_runs: Mapping[str, MatchedRun],
    measure: Measure,
    settings: HolesSettings,
) -> Iterator[Hole]:
    """Yield each run's part in the judgments."""
    unique = _find_unique(matched_runs.values(), settings.pool_depth)
    removals = Removals(judgments, unique, measure)
    rising = measure.definition.higher_is_better is not False
    values = np.stack([measure.values(run.judged)[:, 0] for run in matched_runs.values()], axis=1)
    reduced_values = removals.score([*matched_runs.values()], measure)
    run_means = means(values)
    for i, (name, rows) in enumerate(zip(matched_runs, unique, strict=True)):
        values_left_out = values.copy()
        values_left_out[removals.query[removals.run == i]] = reduced_values[removals.run == i]
        left_out, match = means(values_left_out), matched_runs[name].match
        n_first = int(np.minimum(match.n_retrieved, settings.k).sum())
        n_unjudged = n_first - int(np.count_nonzero(match.placement.rank <= settings.k))
        yield Hole(
            run=name,
            unjudged=n_unjudged,
            judged=1 - n_unjudged / n_first if n_first else 1.0,
            unique=len(rows),
            unique_relevant=int(np.count_nonzero(judgments.grade[rows] >= 1)),
            mean=float(run_means[i]),
            left_out=float(left_out[i]),
            place=_find_place(run_means, i, rising=rising),
            place_left_out=_find_place(left_out, i, rising=rising),
        )


def _find_unique(matched_runs: Iterable[MatchedRun], depth: int) -> list[Ints]:
    """Return, for each run, the rows of judgments that it alone has in its first `depth`."""
    rows_of_run = []
    for run in matched_runs:
        hits = run.judged.hits
        rows_of_run.append(hits.columns["number"][hits.rank <= depth])
    n_runs_of_row = np.bincount(np.concatenate(rows_of_run))
    return [np.sort(rows[n_runs_of_row[rows] == 1]) for rows in rows_of_run]


def _find_place(means_of_runs: Floats, i: int, *, rising: bool) -> int:
    """Return the place of run i in the order of the means, 1 the best."""
    gaps = means_of_runs - means_of_runs[i] if rising else means_of_runs[i] - means_of_runs
    return 1 + int(np.count_nonzero(gaps > TIE))


def _list_notes(matched_runs: Mapping[str, MatchedRun]) -> Iterator[Note]:
    """Yield a note on each run that has no document for some queries."""
    for name, run in matched_runs.items():
        if n_queries := int(np.count_nonzero(run.match.n_retrieved == 0)):
            text = f"{format_query_count(n_queries)} of the judgments without a document."
            yield Note("nothing-retrieved", "info", text, n_queries, name)
