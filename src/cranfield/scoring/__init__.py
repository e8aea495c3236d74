"""Scoring: makes scores of judged rankings and measures, and finds what makes scores wrong.

Here belong `evaluate`, `check`, the arguments that they share with other verbs, and their results.
How a measure is computed is in `measures`, how scores are compared in `comparison`.
"""
