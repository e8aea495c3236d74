"""Bytes and objects to batches of Arrow columns. Nothing else reads data; it knows no Qrels."""
