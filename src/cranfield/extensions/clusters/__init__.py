"""Queries that depend on one another."""
