"""Fusion: one run made of several, and the weights of the runs.

Not here: how runs are read and ranked (data), and how they are scored (scoring).
"""
