"""Pictures of compared systems, and of measures. Each picture gives its numbers, too.

A function for each picture returns a `Figure`: its `points` are numbers, for any tool to draw; with
the extra `plot` it is drawn by Altair, without a browser, as SVG, PNG, PDF or Vega-Lite.

Not here: what the report's page draws itself.
"""

from cranfield.extensions.report.figures.boxes import spread
from cranfield.extensions.report.figures.collection_forest import by_collection
from cranfield.extensions.report.figures.curves import by_cutoff, precision_recall
from cranfield.extensions.report.figures.figure import Figure
from cranfield.extensions.report.figures.forest import by_slice, leaderboard
from cranfield.extensions.report.figures.matrix import judged_by_rank, pair_matrix
from cranfield.extensions.report.figures.relevant_counts import by_relevant
from cranfield.extensions.report.figures.trend_line import over_time
from cranfield.extensions.report.figures.two_systems import differences, scatter
from cranfield.extensions.report.figures.weights import rank_weights, reciprocal_rank

__all__ = ["Figure", "by_collection", "by_cutoff", "by_relevant", "by_slice", "differences"]
__all__ += ["judged_by_rank", "leaderboard", "over_time", "pair_matrix", "precision_recall"]
__all__ += ["rank_weights", "reciprocal_rank", "scatter", "spread"]
