"""FusedRows: the rows of a fused run, made for `fuse` whenever they are read."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from cranfield.arrays.byte_strings import pair_keys
from cranfield.arrays.ids import Ids, decode
from cranfield.arrays.ranked import Floats, Ints
from cranfield.arrays.rows import consecutive_numbers
from cranfield.arrays.threads import map_in_threads
from cranfield.data.judging import Judging
from cranfield.data.order import GroupedBlock, rank_documents
from cranfield.data.regroup import regroup_queries
from cranfield.data.run import Run
from cranfield.data.run_notes import duplicates_note
from cranfield.errors import DuplicateError, InputError
from cranfield.extensions.fusion.fusing import Fusing, Method
from cranfield.extensions.fusion.methods import fuse_lists, needs_scores
from cranfield.extensions.fusion.run_lists import RunLists
from cranfield.formats.block import Block, Errors, FaultyRows, Load, Role, Rows
from cranfield.notes import Note, warn_about
from cranfield.progress import watch_files
from cranfield.render.numbers import format_names, format_query_count

_ROWS_PER_BATCH = 1 << 17  # rows of all runs together, about
_LAG_BLOCKS = 24  # blocks: as many as 22 threads have in work at the same time


class RankedBlock(NamedTuple):
    """The ranked rows of some queries of a run, query after query."""

    queries: list[bytes]
    starts: Ints  # (queries + 1,)
    docs: Ids
    rank: Ints  # (rows,)
    score: Floats | None  # (rows,) None: the method needs no scores
    left_out: FaultyRows  # rows of the block that are not here
    repeats: FaultyRows  # rows whose document another row has

    def count_rows(self, position: int) -> int:
        """Return how many rows the query at this position has."""
        return int(self.starts[position + 1]) - int(self.starts[position])


class _RunList(NamedTuple):
    """Where a run has its list for a query: the run's number, a block, the position in it."""

    run: int
    block: RankedBlock
    position: int


class _QueryBatch(NamedTuple):
    """Some queries, and the lists of each query."""

    queries: list[bytes]
    lists: list[list[_RunList]]
    left_out: FaultyRows  # of all blocks read since the batch before


