"""buckets=: rows are written to buckets in a temporary file, for data larger than the memory."""

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from cranfield.data.qrels import Qrels
from cranfield.data.reader import QrelsReader
from cranfield.data.run import Run
from cranfield.formats.block import Rows
from cranfield.options import option, whole_check
from cranfield.scoring.job import Job, JobScores, Scorer, ScoringOptions


def _folder(path: Any) -> str:
    if not isinstance(path, str | os.PathLike) or not os.path.isdir(path):
        raise ValueError("the path of an existing folder")
    if not os.access(path, os.W_OK | os.X_OK):
        raise ValueError("the path of a folder that may be written to")
    return os.fsdecode(path)


@dataclass(frozen=True, kw_only=True)
class Bucketing(ScoringOptions):
    """Into how many buckets, in a temporary file, rows are divided: data larger than memory."""

    heading: ClassVar = "Large data"
    flags: ClassVar = {"buckets": {"metavar": "N"}, "temp": {"metavar": "DIR"}}

    buckets: int | None = option(
        None,
        "Into how many parts to divide the queries. The parts are written to a temporary file and "
        "evaluated one after the other, which takes little memory. 1: hold all queries in memory. "
        "None: as many as needed where the judgments are a table or files of some million rows, "
        "else 1.",
        whole_check(1, 1 << 14),
    )
    temp: str | None = option(
        None,
        "The folder for this file. It takes a quarter to a half of the size of the input as text. "
        "None: that of the system (TMPDIR).",
        _folder,
    )

    def count_buckets(self, judgments: Qrels | QrelsReader, runs: Iterable[Run]) -> int:
        """Return the number of buckets: as stated, else 1 for judgments in memory, or not many."""
        if self.buckets is not None:
            return self.buckets
        if isinstance(judgments, Qrels):
            return 1
        n_judgments = _estimate_rows(judgments.rows)
        if n_judgments < _MIN_JUDGMENTS:
            return 1
        longest = max(_estimate_rows(run.rows) for run in runs)
        n_full = max(n_judgments / _JUDGMENTS_PER_BUCKET, longest / _RUN_ROWS_PER_BUCKET)
        return int(min(1 << max(1, math.ceil(math.log2(n_full))), 1 << 12))

    def reads_in_parts(self, judgments: Any, runs: Iterable[Run]) -> bool:
        """Tell whether there are several buckets."""
        return self.count_buckets(judgments, runs) > 1

    def announce(self, judgments: Any, runs: Iterable[Run]) -> str | None:
        """Return a text that says where the rows will be written; None: nowhere."""
        n_buckets = self.count_buckets(judgments, runs)
        if n_buckets == 1:
            return None
        import tempfile

        folder = tempfile.gettempdir() if self.temp is None else self.temp
        return (
            f"dealing the rows to {n_buckets:,} buckets in a temporary file in {folder} "
            "(--temp DIR)"
        )

    def wrap(self, score: Scorer) -> Scorer:
        """Return a scorer by buckets, which is `score` for judgments in memory and one bucket."""

        def score_in_parts(job: Job) -> JobScores:
            n_buckets = self.count_buckets(job.judgments, job.runs.values())
            if isinstance(job.judgments, Qrels) and n_buckets == 1:
                return score(job)
            from cranfield.extensions.scale.buckets import score_in_buckets  # which few need

            return score_in_buckets(job, n_buckets, self.temp)

        return score_in_parts


_MIN_JUDGMENTS = 4_000_000  # fewer are read into memory, where they take up some hundred MB
_JUDGMENTS_PER_BUCKET, _RUN_ROWS_PER_BUCKET = 1 << 17, 1 << 21  # about
_TEXT_ROW_BYTES, _PACKED_ROW_BYTES = 24, 5  # of a row as text; compressed, or in columns


def _estimate_rows(rows: Rows) -> float:
    """Return the number of rows, estimated by the sizes of files; 0 if small, or not known."""
    if rows.n_rows is not None:
        return rows.n_rows
    size_of_source = {source: source.size or 0 for source in rows.sources}
    if sum(size_of_source.values()) < _MIN_JUDGMENTS * _PACKED_ROW_BYTES:
        return 0  # and the files need not be looked at
    is_binary = not rows.is_text
    return sum(
        n_bytes / (_PACKED_ROW_BYTES if is_binary or source.is_compressed else _TEXT_ROW_BYTES)
        for source, n_bytes in size_of_source.items()
    )
