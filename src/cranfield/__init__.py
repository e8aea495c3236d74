"""cranfield: evaluate ranked retrieval, exactly and in one command.

    >>> from cranfield import evaluate, nDCG, AP
    >>> scores = evaluate({"q1": {"d1": 1}}, {"q1": {"d1": 0.9, "d2": 0.4}}, [nDCG@10, AP])
    >>> scores["nDCG@10"]
    1.0

Everything here but `__version__` is imported when it is first used. Every measure is an attribute,
by its name or by another one that is usual: `cranfield.P`, `cranfield.MAP`.
"""

import sys
from typing import TYPE_CHECKING, Any

from cranfield.version import __version__ as __version__

# {module of this package: the names, with blanks between, that the package offers from it}
_NAMES = {
    "arrays.ranked": "Ranked ratio",
    "extensions.labels.assessors.agreement": "Agreement",
    "extensions.labels.assessors.assess": "agreement",
    "captions": "with_texts",
    "comparison.compare": "compare",
    "comparison.comparison": "Comparison",
    "comparison.gate": "gate",
    "extensions.report.paper_result": "PaperTable",
    "extensions.report.paper_table": "paper_table",
    "extensions.labels.human.human_labels": "prediction_powered",
    "comparison.intervals": "Intervals intervals",
    "extensions.collections.macro": "CollectionComparison compare_collections",
    "extensions.labels.human.powered_result": "PoweredMean PredictionPowered",
    "extensions.power.power": "detectable power queries_needed seeds_needed",
    "comparison.verdict": "Gate GateFailed Verdict",
    "data.lists": "Graded GradedSystems grades",
    "data.qrels": "Qrels read_qrels",
    "data.run": "Run read_run",
    "errors": "CranfieldError CranfieldWarning InputError LibraryError MeasureError OptionError",
    "explanation.difference": "Difference",
    "explanation.explain": "explain",
    "explanation.mean": "MeanExplanation",
    "explanation.queries": "QueryDifferences",
    "explanation.query": "Explanation",
    "extensions.fusion.fuse": "fuse",
    "extensions.fusion.tune": "Tuned tune",
    "measures": "Measure definitions measure parse parse_all",
    "measures.parameters": "Cutoff Parameter RecallPoint Rel",
    "measures.registry": "Names",
    "measures.traits": "Traits",
    "notes": "Note",
    "extensions.orderings.coefficients": "Kendall kendall tau_ap tau_ap_a tau_ap_b weighted_tau",
    "extensions.orderings.correlate": "correlate",
    "extensions.orderings.discrimination": (
        "DiscriminativePower SwapRate discriminative_power swap_rate"
    ),
    "extensions.orderings.pairs": "Correlation OrderingPair",
    "extensions.orderings.rbo": "RBO RunRBO rbo",
    "extensions.orderings.reproduce": "reproduce",
    "extensions.orderings.reproduction": "ReproducedRun Reproduction",
    "extensions.report.report": "Report report",
    "extensions.labels.pools.collect": "Assessor Labels collect",
    "extensions.labels.pools.holes": "Hole Holes holes",
    "extensions.labels.pools.pool": "pool",
    "extensions.labels.pools.pool_result": "Pool",
    "scoring.check": "Check check",
    "scoring.evaluate": "evaluate",
    "extensions.whatif.joint_bounds": "JointBounds joint_bounds",
    "extensions.labels.nuggets": "NuggetScores nugget_recall",
    "extensions.lists.describe": "describe",
    "scoring.scores": "Scores Systems",
    "extensions.tools.side_by_side": "SideBySide conventions",
    "extensions.scale.tally": "Tally Totals",
    "extensions.labels.trust.trust": "trust",
    "extensions.labels.trust.trust_result": "Trust",
    "extensions.trend.trend_result": "Trend",
    "extensions.trend.trend": "trend",
}
# Measures by the names that others give them, of which `import *` takes these.
_USUAL_NAMES = "MAP MRR NDCG F1 HitRate Precision Recall precision recall"
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}

