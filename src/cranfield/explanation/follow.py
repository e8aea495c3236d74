"""A measure is run on a Judged that records what the measure uses; what is recorded, with names."""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from cranfield.arrays.ranked import Ints, Ranked
from cranfield.arrays.trace import (
    CONSTANT,
    Record,
    Recorder,
    Step,
    TracedArray,
    make_recorder,
    name_variables,
    remove_trace,
)
from cranfield.data import judged, subtopics
from cranfield.data.judged import Groups, Judged
from cranfield.explanation.scene import Scene
from cranfield.measures import Measure, gain, parameters, plan
from cranfield.measures.plan import CutoffGroup

_MAX_STEPS = 120  # steps one after the other: Python's own stack ends not far beyond
_SUBSET_METHODS = {Ranked.where, Ranked.relevant, Ranked.top, Ranked.reordered}


class Subset(NamedTuple):
    """How a ranking was made from another one: by which method, with which argument."""

    source: Any  # the other ranking
    method: Any
    argument: Any


def trace_value(measure: Measure, scene: Scene) -> TracedArray | np.ndarray[Any, Any]:
    """Run the measure on one query, and return its value (1, 1) with the steps that made it.

    It is a plain array if the measure lost them all: by going around the ranking's methods and
    numpy's functions, such as np.asarray().
    """
    record = Record(measure.definition.is_user_defined, scene)
    cutoff_group = CutoffGroup([measure])
    if record.is_strict and cutoff_group.fixed_cutoffs is not None:  # k + 1 must be known, too
        cutoff_group.fixed_cutoffs = TracedArray.of(
            cutoff_group.fixed_cutoffs, Step(CONSTANT, (cutoff_group.fixed_cutoffs,)), record
        )
    recording = make_recorder(scene.judged, Step("judged"), record)
    with name_variables(_make_file_test(measure)):
        value = cutoff_group.values(recording)
    record.is_over = True
    return value


def _make_file_test(measure: Measure) -> Callable[[str], bool]:
    """Return what tells whether a file has the code of measures, or of what is in its folder."""
    kernel = measure.definition.kernel
    kernel_file = getattr(kernel, "__code__", _make_file_test.__code__).co_filename
    folders = {os.path.dirname(kernel_file), os.path.dirname(gain.__file__)}
    machinery = {plan.__file__, parameters.__file__}
    return cache(  # a measure calls many functions of few files
        lambda file: (
            file == judged.__file__ or (os.path.dirname(file) in folders and file not in machinery)
        )
    )


def is_ranking(node: Any) -> TypeGuard[Recorder]:
    """Tell whether something is a ranking that was recorded."""
    return isinstance(node, Recorder) and isinstance(node, Ranked)


def has_sheet(node: Any) -> TypeGuard[Recorder]:
    """Tell whether it is a ranking, or groups: what becomes of it is shown in its table."""
    return is_ranking(node) or (isinstance(node, Recorder) and node.grouping is node)


def subset_chain(rows: Recorder) -> Iterator[Subset]:
    """Yield how a ranking was made from another one, that one from a third, and so on."""
    while rows.step.op in _SUBSET_METHODS:
        source, *arguments = rows.step.inputs
        yield Subset(source, rows.step.op, arguments[0] if arguments else 1)
        rows = source


def base_ranking(rows: Recorder) -> Recorder:
    """Return the ranking that it was made from, before any subset was taken."""
    for subset in subset_chain(rows):
        rows = subset.source
    return rows


def base_row_numbers(rows: Recorder) -> Ints:
    """Return which rows of its base a ranking has: (rows,)."""
    subset = next(subset_chain(rows), None)
    if subset is None:
        return np.arange(len(rows.original.query))
    source = subset.source
    if subset.method is Ranked.reordered:
        selection = source.original.order(remove_trace(subset.argument))
    else:
        n_ranks = int(source.original.rank.max(initial=0)) + 1
        source_keys, row_keys = (
            ranking.original.query * n_ranks + ranking.original.rank for ranking in (source, rows)
        )
        selection = np.isin(source_keys, row_keys)
    base_rows: Ints = base_row_numbers(source)[selection]
    return base_rows


def row_documents(rows: Recorder) -> list[str | None]:
    """Return the document of each row, None where there is none: (rows,)."""
    base_docs = _base_documents(base_ranking(rows))
    return [base_docs[row] for row in base_row_numbers(rows).tolist()]


def _base_documents(base: Recorder) -> Sequence[str | None]:
    scene: Scene = base.record.names
    op, ranks = base.step.op, base.original.rank.tolist()
    if op == "ideal":
        return scene.group_ideal_docs if base.grouping is not None else scene.ideal_docs
    if op in ("hits", Judged.every):
        retrieved_docs = scene.docs
        if base.grouping is not None and len(retrieved_docs) < max(ranks, default=0):
            retrieved_docs = scene.ranking.docs  # judged ones alone keep their ranks in subtopics
        return [retrieved_docs[k - 1] if k <= len(retrieved_docs) else None for k in ranks]
    if op in (Groups.novel_first, Groups.most_first) and not scene.judged.has_groups:
        return [scene.ideal_docs[k - 1] for k in ranks]  # what is relevant adds most
    if op in (Groups.novel_first, Groups.most_first):
        qrels, order = scene.qrels, getattr(subtopics, op.__name__)
        rank_of_row = order(qrels.levels, qrels.query, *base.step.inputs[1:]).tolist()
        doc_of_rank = {
            rank: doc for rank, doc in zip(rank_of_row, qrels.doc_lists[0], strict=True) if rank
        }
        return [doc_of_rank[k] for k in ranks]
    return [None] * len(ranks)


def row_grades(rows: Recorder) -> list[float | None]:
    """Return the grade of each row, None where there is no judgment: (rows,)."""
    judged = rows.original.judged.tolist()
    return [
        grade if is_judged else None
        for grade, is_judged in zip(rows.original.grade.tolist(), judged, strict=True)
    ]


def is_deep(value: Any) -> bool:
    """Tell whether a value takes more steps one after the other than can be written out."""
    layer, depth = [value], 0
    while layer and depth <= _MAX_STEPS:
        inputs = (
            source for node in layer if isinstance(node, TracedArray) for source in node.step.inputs
        )
        layer = [*{id(node): node for node in inputs if isinstance(node, TracedArray)}.values()]
        depth += 1
    return depth > _MAX_STEPS
