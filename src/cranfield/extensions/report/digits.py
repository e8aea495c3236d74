"""Numbers as a page sets them: with the minus sign of print, and a dash within an interval."""

from cranfield.comparison.result import Pair
from cranfield.render.numbers import number

_MINUS, _DASH, _TIMES = "\N{MINUS SIGN}", "\N{EN DASH}", "\N{MULTIPLICATION SIGN}"


def digits(value: float | None, decimals: int = 4) -> str:
    r"""Return a number; None becomes a hyphen.

    >>> digits(-0.12345) == "\N{MINUS SIGN}0.1235", digits(None)
    (True, '-')
    """
    return number(value, decimals).replace("-", _MINUS) if value is not None else "-"


def short(value: float) -> str:
    r"""Return a round number, without zeros at its end.

    >>> short(0.5), short(-2.0) == "\N{MINUS SIGN}2"
    ('0.5', True)
    """
    return f"{value:g}".replace("-", _MINUS)


def interval(low: float, high: float) -> str:
    r"""Return the ends of an interval, with three decimals.

    >>> interval(0.25, 0.5) == "0.250\N{EN DASH}0.500"
    True
    """
    between = _DASH if low >= 0 else " to "
    return between.join((digits(low, 3), digits(high, 3)))


def change(pair: Pair, decimals: int = 4) -> str:
    """Return a pair's difference with its sign; for geometric means, their ratio."""
    if pair.scale == "ratio":
        return f"{_TIMES}{digits(pair.ratio, decimals)}"
    shown = digits(pair.difference, decimals)
    return f"+{shown}" if round(pair.difference, decimals) > 0 else shown
