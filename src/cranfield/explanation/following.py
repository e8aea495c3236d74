"""following: a measure is run on a Judged that records what is asked of it.

What the measure asks of a ranking (a total, a running sum, the rows down to a rank) is reckoned by
the ranking itself, on plain numbers, and recorded as one step. So the value is that of the measure
to the bit, whatever the measure does, and the steps are those that it took.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature
from typing import Any

import numpy as np

from cranfield.derivation import Derived, Record, Step, plain
from cranfield.explanation.scene import Scene
from cranfield.judged import Groups, Judged, Places
from cranfield.measures import Measure
from cranfield.measures.plan import Alike
from cranfield.preferences import Counted, Preferences
from cranfield.ranked import Ranked

# These are made of others, which are recorded one by one.
_MADE_OF_OTHERS: dict[type, frozenset[str]] = {
    Judged: frozenset({"n_relevant"}),
    Groups: frozenset({"expected", "mean"}),
    Places: frozenset({"so_far", "missed"}),
    Preferences: frozenset(),
    Counted: frozenset({"of"}),
}
# What a method of a ranking returns is of the ranking's own rows; of the others', or of a query.
_OF_ROWS = frozenset({"running", "before", "above", "below", "remaining", "spread", "steps"})
_SUBSETS = frozenset({"where", "relevant", "top", "reordered"})


@dataclass(frozen=True, eq=False)
class GroupSpace:
    """The groups of a query: what the rows of a column by group are."""

    names: Sequence[str]


@dataclass(frozen=True)
class Names:
    """The names of what a Judged knows by numbers only, and what all that follows it shares."""

    retrieved: Sequence[str]
    ideal: Sequence[str]
    scene: Scene
    record: Record


def _by_position(
    method: Callable[..., Any], inputs: tuple[Any, ...], options: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments in the order of a method's parameters; those of keyword only."""
    if not options:
        return inputs, options
    bound = signature(method).bind(*inputs, **options)
    return bound.args, bound.kwargs


class Rows:
    """A ranking that records what is asked of it; its rows are named.

    `documents` (rows,) are the ids, None where there is none; `subset` says how it came of another,
    `asked` with which arguments it was asked for.
    """

    def __init__(
        self,
        ranked: Ranked,
        base: str,
        documents: Sequence[str | None],
        home: GroupSpace | None,
        record: Record,
        subset: "tuple[Rows, str, Any] | None" = None,
        asked: tuple[Any, ...] = (),
    ) -> None:
        rows = np.arange(len(ranked.query))
        if "row" not in ranked.columns:
            ranked = replace(ranked, columns={**ranked.columns, "row": rows})
        self._ranked, self._base, self._every = ranked, base, documents
        self._home, self._record, self.subset, self.asked = home, record, subset, asked
        self._known: dict[Any, Any] = {}

    @property
    def ranked(self) -> Ranked:
        """The ranking itself."""
        return self._ranked

    @property
    def base(self) -> str:
        """What the ranking is, before any subset was taken."""
        return self._base

    @property
    def home(self) -> GroupSpace | None:
        """The groups, if each is a query of its own here; None: there is one query."""
        return self._home

    @property
    def documents(self) -> list[str | None]:
        """The document of each row: (rows,)."""
        return [self._every[row] for row in self._ranked.columns["row"].tolist()]

    def once(self, name: object, reckon: Callable[[], Any]) -> Any:
        """Return what is to be kept: here it is reckoned, so that it is recorded."""
        return reckon()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in self._known:
            found = getattr(self._ranked, name)
            if isinstance(found, np.ndarray):
                self._known[name] = Derived.of(found.copy(), Step(name, (), self), self._record)
            elif callable(found):
                self._known[name] = partial(self._asked, name, found)
            else:
                self._known[name] = found
        return self._known[name]

    def _asked(self, name: str, method: Callable[..., Any], *inputs: Any, **options: Any) -> Any:
        inputs, _ = _by_position(method, inputs, options)  # Ranked takes none by keyword only
        known = name, *map(id, inputs)
        if known not in self._known:
            # With the inputs, so that no other object takes their id.
            self._known[known] = inputs, self._recorded(name, method, inputs)
        return self._known[known][1]

    def _recorded(self, name: str, method: Callable[..., Any], inputs: tuple[Any, ...]) -> Any:
        bare = [one.ranked if isinstance(one, Rows) else plain(one) for one in inputs]
        if name in _SUBSETS:
            if name == "top" and inputs[0] is None:
                return self
            how = (self, name, inputs[0] if inputs else 1)
            found = method(*bare)
            return Rows(found, self._base, self._every, self._home, self._record, how)
        space: Any = self if name in _OF_ROWS or name == "places" else self._home
        if name == "at":
            space = inputs[0]
        found = method(*bare).copy()
        return Derived.of(found, Step(name, (self, *inputs), space), self._record)


