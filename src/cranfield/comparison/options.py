"""What options of numbers may be, said the same way everywhere."""

import math
import operator
from typing import SupportsIndex

from cranfield.errors import OptionError


def number(option: str, value: object, *, least: float = -math.inf) -> float:
    """Return a finite number of at least `least`; raise OptionError for anything else."""
    try:
        found = math.nan if isinstance(value, bool | str) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not math.isfinite(found) or found < least:
        of = "" if least == -math.inf else f" of at least {least:g}"
        raise OptionError(f"{option}={value!r:.40}: expected a number{of}")
    return found


_LEAST = 1e-9  # where distributions have their tails still


def share(option: str, value: object, *, below: float = 1.0) -> float:
    """Return a number above 0, but not by less than 1e-9, and below `below`: a level."""
    try:
        found = number(option, value)
    except OptionError:
        found = math.nan
    if not _LEAST <= found < below:
        raise OptionError(f"{option}={value!r:.40}: expected a number above 0 and below {below:g}")
    return found


def flag(option: str, value: object) -> bool:
    """Return a truth value."""
    if not isinstance(value, bool):
        raise OptionError(f"{option}={value!r:.40}: expected True or False")
    return value


def whole(option: str, value: object, *, least: int, most: int | None = None) -> int:
    """Return a whole number of at least `least` and at most `most`."""
    found = least - 1
    if isinstance(value, SupportsIndex) and not isinstance(value, bool):
        found = operator.index(value)
    if found < least:
        raise OptionError(f"{option}={value!r:.40}: expected a whole number of at least {least}")
    if most is not None and found > most:
        raise OptionError(f"{option}={value!r:.40}: expected at most {most:,}")
    return found
