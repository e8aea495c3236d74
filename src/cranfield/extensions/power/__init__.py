"""How many queries, or seeds, an experiment needs; what a number of them can show.

Not here: what the queries of a finished comparison can show (comparison/needed.py).
"""
