"""cranfield: evaluate ranked retrieval, exactly and in one command.

    >>> from cranfield import evaluate, nDCG, AP
    >>> scores = evaluate({"q1": {"d1": 1}}, {"q1": {"d1": 0.9, "d2": 0.4}}, [nDCG@10, AP])
    >>> scores["nDCG@10"]
    1.0

Everything here is imported when it is first used. Every measure is an attribute: `cranfield.P`.
"""

from typing import TYPE_CHECKING, Any

from cranfield.version import __version__

# Where each public name is at home.
_HOME = {
    "Agreement": "comparison.agreement",
    "Check": "checking",
    "Comparison": "comparison",
    "Correlation": "comparison.ordering_pairs",
    "CranfieldError": "errors",
    "Cutoff": "measures.parameters",
    "DiscriminativePower": "comparison.discrimination",
    "Difference": "explanation.difference",
    "Explanation": "explanation.query",
    "CranfieldWarning": "errors",
    "Note": "notes",
    "Gate": "comparison.verdicts",
    "Graded": "graded",
    "InputError": "errors",
    "JointBounds": "pairs.joint_bounds",
    "Kendall": "comparison.correlation",
    "LibraryError": "errors",
    "Measure": "measures",
    "MeanExplanation": "explanation.mean",
    "MeasureError": "errors",
    "NuggetScores": "nuggets",
    "OptionError": "errors",
    "OrderingPair": "comparison.ordering_pairs",
    "Names": "measures.registry",
    "Parameter": "measures.parameters",
    "Qrels": "qrels",
    "RBO": "pairs.overlap",
    "Ranked": "ranked",
    "RecallPoint": "measures.parameters",
    "Rel": "measures.parameters",
    "Run": "runs",
    "RunRBO": "pairs.overlap",
    "Scores": "scores",
    "SwapRate": "comparison.discrimination",
    "Systems": "scores",
    "Traits": "measures.registry",
    "Verdict": "comparison.verdicts",
    "agreement": "comparison.assessors",
    "check": "checking",
    "compare": "comparison",
    "correlate": "comparison.correlating",
    "definitions": "measures",
    "detectable": "comparison.power",
    "discriminative_power": "comparison.discrimination",
    "evaluate": "evaluation",
    "explain": "explanation.explaining",
    "gate": "comparison.gate",
    "grades": "graded",
    "joint_bounds": "pairs.joint_bounds",
    "kendall": "comparison.correlation",
    "measure": "measures",
    "nugget_recall": "nuggets",
    "parse": "measures",
    "parse_all": "measures",
    "power": "comparison.power",
    "ratio": "ranked",
    "rbo": "pairs.overlap",
    "read_qrels": "qrels",
    "read_run": "runs",
    "swap_rate": "comparison.discrimination",
    "tau_ap": "comparison.correlation",
    "tau_ap_a": "comparison.correlation",
    "tau_ap_b": "comparison.correlation",
    "queries_needed": "comparison.power",
    "weighted_tau": "comparison.correlation",
}

__all__ = [
    "RBO",
    "Agreement",
    "Check",
    "Comparison",
    "Correlation",
    "CranfieldError",
    "CranfieldWarning",
    "Cutoff",
    "Difference",
    "DiscriminativePower",
    "Explanation",
    "Gate",
    "Graded",
    "InputError",
    "JointBounds",
    "Kendall",
    "LibraryError",
    "MeanExplanation",
    "Measure",
    "MeasureError",
    "Names",
    "Note",
    "NuggetScores",
    "OptionError",
    "OrderingPair",
    "Parameter",
    "Qrels",
    "Ranked",
    "RecallPoint",
    "Rel",
    "Run",
    "RunRBO",
    "Scores",
    "SwapRate",
    "Systems",
    "Traits",
    "Verdict",
    "__version__",
    "agreement",
    "check",
    "compare",
    "correlate",
    "definitions",
    "detectable",
    "discriminative_power",
    "evaluate",
    "explain",
    "gate",
    "grades",
    "joint_bounds",
    "kendall",
    "measure",
    "nugget_recall",
    "parse",
    "parse_all",
    "power",
    "queries_needed",
    "ratio",
    "rbo",
    "read_qrels",
    "read_run",
    "swap_rate",
    "tau_ap",
    "tau_ap_a",
    "tau_ap_b",
    "weighted_tau",
]

if TYPE_CHECKING:
    from cranfield.checking import Check, check
    from cranfield.comparison import Comparison, compare
    from cranfield.comparison.agreement import Agreement
    from cranfield.comparison.assessors import agreement
    from cranfield.comparison.correlating import correlate
    from cranfield.comparison.correlation import (
        Kendall,
        kendall,
        tau_ap,
        tau_ap_a,
        tau_ap_b,
        weighted_tau,
    )
    from cranfield.comparison.discrimination import (
        DiscriminativePower,
        SwapRate,
        discriminative_power,
        swap_rate,
    )
    from cranfield.comparison.gate import gate
    from cranfield.comparison.ordering_pairs import Correlation, OrderingPair
    from cranfield.comparison.power import detectable, power, queries_needed
    from cranfield.comparison.verdicts import Gate, Verdict
    from cranfield.errors import (
        CranfieldError,
        CranfieldWarning,
        InputError,
        LibraryError,
        MeasureError,
        OptionError,
    )
    from cranfield.evaluation import evaluate
    from cranfield.explanation.difference import Difference
    from cranfield.explanation.explaining import explain
    from cranfield.explanation.mean import MeanExplanation
    from cranfield.explanation.query import Explanation
    from cranfield.graded import Graded, grades
    from cranfield.measures import Measure, definitions, measure, parse, parse_all
    from cranfield.measures.parameters import Cutoff, Parameter, RecallPoint, Rel
    from cranfield.measures.registry import Names, Traits
    from cranfield.notes import Note
    from cranfield.nuggets import NuggetScores, nugget_recall
    from cranfield.pairs.joint_bounds import JointBounds, joint_bounds
    from cranfield.pairs.overlap import RBO, RunRBO, rbo
    from cranfield.qrels import Qrels, read_qrels
    from cranfield.ranked import Ranked, ratio
    from cranfield.runs import Run, read_run
    from cranfield.scores import Scores, Systems

    def __getattr__(name: str) -> Measure: ...

else:

    def __getattr__(name: str) -> Any:
        """Return a public name, or the measure of that name."""
        from importlib import import_module

        if name in _HOME:
            return getattr(import_module(f"cranfield.{_HOME[name]}"), name)
        if name.isidentifier() and not name.startswith("_"):
            from cranfield.measures import Measure, definitions

            if any(definition.name == name for definition in definitions()):
                return Measure(name)
        raise AttributeError(f"module 'cranfield' has no attribute {name!r}")

    def __dir__() -> list[str]:
        from cranfield.measures import definitions

        return sorted([*__all__, *(definition.name for definition in definitions())])
