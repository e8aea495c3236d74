"""Clusters: queries that depend on one another, as an option of tests and intervals."""
