"""Judges: which models gave the grades of judgments, beside those that people gave."""

from typing import NamedTuple


class Judge(NamedTuple):
    """A model and its prompt; both are empty for a person."""

    model: str = ""
    prompt: str = ""
