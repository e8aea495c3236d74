"""fuse: one run made of several."""

from typing import Any, Unpack, get_args

import numpy as np

from cranfield.data.judging import Judging
from cranfield.data.run import Run
from cranfield.data.run_notes import list_order_notes
from cranfield.errors import InputError, OptionError, check_choice, escape_unprintable
from cranfield.extensions import keywords
from cranfield.extensions.fusion.fused_rows import FusedRows
from cranfield.extensions.fusion.fusing import Fusing, Method
from cranfield.extensions.fusion.methods import METHODS, needs_scores, settle_options
from cranfield.notes import warn_about
from cranfield.options import list_options, refuse_unknown_options, takes
from cranfield.render.numbers import format_names
from cranfield.scoring.arguments import Reading
from cranfield.version import __version__

#: Names of the options of `Judging` that have no meaning for a fused run.
NOT_FOR_FUSION = tuple(
    judging_option.name
    for judging_option in list_options(Judging)
    if judging_option.name not in ("order", "ties", "depth", "duplicates")
)


@takes(Fusing, Judging, Reading, omit=NOT_FOR_FUSION)
def fuse(
    runs: Any, method: Method = "rrf", name: str | None = None, **options: "Unpack[keywords.Fuse]"
) -> Run:
    """Return one run made of several: each document that one of them returned, with one score.

    For each query, each run's list gives a document a value, by its rank or by its score, and these
    values become the document's score: their sum, or what `method` says. Below, s is a value by the
    norm, r a rank from 1, n the number of runs that returned the document, c the number of all
    documents of the query, w a run's weight.

    - By ranks: `rrf` sum of w / (k + r); `rbc` sum of w (1 - phi) phi^(r - 1); `borda` sum of
      w (c - r + 1); `isr`, `log_isr`, `logn_isr` n, ln n, ln(n + sigma) times the sum of 1 / r^2.
    - By scores: `sum` of w s; `mnz` sum of s times sum of w; `gmnz` sum of s times
      (sum of w)^gamma; `anz` weighted mean; `mixed` sum of w s times the root of n; `max`, `min`,
      `med`.

    A list of one document, or of tied ones, gives 0 by the norms min-max, sum and zmuv; its
    documents are still in the result. A query that some runs lack is fused from the others. Tied
    documents are ranked by id, and sums do not depend on the order of the runs.

    At most the first blocks of the runs are read here: the runs are, some queries at a time,
    whenever the result is. What is wrong in their rows is raised then.

    Args:
        runs: two runs or more, as a list or a dict {name: run}: files, dicts, tables, `Run`s.
        method: how values become a score.
        name: the name of the result; None: that of the method.
        **options: each option of `Fusing`, of `Reading`, and of `Judging` that says how the runs
            are ranked; `depth` takes so many documents of each run.

    Returns:
        A Run, whose `recipe` says how it was made.

    Raises:
        InputError: fewer than two runs, or one without what ranks it or gives it scores. When the
            result is read: runs that share no query; an infinite score, of a run for a method of
            scores or of the result; what a run is refused for.
        OptionError: an option with an impossible value, or without effect.

    Warns:
        CranfieldWarning: if scores of a run look like ranks or distances, or contradict its ranks;
            when the result was read to its end, once, if some queries are not in all runs.

    Source: Fox & Shaw, TREC-2, 1993 (CombSUM, MNZ, ANZ, MAX, MIN, MED); Cormack, Clarke &
    Buettcher, SIGIR 2009 (RRF); Aslam & Montague, SIGIR 2001 (Borda); Lee, SIGIR 1997 (GMNZ);
    Mourao, Martins & Magalhaes, TREC 2013 (ISR); Bailey et al., SIGIR 2017 (RBC).

    >>> bm25 = {"q1": {"d1": 12.0, "d2": 9.0, "d3": 8.0}}
    >>> dense = {"q1": {"d3": 0.9, "d2": 0.8}}
    >>> fuse({"bm25": bm25, "dense": dense}, "rrf", k=60).to_dict()["q1"]["d3"] == 1 / 61 + 1 / 63
    True
    >>> fuse([bm25, dense], "sum", weights=[0.5, 0.5]).to_dict()
    {'q1': {'d3': 0.5, 'd1': 0.5, 'd2': 0.125}}

    """
    refuse_unknown_options(fuse, options)
    check_choice("method", method, get_args(Method))
    if name is not None and not isinstance(name, str):
        raise OptionError(f"name={name!r:.80}: expected a string, what the run is called")
    fusing, judging = settle_options(Fusing.of(options), method), Judging.of(options)
    _check_judging(judging, fusing)
    run_of_name = Reading.of(options).make_runs(runs)
    if len(run_of_name) < 2:
        raise InputError(
            f"one run, {next(iter(run_of_name))!r}: there is nothing to fuse it with"
            if run_of_name
            else "no runs are given",
            hint="Runs go into one list, [run, other], or into a dict {name: run}; on the command "
            "line, RUN RUN. A pattern in quotes is one run.",
        )
    warn_about(list_order_notes(run_of_name.values()))
    weights = np.array(fusing.weights_of(tuple(run_of_name)))
    for run in run_of_name.values():
        run.resolve_order(judging.order)  # raises what is wrong with that
        if needs_scores(method, fusing) and not run.has_scores:
            raise InputError(
                f"the run {run.name!r} has no scores, and {method} with norm={fusing.norm!r} adds "
                "them up",
                source=run.source,
                hint="rrf takes ranks; so do norm='rank' and norm='borda' (--norm rank).",
            )
        if fusing.norm == "min-max-inverted":
            _check_distances(run)
    formula = METHODS[method]
    recipe = {
        "cranfield": __version__,
        "method": method,
        "norm": fusing.norm,
        "absent": fusing.absent or "share",
        **({formula.parameter: getattr(fusing, formula.parameter)} if formula.parameter else {}),
        **({"weights": weights.tolist()} if formula.is_weighted else {}),
        **judging.changed_options(),
        "runs": {run_name: run.origin for run_name, run in run_of_name.items()},
    }
    omitted_keys = {"cranfield", "method", "runs"}
    if len({*weights.tolist()}) == 1:
        omitted_keys.add("weights")
    options_text = ", ".join(
        f"{key} {_format_option(recipe[key])}" for key in recipe if key not in omitted_keys
    )
    names = format_names([*map(escape_unprintable, run_of_name)])
    description = f"{method} of {names} ({options_text})"
    rows = FusedRows(run_of_name, method, fusing, weights, judging, description)
    fused_run = Run(rows, name or method)
    fused_run.recipe = recipe
    return fused_run


