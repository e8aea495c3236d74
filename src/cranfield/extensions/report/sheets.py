"""Worksheets: what `explain` prints for single queries, for the best system and the baseline."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cranfield.comparison.alignment import Evaluated
from cranfield.comparison.comparison import Comparison
from cranfield.data.judging import Judging
from cranfield.explanation.explain import explain_each
from cranfield.extensions.report.blob import packed
from cranfield.extensions.report.figures.choice import known_measure
from cranfield.extensions.report.rankings import by_spread
from cranfield.formats.source import Source
from cranfield.measures import Measure
from cranfield.progress import steps

QUERIES = 100  # that have worksheets


@dataclass(frozen=True)
class Sheets:
    """The worksheets of some queries, for some systems, under the first measure.

    `data` is base64 of gzip of a JSON object: {"q,s": text}, by the numbers of query and system.
    """

    data: str
    systems: Sequence[int]
    n: int  # queries


def sheets(found: Comparison, n_queries: int = QUERIES) -> Sheets | None:
    """Return worksheets of the best system and of the baseline, or of the best two.

    Of all queries, or of the `n_queries` on which scores differ most. None for precomputed scores.
    Each of the two runs is read once.
    """
    aligned, source = found.aligned, found.aligned.source
    if source is None or n_queries == 0:
        return None
    wanted = _two(found)
    number = {aligned.query_ids[i]: i for i in sorted(by_spread(aligned)[:n_queries])}
    measure = known_measure(found, aligned.measures[0])
    assert measure is not None  # noqa: S101 - it was evaluated
    texts: dict[str, str] = {}
    for name in steps(wanted, "worksheets"):
        texts |= _of_system(source, name, measure, number, aligned.names.index(name))
    content = json.dumps(texts, separators=(",", ":")).encode()
    return Sheets(packed(content), [aligned.names.index(name) for name in wanted], len(number))


def _two(found: Comparison) -> list[str]:
    """Return the best system, and the baseline or, where that is the best, the second."""
    best = [one.name for one in found[found.aligned.measures[0]].ordered]
    base = found.settings.baseline
    return list(dict.fromkeys([best[0], best[:2][-1] if base in (None, best[0]) else str(base)]))


def _of_system(
    source: Evaluated, name: str, measure: Measure, number: Mapping[str, int], system: int
) -> dict[str, str]:
    """Return the worksheets of one system, {"q,s": text}."""
    judging = source.judging
    every = explain_each(source.qrels, source.runs[name], measure, [*number], judging)
    return {f"{number[one.query]},{system}": str(one) for one in every}


@dataclass(frozen=True)
class HowToExplain:
    """The command that prints the worksheet of any system and query.

    `template` has {run} where what `runs` has for a system belongs, and {query} for the id of the
    query, quoted as a shell needs it.
    """

    template: str
    runs: Sequence[str]


def how_to_explain(found: Comparison) -> HowToExplain | None:
    """Return the command, with the files that were read; without a file, a word in capitals."""
    aligned, source = found.aligned, found.aligned.source
    if source is None:
        return None
    chosen = Judging.of(aligned.recipe).unusual()
    chosen.pop("queries", None)  # it has no effect on one query
    options = [f" --{name.replace('_', '-')}{_value(value)}" for name, value in chosen.items()]
    measure = shlex.quote(aligned.measures[0])
    qrels = _path(source.qrels.sources, "QRELS")
    return HowToExplain(
        f"cranfield explain {qrels} {{run}} -m {measure}{''.join(options)} --query {{query}}",
        [_path(source.runs[name].sources, "RUN") for name in aligned.names],
    )


def _value(value: object) -> str:
    """Return the value of an option as a shell needs it, nothing for an option without a value."""
    return "" if value is True else f" {shlex.quote(str(value))}"


def _path(sources: Sequence[Source], otherwise: str) -> str:
    return shlex.quote(sources[0].name) if len(sources) == 1 else otherwise
