"""Comparing systems: alignment, tests, corrections, effect sizes, gates, power."""
