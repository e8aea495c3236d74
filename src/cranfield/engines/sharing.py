"""Sharing: what judgments and a run that Spark holds have in common, counted by jobs of Spark.

Both are DataFrames with the columns `system` (of judgments: "run"), `query`, `docs` (an id, or an
array of ids) and `is_lost` (the row cannot be used); ids are texts.
"""

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cranfield.data.judge import judge
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.errors import CranfieldWarning

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PAIRS = 1_000  # judgments that are looked for in the run, before all are
_QUERIES, _ROWS = 20, 10_000  # of each side, in which the reason is looked for
_PLAIN = r"regexp_replace(lower(trim(query)), '^0*(\\d+)(\\.0*)?$', '$1')"  # see `data.spelling`


def count_queries(judged: "DataFrame", ranked: "DataFrame") -> dict[str | None, Any]:
    """Return the counts of each system: `n_rows`, `n_lost`, and `n_unjudged` queries of the run.

    The system is None where a row has none.
    """
    from pyspark.sql.functions import expr

    queries = ranked.groupBy("system", "query").agg(
        expr("count(1) AS n_rows"), expr("count_if(is_lost) AS n_lost")
    )
    judged_queries = judged.where("NOT is_lost").selectExpr("query", "true AS is_judged").distinct()
    counts = queries.join(judged_queries, "query", "left").groupBy("system")
    rows = counts.agg(
        expr("sum(n_rows) AS n_rows"),
        expr("sum(n_lost) AS n_lost"),
        expr("count_if(n_lost < n_rows AND is_judged IS NULL) AS n_unjudged"),
    )
    return {row["system"]: row for row in rows.collect()}


def refuse_strangers(judged: "DataFrame", ranked: "DataFrame", systems: Iterable[str]) -> None:
    """Say what `cranfield.evaluate` says of a system no document of which is judged.

    Raises NothingSharedError if it shares no query, or ids are spelt otherwise; else warns. A few
    judgments are looked for first, and all of them only for systems that lack these.
    """
    from pyspark.sql.functions import broadcast, expr

    judged, ranked = map(_pairs_of, (judged, ranked))
    strangers = set(systems)
    for judgments in (broadcast(judged.limit(_PAIRS)), judged):
        if strangers:
            candidates = ranked.where(ranked["system"].isin(*strangers))
            shared = candidates.join(
                judgments.select("query", "doc"), ["query", "doc"], "left_semi"
            )
            strangers -= {row["system"] for row in shared.select("system").distinct().collect()}
    for system in sorted(strangers):
        sides = [judged, ranked.where(ranked["system"] == system)]
        names = [side.selectExpr("query", f"{_PLAIN} AS plain").distinct() for side in sides]
        alike = names[0].join(names[1], "plain").drop("plain").toDF("judged", "ranked")
        pairs = alike.orderBy(expr("judged = ranked").desc()).limit(_QUERIES).collect()
        lists: list[dict[str, list[str]]] = [{}, {}]
        for at, side in enumerate(sides):
            rows = side.where(side["query"].isin([pair[at] for pair in pairs])) if pairs else side
            for row in rows.select("query", "doc").distinct().limit(_ROWS).collect():
                lists[at].setdefault(row["query"], []).append(row["doc"])
        if all(lists):
            for note in judge(Qrels(lists[0]), Run(lists[1], system)).notes:
                if note.code in ("nothing-judged", "affix"):
                    text = note.text.removesuffix(" `cranfield check` shows more.")
                    warnings.warn(text, CranfieldWarning, stacklevel=4)


def _pairs_of(side: "DataFrame") -> "DataFrame":
    """Return a row for each document of the rows that can be used: `system`, `query`, `doc`."""
    is_array = dict(side.dtypes)["docs"].startswith("array")
    doc = "explode(docs) AS doc" if is_array else "docs AS doc"
    return side.where("NOT is_lost").selectExpr("system", "query", doc)
