"""Other grades and other orders of a query: bounds, joint bounds, swaps."""
