"""Numbers as a page sets them: with the minus sign of print, and intervals with a dash."""

from cranfield.comparison.result import Pair
from cranfield.render.numbers import format_number

_MINUS, _DASH, _TIMES = "\N{MINUS SIGN}", "\N{EN DASH}", "\N{MULTIPLICATION SIGN}"


def format_digits(number: float | None, decimals: int = 4) -> str:
    r"""Return a number; None becomes a hyphen.

    >>> format_digits(-0.12345) == "\N{MINUS SIGN}0.1235", format_digits(None)
    (True, '-')
    """
    return format_number(number, decimals).replace("-", _MINUS) if number is not None else "-"


def format_short(number: float) -> str:
    r"""Return a round number, without zeros at its end.

    >>> format_short(0.5), format_short(-2.0) == "\N{MINUS SIGN}2"
    ('0.5', True)
    """
    return f"{number:g}".replace("-", _MINUS)


def format_interval(low: float, high: float) -> str:
    r"""Return the ends of an interval, three decimals each; with " to " if the lower is negative.

    >>> format_interval(0.25, 0.5) == "0.250\N{EN DASH}0.500"
    True
    """
    separator = _DASH if low >= 0 else " to "
    return separator.join((format_digits(low, 3), format_digits(high, 3)))


def format_change(pair: Pair, decimals: int = 4) -> str:
    """Return a pair's difference with its sign; for geometric means, their ratio."""
    if pair.scale == "ratio":
        return f"{_TIMES}{format_digits(pair.ratio, decimals)}"
    text = format_digits(pair.difference, decimals)
    return f"+{text}" if round(pair.difference, decimals) > 0 else text
