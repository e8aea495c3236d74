"""Runs made of runs: the first documents, some queries or documents, both of two, another order.

Each is read once, block by block, and what is kept is held in memory. Nothing is changed in place.
"""

import copy
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, get_args

import numpy as np

from cranfield.arrays.ids import Ids
from cranfield.arrays.ranked import Bools
from cranfield.data.documents import Documents
from cranfield.data.judging import Judging, Ties
from cranfield.data.named_ids import NamedDocuments, named_documents, named_queries
from cranfield.data.order import Grouped, grouped, placed
from cranfield.data.reranked import Rest, break_ties, rerank
from cranfield.data.run_notes import duplicates_of, no_common_query
from cranfield.errors import InputError, OptionError, one_of, printable
from cranfield.formats.block import Block, Duplicates, HeldRows, Order, Role, joined, no_rows
from cranfield.formats.columns import ColumnsLike, in_order
from cranfield.formats.source import named
from cranfield.notes import Note, warn_of
from cranfield.options import checked, whole
from cranfield.render.numbers import number_of, queries_of
from cranfield.version import __version__

if TYPE_CHECKING:
    pass

_ONE_ORDER: tuple[Ties, ...] = ("document", "ascending", "given")


class Altered(Documents):
    """What a run can be made into: base class of `Run`."""

    #: How it was made, if it is made of other runs, as `fuse` does; else empty.
    recipe: Mapping[str, Any] = MappingProxyType({})

    def _once(self, duplicates: Duplicates) -> Self:
        """Return the run with each document of a query once, and a note of what was left out."""
        judging, repeated_rows = Judging(duplicates=duplicates), self.repeated()
        recipe = {"duplicates": duplicates}
        run = self._made(lambda group: group.block, "each document once of", judging, recipe)
        if repeated_rows.count:
            run.rows.notes = (duplicates_of("the run", repeated_rows, duplicates),)
        return run

    def rename(self, name: str) -> Self:
        """Return the same run under another name.

        >>> from cranfield import Run
        >>> Run({"q1": ["d1"]}, "bm25").rename("baseline").name
        'baseline'
        """
        if not isinstance(name, str) or not name:
            raise OptionError(f"name={name!r:.80}: expected a string, what the run is called")
        found = copy.copy(self)
        found.name = name
        return found

    def top(
        self,
        k: int,
        *,
        order: Order = "score",
        ties: Ties = "document",
        duplicates: Duplicates = "refuse",
    ) -> Self:
        """Return the first k documents of each query.

        Ranked as `evaluate` does: by `order`, with `ties` by document id, falling ("document"),
        rising ("ascending") or in the order of the rows ("given"); of a document that occurs more
        than once, `duplicates` says which row is kept.

        >>> from cranfield import Run
        >>> Run({"q1": {"d1": 0.5, "d2": 2.0, "d3": 1.0}}).top(2).to_dict()
        {'q1': {'d2': 2.0, 'd3': 1.0}}
        """
        k = checked("k", k, whole(1))
        self.ranked_by(order)  # raises what is wrong with that
        if ties not in _ONE_ORDER:
            raise OptionError(f"ties={ties!r:.40}: expected one of {', '.join(_ONE_ORDER)}")
        judging = Judging(order=order, ties=ties, duplicates=duplicates)

        def first(found: Grouped) -> Block:
            rank = placed(found, judging).rank
            rows = np.flatnonzero(rank <= k)
            rows = rows[np.lexsort((rank[rows], found.group[rows]))]
            return replace(found.block.take(rows), empty=found.block.empty)

        return self._made(first, f"the first {k:,} of", judging, {"top": k, **judging.unusual()})

    def only(self, queries: Any = None, docs: Any = None) -> Self:
        """Return some queries, or some documents of the queries.

        Args:
            queries: the ids of queries; or judgments, or a dict, whose queries are taken.
            docs: the ids of documents, of all queries; or judgments or a run (or their file), or
                `{query_id: [doc_id, ...]}`, whose documents of each query are taken. A file may
                also list ids, one to a line, below the line `query_id` or `doc_id`.

        Raises:
            InputError: nothing is left.
            OptionError: neither is stated, or not in this form.

        >>> from cranfield import Run
        >>> run = Run({"q1": {"d1": 2.0, "d2": 1.0}, "q2": {"d2": 1.0}})
        >>> run.only(queries=["q1"]).to_dict(), run.only(docs={"q1": ["d2"]}).to_dict()
        ({'q1': {'d1': 2.0, 'd2': 1.0}}, {'q1': {'d2': 1.0}})

        """
        return self._part(queries, docs, None)

    def without(
        self, docs: Any = None, queries: Any = None, *, columns: ColumnsLike | None = None
    ) -> Self:
        """Return all but some documents, such as those that a user has seen, or some queries.

        Both are as for `only`. A query of which no document is left stays, without documents.
        Of a table, or its file, the documents are in the column `excluded_ids` (`excluded`,
        `seen_ids`, `seen`, `seen_items`, `history` or `train_ids`), or else in that of a run's
        documents; expected documents only if `columns` says so: {"excluded_ids": "gold_ids"}.
        Results say how many rows were removed; no common query raises NothingSharedError.

        >>> from cranfield import Run
        >>> seen = {"ann": ["d2"]}
        >>> Run({"ann": {"d1": 2.0, "d2": 3.0}, "bob": {"d2": 1.0}}).without(seen).to_dict()
        {'ann': {'d1': 2.0}, 'bob': {'d2': 1.0}}
        """
        return self._part(queries, docs, columns or {})

    def _part(self, queries: Any, docs: Any, exclusion_columns: ColumnsLike | None) -> Self:
        """Return a part of the run; `exclusion_columns` are stated for exclusions."""
        kept = exclusion_columns is None
        verb = "only" if kept else "without"
        if queries is None and docs is None:
            raise OptionError(f"{verb}(): state queries or docs")
        of_queries = None if queries is None else named_queries(queries, self._as_run)
        of_docs = None if docs is None else named_documents(docs, self._as_run, exclusion_columns)
        n_rows = list[int]()

        def wanted_queries(queries: Ids) -> Bools:
            if of_queries is None:
                return np.ones(len(queries), np.bool_)
            wanted: Bools = (of_queries.of(queries) >= 0) == kept
            return wanted

        def part(found: Grouped) -> Block:
            n_rows.append(len(found.block))
            stays = wanted_queries(found.queries)
            wanted = stays[found.group]
            if of_docs is not None:
                wanted &= of_docs.among(found) == kept
            emptied = stays & (np.bincount(found.group, wanted, len(stays)) == 0)
            empty = found.queries.take(np.flatnonzero(emptied)).to_list()
            if found.block.empty:
                before = Ids.of([*found.block.empty])
                empty += before.take(np.flatnonzero(wanted_queries(before))).to_list()
            return replace(found.block.take(np.flatnonzero(wanted)), empty=empty)

        parts = {"queries": queries, "documents": docs}
        named_parts = " and ".join(name for name, ids in parts.items() if ids is not None)
        said = f"{'some' if kept else 'all but some'} {named_parts} of"
        recipe = {verb: {"queries": _said(queries), "docs": _said(docs)}}
        run = self._made(part, said, self._each, recipe, needs_rows=kept)
        if kept:
            return run
        run_queries = named_queries(self, self._as_run).ids
        for places in (of_queries, None if of_docs is None else of_docs.queries):
            if places is not None and len(places.ids) and (places.of(run_queries) < 0).all():
                ids, source = places.ids.to_texts(), named(self.sources)
                run_ids = run_queries.to_texts()
                raise no_common_query(self.name, run_ids, "the exclusions", ids, source)
        is_empty = isinstance(docs, dict | list) and not any(
            docs.values() if isinstance(docs, dict) else docs
        )
        note = removal_note(sum(n_rows), run.rows.length or 0, nothing_excluded=is_empty)
        run.rows.notes = (*run.rows.notes, note)
        warn_of([note])
        return run

    def __or__(self, other: Any) -> Self:
        """Return the rows of both; where both have a document for a query, the left one's.

        Scores are taken as they are: of two systems, `fuse` makes them comparable.

        >>> from cranfield import Run
        >>> (Run({"q1": {"d1": 2.0}}) | Run({"q1": {"d2": 1.0}, "q2": {"d1": 1.0}})).to_dict()
        {'q1': {'d1': 2.0, 'd2': 1.0}, 'q2': {'d1': 1.0}}
        """
        if not isinstance(other, Altered):
            return NotImplemented
        roles = self._numbers & other._numbers
        if "score" in roles:
            roles -= {"rank"}  # which each run numbers alone
        elif {"score", "rank"} & (self._numbers | other._numbers):
            with_scores = "score" in self._numbers | other._numbers
            raise InputError(
                f"{self.name!r:.80} | {other.name!r:.80}: "
                + ("one has scores, the other none" if with_scores else "they have ranks alone"),
                hint="fuse([...]) makes one run of several.",
            )
        if "cost" in (self._numbers ^ other._numbers):
            raise InputError(f"{self.name!r:.80} | {other.name!r:.80}: one has a column cost alone")
        left, right = (one._whole(roles) for one in (self, other))
        seen = NamedDocuments.of_block(left)
        rest = np.flatnonzero(~seen.among(grouped(right, other._each)))
        added = replace(right.take(rest), left_out=right.left_out, empty=right.empty)
        both = joined([left, added])
        return self._held(both, f"{self.name} | {other.name}", {"union": other.made_from}, roles)

    def rerank(self, by: Any, rest: Rest = "below") -> Self:
        """Return the same documents with the scores of another run, as of a reranker.

        Documents that the other has not scored come below, in their old order ("below"), or are
        dropped ("drop"). So they get scores below its lowest for the query, in steps of 1 or more.

        >>> from cranfield import Run
        >>> first = Run({"q1": ["d1", "d2", "d3"]}, "bm25")
        >>> first.rerank(Run({"q1": {"d3": 0.9, "d2": 0.5, "d7": 0.4}})).to_dict()
        {'q1': {'d1': -0.5, 'd2': 0.5, 'd3': 0.9}}
        """
        one_of("rest", rest, get_args(Rest))
        return rerank(self, self._as_run(by), rest)

    def break_ties(self, by: Any) -> Self:
        """Return the same ranking, where documents of one score are in the order of another run.

        Those that the other lacks come last among them, by document id. The result has ranks, and
        no scores: by these, they would be tied again.

        >>> from cranfield import Run
        >>> run = Run({"q1": {"d1": 1.0, "d2": 1.0, "d3": 2.0}})
        >>> run.break_ties(Run({"q1": ["d1", "d2"]})).to_dict()
        {'q1': {'d3': -1.0, 'd1': -2.0, 'd2': -3.0}}
        """
        return break_ties(self, self._as_run(by))

    # ---- how they are made ----------------------------------------------------------------------

    @property
    def made_from(self) -> Any:
        """What this run is, for the recipe of another: its own recipe, or where it comes from."""
        if self.recipe:
            return dict(self.recipe)
        made_of = "" if self.made_of is None else f"; {self.made_of.said}"
        return f"{named(self.sources) or self._rows.form}{made_of}"

    @property
    def _numbers(self) -> frozenset[Role]:
        numbers = self._rows.numbers
        if self._rows.is_ranking:  # lists, whose places may be given as scores
            numbers -= {"score"}
        return numbers if self.made_of is None else numbers - self.made_of.drops

    def _made(
        self,
        change: Callable[[Grouped], Block],
        said: str,
        judging: Judging,
        recipe: Mapping[str, Any],
        *,
        by: Role | None = None,
        needs_rows: bool = False,
    ) -> Self:
        """Return the run of what becomes of each whole query.

        `by` is what it is ranked by then; None: as before. `needs_rows`: whether queries without
        documents alone are nothing.
        """
        self._refuse_spans()
        roles = self._numbers

        def every(wholes: Callable[[], Iterable[Grouped]]) -> list[Block]:
            found: list[Block] = []
            for of_queries in wholes():
                block = change(of_queries)
                docs, query = block.doc.compact(), block.query.compact()
                left_out = of_queries.block.left_out
                found.append(replace(block, query=query, doc=docs, left_out=left_out, given=None))
            return found

        blocks = self.in_whole_queries(in_order(roles), judging, every)
        block = joined(blocks) if blocks else no_rows(roles)
        if blocks and not len(block) and (needs_rows or not block.empty):
            raise InputError(
                f"nothing is left of the run {self.name!r:.80}", source=named(self.sources)
            )
        numbers = self._numbers if by is None else {by, *(self._numbers & {"cost"})}
        return self._held(block, f"{said} {self.name}", recipe, numbers)

    # ---- what is named --------------------------------------------------------------------------

    if TYPE_CHECKING:  # `Run` has them

        def _as_run(self, data: Any) -> Self:
            """Return a run from data of any kind."""

        def ranked_by(self, order: Order) -> Order:
            """Return by what the run is ranked if `order` is asked for."""

    def _held(
        self, block: Block, said: str, recipe: Mapping[str, Any], numbers: Iterable[Role]
    ) -> Self:
        """Return the run of some rows; those of a query may be in several places."""
        from cranfield.data.regroup import together

        begins = block.query.take(block.query.begins()).to_list()
        if len(set(begins)) < len(begins):
            block = together(block)
        there = set(begins)
        empty = [one for one in dict.fromkeys(block.empty) if one not in there]
        block, n = replace(block, empty=empty), len(there) + len(empty)
        form = f"{said} ({queries_of(n)}, {number_of(len(block), 'row')})"
        found = self._with(HeldRows(block, self._rows, form, numbers), None)
        made = {"cranfield": __version__, "run": self.made_from, **recipe}
        found.recipe = MappingProxyType(made)
        return found


def removal_note(n_before: int, n_left: int, *, nothing_excluded: bool = False) -> Note:
    """Say how many rows were removed; a warning if none was, of some that were to be."""
    n, all_rows = n_before - n_left, number_of(n_before, "row")
    text = f"{n:,} of {all_rows} removed: {n_left:,} of {all_rows} left."
    if n or nothing_excluded:
        return Note("without", "info", text, count=n)
    return Note("without", "warning", f"{text} Are ids written in the same way?", count=0)


def _said(given: Any) -> Any:
    """Return what was named, for the recipe: what it is, and how much if that is known."""
    if given is None or isinstance(given, str | os.PathLike):
        return given if given is None else printable(str(given))
    if isinstance(given, Altered):
        return given.made_from
    return f"{type(given).__name__} of {len(given):,}" if hasattr(given, "__len__") else "ids"
