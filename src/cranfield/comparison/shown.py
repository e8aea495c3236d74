"""Numbers as tables show them: four decimals, never a negative zero, never a p of 0."""

import math


def or_none(value: float) -> float | None:
    """Return a number, None if it is none (NaN, infinite); never a negative zero."""
    return float(value) + 0.0 if math.isfinite(value) else None


def number(value: float | None, decimals: int = 4) -> str:
    """Return a number.

    >>> number(0.12345), number(-0.00001), number(None)
    ('0.1235', '0.0000', '-')
    """
    return "-" if value is None else f"{round(value, decimals) + 0.0:.{decimals}f}"


def signed(value: float | None) -> str:
    """Return a number with its sign; 0 has none.

    >>> signed(0.12345), signed(-0.00001)
    ('+0.1235', '0.0000')
    """
    return number(value) if value is None or round(value, 4) == 0 else f"{value:+.4f}"


def probability(p: float | None) -> str:
    """Return a p-value, never as 0.

    >>> probability(0.04321), probability(0.00002)
    ('0.0432', '<0.0001')
    """
    return "<0.0001" if p is not None and p < 0.00005 else number(p)


def interval(low: float | None, high: float | None, *, signs: bool = True) -> str:
    """Return the ends of an interval.

    >>> interval(-0.1, 0.2), interval(None, 0.2)
    ('[-0.1000, +0.2000]', '-')
    """
    if low is None or high is None:
        return "-"
    show = signed if signs else number
    return f"[{show(low)}, {show(high)}]"
