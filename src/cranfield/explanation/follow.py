"""Follow: runs a measure on a Judged that records its steps, and reads the record."""

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
    """How a ranking was made from another ranking: by a method with an argument."""

    source: Any  # the ranking that it was made from
    method: Any
    argument: Any  # 1 if none was passed, as `Ranked.relevant` has it


def trace_value(measure: Measure, scene: Scene) -> TracedArray | np.ndarray[Any, Any]:
    """Run the measure on one query, and return its value (1, 1) with the steps that made it.

    It is a plain array if the measure lost the steps, going around the ranking's methods and
    numpy's functions, as by np.asarray().
    """
    record = Record(measure.definition.is_user_defined, scene)
    cutoff_group = CutoffGroup([measure], of_lists=not isinstance(scene.judged, Judged))
    cutoffs = cutoff_group.fixed_cutoffs
    if record.is_strict and cutoffs is not None:  # k + 1 must be known, too
        step = Step(CONSTANT, (cutoffs,))
        cutoff_group.fixed_cutoffs = TracedArray.of(cutoffs, step, record)
    recorder = make_recorder(scene.judged, Step("judged"), record)
    with name_variables(_make_file_test(measure)):
        value = cutoff_group.values(recorder)
    record.is_over = True
    return value


def _make_file_test(measure: Measure) -> Callable[[str], bool]:
    """Return a function that tells, by a file's path, whether its variables name arrays."""
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
    """Tell whether an object is a ranking that records its use."""
    return isinstance(node, Recorder) and isinstance(node, Ranked)


def has_sheet(node: Any) -> TypeGuard[Recorder]:
    """Tell whether an object has a sheet of its own: a ranking, or the groups of a query."""
    return is_ranking(node) or (isinstance(node, Recorder) and node.grouping is node)


def subset_chain(rows: Recorder) -> Iterator[Subset]:
    """Yield how a ranking was made from a second one, the second from a third, and so on."""
    while rows.step.op in _SUBSET_METHODS:
        source, *arguments = rows.step.inputs
        yield Subset(source, rows.step.op, arguments[0] if arguments else 1)
        rows = source


def base_ranking(rows: Recorder) -> Recorder:
    """Return the ranking from which all the subsets were taken that lead to a ranking."""
    for subset in subset_chain(rows):
        rows = subset.source
    return rows


def base_row_numbers(rows: Recorder) -> Ints:
    """Return the row numbers that a ranking has in its base ranking: (rows,)."""
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
    """Return the document of each row of a base ranking, None where there is none: (rows,)."""
    scene: Scene = base.record.names
    op, ranks = base.step.op, base.original.rank.tolist()
    if op == "ideal":
        return scene.group_ideal_docs if base.grouping is not None else scene.ideal_docs
    if op in ("hits", "items", Judged.every):
        docs = scene.docs
        if base.grouping is not None and len(docs) < max(ranks, default=0):
            docs = scene.ranking.docs  # judged ones alone keep their ranks in subtopics
        return [docs[k - 1] if k <= len(docs) else None for k in ranks]
    if op in (Groups.novel_first, Groups.most_first) and not scene.judged.has_groups:
        return [scene.ideal_docs[k - 1] for k in ranks]  # what is relevant adds most
    if op in (Groups.novel_first, Groups.most_first):
        qrels, order = scene.qrels, getattr(subtopics, op.__name__)
        rank_of_row = order(qrels.levels, qrels.query, *base.step.inputs[1:]).tolist()
        doc_of_rank = dict(zip(rank_of_row, qrels.doc_lists[0], strict=True))  # at 0: the others
        return [doc_of_rank[k] for k in ranks]
    return [None] * len(ranks)


def row_grades(rows: Recorder) -> list[float | None]:
    """Return the grade of each row, None where there is no judgment: (rows,)."""
    grades, judged = rows.original.grade.tolist(), rows.original.judged.tolist()
    pairs = zip(grades, judged, strict=True)
    return [grade if is_judged else None for grade, is_judged in pairs]


def is_deep(value: Any) -> bool:
    """Tell whether a value takes more steps one after the other than can be written out."""
    layer, depth = [value] if isinstance(value, TracedArray) else [], 0
    while layer and depth <= _MAX_STEPS:
        inputs = (source for node in layer for source in node.step.inputs)
        layer = [*{id(node): node for node in inputs if isinstance(node, TracedArray)}.values()]
        depth += 1
    return depth > _MAX_STEPS