class FusedRows(Rows):
    """The rows of runs, fused: each document of a query once, the best first.

    The runs are read side by side, and rows are held until every run has come to their query, or
    has ended. If the runs have the same queries in about the same order, these are few.
    `weights` (n_runs,) are in the order of the runs; `description` says what is fused, and how.
    """

    def __init__(
        self,
        run_of_name: Mapping[str, Run],
        method: Method,
        fusing: Fusing,
        weights: Floats,
        judging: Judging,
        description: str,
    ) -> None:
        self._runs, self._method, self._fusing = [*run_of_name.values()], method, fusing
        self._names = [*run_of_name]
        self.is_quiet = False  # whether no warning is given
        self._weights, self._judging, self.description = weights, judging, description
        self.extra_roles, self.needs_scores = frozenset({"score"}), needs_scores(method, fusing)

    def blocks(self, wanted: Iterable[Role], errors: Errors) -> Iterator[Load]:
        """Yield the fused rows of some queries at a time.

        Raises InputError for a score that is not finite, for a query that comes back too late, and
        at the end if no query is in more than one of the runs; gives a CranfieldWarning, once, if
        some queries are not in all.
        """
        runs = [run.skip_faults() if errors == "skip" else run for run in self._runs]
        fuse_batch = partial(self._fuse_batch, with_scores="score" in wanted)
        with watch_files([source for run in runs for source in run.sources]) as report_share:
            batches = self._batches(runs, frozenset(), report_share)
            for block in map_in_threads(fuse_batch, batches):
                yield partial(_return_block, block)

    def _batches(
        self,
        runs: Sequence[Run],
        apart_runs: frozenset[int],
        report_share: Callable[[float], None],
    ) -> Iterator[_QueryBatch]:
        """Read the runs side by side, and yield batches of queries that all runs have come to.

        `apart_runs`: the numbers of runs whose rows of a query are not together. `report_share`
        hears which share of the rows that were read is in batches.
        """
        readers = [
            _RunReader(self, run, i, self._judging, is_apart=i in apart_runs)
            for i, run in enumerate(runs)
        ]
        unfinished_runs = set(range(len(runs)))
        lists_of_query: dict[bytes, list[_RunList]] = {}  # that wait for other runs
        released_queries: set[bytes] = set()  # queries that every run has reached
        rows_per_batch, has_yielded = _ROWS_PER_BATCH, False
        if self._fusing.absent != "left-out":  # then documents have a value from each run
            rows_per_batch //= len(runs)
        ready: list[bytes] = []  # queries of the next batch
        blocks_read: list[tuple[int, int]] = []
        query_counts, repeats = [0] * len(runs), [FaultyRows()] * len(runs)
        n_rows, left_out = 0, FaultyRows()
        n_rows_read = n_rows_batched = 0
        for i, block in map_in_threads(_rank_load, _schedule_loads(readers, blocks_read)):
            blocks_read.append((i, 0 if block is None else len(block.queries)))
            if block is None:
                unfinished_runs.discard(i)
                new_queries = [query for query in lists_of_query if query not in released_queries]
            else:
                new_queries, left_out = block.queries, left_out + block.left_out
                query_counts[i] += len(new_queries)
                repeats[i] += block.repeats
                n_rows_read += len(block.rank)
                for position, query in enumerate(new_queries):
                    lists = lists_of_query.setdefault(query, [])
                    if query in released_queries or any(run_list.run == i for run_list in lists):
                        if has_yielded:
                            raise _late_query_error(runs[i], query)
                        yield from self._batches(runs, apart_runs | {i}, report_share)
                        return
                    lists.append(_RunList(i, block, position))
            report_share(n_rows_batched / max(1, n_rows_read))
            for query in new_queries:
                lists = lists_of_query[query]
                if unfinished_runs <= {run_list.run for run_list in lists}:
                    ready.append(query)
                    released_queries.add(query)
                    n_rows += sum(
                        run_list.block.count_rows(run_list.position) for run_list in lists
                    )
                    if n_rows >= rows_per_batch:
                        has_yielded = True
                        n_rows_batched += n_rows
                        report_share(n_rows_batched / n_rows_read)
                        yield _QueryBatch(ready, [*map(lists_of_query.pop, ready)], left_out)
                        ready, n_rows, left_out = [], 0, FaultyRows()
        yield _QueryBatch(ready, [*map(lists_of_query.pop, ready)], left_out)
        self._make_notes(query_counts, repeats, len(released_queries))

    def _make_notes(
        self, counts: Sequence[int], repeats: Sequence[FaultyRows], n_queries: int
    ) -> None:
        """Set the notes on runs that lack queries, or have documents more than once.

        `counts` and `repeats` have the number of queries and the repeated documents of each run;
        all runs together have `n_queries`. Refuses runs that share no query.
        """
        if self.notes:  # the rows were read before
            return
        lacking_texts = [
            f"{name} lacks {n_queries - n:,}"
            for name, n in zip(self._names, counts, strict=True)
            if n < n_queries
        ]
        if n_queries and sum(counts) == n_queries:
            empty_runs = [name for name, n in zip(self._names, counts, strict=True) if not n]
            raise InputError(
                f"no query is in more than one of the runs {format_names(self._names)}",
                source=self._runs[0].source,
                hint=f"Empty, or without a row that can be used: {format_names(empty_runs)}."
                if empty_runs
                else "Check that all name queries in the same way.",
            )
        notes = [
            duplicates_note(name, repeated_rows, self._judging.duplicates)
            for name, repeated_rows in zip(self._names, repeats, strict=True)
            if repeated_rows.count
        ]
        if lacking_texts:
            text = (
                f"Of {format_query_count(n_queries)}, {format_names(lacking_texts)}: each is fused "
                "from the runs that have it."
            )
            notes.append(Note("missing-queries", "warning", text, count=len(lacking_texts)))
        self.notes = tuple(notes)
        if not self.is_quiet:
            warn_about(notes)

    def rank_block(self, run: Run, load: Load) -> RankedBlock:
        """Read a block of one of the runs, rank it, and keep the rows down to `Judging.depth`."""
        block, judging = load(), self._judging
        grouped_block = run.group_block(block, judging)
        is_inverted = self._fusing.norm == "min-max-inverted"
        if is_inverted and grouped_block.sort_score is not None:
            grouped_block = grouped_block._replace(sort_score=-grouped_block.sort_score)
        rank = rank_documents(grouped_block, judging).rank
        score = self._read_scores(grouped_block.block, run) if self.needs_scores else None
        if score is not None and is_inverted:
            score = -score
        docs, starts = grouped_block.block.doc, grouped_block.starts
        if judging.depth is not None:
            top_rows = np.flatnonzero(rank <= judging.depth)
            starts = np.searchsorted(top_rows, starts)
            docs, rank = docs.take(top_rows), rank[top_rows]
            score = None if score is None else score[top_rows]
        queries = [*grouped_block.queries.to_list(), *grouped_block.block.empty_queries]
        starts = np.append(starts, np.full(len(grouped_block.block.empty_queries), starts[-1]))
        left_out, repeats = grouped_block.block.left_out, grouped_block.repeats
        return RankedBlock(queries, starts, docs.compact(), rank, score, left_out, repeats)

    def _read_scores(self, block: Block, run: Run) -> Floats:
        """Return the scores of a block, (rows,); InputError for a score that is not finite."""
        score = np.asarray(block.columns["score"], np.float64)
        infinite_rows = np.flatnonzero(~np.isfinite(score))
        if len(infinite_rows):
            row = int(infinite_rows[0])
            raise block.row_error(
                row,
                f"the run {run.name!r:.80} has the score {score[row]} for the document "
                f"{decode(block.doc[row])!r}, which {self._method} cannot add to others",
                "Methods of ranks take it, as rrf does.",
            )
        return score

    def _fuse_batch(self, batch: _QueryBatch, *, with_scores: bool) -> Block:
        """Return a block of the fused rows of some queries; InputError for too large a score."""
        lists = self._gather_lists(batch)
        if lists is None:
            no_ids = Ids.of([])
            columns = {"score": np.zeros(0)} if with_scores else {}
            return Block(
                no_ids, no_ids, columns, left_out=batch.left_out, empty_queries=batch.queries
            )
        with np.errstate(over="ignore", invalid="ignore"):
            rows, score = fuse_lists(lists, self._method, self._fusing, self._weights)
        query = lists.query.take(rows)
        if not np.isfinite(score).all():
            row = int(np.flatnonzero(~np.isfinite(score))[0])
            raise InputError(
                f"query {decode(batch.queries[int(query[row])])!r}, document "
                f"{decode(lists.docs[int(rows[row])])!r}: the score of {self._method} is too large "
                f"for a number ({score[row]})",
                hint="Scores, weights or options are too large: choose a norm, or a method of "
                "ranks such as rrf.",
            )
        small_type = np.min_scalar_type(len(batch.queries))  # one or two bytes are sorted fast
        query_order = query.astype(small_type).argsort(kind="stable")
        query, rows = query.take(query_order), rows.take(query_order)
        score = score.take(query_order) + 0.0  # no -0.0
        counts = np.bincount(query, minlength=len(batch.queries))
        query_codes = np.flatnonzero(counts)
        starts = np.append(0, np.cumsum(counts[query_codes]))
        group = np.repeat(np.arange(len(query_codes)), counts[query_codes])
        ids, docs = Ids.of(batch.queries), lists.docs.take(rows)
        grouped_block = GroupedBlock(
            Block(ids.take(query), docs, {"score": score}),
            starts,
            group,
            ids.take(query_codes),
            pair_keys(docs.hash(), group),
            score,
        )
        order = np.empty(len(rows), np.int64)
        order[starts[group] + rank_documents(grouped_block).rank - 1] = np.arange(len(rows))
        return Block(
            ids.take(query).compact(),
            docs.take(order).compact(),
            {"score": score.take(order)} if with_scores else {},
            left_out=batch.left_out,
            empty_queries=[batch.queries[i] for i in np.flatnonzero(counts == 0)],
        )

    def _gather_lists(self, batch: _QueryBatch) -> RunLists | None:
        """Return the lists of a batch; None if they have no row."""
        lists_of_block: dict[tuple[int, int], list[tuple[int, _RunList]]] = {}
        for query_number, lists in enumerate(batch.lists):
            for run_list in lists:
                key = run_list.run, id(run_list.block)
                lists_of_block.setdefault(key, []).append((query_number, run_list))
        columns = [
            (run, *_take_queries(numbered_lists))
            for (run, _), numbered_lists in lists_of_block.items()
        ]
        columns = [block_columns for block_columns in columns if len(block_columns[3])]
        if not columns:
            return None
        run, query, counts, docs, rank, score = zip(*columns, strict=True)
        run_column, size = np.repeat(run, [*map(len, docs)]), np.concatenate(counts)
        return RunLists(
            Ids.concatenate(docs),
            np.repeat(np.concatenate(query), size),
            run_column,
            np.concatenate(rank),
            np.concatenate(score) if self.needs_scores else np.zeros(0),
            np.cumsum(size) - size,
            self._weights.take(run_column),
        )


