"""Explanations: where a number comes from, so that it can be reckoned again by hand."""
