"""Arrays: numpy columns and what is computed from them, without any notion of files or results.

Rankings in flat columns, columns of identifiers, exact sums, and arrays that record their steps for
`explain` belong here; what a column means in a run or in judgments belongs to `data`.
"""
