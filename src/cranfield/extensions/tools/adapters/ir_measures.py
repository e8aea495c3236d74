"""cranfield as a provider for ir_measures, and so for tools that use it: PyTerrier's Experiment.

    >>> from ir_measures import AP, nDCG
    >>> from cranfield.adapters.ir_measures import provider
    >>> provider.calc_aggregate([nDCG @ 10, AP], {"q1": {"d1": 1}}, {"q1": {"d2": 0.9, "d1": 0.4}})
    {nDCG@10: 0.6309297535714575, AP: 0.5}

To use it before all other providers, for every measure that cranfield has:

    >>> import ir_measures
    >>> ir_measures.DefaultPipeline.providers.insert(0, provider)

`CranfieldProvider(convention="ir_measures")` in its place gives ir_measures' own numbers.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from ir_measures import Metric, runtime
from ir_measures.providers import Evaluator, Provider, register

from cranfield.data.qrels import Qrels
from cranfield.errors import MeasureError
from cranfield.extensions.tools.conventions import find_convention
from cranfield.measures import Measure, parse
from cranfield.scoring.evaluate import evaluate

__all__ = ["CranfieldProvider", "provider"]


class CranfieldProvider(Provider):
    """Computes ir_measures' measures by cranfield's measures with the same names and parameters.

    Judgments and runs have the forms that ir_measures takes: dicts, frames, or rows such as `Qrel`
    and `ScoredDoc`. What cranfield refuses (a document that occurs twice, a score that is not a
    number) is an error here, too. Measures of subtopics read them from `Qrel.iteration`; without
    it, each query has one subtopic; as by pyndeval, ties are ranked by ascending id for them. Under
    a `convention`, "ir_measures" above all, the numbers are that tool's, and measures that it lacks
    are left to other providers.
    """

    NAME = "cranfield"

    def __init__(self, *, convention: str | None = None) -> None:
        super().__init__()
        self._convention = convention

    def supports(self, measure: Any) -> bool:
        """Tell whether cranfield has the measure; others are left to other providers."""
        measure.validate_params()
        try:
            _parse_measure(measure, self._convention)
        except MeasureError:
            return False
        return True

    def _evaluator(self, measures: Iterable[Any], qrels: Any) -> Evaluator:
        return _Evaluator(list(measures), qrels, self._convention)


class _Evaluator(Evaluator):
    """Scores runs against the same judgments: ir_measures' base class has the rest."""

    def __init__(self, measures: list[Any], qrels: Any, convention: str | None) -> None:
        self._convention = convention
        rows = qrels if hasattr(qrels, "__len__") else list(qrels)  # it is read more than once
        own_measures = {measure: _parse_measure(measure, convention) for measure in measures}
        # {(judged documents only, subtopics): {measure here: measures}}: options of separate calls.
        self._measures_of_call: dict[tuple[bool, bool], dict[Measure, list[Any]]] = {}
        for measure, own_measure in own_measures.items():
            has_subtopics = own_measure.definition.traits.takes_groups is not False
            call_options = measure.params.get("judged_only", False), has_subtopics
            self._measures_of_call.setdefault(call_options, {}).setdefault(own_measure, []).append(
                measure
            )
        # Without iterations, each query has one subtopic.
        columns = {False: None, True: {"subtopic": "iteration"} if _has_iterations(rows) else None}
        self._qrels_by_subtopics = {
            has_subtopics: Qrels(rows, columns=columns[has_subtopics])
            for _, has_subtopics in self._measures_of_call
            if len(rows)
        }
        first_qrels = next(iter(self._qrels_by_subtopics.values()), None)
        super().__init__(measures, () if first_qrels is None else first_qrels.query_ids)

    def _iter_calc(self, run: Any) -> Iterator[Any]:
        rows = run if hasattr(run, "__len__") else list(run)
        if not len(rows) or not self._qrels_by_subtopics:
            return  # the base class adds the values of queries without results
        for (judged_only, has_subtopics), foreign_measures in self._measures_of_call.items():
            qrels = self._qrels_by_subtopics[has_subtopics]
            scores = evaluate(
                qrels,
                rows,
                [*foreign_measures],
                judged_only=judged_only,
                convention=self._convention,
                ties="ascending" if has_subtopics else "document",
            )
            for own_measure, measures in foreign_measures.items():
                for query, value in scores.per_query(own_measure).items():
                    yield from map(partial(Metric, query, value=value), measures)


def _has_iterations(rows: Any) -> bool:
    """Tell whether judgments, a frame or a list of rows, have ir_measures' `iteration`."""
    first_row = next(iter(rows), ())
    return "iteration" in getattr(rows, "columns", getattr(first_row, "_fields", first_row))


def _parse_measure(measure: Any, convention: str | None) -> Measure:
    """Return cranfield's measure for a measure of ir_measures; raise MeasureError without one.

    A convention, if there is one, has to have the measure.
    """
    if runtime.supports(measure):
        raise MeasureError(f"{measure} is a function: its name does not say what it computes")
    if measure.NAME == "RBP" and "rel" not in measure.params:
        raise MeasureError("RBP without rel is graded in ir_measures; write RBP(rel=1)")
    if measure.NAME == "Accuracy":  # a name with another meaning elsewhere
        if convention is not None:
            raise MeasureError("Accuracy leaves out queries in ir_measures: not imitated")
        return parse(str(measure).replace("Accuracy", "AUC"))
    params = {
        name: parameter for name, parameter in measure.params.items() if name != "judged_only"
    }
    own_measure = parse(str(type(measure)(**params)))
    if convention is not None and find_convention(convention).translate(own_measure) is None:
        raise MeasureError(f"{measure}: {convention} has no such measure")
    # The providers of ir_measures 0.4.3 compute trec_eval 9.
    return own_measure.with_parameters({"version": 9}) if measure.NAME == "IPrec" else own_measure


provider = register(CranfieldProvider())
