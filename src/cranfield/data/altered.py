"""RunOperations: runs made of runs, by selection of queries or documents, union, or another order.

A run is read block by block, once more if a query comes back after others, and the rows of the new
run are held in memory. Nothing is changed in place.
"""

import copy
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, get_args

import numpy as np

from cranfield.arrays.ids import IdIndex, Ids
from cranfield.arrays.ranked import Bools
from cranfield.data.documents import Documents
from cranfield.data.judging import Judging, Ties
from cranfield.data.named_ids import NamedDocuments, read_named_documents, read_named_queries
from cranfield.data.order import GroupedBlock, group_rows, rank_documents
from cranfield.data.reranked import UnscoredDocs, break_ties, rerank
from cranfield.data.run_notes import duplicates_note
from cranfield.errors import InputError, OptionError, check_choice, escape_unprintable
from cranfield.formats.block import (
    Block,
    Duplicates,
    MemoryRows,
    Order,
    Role,
    empty_block,
    join_blocks,
)
from cranfield.formats.columns import ColumnsLike, sort_roles
from cranfield.formats.shapes import first_of
from cranfield.formats.source import describe_sources
from cranfield.notes import Note, warn_about
from cranfield.options import check_option, whole_check
from cranfield.render.numbers import format_count, format_query_count
from cranfield.version import __version__

# Orders of tied documents that need no grades.
_FIXED_TIES: tuple[Ties, ...] = ("document", "ascending", "given")


