"""Orderings of systems, and how alike they are."""
