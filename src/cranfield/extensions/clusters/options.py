"""clusters=: the option that says which queries depend on one another."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from cranfield.comparison.comparing import ComparingOptions
from cranfield.errors import OptionError
from cranfield.options import option

if TYPE_CHECKING:
    from cranfield.comparison.units import Units
    from cranfield.notes import Note


@dataclass(frozen=True, kw_only=True)
class Clustering(ComparingOptions):
    """Which queries depend on one another."""

    heading: ClassVar = "Clusters"
    flags: ClassVar = {"clusters": {"metavar": "FILE"}}

    clusters: Any | None = option(
        None,
        "Labels of queries that depend on one another. They may be sessions, users or original "
        "questions: {query_id: label}, or a file or table of query ids and labels. Whole clusters "
        "are flipped, and errors are cluster-robust. [default: queries are independent]",
    )
    cluster_by: str | None = option(
        None, "Which labels are those of the clusters, where there are several columns."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cluster_by is not None and self.clusters is None:
            raise OptionError(
                f"cluster_by={self.cluster_by!r:.40} names one of the columns of labels: state "
                "these, too (clusters=, --clusters)"
            )

    def find_units(
        self, query_ids: Sequence[str], units: "Units"
    ) -> tuple["Units", Sequence["Note"]]:
        """Return the clusters of some queries, without labels a test's own `units`; and notes."""
        from cranfield.extensions.clusters.clusters import find_clusters

        clusters, notes = find_clusters(self.clusters, self.cluster_by, query_ids)
        return (units if self.clusters is None else clusters), notes
