"""Quality over time: runs, or saved scores, in an order, each compared with the one before it."""
