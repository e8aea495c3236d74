"""Bounded: a test of a gate that holds for any number of queries."""
