"""Clusters: queries that depend on one another, as an option of tests and intervals.

Not here: how labels of queries are read (formats/small), and several runs of a system (seeds).
"""
