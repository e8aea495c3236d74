"""Clusters: queries that depend on one another, as those of one session, user or question.

If the queries of a cluster go up and down together, they say less than as many independent ones. A
test of single queries then finds differences that are not there: whole clusters have to be flipped,
and errors computed from clusters (Liang & Zeger, Biometrika 1986; Miller, arXiv 2411.00640, 2024).
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from cranfield.comparison.units import EACH_QUERY, Units
from cranfield.errors import InputError
from cranfield.extensions.clusters.units import Clusters
from cranfield.formats.small.labels import read_cluster_labels
from cranfield.notes import Note
from cranfield.render.numbers import format_count, format_number

# What looks like clusters: so many groups at least, of so many ids at most.
_MIN_CLUSTERS, _MAX_CLUSTER_SIZE = 5, 50
# q1-a, q1b. (Where a dot is no line feed, an id that ends in one is searched again and again.)
_ID_PARTS = re.compile(r"(.*[^-_.:/#])[-_.:/#]+(.+)|(.*\d)([A-Za-z])", re.DOTALL)


def find_clusters(
    clusters: Any, cluster_by: str | None, query_ids: Sequence[str]
) -> tuple[Units, list[Note]]:
    """Return the clusters of some queries, given labels, and notes on them.

    `cluster_by` says which of several columns of labels. Without labels, each query is a unit, with
    a note if the ids look like clusters. A query without a label is a cluster of its own, of which
    a note tells; another tells of clusters of one query each, or so unequal that their effective
    number, (sum of sizes)^2 / (sum of squared sizes), is less than half of theirs (Carter, Schnepel
    & Steigerwald, Review of Economics and Statistics 2017, where all of a cluster are alike).
    Raises InputError if no query has a label, or if several are all in one cluster, and what
    `read_cluster_labels` raises.
    """
    if clusters is None:
        return EACH_QUERY, [*_id_pattern_notes(query_ids)]
    label_of_query = read_cluster_labels(clusters, cluster_by)
    labels = [label_of_query.get(query_id) for query_id in query_ids]
    n_queries, n_unlabelled = len(labels), labels.count(None)
    if n_unlabelled == n_queries:
        raise InputError(
            f"the clusters: none of the {format_count(n_queries, 'query', 'queries')} here has a "
            "label",
            hint=f"The first of them is {query_ids[0]!r:.80}, the first with a label "
            f"{next(iter(label_of_query))!r:.80}.",
        )
    code_of_label: dict[str | tuple[int], int] = {}
    keys = ((i,) if label is None else label for i, label in enumerate(labels))
    code = np.fromiter(
        (code_of_label.setdefault(key, len(code_of_label)) for key in keys), np.int64, n_queries
    )
    if len(code_of_label) == 1 < n_queries:
        raise InputError(
            f"the clusters: all {n_queries:,} queries are in one, {labels[0]!r:.80}",
            hint="Nothing can be said about other clusters from one: leave the option out, or name "
            "labels that differ between queries.",
        )
    notes = []
    if n_unlabelled:
        text = (
            f"{n_unlabelled:,} of {n_queries:,} queries have no label of a cluster: each is one of "
            "its own."
        )
        notes.append(Note("without-cluster", "warning", text, n_unlabelled))
    sizes = np.bincount(code)
    n_effective = n_queries * n_queries / int((sizes * sizes).sum())
    if n_effective < len(code_of_label) / 2:
        text = (
            f"Clusters of unequal size, the largest of {int(sizes.max()):,} of {n_queries:,} "
            f"queries: they say as much as about {format_number(n_effective, 1)} clusters, not "
            f"{len(code_of_label):,}, and deff may be far too small. Tests and intervals allow for "
            "it."
        )
        notes.append(Note("unequal-clusters", "warning", text, count=len(code_of_label)))
    if len(code_of_label) == n_queries > 1:
        text = "Each cluster has one query: it is as if there were none."
        notes.append(Note("one-query-each", "info", text))
    return Clusters(labels, code), notes


def _id_pattern_notes(query_ids: Sequence[str]) -> Iterator[Note]:
    """Yield a note if the ids look like clusters: q1-a, q1-b, q2-a, or en-1, de-1, en-2."""
    id_matches = ((query_id, _ID_PARTS.fullmatch(query_id)) for query_id in query_ids)
    split_ids = [
        (query_id, match[1] or match[3], match[2] or match[4])
        for query_id, match in id_matches
        if match
    ]
    if len(split_ids) < 0.9 * len(query_ids) or not split_ids:
        return
    for part_index in (1, 2):
        ids_of_part: dict[str, list[str]] = {}
        for split_id in split_ids:
            ids_of_part.setdefault(split_id[part_index], []).append(split_id[0])
        largest = max(ids_of_part.values(), key=len)
        if (
            len(ids_of_part) >= _MIN_CLUSTERS
            and len(split_ids) >= 2 * len(ids_of_part)
            and len(largest) <= _MAX_CLUSTER_SIZE
        ):
            text = (
                f"Query ids look like {len(ids_of_part):,} clusters, as {largest[0]} and "
                f"{largest[1]}: if such queries depend on one another, p is too small and "
                "intervals are too narrow. clusters= (--clusters FILE) names them."
            )
            yield Note("looks-clustered", "info", text, len(ids_of_part))
            return
