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
    "CranfieldError": "errors",
    "InputError": "errors",
    "Measure": "measures",
    "MeasureError": "errors",
    "NuggetScores": "nuggets",
    "OptionError": "errors",
    "Finding": "checking",
    "Qrels": "qrels",
    "Report": "checking",
    "Run": "runs",
    "Scores": "scores",
    "Systems": "scores",
    "definitions": "measures",
    "check": "checking",
    "evaluate": "evaluation",
    "nugget_recall": "nuggets",
    "parse": "measures",
    "parse_all": "measures",
    "read_qrels": "qrels",
    "read_run": "runs",
}

__all__ = [
    "CranfieldError",
    "Finding",
    "InputError",
    "Measure",
    "MeasureError",
    "NuggetScores",
    "OptionError",
    "Qrels",
    "Report",
    "Run",
    "Scores",
    "Systems",
    "__version__",
    "check",
    "definitions",
    "evaluate",
    "nugget_recall",
    "parse",
    "parse_all",
    "read_qrels",
    "read_run",
]

if TYPE_CHECKING:
    from cranfield.checking import Finding, Report, check
    from cranfield.errors import CranfieldError, InputError, MeasureError, OptionError
    from cranfield.evaluation import evaluate
    from cranfield.measures import Measure, definitions, parse, parse_all
    from cranfield.nuggets import NuggetScores, nugget_recall
    from cranfield.qrels import Qrels, read_qrels
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
