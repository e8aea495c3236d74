"""Remark: what an extension adds to the explanation of a query's value, below its steps."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from cranfield.explanation.scene import Scene
from cranfield.measures import Measure

N_RANKS = 100  # the first ones, of which two are swapped, or a document moved


class Remark(Protocol):
    """More about a query's value; its fields are attributes of the Explanation, too."""

    @classmethod
    def of(cls, scene: Scene, measure: Measure) -> "Remark":
        """Return the remark on the value of a scene's query."""

    @classmethod
    def moved(
        cls, scene: Scene, docs: Sequence[str], measure: Measure, costs: Mapping[str, float] | None
    ) -> Mapping[str, float]:
        """Return {document: value with it alone where another run has it, or without it}.

        `docs` are the other run's, best rank first, `costs` {document: cost}, None without costs.
        """

    def sentences(self, query_value: Any) -> Iterator[str]:
        """Yield the sentences below the tables of a value, a QueryValue."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as for JSON."""
