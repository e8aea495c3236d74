"""Small tables and lists, read whole, most by `read`: saved scores, labels, texts, chunks, grades.

Here belongs a file or table that fits into memory and is no run and no judgments: runs and
judgments are read in blocks, by the folder above.
"""
