"""Comparing systems: their scores aligned by query, tests, corrections, effect sizes, gates, power.

Here belongs what takes scores of several systems and gives a Comparison, a Gate or Intervals. How
runs are scored (`scoring`) and how a command prints results (`cli`) does not; nor does what only
few comparisons need, such as clusters of queries or several seeds (`extensions`).
"""