class RunOperations(Documents):
    """The operations that make a run of a run: base class of `Run`."""

    #: How the run was made of other runs, as `fuse` makes it; else empty.
    recipe: Mapping[str, Any] = MappingProxyType({})
    exclusions: Sequence[NamedDocuments] = ()  # the documents that `without` left out

    def _drop_repeats(self, duplicates: Duplicates) -> Self:
        """Return the run with each document of a query once, and a note if rows are left out."""
        judging, repeated_rows = Judging(duplicates=duplicates), self.find_repeats()
        recipe = {"duplicates": duplicates}
        run = self._derive_run(lambda group: group.block, "each document once of", judging, recipe)
        if repeated_rows.count:
            run.rows.notes = (duplicates_note("the run", repeated_rows, duplicates),)
        return run

    def rename(self, name: str) -> Self:
        """Return the same run under another name.

        >>> from cranfield import Run
        >>> Run({"q1": ["d1"]}, "bm25").rename("baseline").name
        'baseline'
        """
        if not isinstance(name, str) or not name:
            raise OptionError(f"name={name!r:.80}: expected a string, what the run is called")
        renamed_run = copy.copy(self)
        renamed_run.name = name
        return renamed_run

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
        k = check_option("k", k, whole_check(1))
        self.resolve_order(order)  # raises what is wrong with that
        if ties not in _FIXED_TIES:
            raise OptionError(f"ties={ties!r:.40}: expected one of {', '.join(_FIXED_TIES)}")
        judging = Judging(order=order, ties=ties, duplicates=duplicates)

        def take_first(grouped_block: GroupedBlock) -> Block:
            rank = rank_documents(grouped_block, judging).rank
            rows, block = np.flatnonzero(rank <= k), grouped_block.block
            rows = rows[np.lexsort((rank[rows], grouped_block.group[rows]))]
            return replace(block.take(rows), empty_queries=block.empty_queries)

        recipe = {"top": k, **judging.changed_options()}
        return self._derive_run(take_first, f"the first {k:,} of", judging, recipe)

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
        return self._select_part(queries, docs, None)

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
        remaining_run = self._select_part(queries, docs, columns or {})
        warn_about(remaining_run.rows.notes[-1:])
        return remaining_run

    def _select_part(self, queries: Any, docs: Any, exclusion_columns: ColumnsLike | None) -> Self:
        """Return a part of the run; `exclusion_columns` is None where the named part is kept."""
        keeps_selection = exclusion_columns is None
        verb = "only" if keeps_selection else "without"
        if queries is None and docs is None:
            raise OptionError(f"{verb}(): state queries or docs")
        query_index = named_docs = None
        if queries is not None:
            query_index = read_named_queries(queries, self._make_run)
        if isinstance(docs, NamedDocuments):
            named_docs, docs = docs, docs.origin
        elif docs is not None:
            named_docs = read_named_documents(docs, self._make_run, exclusion_columns)
        if self._rows.holds_texts and self.conversion is not None and named_docs is not None:
            # Texts are ids here: equal texts are meant, also where texts may contain one another.
            named_docs = named_docs.normalize_texts()._replace(origin=docs)
            text_run = self._replace_rows(self._rows, None)
            part = text_run._select_part(queries, named_docs, exclusion_columns)
            return part._replace_rows(part._rows, self.conversion)
        counts: list[tuple[int, int]] = []  # of each block: rows, and queries that lose rows

        def query_stays(queries: Ids) -> Bools:
            if query_index is None:
                return np.ones(len(queries), np.bool_)
            stays: Bools = (query_index.find_rows(queries) >= 0) == keeps_selection
            return stays

        def select_rows(grouped_block: GroupedBlock) -> Block:
            block, group = grouped_block.block, grouped_block.group
            stays = query_stays(grouped_block.queries)  # (groups,)
            is_selected = stays[group]
            if named_docs is not None:
                is_selected &= named_docs.contains(grouped_block) == keeps_selection
            n_selected = np.bincount(group, is_selected, len(stays))
            n_cut = np.count_nonzero(n_selected < np.diff(grouped_block.starts))
            counts.append((len(block), int(n_cut)))
            is_emptied = stays & (n_selected == 0)
            empty_queries = grouped_block.queries.take(np.flatnonzero(is_emptied)).to_list()
            if block.empty_queries:
                empty_before = Ids.of([*block.empty_queries])
                stay_empty = np.flatnonzero(query_stays(empty_before))
                empty_queries += empty_before.take(stay_empty).to_list()
            return replace(block.take(np.flatnonzero(is_selected)), empty_queries=empty_queries)

        selections = {"queries": queries, "documents": docs}
        named_parts = " and ".join(name for name, ids in selections.items() if ids is not None)
        description = f"{'some' if keeps_selection else 'all but some'} {named_parts} of"
        contents = {"queries": _describe_selection(queries), "docs": _describe_selection(docs)}
        recipe, judging = {verb: contents}, self._unranked_judging
        options: dict[str, Any] = {"needs_rows": keeps_selection, "block_counts": counts}
        run = self._derive_run(select_rows, description, judging, recipe, **options)
        if keeps_selection:
            return run
        self._refuse_no_common(query_index, named_docs and named_docs.query_index)
        n_rows, n_queries = map(sum, zip((0, 0), *counts, strict=True))
        n_left = run.rows.n_rows or 0
        is_clear = isinstance(docs, dict | list) and first_of(docs) is None
        if n_left == n_rows and named_docs and named_docs.pair_index:  # removed before, maybe
            docs_of_all, loads = IdIndex(named_docs.pair_index.ids), run.rows.blocks((), "strict")
            is_clear |= any((docs_of_all.find_rows(load().doc) >= 0).any() for load in loads)
        note = removal_note(n_rows, n_left, n_queries, is_clear=is_clear)
        run.rows.notes = (*run.rows.notes, note)
        run.exclusions = self.exclusions if named_docs is None else (*self.exclusions, named_docs)
        return run

    def _refuse_no_common(self, *query_indices: IdIndex | None) -> None:
        """Raise an error if the run has none of the queries of exclusions."""
        for query_index in query_indices:
            if query_index is None or not len(query_index.ids):
                continue
            run_queries = read_named_queries(self, self._make_run).ids
            if (query_index.find_rows(run_queries) < 0).all():
                from cranfield.data.spelling import no_common_query_error

                ids, source = query_index.ids.to_texts(), describe_sources(self.sources)
                run_ids = run_queries.to_texts()
                raise no_common_query_error(self.name, run_ids, "the exclusions", ids, source)

    def __or__(self, second_run: Any) -> Self:
        """Return the rows of both; where both have a document for a query, the left one's.

        Scores are taken as they are: of two systems, `fuse` makes them comparable.

        >>> from cranfield import Run
        >>> (Run({"q1": {"d1": 2.0}}) | Run({"q1": {"d2": 1.0}, "q2": {"d1": 1.0}})).to_dict()
        {'q1': {'d1': 2.0, 'd2': 1.0}, 'q2': {'d1': 1.0}}
        """
        if not isinstance(second_run, RunOperations):
            return NotImplemented
        roles = self._extra_roles & second_run._extra_roles
        run_names = f"{self.name!r:.80} | {second_run.name!r:.80}"
        if "score" in roles:
            roles -= {"rank"}  # which each run numbers alone
        elif {"score", "rank"} & (self._extra_roles | second_run._extra_roles):
            with_scores = "score" in self._extra_roles | second_run._extra_roles
            raise InputError(
                f"{run_names}: "
                + ("one has scores, the other none" if with_scores else "they have ranks alone"),
                hint="fuse([...]) makes one run of several.",
            )
        if "cost" in (self._extra_roles ^ second_run._extra_roles):
            raise InputError(f"{run_names}: one has a column cost alone")
        block, second_block = (run._read_all(roles) for run in (self, second_run))
        second_groups = group_rows(second_block, second_run._unranked_judging)
        new_rows = np.flatnonzero(~NamedDocuments.of_block(block).contains(second_groups))
        new_block = replace(
            second_block.take(new_rows),
            left_out=second_block.left_out,
            empty_queries=second_block.empty_queries,
        )
        block, recipe = join_blocks([block, new_block]), {"union": second_run.origin}
        return self._hold_rows(block, f"{self.name} | {second_run.name}", recipe, roles)

    def rerank(self, by: Any, unscored: UnscoredDocs = "below") -> Self:
        """Return the same documents with the scores of another run, as of a reranker.

        Documents that the other has not scored come below, in their old order ("below"), or are
        dropped ("drop"). So they get scores below its lowest for the query, in steps of 1 or more.

        >>> from cranfield import Run
        >>> first = Run({"q1": ["d1", "d2", "d3"]}, "bm25")
        >>> first.rerank(Run({"q1": {"d3": 0.9, "d2": 0.5, "d7": 0.4}})).to_dict()
        {'q1': {'d1': -0.5, 'd2': 0.5, 'd3': 0.9}}
        """
        check_choice("unscored", unscored, get_args(UnscoredDocs))
        return rerank(self, self._make_run(by), unscored)

    def break_ties(self, by: Any) -> Self:
        """Return the same ranking, where documents of one score are in the order of another run.

        Those that the other lacks come last among them, by document id. The result has ranks, and
        no scores: by these, they would be tied again.

        >>> from cranfield import Run
        >>> run = Run({"q1": {"d1": 1.0, "d2": 1.0, "d3": 2.0}})
        >>> run.break_ties(Run({"q1": ["d1", "d2"]})).to_dict()
        {'q1': {'d3': -1.0, 'd1': -2.0, 'd2': -3.0}}
        """
        return break_ties(self, self._make_run(by))

    # ---- how runs are made ----------------------------------------------------------------------

    @property
    def origin(self) -> Any:
        """The origin of the run, for the recipe of a run made of it: its recipe, files or form."""
        if self.recipe:
            return dict(self.recipe)
        conversion = "" if self.conversion is None else f"; {self.conversion.description}"
        return f"{describe_sources(self.sources) or self._rows.description}{conversion}"

    @property
    def _extra_roles(self) -> frozenset[Role]:
        """The columns, besides the ids, that a run made of this run keeps."""
        roles = self._rows.extra_roles
        if self._rows.is_ranking:  # lists, whose ranks may be given as scores
            roles -= {"score"}
        return roles if self.conversion is None else roles - self.conversion.dropped_roles

    def _derive_run(
        self,
        change_block: Callable[[GroupedBlock], Block],
        description: str,
        judging: Judging,
        recipe: Mapping[str, Any],
        *,
        ranking_role: Role | None = None,
        needs_rows: bool = False,
        block_counts: list[Any] | None = None,
    ) -> Self:
        """Return the run of the blocks that `change_block` makes of blocks of whole queries.

        It is called `description` and the name of this run. `ranking_role` is the column that ranks
        it; None: as before. `block_counts` is what `change_block` counts in each block.
        Raises InputError if nothing, or, with `needs_rows`, no row is left.
        """
        self._refuse_spans()
        roles = self._extra_roles

        def change_blocks(grouped_blocks: Callable[[], Iterable[GroupedBlock]]) -> list[Block]:
            blocks: list[Block] = []
            (block_counts or []).clear()  # where a query comes back, all blocks are read once more
            for grouped_block in grouped_blocks():
                block, left_out = change_block(grouped_block), grouped_block.block.left_out
                block = replace(block, query=block.query.compact(), doc=block.doc.compact())
                blocks.append(replace(block, left_out=left_out, input_row=None))
            return blocks

        blocks = self.read_whole_queries(sort_roles(roles), judging, change_blocks)
        block = join_blocks(blocks) if blocks else empty_block(roles)
        if blocks and not len(block) and (needs_rows or not block.empty_queries):
            source = describe_sources(self.sources)
            raise InputError(f"nothing is left of the run {self.name!r:.80}", source=source)
        if ranking_role is not None:
            roles = frozenset({ranking_role}) | (roles & {"cost"})
        return self._hold_rows(block, f"{description} {self.name}", recipe, roles)

    # ---- the rows of a new run ------------------------------------------------------------------

    if TYPE_CHECKING:  # `Run` has them

        def _make_run(self, run: Any) -> Self:
            """Return a run from data of any kind."""

        def resolve_order(self, order: Order) -> Order:
            """Return what ranks the run if `order` is asked for."""

    def _hold_rows(
        self, block: Block, description: str, recipe: Mapping[str, Any], roles: Iterable[Role]
    ) -> Self:
        """Return the run of the rows of a block; rows of a query may be in several places."""
        from cranfield.data.regroup import gather_queries

        queries = block.query.take(block.query.find_changes()).to_list()
        query_ids = set(queries)
        if len(query_ids) < len(queries):
            block = gather_queries(block)
        empty_queries = [
            query for query in dict.fromkeys(block.empty_queries) if query not in query_ids
        ]
        block = replace(block, empty_queries=empty_queries)
        n_queries = format_query_count(len(query_ids) + len(empty_queries))
        description = f"{description} ({n_queries}, {format_count(len(block), 'row')})"
        run = self._replace_rows(MemoryRows(block, self._rows, description, roles), None)
        full_recipe = {"cranfield": __version__, "run": self.origin, **recipe}
        run.recipe = MappingProxyType(full_recipe)
        return run


def removal_note(n_before: int, n_left: int, n_queries: int = 0, *, is_clear: bool = False) -> Note:
    """Return the note on removed rows; a warning if there are none, unless it is clear why."""
    n, all_rows = n_before - n_left, format_count(n_before, "row")
    queries = f", in {format_query_count(n_queries)}" if n_queries else ""
    text = f"{n:,} of {all_rows} removed{queries}: {n_left:,} of {all_rows} left."
    if n or is_clear:
        return Note("without", "info", text, n_queries or None, count=n)
    return Note("without", "warning", f"{text} Are ids written in the same way?", count=0)


def _describe_selection(selection: Any) -> Any:
    """Return a selection's description for the recipe: path, origin, type and length, or "ids"."""
    if selection is None or isinstance(selection, str | os.PathLike):
        return selection if selection is None else escape_unprintable(str(selection))
    if isinstance(selection, RunOperations):
        return selection.origin
    if not hasattr(selection, "__len__"):
        return "ids"
    return f"{type(selection).__name__} of {len(selection):,}"
