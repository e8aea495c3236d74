"""Test vectors that several files use, each written once: scores, differences and p-values.

Scores and differences of cases A, D and E are in hundredths, so that tests which count can do so
with whole numbers; `parts` returns what they mean. What is expected of them is in the
tests: made by scipy, statsmodels, or by trying all flips.
"""

from collections.abc import Iterable

# Twenty queries and three systems of Sakai, Laboratory Experiments in Information Retrieval, 2018.
CASE_A = {
    "a": [70, 30, 20, 60, 40, 40, 0, 70, 10, 30, 50, 40, 0, 60, 50, 30, 10, 50, 20, 10],
    "b": [50, 10, 0, 20, 40, 30, 0, 50, 30, 30, 40, 40, 10, 40, 20, 10, 10, 60, 30, 20],
    "c": [0, 0, 20, 10, 30, 30, 10, 20, 40, 40, 40, 30, 30, 20, 20, 20, 10, 50, 40, 30],
}

# Fifteen p-values of Benjamini & Hochberg, JRSS-B 1995.
CASE_B = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240]
CASE_B += [0.4262, 0.5719, 0.6528, 0.7590, 1]

# Two systems that differ by a tenth on each query, apart from rounding.
CASE_C = (
    [0.1, 0.2, 0.3, 0.7, 0.9, 0.5, 0.2, 0.4],
    [0.0, 0.1, 0.2, 0.6, 0.8, 0.4, 0.1, 0.3],
)

# Eight differences.
CASE_D = [30, -10, 20, 5, 15, -2, 25, 10]

# Thirty differences: too many to try all flips one by one.
CASE_E = [-4, 6, -14, 16, 9, 1, 1, 6, 1, 1, 10, 8, 3, 3, 5, -2, 0, 8, 2, -9, -1, 9, 1, 2, 9, 20]
CASE_E += [-3, 16, -8, 5]


def to_fractions(hundredths: Iterable[float]) -> list[float]:
    """Return hundredths as the numbers they stand for.

    >>> parts([70, 5])
    [0.7, 0.05]
    """
    return [score / 100 for score in hundredths]