def _format_option(option_value: Any) -> str:
    """Return an option's value as text; of weights, the first few."""
    if isinstance(option_value, list):
        return format_names([f"{number:g}" for number in option_value])
    return f"{option_value}"


def _check_distances(run: Run) -> None:
    """Refuse a run whose scores are no distances: none, minus distances, or those of chunks."""
    if not run.has_scores:
        raise InputError(
            f"the run {run.name!r:.80} has no scores, and norm='min-max-inverted' takes distances",
            source=run.source,
            hint="Without distances, its ranks are in the right order: leave the norm out.",
        )
    if run.rows.distance_column is not None:
        raise OptionError(
            f"the run {run.name!r:.80}: its scores are minus its distances: take norm='min-max'"
        )
    if run.conversion is not None:
        raise OptionError(
            f"the run {run.name!r:.80}: documents of chunks have the highest score of theirs, and "
            "norm='min-max-inverted' takes distances, of which the lowest is the best"
        )


def _check_judging(judging: Judging, fusing: Fusing) -> None:
    """Refuse options of `Judging` that a fused run, or its norm, cannot have."""
    if judging.ties not in ("document", "ascending", "given"):
        raise OptionError(
            f"ties={judging.ties!r}: a fused run has one order; document, ascending or given"
        )
    if judging.duplicates not in ("refuse", "first", "best"):
        raise OptionError(
            f"duplicates={judging.duplicates!r}: a fused run has each document once; first or best"
        )
    if judging.duplicates == "best" and fusing.norm == "min-max-inverted":
        raise OptionError(
            "duplicates='best' keeps the highest score, and of distances the lowest "
            "is the best: duplicates='first'"
        )
    if judging.order != "score" and fusing.norm == "min-max-inverted":
        raise OptionError(f"norm='min-max-inverted' takes scores, and order={judging.order!r} none")
