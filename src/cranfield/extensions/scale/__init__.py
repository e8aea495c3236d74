"""Scale: evaluation of more queries than fit in memory: in buckets, in tallies, by Spark.

Not here: how the rows of a part are judged (data) and scored (scoring).
"""