class Followed:
    """A Judged, or what it holds, that records what is asked of it."""

    def __init__(
        self,
        of: Any,
        names: Names,
        home: GroupSpace | None = None,
        asked: tuple[Any, ...] = (),
    ) -> None:
        self._of, self._names, self._home, self._inputs = of, names, home, asked
        self._known: dict[Any, Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in self._known:
            if name in _MADE_OF_OTHERS[type(self._of)]:
                self._known[name] = partial(getattr(type(self._of), name), self)
            else:
                found = getattr(self._of, name)
                if callable(found):
                    self._known[name] = partial(self._asked, name, found)
                else:
                    self._known[name] = self._followed(found, name, ())
        return self._known[name]

    def down_to(self, k: Any) -> Any:
        """Return the cutoff, as Judged does; of a measure that is reckoned by itself."""
        if k is None or isinstance(k, Derived):
            return self.n_retrieved if k is None else k
        return Derived.of(k, Step("constant", (k,)), self._names.record)

    def _asked(self, name: str, method: Callable[..., Any], *inputs: Any, **options: Any) -> Any:
        inputs, options = _by_position(method, inputs, options)
        return self._followed(method(*map(plain, inputs), **plain(options)), name, inputs)

    def _followed(self, found: Any, name: str, inputs: tuple[Any, ...]) -> Any:
        if isinstance(found, Ranked):
            docs = self._documents(found, name, inputs)
            asked = inputs or self._inputs
            return Rows(found, name, docs, self._home, self._names.record, asked=asked)
        if isinstance(found, Groups):
            names = self._names.scene.group_names
            return Followed(found, self._names, GroupSpace(names))
        if isinstance(found, Preferences):
            return Followed(found, self._names, GroupSpace(self._names.scene.group_names))
        if isinstance(found, Judged | Places | Counted):
            by_query = isinstance(self._of, Preferences) and name == "pairs"
            return Followed(found, self._names, None if by_query else self._home, inputs)
        if isinstance(found, tuple):
            return tuple(self._followed(one, name, inputs) for one in found)
        if isinstance(found, np.ndarray) and any(found is one for one in inputs):
            return found
        if isinstance(found, np.ndarray):
            space = self._space(name)
            over = (self._home,) if space is None and self._home is not None else ()
            made = Step(name, (*over, *inputs), space)
            return Derived.of(found.copy(), made, self._names.record)
        return found

    def _space(self, name: str) -> Any:
        """Return what the rows of an array are that is asked for."""
        if isinstance(self._of, Places):
            return self.ranked
        if isinstance(self._of, Groups | Preferences) and name in ("total", "count", "n_groups"):
            return None
        return self._home

    def _documents(self, found: Ranked, name: str, inputs: tuple[Any, ...]) -> list[str | None]:
        """Return the document of each row of a ranking."""
        scene, ranks = self._names.scene, found.rank.tolist()
        if name == "ideal":
            return list(scene.ideal_of_groups if self._home is not None else self._names.ideal)
        if name in ("hits", "every"):
            retrieved = self._names.retrieved
            if self._home is not None and len(retrieved) < max(ranks, default=0):
                retrieved = scene.ranking.docs  # judged ones alone keep their ranks in subtopics
            return [retrieved[k - 1] if k <= len(retrieved) else None for k in ranks]
        if name in ("novel_first", "most_first") and not scene.judged.in_groups:
            return [self._names.ideal[k - 1] for k in ranks]  # what is relevant adds most
        if name in ("novel_first", "most_first"):
            order = getattr(scene.qrels, name)(*inputs).tolist()
            docs = scene.qrels.doc_lists[0]
            at = {rank: doc for rank, doc in zip(order, docs, strict=True) if rank}
            return [at[k] for k in ranks]
        return [None] * len(ranks)


def follow(measure: Measure, scene: Scene) -> Derived | np.ndarray[Any, Any]:
    """Run the measure on one query, and return its value (1, 1) with the steps that made it.

    It is a plain array if the measure lost them all: by a way round the ranking's methods and
    numpy's functions, such as np.asarray().
    """
    record = Record(measure.definition.is_own)
    judged: Any = Followed(scene.judged, Names(scene.docs, scene.ideal, scene, record))
    alike = Alike([measure])
    if record.is_strict and alike.k is not None:  # k + 1 is to be known, too
        alike.k = Derived.of(alike.k, Step("constant", (alike.k,)), record)
    value = alike.values(judged)
    record.is_over = True
    return value
