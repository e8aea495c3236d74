"""Comparing systems: alignment, tests, corrections, effect sizes, correlation of orderings."""
