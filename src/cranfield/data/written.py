"""Runs written to files."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from cranfield.data.judging import Judging
from cranfield.data.order import Grouped, placed
from cranfield.errors import OptionError, one_of
from cranfield.formats.block import Block, Duplicates, LeftOut, Role
from cranfield.formats.columns import What, in_order
from cranfield.formats.source import Path
from cranfield.progress import ProgressLike, watching

if TYPE_CHECKING:
    from cranfield.data.run import Run


class Written(NamedTuple):
    """What was written: the number of rows, and what was left out."""

    rows: int
    left_out: LeftOut
    lost: Sequence[Role] = ()  # columns of the run that the format has no place for
    repeated: LeftOut = LeftOut()  # rows whose document another row of the query has, too
    chunks: int = 0  # before those of a document were merged; 0: none were


def write_run(
    run: "Run", path: Path, form_name: str | None, duplicates: Duplicates, progress: ProgressLike
) -> Written:
    """Write a run to a file: see `Run.write`."""
    from cranfield.formats.files import format_to_write, names_of, write_rows
    from cranfield.formats.format import Target

    if form_name is not None:
        one_of("format", form_name, names_of(What.RUN))
    form = format_to_write(path, form_name)
    room = form.runs
    if room is None:
        raise OptionError(f"format={form.name!r} is for judgments")
    kept = room.kept(run.numbers)
    by = run.ranked_by("score")
    needs_rank = room.needs_rank or "score" not in run.numbers
    wanted = in_order(kept | {by} if needs_rank else kept)  # ranks are made of it
    tag = (run.tag if form.name == "trec" else None) or run.name
    target = Target(os.fspath(path), What.RUN, tag)
    parts: list[tuple[int, LeftOut, LeftOut, int]] = []

    def ranked(wholes: Callable[[], Iterator[Grouped]]) -> Iterator[Block]:
        parts.clear()
        for whole in wholes():
            block = whole.block
            if needs_rank and block.rank is None:
                block = replace(block, columns={**block.columns, "rank": placed(whole).rank})
            parts.append((len(block), block.left_out, whole.repeated, whole.made[0]))
            yield block

    with watching(progress):
        run.in_whole_queries(
            wanted,
            Judging(duplicates=duplicates),
            lambda wholes: write_rows(form, target, lambda: ranked(wholes)),
        )
    return Written(
        sum(n for n, *_ in parts),
        sum((one for _, one, *_ in parts), LeftOut()),
        in_order(run.numbers - kept),
        sum((one for *_, one, _ in parts), LeftOut()),
        sum(n for *_, n in parts),
    )
