"""Two or more assessors, and what they do to orderings."""
