"""More queries than fit in memory."""
