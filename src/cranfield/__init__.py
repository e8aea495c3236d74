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
    "Comparison": "comparison",
    "CranfieldError": "errors",
    "Cutoff": "measures.parameters",
    "Gate": "comparison.gate",
    "InputError": "errors",
    "Measure": "measures",
    "MeasureError": "errors",
    "NuggetScores": "nuggets",
    "OptionError": "errors",
    "Finding": "checking",
    "Parameter": "measures.parameters",
    "RBO": "pairs",
    "Qrels": "qrels",
    "Ranked": "ranked",
    "RecallPoint": "measures.parameters",
    "Rel": "measures.parameters",
    "Report": "checking",
    "Run": "runs",
    "RunRBO": "pairs",
    "Scores": "scores",
    "Systems": "scores",
    "Verdict": "comparison.gate",
    "compare": "comparison",
    "definitions": "measures",
    "check": "checking",
    "detectable": "comparison.power",
    "evaluate": "evaluation",
    "gate": "comparison.gate",
    "measure": "measures",
    "nugget_recall": "nuggets",
    "parse": "measures",
    "parse_all": "measures",
    "power": "comparison.power",
    "ratio": "ranked",
    "rbo": "pairs",
    "read_qrels": "qrels",
    "read_run": "runs",
    "topics": "comparison.power",
}

__all__ = [
    "RBO",
    "Comparison",
    "CranfieldError",
    "Cutoff",
    "Finding",
    "Gate",
    "InputError",
    "Measure",
    "MeasureError",
    "NuggetScores",
    "OptionError",
    "Parameter",
    "Qrels",
    "Ranked",
    "RecallPoint",
    "Rel",
    "Report",
    "Run",
    "RunRBO",
    "Scores",
    "Systems",
    "Verdict",
    "__version__",
    "check",
    "compare",
    "definitions",
    "detectable",
    "evaluate",
    "gate",
    "measure",
    "nugget_recall",
    "parse",
    "parse_all",
    "power",
    "ratio",
    "rbo",
    "read_qrels",
    "read_run",
    "topics",
]

if TYPE_CHECKING:
    from cranfield.checking import Finding, Report, check
    from cranfield.comparison import Comparison, compare
    from cranfield.comparison.gate import Gate, Verdict, gate
    from cranfield.comparison.power import detectable, power, topics
    from cranfield.errors import CranfieldError, InputError, MeasureError, OptionError
    from cranfield.evaluation import evaluate
    from cranfield.measures import Measure, definitions, measure, parse, parse_all
    from cranfield.measures.parameters import Cutoff, Parameter, RecallPoint, Rel
    from cranfield.nuggets import NuggetScores, nugget_recall
    from cranfield.pairs import RBO, RunRBO, rbo
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