if TYPE_CHECKING:  # "as" says to type checkers that a name is public
    from cranfield.arrays.ranked import Ranked as Ranked
    from cranfield.arrays.ranked import ratio as ratio
    from cranfield.captions import with_texts as with_texts
    from cranfield.comparison.compare import compare as compare
    from cranfield.comparison.comparison import Comparison as Comparison
    from cranfield.comparison.gate import gate as gate
    from cranfield.comparison.intervals import Intervals as Intervals
    from cranfield.comparison.intervals import intervals as intervals
    from cranfield.comparison.verdict import Gate as Gate
    from cranfield.comparison.verdict import GateFailed as GateFailed
    from cranfield.comparison.verdict import Verdict as Verdict
    from cranfield.data.lists import Graded as Graded
    from cranfield.data.lists import GradedSystems as GradedSystems
    from cranfield.data.lists import grades as grades
    from cranfield.data.qrels import Qrels as Qrels
    from cranfield.data.qrels import read_qrels as read_qrels
    from cranfield.data.run import Run as Run
    from cranfield.data.run import read_run as read_run
    from cranfield.errors import CranfieldError as CranfieldError
    from cranfield.errors import CranfieldWarning as CranfieldWarning
    from cranfield.errors import InputError as InputError
    from cranfield.errors import LibraryError as LibraryError
    from cranfield.errors import MeasureError as MeasureError
    from cranfield.errors import OptionError as OptionError
    from cranfield.explanation.difference import Difference as Difference
    from cranfield.explanation.explain import explain as explain
    from cranfield.explanation.mean import MeanExplanation as MeanExplanation
    from cranfield.explanation.queries import QueryDifferences as QueryDifferences
    from cranfield.explanation.query import Explanation as Explanation
    from cranfield.extensions.collections.macro import CollectionComparison as CollectionComparison
    from cranfield.extensions.collections.macro import compare_collections as compare_collections
    from cranfield.extensions.fusion.fuse import fuse as fuse
    from cranfield.extensions.fusion.tune import Tuned as Tuned
    from cranfield.extensions.fusion.tune import tune as tune
    from cranfield.extensions.labels.assessors.agreement import Agreement as Agreement
    from cranfield.extensions.labels.assessors.assess import agreement as agreement
    from cranfield.extensions.labels.human.human_labels import (
        prediction_powered as prediction_powered,
    )
    from cranfield.extensions.labels.human.powered_result import PoweredMean as PoweredMean
    from cranfield.extensions.labels.human.powered_result import (
        PredictionPowered as PredictionPowered,
    )
    from cranfield.extensions.labels.nuggets import NuggetScores as NuggetScores
    from cranfield.extensions.labels.nuggets import nugget_recall as nugget_recall
    from cranfield.extensions.labels.pools.collect import Assessor as Assessor
    from cranfield.extensions.labels.pools.collect import Labels as Labels
    from cranfield.extensions.labels.pools.collect import collect as collect
    from cranfield.extensions.labels.pools.holes import Hole as Hole
    from cranfield.extensions.labels.pools.holes import Holes as Holes
    from cranfield.extensions.labels.pools.holes import holes as holes
    from cranfield.extensions.labels.pools.pool import pool as pool
    from cranfield.extensions.labels.pools.pool_result import Pool as Pool
    from cranfield.extensions.labels.trust.trust import trust as trust
    from cranfield.extensions.labels.trust.trust_result import Trust as Trust
    from cranfield.extensions.lists.describe import describe as describe
    from cranfield.extensions.orderings.coefficients import Kendall as Kendall
    from cranfield.extensions.orderings.coefficients import kendall as kendall
    from cranfield.extensions.orderings.coefficients import tau_ap as tau_ap
    from cranfield.extensions.orderings.coefficients import tau_ap_a as tau_ap_a
    from cranfield.extensions.orderings.coefficients import tau_ap_b as tau_ap_b
    from cranfield.extensions.orderings.coefficients import weighted_tau as weighted_tau
    from cranfield.extensions.orderings.correlate import correlate as correlate
    from cranfield.extensions.orderings.discrimination import (
        DiscriminativePower as DiscriminativePower,
    )
    from cranfield.extensions.orderings.discrimination import SwapRate as SwapRate
    from cranfield.extensions.orderings.discrimination import (
        discriminative_power as discriminative_power,
    )
    from cranfield.extensions.orderings.discrimination import swap_rate as swap_rate
    from cranfield.extensions.orderings.pairs import Correlation as Correlation
    from cranfield.extensions.orderings.pairs import OrderingPair as OrderingPair
    from cranfield.extensions.orderings.rbo import RBO as RBO
    from cranfield.extensions.orderings.rbo import RunRBO as RunRBO
    from cranfield.extensions.orderings.rbo import rbo as rbo
    from cranfield.extensions.orderings.reproduce import reproduce as reproduce
    from cranfield.extensions.orderings.reproduction import ReproducedRun as ReproducedRun
    from cranfield.extensions.orderings.reproduction import Reproduction as Reproduction
    from cranfield.extensions.power.power import detectable as detectable
    from cranfield.extensions.power.power import power as power
    from cranfield.extensions.power.power import queries_needed as queries_needed
    from cranfield.extensions.power.power import seeds_needed as seeds_needed
    from cranfield.extensions.report.paper_result import PaperTable as PaperTable
    from cranfield.extensions.report.paper_table import paper_table as paper_table
    from cranfield.extensions.report.report import Report as Report
    from cranfield.extensions.report.report import report as report
    from cranfield.extensions.scale.tally import Tally as Tally
    from cranfield.extensions.scale.tally import Totals as Totals
    from cranfield.extensions.tools.side_by_side import SideBySide as SideBySide
    from cranfield.extensions.tools.side_by_side import conventions as conventions
    from cranfield.extensions.trend.trend import trend as trend
    from cranfield.extensions.trend.trend_result import Trend as Trend
    from cranfield.extensions.whatif.joint_bounds import JointBounds as JointBounds
    from cranfield.extensions.whatif.joint_bounds import joint_bounds as joint_bounds
    from cranfield.measures import Measure as Measure
    from cranfield.measures import definitions as definitions
    from cranfield.measures import measure as measure
    from cranfield.measures import parse as parse
    from cranfield.measures import parse_all as parse_all
    from cranfield.measures.parameters import Cutoff as Cutoff
    from cranfield.measures.parameters import Parameter as Parameter
    from cranfield.measures.parameters import RecallPoint as RecallPoint
    from cranfield.measures.parameters import Rel as Rel
    from cranfield.measures.registry import Names as Names
    from cranfield.measures.traits import Traits as Traits
    from cranfield.notes import Note as Note
    from cranfield.scoring.check import Check as Check
    from cranfield.scoring.check import check as check
    from cranfield.scoring.evaluate import evaluate as evaluate
    from cranfield.scoring.scores import Scores as Scores
    from cranfield.scoring.scores import Systems as Systems

    __all__: list[str]

    def __getattr__(name: str) -> Measure: ...

else:

    def __getattr__(name: str) -> Any:
        """Return what a public name stands for, or the measure that is known by that name."""
        from importlib import import_module

        if name == "__all__":  # what `from cranfield import *` takes: measures, too
            return __dir__()
        if name in _HOME:
            return getattr(import_module(f"cranfield.{_HOME[name]}"), name)
        hint = None
        if name.isidentifier() and not name.startswith("_"):
            from importlib.util import find_spec

            from cranfield.measures import find_measure

            measure = find_measure(name)
            if measure is not None and find_spec(f"cranfield.{name}") is None:
                return measure  # and cranfield.compat is a folder, no other name of Compat
            from cranfield.measures.absent import describe_absent

            hint = describe_absent(name.lower())
        raise AttributeError(
            f"module 'cranfield' has no attribute {name!r}" + (f": {hint}" if hint else ""),
            name=name,
            obj=sys.modules[__name__],
        )

    def __dir__() -> list[str]:
        from cranfield.measures import definitions

        measures = (definition.name for definition in definitions())
        return sorted(["__version__", *_HOME, *measures, *_USUAL_NAMES.split()])
