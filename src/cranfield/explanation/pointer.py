"""Pointer: a sentence on how to see why two runs differ, for results that only say that."""

from cranfield.errors import MeasureError
from cranfield.measures import Measure, parse


def how_to_explain(measure: Measure | str, query: str) -> str:
    """Return a sentence on how to see why two runs differ on a query.

    A name that saved scores have, and that is no measure, is left out.

    >>> how_to_explain("AP", "q 7")
    "Why: cranfield explain ... -m AP --query 'q 7', or explain(..., 'AP', 'q 7') in Python."
    >>> how_to_explain("score", "q7")
    "Why: cranfield explain ... --query q7, or explain(..., query='q7') in Python."
    """
    import shlex

    try:
        name = str(parse(measure) if isinstance(measure, str) else measure)
    except MeasureError:
        words, called = "", f"query={query!r}"
    else:
        words, called = f"-m {shlex.quote(name)} ", f"{name!r}, {query!r}"
    words += f"--query {shlex.quote(query)}"
    return f"Why: cranfield explain ... {words}, or explain(..., {called}) in Python."
