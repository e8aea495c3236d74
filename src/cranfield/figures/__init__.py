"""Pictures: of systems that were compared, and of measures. Each gives the numbers in it, too.

A function for each picture returns a `Figure`: its `points` are numbers, for any tool to draw; with
the extra `plot` it is drawn by Altair, without a browser, as SVG, PNG, PDF or Vega-Lite.
"""

from cranfield.figures.boxes import spread as spread
from cranfield.figures.curves import by_cutoff as by_cutoff
from cranfield.figures.curves import precision_recall as precision_recall
from cranfield.figures.figure import Figure as Figure
from cranfield.figures.forest import by_collection as by_collection
from cranfield.figures.forest import by_slice as by_slice
from cranfield.figures.forest import leaderboard as leaderboard
from cranfield.figures.matrix import judged_by_rank as judged_by_rank
from cranfield.figures.matrix import pair_matrix as pair_matrix
from cranfield.figures.relevant_counts import by_relevant as by_relevant
from cranfield.figures.two_systems import differences as differences
from cranfield.figures.two_systems import scatter as scatter
from cranfield.figures.weights import rank_weights as rank_weights
from cranfield.figures.weights import reciprocal_rank as reciprocal_rank
