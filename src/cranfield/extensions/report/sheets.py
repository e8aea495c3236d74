"""Worksheets: what `explain` prints for single queries, of the best system and a rival."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cranfield.comparison.aligned_scores import EvaluatedRuns
from cranfield.comparison.comparison import Comparison
from cranfield.data.judging import Judging
from cranfield.explanation.explain import explain_queries
from cranfield.extensions.report.blob import pack_bytes
from cranfield.extensions.report.figures.choice import find_measure
from cranfield.extensions.report.rankings import order_by_spread
from cranfield.formats.source import Source
from cranfield.measures import Measure
from cranfield.progress import watch_steps

SHEET_QUERIES = 100  # that have worksheets


@dataclass(frozen=True)
class Sheets:
    """The worksheets of some queries, for some systems, under the first measure.

    `archive` is base64 of gzip of a JSON object: {"q,s": text}, q and s the numbers of query and
    system.
    """

    archive: str
    systems: Sequence[int]  # their numbers
    n_queries: int


def make_sheets(comparison: Comparison, n_queries: int = SHEET_QUERIES) -> Sheets | None:
    """Return worksheets of the best system and of the baseline or the second, if there are two.

    They are those of all queries, or of the `n_queries` on which scores differ most. None for
    precomputed scores or no queries. Each of these runs is read once.
    """
    aligned_scores, source = comparison.aligned, comparison.aligned.evaluated_runs
    if source is None or n_queries == 0:
        return None
    systems = _choose_systems(comparison)
    number_of_query = {
        aligned_scores.query_ids[i]: i for i in sorted(order_by_spread(aligned_scores)[:n_queries])
    }
    measure = find_measure(comparison, aligned_scores.measures[0])
    assert measure is not None  # noqa: S101 - it was evaluated
    texts: dict[str, str] = {}
    for name in watch_steps(systems, "worksheets"):
        texts |= _explain_queries(
            source, name, measure, number_of_query, aligned_scores.system_names.index(name)
        )
    json_bytes = json.dumps(texts, separators=(",", ":")).encode()
    return Sheets(
        pack_bytes(json_bytes),
        [aligned_scores.system_names.index(name) for name in systems],
        len(number_of_query),
    )


def _choose_systems(comparison: Comparison) -> list[str]:
    """Return the best system but the baseline, and the baseline; without one, the best two."""
    best_first = [
        system.name for system in comparison[comparison.aligned.measures[0]].ranked_systems
    ]
    baseline = comparison.settings.first_baseline
    best_first.sort(key=lambda name: name == baseline)
    return [best_first[0], *(best_first[1:2] if baseline is None else best_first[1:][-1:])]


def _explain_queries(
    source: EvaluatedRuns,
    name: str,
    measure: Measure,
    number_of_query: Mapping[str, int],
    system_index: int,
) -> dict[str, str]:
    """Return the worksheets of one system, {"q,s": text}."""
    judging = source.judging
    explanations = explain_queries(
        source.qrels, source.runs[name], measure, [*number_of_query], judging
    )
    return {
        f"{number_of_query[explanation.query]},{system_index}": str(explanation)
        for explanation in explanations
    }


@dataclass(frozen=True)
class ExplainCommand:
    """The command that prints the worksheet of any system and query.

    `template` has {run} for a system's text in `runs`, and {query} for the id of the query, quoted
    as a shell needs it.
    """

    template: str
    runs: Sequence[str]
    pool: str  # the command that lists what to judge next


def find_explain_command(comparison: Comparison) -> ExplainCommand | None:
    """Return the command, a word in capitals where not one file was read; None without runs."""
    aligned_scores, source = comparison.aligned, comparison.aligned.evaluated_runs
    if source is None:
        return None
    judging_options = Judging.of(aligned_scores.recipe).changed_options()
    judging_options.pop("queries", None)  # it has no effect on one query
    option_texts = [
        f" --{name.replace('_', '-')}{_quote_value(value)}"
        for name, value in judging_options.items()
    ]
    measure = shlex.quote(aligned_scores.measures[0])
    qrels = _quote_path(source.qrels.sources, "QRELS")
    runs = [_quote_path(source.runs[name].sources, "RUN") for name in aligned_scores.system_names]
    return ExplainCommand(
        f"cranfield explain {qrels} {{run}} -m {measure}{''.join(option_texts)} --query {{query}}",
        runs,
        f"cranfield pool {qrels} {' '.join(runs)} --unjudged -o labels.csv",
    )


def _quote_value(value: object) -> str:
    """Return a blank and an option's value as a shell needs it; nothing for True, a mere flag."""
    return "" if value is True else f" {shlex.quote(str(value))}"


def _quote_path(sources: Sequence[Source], placeholder: str) -> str:
    return shlex.quote(sources[0].name) if len(sources) == 1 else placeholder
