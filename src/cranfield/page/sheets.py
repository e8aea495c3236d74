"""Worksheets: what `explain` says of some queries of some systems, as the page holds it."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cranfield.comparison.alignment import Aligned
from cranfield.data.judging import Judging
from cranfield.explanation.explain import explain_each
from cranfield.measures import parse
from cranfield.page.blob import members_within
from cranfield.page.rankings import by_spread
from cranfield.progress import steps

BUDGET = 250_000  # bytes
MOST = 200  # worksheets: each takes some milliseconds to make


@dataclass(frozen=True)
class EmbeddedSheets:
    """The worksheets of some queries, for each of some systems.

    `data` is base64 of gzip of a JSON object, {"query,system": text}, where both are numbers.
    """

    data: str
    systems: Sequence[str]
    n: int  # queries


def sheets(
    aligned: Aligned, systems: Sequence[str], *, budget: int = BUDGET, most: int = MOST
) -> EmbeddedSheets | None:
    """Return the worksheets of the first measure, of as many queries as fit.

    The queries on which systems differ most come first, as in `rankings`. `budget` is how many
    bytes `data` may have, `most` how many worksheets there are at most. None for saved scores.
    """
    source = aligned.source
    if source is None:
        return None
    measure = parse(aligned.measures[0])
    judging = Judging.of(next(iter(source.systems.values())).recipe)
    places = by_spread(aligned)[: most // max(len(systems), 1)]
    queries = [aligned.query_ids[place] for place in places]
    each = [
        explain_each(source.qrels, source.runs[name], measure, queries, judging) for name in systems
    ]
    numbers = [aligned.names.index(name) for name in systems]

    def pieces() -> Iterator[str]:
        for place in steps(places, "worksheets"):
            texts = {f"{place},{i}": str(next(one)) for i, one in zip(numbers, each, strict=True)}
            yield json.dumps(texts, separators=(",", ":"))[1:-1]

    data, n = members_within(pieces() if systems else (), budget)
    return EmbeddedSheets(data, systems, n)
