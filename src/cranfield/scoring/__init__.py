"""Judged -> Scores."""
