"""Judgments and runs, and what a measure receives of them: Qrels x Run -> Judged.

Here belongs what holds, changes, ranks and matches judged and retrieved documents. How files are
read (`formats`), what measures compute (`measures`) and scores (`scoring`) do not.
"""
