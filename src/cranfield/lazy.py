"""cached_property: a property that is computed once for each object, without a lock.

cached_if_small: the same for an object of few rows; of many rows, it is computed at each reading.
"""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

Value = TypeVar("Value", covariant=True)


class cached_property(Generic[Value]):  # noqa: N801 - as property is written
    """A property that is computed when it is first read, and kept in the object.

    As functools.cached_property of Python 3.12. That of Python 3.11 takes a lock, one for all
    objects of the class: a child process that is forked while a thread holds it would wait for
    ever, threads would wait for each other, and taking it was a tenth of the time of a small
    evaluation. Without a lock, two threads may compute the same value at the same time; the later
    one is kept.
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...

    def __get__(self, instance: object, owner: type) -> Any:
        if instance is None:
            return self
        value = self._compute(instance)
        instance.__dict__[self._name] = value  # which is found before this, from now on
        return value


class cached_if_small(cached_property[Value]):  # noqa: N801 - as property is written
    """A cached_property of an object with rows, (len,), which is not kept for many rows.

    A column would otherwise take its memory as long as the object lives. Small objects are read
    again and again, and to compute their columns each time would take longer than all other work.
    """

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        value = self._compute(instance)
        if len(instance) <= MAX_CACHED_ROWS:
            instance.__dict__[self._name] = value
        return value


MAX_CACHED_ROWS = 1 << 18  # rows; a column of as many whole numbers takes 2 MB
