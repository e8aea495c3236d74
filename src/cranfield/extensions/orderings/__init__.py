"""Orderings of systems: how alike two measures, two qrels or two experiments order systems.

Not here: tests of two systems (comparison), and agreement of assessors (labels).
"""
