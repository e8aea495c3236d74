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
    "Agreement": "assessors.agreement",
    "Check": "scoring.check",
    "Comparison": "comparison.comparison",
    "Correlation": "orderings.pairs",
    "CranfieldError": "errors",
    "Cutoff": "measures.parameters",
    "DiscriminativePower": "orderings.discrimination",
    "Difference": "explanation.difference",
    "Explanation": "explanation.query",
    "CranfieldWarning": "errors",
    "Note": "notes",
    "Gate": "comparison.verdict",
    "Graded": "data.lists",
    "InputError": "errors",
    "JointBounds": "scoring.joint_bounds",
    "Kendall": "orderings.coefficients",
    "LibraryError": "errors",
    "Measure": "measures",
    "MeanExplanation": "explanation.mean",
    "MeasureError": "errors",
    "NuggetScores": "scoring.nuggets",
    "OptionError": "errors",
    "OrderingPair": "orderings.pairs",
    "Names": "measures.registry",
    "Parameter": "measures.parameters",
    "Qrels": "data.qrels",
    "RBO": "orderings.rbo",
    "Ranked": "arrays.ranked",
    "RecallPoint": "measures.parameters",
    "Rel": "measures.parameters",
    "Run": "data.run",
    "RunRBO": "orderings.rbo",
    "Scores": "scoring.scores",
    "SwapRate": "orderings.discrimination",
    "Systems": "scoring.scores",
    "Traits": "measures.registry",
    "Verdict": "comparison.verdict",
    "agreement": "assessors.assess",
    "check": "scoring.check",
    "compare": "comparison.compare",
    "correlate": "orderings.correlate",
    "definitions": "measures",
    "detectable": "comparison.power",
    "discriminative_power": "orderings.discrimination",
    "evaluate": "scoring.evaluate",
    "explain": "explanation.explain",
    "gate": "comparison.gate",
    "grades": "data.lists",
    "joint_bounds": "scoring.joint_bounds",
    "kendall": "orderings.coefficients",
    "measure": "measures",
    "nugget_recall": "scoring.nuggets",
    "parse": "measures",
    "parse_all": "measures",
    "power": "comparison.power",
    "ratio": "arrays.ranked",
    "rbo": "orderings.rbo",
    "read_qrels": "data.qrels",
    "read_run": "data.run",
    "swap_rate": "orderings.discrimination",
    "tau_ap": "orderings.coefficients",
    "tau_ap_a": "orderings.coefficients",
    "tau_ap_b": "orderings.coefficients",
    "queries_needed": "comparison.power",
    "weighted_tau": "orderings.coefficients",
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
    from cranfield.arrays.ranked import Ranked, ratio
    from cranfield.assessors.agreement import Agreement
    from cranfield.assessors.assess import agreement
    from cranfield.comparison.compare import compare
    from cranfield.comparison.comparison import Comparison
    from cranfield.comparison.gate import gate
    from cranfield.comparison.power import detectable, power, queries_needed
    from cranfield.comparison.verdict import Gate, Verdict
    from cranfield.data.lists import Graded, grades
    from cranfield.data.qrels import Qrels, read_qrels
    from cranfield.data.run import Run, read_run
    from cranfield.errors import (
        CranfieldError,
        CranfieldWarning,
        InputError,
        LibraryError,
        MeasureError,
        OptionError,
    )
    from cranfield.explanation.difference import Difference
    from cranfield.explanation.explain import explain
    from cranfield.explanation.mean import MeanExplanation
    from cranfield.explanation.query import Explanation
    from cranfield.measures import Measure, definitions, measure, parse, parse_all
    from cranfield.measures.parameters import Cutoff, Parameter, RecallPoint, Rel
    from cranfield.measures.registry import Names, Traits
    from cranfield.notes import Note
    from cranfield.orderings.coefficients import (
        Kendall,
        kendall,
        tau_ap,
        tau_ap_a,
        tau_ap_b,
        weighted_tau,
    )
    from cranfield.orderings.correlate import correlate
    from cranfield.orderings.discrimination import (
        DiscriminativePower,
        SwapRate,
        discriminative_power,
        swap_rate,
    )
    from cranfield.orderings.pairs import Correlation, OrderingPair
    from cranfield.orderings.rbo import RBO, RunRBO, rbo
    from cranfield.scoring.check import Check, check
    from cranfield.scoring.evaluate import evaluate
    from cranfield.scoring.joint_bounds import JointBounds, joint_bounds
    from cranfield.scoring.nuggets import NuggetScores, nugget_recall
    from cranfield.scoring.scores import Scores, Systems

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
