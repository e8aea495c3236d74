"""Writes runs to files."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from cranfield.data.judging import Judging
from cranfield.data.order import GroupedBlock, rank_documents
from cranfield.errors import OptionError, check_choice
from cranfield.formats.block import Block, Duplicates, FaultyRows, Role
from cranfield.formats.columns import Side, sort_roles
from cranfield.formats.source import Path
from cranfield.progress import ProgressLike, watch_calls

if TYPE_CHECKING:
    from cranfield.data.run import Run


class Written(NamedTuple):
    """What was written to a file: the number of rows, and what was left out."""

    rows: int
    left_out: FaultyRows
    lost_roles: Sequence[Role] = ()  # columns of the run that the format has no place for
    repeats: FaultyRows = FaultyRows()  # rows that repeat a document of their query
    n_chunks: int = 0  # chunks that were mapped to documents; 0: none


def write_run(
    run: "Run", path: Path, form_name: str | None, duplicates: Duplicates, progress: ProgressLike
) -> Written:
    """Write a run to a file: see `Run.write`."""
    from cranfield.formats.files import choose_format, format_names, write_rows
    from cranfield.formats.format import OutputFile

    if form_name is not None:
        check_choice("format", form_name, format_names(Side.RUN))
    form = choose_format(path, form_name)
    column_room = form.runs
    if column_room is None:
        raise OptionError(f"format={form.name!r} is for judgments")
    stored_roles = column_room.select_roles(run.extra_roles)
    ranking_role = run.resolve_order("score")
    needs_rank = column_room.needs_rank or "score" not in run.extra_roles
    # Ranks are computed from the role that ranks.
    roles = sort_roles(stored_roles | {ranking_role} if needs_rank else stored_roles)
    tag = (run.tag if form.name == "trec" else None) or run.name
    target = OutputFile(os.fspath(path), Side.RUN, tag)
    # (rows, rows left out, rows that repeat a document, chunks) of each block.
    block_counts: list[tuple[int, FaultyRows, FaultyRows, int]] = []

    def rank_blocks(grouped_blocks: Callable[[], Iterator[GroupedBlock]]) -> Iterator[Block]:
        block_counts.clear()
        for grouped_block in grouped_blocks():
            block = grouped_block.block
            if needs_rank and block.rank is None:
                block = replace(
                    block, columns={**block.columns, "rank": rank_documents(grouped_block).rank}
                )
            n_chunks, repeats = grouped_block.conversion_counts[0], grouped_block.repeats
            block_counts.append((len(block), block.left_out, repeats, n_chunks))
            yield block

    with watch_calls(progress):
        run.read_whole_queries(
            roles,
            Judging(duplicates=duplicates),
            lambda grouped_blocks: write_rows(form, target, lambda: rank_blocks(grouped_blocks)),
        )
    return Written(
        sum(n_rows for n_rows, *_ in block_counts),
        sum((left_out for _, left_out, *_ in block_counts), FaultyRows()),
        sort_roles(run.extra_roles - stored_roles),
        sum((repeats for *_, repeats, _ in block_counts), FaultyRows()),
        sum(n_chunks for *_, n_chunks in block_counts),
    )
