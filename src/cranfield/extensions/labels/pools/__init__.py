"""Pools: what people should label of what runs retrieved, and the labels that come back.

Not here: the forms of label files (label_files.py, one folder above).
"""
