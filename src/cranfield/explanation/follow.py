"""A measure is run on a Judged that records what the measure uses; what is recorded, with names."""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from cranfield.arrays.ranked import Ints, Ranked
from cranfield.arrays.trace import (
    CONSTANT,
    Derived,
    Record,
    Recording,
    Step,
    naming,
    plain,
    recorded,
)
from cranfield.data import judged, subtopics
from cranfield.data.judged import Groups, Judged
from cranfield.explanation.scene import Scene
from cranfield.measures import Measure, gain, parameters, plan
from cranfield.measures.plan import Alike

_DEEPEST = 120  # steps one after the other: Python's own stack ends not far beyond
_SUBSETS = {Ranked.where, Ranked.relevant, Ranked.top, Ranked.reordered}


class Subset(NamedTuple):
    """How a ranking was made from another one: by which method, with which argument."""

    above: Any  # the other ranking
    how: Any
    what: Any


def follow(measure: Measure, scene: Scene) -> Derived | np.ndarray[Any, Any]:
    """Run the measure on one query, and return its value (1, 1) with the steps that made it.

    It is a plain array if the measure lost them all: by going around the ranking's methods and
    numpy's functions, such as np.asarray().
    """
    record = Record(measure.definition.is_own, scene)
    alike = Alike([measure])
    if record.is_strict and alike.k is not None:  # k + 1 must be known, too
        alike.k = Derived.of(alike.k, Step(CONSTANT, (alike.k,)), record)
    recording = recorded(scene.judged, Step("judged"), record)
    with naming(_files_of(measure)):
        value = alike.values(recording)
    record.is_over = True
    return value


def _files_of(measure: Measure) -> Callable[[str], bool]:
    """Return what tells whether a file has the code of measures, or of what is in its folder."""
    kernel = measure.definition.kernel
    own = getattr(kernel, "__code__", _files_of.__code__).co_filename
    folders = {os.path.dirname(own), os.path.dirname(gain.__file__)}
    machinery = {plan.__file__, parameters.__file__}
    return cache(  # a measure calls many functions of few files
        lambda file: (
            file == judged.__file__ or (os.path.dirname(file) in folders and file not in machinery)
        )
    )


def is_ranking(one: Any) -> TypeGuard[Recording]:
    """Tell whether something is a ranking that was recorded."""
    return isinstance(one, Recording) and isinstance(one, Ranked)


def is_summed(one: Any) -> TypeGuard[Recording]:
    """Tell whether it is a ranking, or groups: what becomes of it is shown in its table."""
    return is_ranking(one) or (isinstance(one, Recording) and one.home is one)


def subsets(rows: Recording) -> Iterator[Subset]:
    """Yield how a ranking was made from another one, that one from a third, and so on."""
    while rows.step.op in _SUBSETS:
        above, *given = rows.step.inputs
        yield Subset(above, rows.step.op, given[0] if given else 1)
        rows = above


def base_of(rows: Recording) -> Recording:
    """Return the ranking that it was made from, before any subset was taken."""
    for subset in subsets(rows):
        rows = subset.above
    return rows


def rows_of_base(rows: Recording) -> Ints:
    """Return which rows of its base a ranking has: (rows,)."""
    subset = next(subsets(rows), None)
    if subset is None:
        return np.arange(len(rows.plain.query))
    above = subset.above
    if subset.how is Ranked.reordered:
        kept = above.plain.order(plain(subset.what))
    else:
        deepest = int(above.plain.rank.max(initial=0)) + 1
        keys, its = (one.plain.query * deepest + one.plain.rank for one in (above, rows))
        kept = np.isin(keys, its)
    found: Ints = rows_of_base(above)[kept]
    return found


def documents_of(rows: Recording) -> list[str | None]:
    """Return the document of each row, None where there is none: (rows,)."""
    every = _documents(base_of(rows))
    return [every[row] for row in rows_of_base(rows).tolist()]


def _documents(base: Recording) -> Sequence[str | None]:
    scene: Scene = base.record.names
    op, ranks = base.step.op, base.plain.rank.tolist()
    if op == "ideal":
        return scene.ideal_of_groups if base.home is not None else scene.ideal
    if op in ("hits", Judged.every):
        retrieved = scene.docs
        if base.home is not None and len(retrieved) < max(ranks, default=0):
            retrieved = scene.ranking.docs  # judged ones alone keep their ranks in subtopics
        return [retrieved[k - 1] if k <= len(retrieved) else None for k in ranks]
    if op in (Groups.novel_first, Groups.most_first) and not scene.judged.in_groups:
        return [scene.ideal[k - 1] for k in ranks]  # what is relevant adds most
    if op in (Groups.novel_first, Groups.most_first):
        qrels, order = scene.qrels, getattr(subtopics, op.__name__)
        ranked = order(qrels.levels, qrels.query, *base.step.inputs[1:]).tolist()
        at = {rank: doc for rank, doc in zip(ranked, qrels.doc_lists[0], strict=True) if rank}
        return [at[k] for k in ranks]
    return [None] * len(ranks)


def grades_of(rows: Recording) -> list[float | None]:
    """Return the grade of each row, None where there is no judgment: (rows,)."""
    judged = rows.plain.judged.tolist()
    return [
        grade if is_judged else None
        for grade, is_judged in zip(rows.plain.grade.tolist(), judged, strict=True)
    ]


def is_deep(value: Any) -> bool:
    """Tell whether a value takes more steps one after the other than can be written out."""
    layer, depth = [value], 0
    while layer and depth <= _DEEPEST:
        inputs = (one for node in layer if isinstance(node, Derived) for one in node.step.inputs)
        layer = [*{id(one): one for one in inputs if isinstance(one, Derived)}.values()]
        depth += 1
    return depth > _DEEPEST
