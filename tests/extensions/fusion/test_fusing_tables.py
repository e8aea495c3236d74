"""fuse reads its runs as evaluate does: distances, and tables of several systems."""

import pytest

from cranfield import OptionError, Run, evaluate, fuse
from cranfield.errors import DuplicateError

pytestmark = pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")

JUDGED = {f"q{i}": {"a": 1, "b": 0, "c": 0} for i in range(4)}


def test_runs_of_distances_are_fused_nearest_first() -> None:
    rows = [
        {"query_id": query, "doc_id": doc, "distance": distance}
        for query in JUDGED
        for doc, distance in (("a", 0.25), ("b", 0.5), ("c", 0.75))
    ]
    runs = [Run(rows), Run(rows, "again")]
    assert evaluate(JUDGED, fuse(runs, "sum"), "RR")["RR"] == 1
    with pytest.raises(OptionError, match="minus its distances: take norm='min-max'"):
        fuse(runs, "sum", norm="min-max-inverted")


@pytest.mark.parametrize("duplicates", ["refuse", "best"])
def test_a_table_of_two_systems_is_two_runs(duplicates: str) -> None:
    rows = [
        {"query_id": "q1", "doc_id": doc, "score": score, "retriever": retriever}
        for retriever, doc, score in (
            ("bm25", "d2", 0.9),
            ("bm25", "d1", 0.8),
            ("hybrid", "d1", 0.7),
            ("hybrid", "d2", 0.1),
        )
    ]
    assert fuse(rows, "rrf").to_dict() == {"q1": {"d1": 1 / 61 + 1 / 62, "d2": 1 / 61 + 1 / 62}}
    with pytest.raises(DuplicateError, match="Column 'retriever' has 2 values"):
        fuse([Run(rows), Run(rows)], duplicates=duplicates).to_dict()  # type: ignore[arg-type]
