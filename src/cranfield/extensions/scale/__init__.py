"""Scale: evaluation of more queries than fit in memory: in buckets, in tallies, by Spark."""
