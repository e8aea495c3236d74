"""Notes on lists that end above the cutoff of a measure, or, of compared runs, at other ranks."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import NamedTuple

from cranfield.data.meeting import JudgedRun
from cranfield.measures import Measure
from cranfield.measures.parameters import Depth
from cranfield.notes import Note
from cranfield.progress import hide_progress
from cranfield.render.numbers import format_count, format_names

_MAX_ROWS = 100_000  # of the run, and of the judgments, whose documents are compared
_MAX_SHARE = 0.9  # of the longest list's documents: no more, and lists end at different ranks
_MAX_LENGTHS = 3  # that are all named


class ListLength(NamedTuple):
    """The number of documents in each of at least half of a run's lists."""

    n_docs: int
    n_longer: int  # queries whose lists have more documents
    n_answered: int  # queries whose lists have a document
    deep_measures: Sequence[Measure]  # that look at more, of a larger collection

    @classmethod
    def of_run(cls, judged_run: JudgedRun, measures: Sequence[Measure]) -> "ListLength | None":
        """Return the length of most lists of a run; None if they have many, or hold grades."""
        lengths = [pair for pair in judged_run.facts.n_queries_of_length.items() if pair[0]]
        n_docs, n = max(lengths, key=lambda pair: (pair[1], -pair[0]), default=(0, 0))
        n_answered = sum(n_queries for _, n_queries in lengths)
        is_chance = n == 1 < n_answered
        if not n or is_chance or 2 * n < n_answered or judged_run.qrels.list_kind == "grades":
            return None
        deep_measures = [measure for measure in measures if _find_cutoff(measure, 0) > n_docs]
        is_cut = judged_run.judging.depth is not None
        if is_cut or (deep_measures and _holds_all(judged_run, n_docs)):
            deep_measures = []
        n_longer = sum(n_queries for n_retrieved, n_queries in lengths if n_retrieved > n_docs)
        return cls(n_docs, n_longer, n_answered, deep_measures)

    def notes(self, unequal_measures: Collection[Measure] = ()) -> Iterator[Note]:
        """Yield a note on the measures, but `unequal_measures`, that look at more documents."""
        names = [str(measure) for measure in self.deep_measures if measure not in unequal_measures]
        if names:
            n_docs = format_count(self.n_docs, "document")
            extent = "a query were retrieved"
            if self.n_longer:
                n_short = f"{self.n_answered - self.n_longer:,} of {self.n_answered:,}"
                extent = f"were retrieved in {n_short} queries"
            text = f"{format_names(names)}: no more than {n_docs} {extent}."
            yield Note("depth", "info", text, count=self.n_docs)


def _find_cutoff(measure: Measure, default: float) -> float:
    """Return how many documents a measure looks at: `default` if it has no cutoff.

    0 for a measure by which no system is better, or of sets, or cut where the judgments say.
    """
    definition, cutoff = measure.definition, measure.cutoff
    is_cut = isinstance(cutoff, Depth)
    if definition.higher_is_better is None or (definition.traits.of_sets and not is_cut):
        return 0
    if isinstance(cutoff, Depth):
        return 0 if cutoff.at_relevant else cutoff.n_ranks or 0
    return default


def _holds_all(judged_run: JudgedRun, length: int) -> bool:
    """Tell whether the first documents of a run and the judgments are at most `length` in all."""
    run, qrels = judged_run.run, judged_run.qrels
    if run.docs_of_query is not None:
        sides = run.docs_of_query.values(), qrels.doc_lists
        docs = chain(*(islice(chain.from_iterable(lists), _MAX_ROWS) for lists in sides))
        return len({*docs}) <= length
    with hide_progress():  # it was read before
        block = next(run.skip_faults().read_columns(()))()
    ids = (ids.take(slice(0, _MAX_ROWS)).to_list() for ids in (block.doc, qrels.docs))
    return len({*chain(*ids)}) <= length


def compare_lengths(
    measures: Sequence[Measure], length_of_run: Mapping[str, ListLength | None]
) -> tuple[Note | None, Sequence[Measure]]:
    """Return a warning, if lists end at different ranks, and the measures that depend on that."""
    runs_of_length: dict[int, list[str]] = {}
    for name, length in length_of_run.items():
        if length is not None:
            runs_of_length.setdefault(length.n_docs, []).append(name)
    lengths = sorted(runs_of_length, reverse=True)
    unequal_measures = []
    for measure in measures if len(lengths) > 1 else ():
        cutoff = _find_cutoff(measure, math.inf)
        if 0 < min(lengths[-1], cutoff) <= _MAX_SHARE * min(lengths[0], cutoff):
            unequal_measures.append(measure)
    if not unequal_measures:
        return None, ()
    parts: list[str] = []
    for n_docs in lengths if len(lengths) <= _MAX_LENGTHS else (lengths[0], lengths[-1]):
        unit = "" if parts else "documents a query "
        parts.append(f"{n_docs:,} {unit}in {format_names(runs_of_length[n_docs], 3)}")
    text = (
        f"{format_names([*map(str, unequal_measures)])}: {', '.join(parts)}; "
        f"depth={lengths[-1]} (--depth {lengths[-1]}) cuts all alike."
    )
    return Note("depths", "warning", text, count=len(length_of_run)), unequal_measures