class _RunReader:
    """A run that is read block by block, with counts of its progress."""

    def __init__(
        self, rows: FusedRows, run: Run, run_number: int, judging: Judging, *, is_apart: bool
    ) -> None:
        roles = run.roles(judging.order)
        if rows.needs_scores:
            roles = tuple(dict.fromkeys((*roles, "score")))
        loads = run.read_columns(roles)
        self.loads = iter(regroup_queries(loads)) if is_apart else iter(loads)
        self.rows, self.run, self.run_number, self.judging = rows, run, run_number, judging
        # Queries of `n_read` blocks, those that count as read, and blocks handed out.
        self.n_queries = self.n_read = self.n_blocks = 0
        self.has_ended = False

    @property
    def expected_queries(self) -> float:
        """About how many queries `n_blocks` have; their number, until one counts as read."""
        return self.n_queries * self.n_blocks / self.n_read if self.n_read else self.n_blocks


def _schedule_loads(
    readers: Sequence[_RunReader], blocks_read: Sequence[tuple[int, int]]
) -> Iterator[tuple[_RunReader, Load | None]]:
    """Yield the run that is most behind, and its next block; None for a block at its end.

    `blocks_read` grows: (run number, number of queries) of each block that was read. The last
    `_LAG_BLOCKS` do not count yet: so the order is the same with any number of threads up to 22.
    """
    n_counted = 0
    for n in count():
        while n_counted < min(n - _LAG_BLOCKS, len(blocks_read)):
            run_number, n_queries = blocks_read[n_counted]
            readers[run_number].n_queries += n_queries
            readers[run_number].n_read += 1
            n_counted += 1
        unfinished_readers = [reader for reader in readers if not reader.has_ended]
        if not unfinished_readers:
            return
        slowest_reader = min(unfinished_readers, key=lambda reader: reader.expected_queries)
        load = next(slowest_reader.loads, None)
        slowest_reader.n_blocks += 1
        slowest_reader.has_ended = load is None
        yield slowest_reader, load


