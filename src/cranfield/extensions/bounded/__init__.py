"""Bounded: a test of a gate that holds for any number of queries.

Not here: the other tests of a gate (comparison).
"""
