"""Other grades and other orders of a query: bounds, joint bounds, swaps.

Not here: the steps to a value (explanation), and which documents to judge (labels/pools).
"""
