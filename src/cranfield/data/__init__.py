"""Judgments and runs, and what a measure receives of them: Qrels x Run -> Judged."""
