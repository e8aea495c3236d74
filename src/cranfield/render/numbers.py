"""Numbers as people read them: four decimals, no negative zero, no p-value of 0; counts."""

import math
from collections.abc import Sequence

from cranfield.notes import join_names


def finite_or_none(value: float) -> float | None:
    """Return a finite number, or None for NaN and infinity; never a negative zero."""
    return float(value) + 0.0 if math.isfinite(value) else None


def format_shortest(value: float) -> str:
    """Return a number in its shortest form: a whole number without a decimal point.

    >>> format_shortest(2), format_shortest(2.0), format_shortest(0.87)
    ('2', '2', '0.87')
    """
    return repr(int(value) if value == int(value) else float(value))


def format_short(value: float) -> str:
    """Return a number for a table: whole numbers in full, others with six significant digits.

    >>> format_short(1_000_000), format_short(0.87), format_short(0.123456789)
    ('1000000', '0.87', '0.123457')
    """
    return format_shortest(value) if value == int(value) else f"{value:.6g}"


def format_number(value: float | None, decimals: int = 4) -> str:
    """Return a number with four `decimals`, or as many as stated; "-" if there is none.

    >>> format_number(0.12345), format_number(-0.00001), format_number(None)
    ('0.1235', '0.0000', '-')
    """
    return "-" if value is None else f"{round(value, decimals) + 0.0:.{decimals}f}"


def format_signed(value: float | None) -> str:
    """Return a number with its sign and four decimals; 0 has no sign; "-" if there is none.

    >>> format_signed(0.12345), format_signed(-0.00001)
    ('+0.1235', '0.0000')
    """
    return format_number(value) if value is None or round(value, 4) == 0 else f"{value:+.4f}"


def format_p(p: float | None) -> str:
    """Return a p-value with four decimals, never as 0; "-" if there is none.

    >>> format_p(0.04321), format_p(0.00002)
    ('0.0432', '<0.0001')
    """
    return "<0.0001" if p is not None and p < 0.00005 else format_number(p)


def format_interval(low: float | None, high: float | None, *, signs: bool = True) -> str:
    """Return an interval as [low, high]; "-" if it lacks an end; without `signs`, no plus.

    >>> format_interval(-0.1, 0.2), format_interval(None, 0.2)
    ('[-0.1000, +0.2000]', '-')
    """
    if low is None or high is None:
        return "-"
    show = format_signed if signs else format_number
    return f"[{show(low)}, {show(high)}]"


def format_percent(share: float) -> str:
    """Return a share, 0 to 1, as a percentage with up to six digits.

    >>> format_percent(0.95)
    '95%'
    """
    return f"{100 * share:.6g}%"


def format_share(share: float) -> str:
    """Return a share, 0 to 1, as a whole percentage; only a share of 1 is 100%.

    >>> format_share(0.5), format_share(0.998), format_share(1)
    ('50%', '99%', '100%')
    """
    return f"{min(round(100 * share), 100 if share == 1 else 99)}%"


def format_count(n: int, singular: str, plural: str | None = None) -> str:
    """Return a number of things in words; `plural` is left out where it only adds an s.

    >>> format_count(1, "document"), format_count(2_000, "document"), format_count(3, "has", "have")
    ('1 document', '2,000 documents', '3 have')
    """
    return f"{n:,} {singular if n == 1 else plural or f'{singular}s'}"


def numeric_order(ids: Sequence[str]) -> Sequence[int]:
    """Return the positions of ids in numeric order: 2 before 10.

    If not all of them are whole numbers, they keep the order they have.

    >>> numeric_order(["1", "10", "2"]), numeric_order(["q1", "q10", "q2"])
    ([0, 2, 1], range(0, 3))
    """
    if not all(id_text.isascii() and id_text.isdecimal() for id_text in ids):
        return range(len(ids))
    digits = [id_text.lstrip("0") for id_text in ids]  # int() takes no more than 4300
    return sorted(range(len(ids)), key=lambda i: (len(digits[i]), digits[i], ids[i]))


def format_query_count(n: int, n_clusters: int | None = None) -> str:
    """Return a number of queries in words, and how many clusters they are in, if in any.

    >>> format_query_count(1), format_query_count(2_000), format_query_count(40, 14)
    ('1 query', '2,000 queries', '40 queries in 14 clusters')
    """
    within = "" if n_clusters is None else f" in {format_count(n_clusters, 'cluster')}"
    return f"{format_count(n, 'query', 'queries')}{within}"


format_names = join_names  # in a sentence


def format_bytes(n: int) -> str:
    """Return a number of bytes in words.

    >>> format_bytes(999), format_bytes(1_200_000), format_bytes(2_000_000_000)
    ('999 bytes', '1.2 MB', '2.0 GB')
    """
    for size, unit in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if n >= size:
            return f"{n / size:.1f} {unit}"
    return format_count(n, "byte")
