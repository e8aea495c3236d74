"""Small tables, read whole by one reader (`read`): saved scores, labels, texts, lists of grades.

Here belongs a file or table that fits into memory and is no run and no judgments: runs and
judgments are read in blocks, by the folder above.
"""
