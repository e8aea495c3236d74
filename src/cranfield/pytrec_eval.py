"""A stand-in for pytrec_eval: change the import, keep the code.

    from cranfield import pytrec_eval      # instead of: import pytrec_eval

The names, the parameters and the numbers are pytrec_eval's, which are those of trec_eval 9:
scores are compared as 32-bit floats, recall points follow its rule, and the queries evaluated are
those of the run that have judgments. `relstring` and `runid`, which are texts, are 0.0, as there.

>>> evaluator = RelevanceEvaluator({"q1": {"d1": 1, "d2": 0, "d3": 2}}, {"map", "ndcg_cut.5"})
>>> evaluator.evaluate({"q1": {"d2": 0.9, "d3": 0.7, "d1": 0.1}})["q1"]["map"]
0.5833333333333333
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from cranfield.errors import CranfieldError
from cranfield.evaluation import Plan
from cranfield.judge import judge
from cranfield.ranked import log
from cranfield.tables import Qrels, Run
from cranfield.trec_eval import NICKNAMES, Column, columns_of, measure_names, takes_several
from cranfield.version import __version__

__all__ = [
    "RelevanceEvaluator",
    "__version__",
    "compute_aggregated_measure",
    "parse_qrel",
    "parse_run",
    "supported_measures",
    "supported_nicknames",
]

_NAMES = [name for name in measure_names(version=9) if name in NICKNAMES["all_trec"]]
supported_measures: set[str] = set(_NAMES)
supported_nicknames: dict[str, set[str]] = {
    name: {one for one in names if one in measure_names(version=9)}
    for name, names in NICKNAMES.items()
}

_TEXTS = ("runid", "relstring")


def parse_run(f_run: Iterable[str]) -> dict[str, dict[str, float]]:
    """Parse the lines of a TREC run: `query_id Q0 doc_id rank score tag`.

    Returns {query_id: {doc_id: score}}. Raises AssertionError for a document that stands twice
    for a query, ValueError for a line of other columns or a score that is no number.

    >>> parse_run(["q1 Q0 d1 1 12.5 bm25"])
    {'q1': {'d1': 12.5}}
    """
    run: dict[str, dict[str, float]] = {}
    for line in f_run:
        query, _, doc, _, score, _ = _columns(line, 6)
        _add(run, query, doc, float(score))
    return run


def parse_qrel(f_qrel: Iterable[str]) -> dict[str, dict[str, int]]:
    """Parse the lines of a TREC qrels file: `query_id iteration doc_id grade`.

    Returns {query_id: {doc_id: grade}}. Raises AssertionError for a document that stands twice
    for a query, ValueError for a line of other columns or a grade that is no whole number.

    >>> parse_qrel(["q1 0 d1 2", "q1 0 d2 0"])
    {'q1': {'d1': 2, 'd2': 0}}
    """
    qrel: dict[str, dict[str, int]] = {}
    for line in f_qrel:
        query, _, doc, grade = _columns(line, 4)
        _add(qrel, query, doc, int(grade))
    return qrel


def _columns(line: str, n: int) -> list[str]:
    columns = line.split()
    if len(columns) != n:
        raise ValueError(f"expected {n} columns, got {len(columns)}: {line.rstrip()!r:.200}")
    return columns


def _add(data: dict[str, dict[str, Any]], query: str, doc: str, value: float) -> None:
    docs = data.setdefault(query, {})
    if doc in docs:
        raise AssertionError(f"the document {doc!r} stands twice for query {query!r}")
    docs[doc] = value


def compute_aggregated_measure(measure: str, values: Sequence[float]) -> float:
    """Return the value over all queries of one measure's values (n_queries,).

    The sum where the name begins with `num_`, exp(mean) where it begins with `gm_` (their values
    are logarithms), else the mean.

    >>> compute_aggregated_measure("num_rel", [3.0, 4.0]), compute_aggregated_measure("map", [1, 0])
    (7.0, 0.5)
    """
    if measure.startswith("num_"):
        return float(np.sum(values))
    average = np.sum(values) / len(values)
    return float(np.exp(average) if measure.startswith("gm_") else average)


class RelevanceEvaluator:
    """Judgments and measures, to evaluate runs with.

    `query_relevance` is {query_id: {doc_id: grade}}; a query without judgments is left out.
    `measures` are names of trec_eval or nicknames, with parameters as in `P.5,10`, `P_5`,
    `ndcg.1=2,2=4`. A document is relevant from grade `relevance_level` on. With
    `judged_docs_only_flag`, documents without judgment are dropped before measuring.

    Raises TypeError for judgments or a level of another kind, ValueError for an unknown measure.
    """

    def __init__(
        self,
        query_relevance: Mapping[str, Mapping[str, int]],
        measures: Iterable[str],
        relevance_level: int = 1,
        judged_docs_only_flag: bool = False,
    ) -> None:
        if not isinstance(relevance_level, int | np.integer) or relevance_level < 1:
            raise TypeError(f"relevance_level={relevance_level!r}: expected a whole number, 1 or more")
        if not isinstance(query_relevance, Mapping):
            raise TypeError(f"expected {{query: {{document: grade}}}}, got {query_relevance!r:.80}")
        self._columns = _columns_of(measures, int(relevance_level))
        self._plan = Plan([c.measure for c in self._columns if c.root not in _TEXTS])
        self._names = [column.name for column in self._columns]
        self._judged_only = bool(judged_docs_only_flag)
        self._qrels = _checked(query_relevance)

    def evaluate(self, scores: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
        """Evaluate a run {query_id: {doc_id: score}}: {query_id: {measure: value}}.

        Queries come in the run's order, those without judgments are left out. Raises TypeError for
        scores that are no numbers.
        """
        raise NotImplementedError