def _rank_load(task: tuple[_RunReader, Load | None]) -> tuple[int, RankedBlock | None]:
    """Return a run's number and its next block, ranked; None at the end of the run."""
    reader, load = task
    if load is None:
        return reader.run_number, None
    try:
        return reader.run_number, reader.rows.rank_block(reader.run, load)
    except DuplicateError as error:
        raise reader.run.first_repeat_error(error, reader.judging) from None


def _take_queries(numbered_lists: Sequence[tuple[int, _RunList]]) -> Any:
    """Return numbers and sizes of the queries that have rows; documents, ranks, scores of these.

    The lists belong to one block; each comes with the number of its query in the batch.
    """
    block = numbered_lists[0][1].block
    query = np.array([number for number, _ in numbered_lists])
    position = np.array([run_list.position for _, run_list in numbered_lists])
    counts = block.starts[position + 1] - block.starts[position]
    rows: Any = consecutive_numbers(block.starts[position], counts)
    if (np.diff(position) == 1).all():  # as a rule, a slice is enough
        rows = slice(int(block.starts[position[0]]), int(block.starts[position[-1] + 1]))
    score = None if block.score is None else block.score[rows]
    has_rows = np.flatnonzero(counts)
    query, counts = query[has_rows], counts[has_rows]
    return query, counts, block.docs.take(rows), block.rank[rows], score


def _return_block(block: Block) -> Block:
    """Return a block that is made already, as a `Load` does."""
    return block


def _late_query_error(run: Run, query: bytes) -> InputError:
    """Return the error of a query that comes again when queries were fused already."""
    return InputError(
        f"the run {run.name!r}: the query {decode(query)!r} comes back after many others",
        source=run.source,
        hint="Put the rows of each query together first: Run.write(path), or cranfield convert IN "
        "OUT.",
        query_id=decode(query),
    )
