"""Collection: judgments read part by part, and what is known of them once all parts were read."""

from typing import Any

import numpy as np

from cranfield.arrays.ids import Ids, Packed, ids_of
from cranfield.arrays.ranked import Ints
from cranfield.data.fingerprint import digest_of
from cranfield.data.qrels import Qrels
from cranfield.data.reader import QrelsReader
from cranfield.data.regroup import bucket_of
from cranfield.data.relevance import no_judgment, usable
from cranfield.errors import DuplicateError
from cranfield.extensions.scale.deal import Dealt
from cranfield.extensions.scale.spill import Spill
from cranfield.formats.block import LeftOut
from cranfield.formats.columns import in_order
from cranfield.formats.source import named


class Held:
    """Judgments in memory."""

    has_spans = False

    def __init__(self, qrels: Qrels) -> None:
        self.whole = qrels
        self.has_spans = "start" in qrels.columns

    def sizes(self, n_buckets: int) -> Ints:
        """Return how many queries each bucket has."""
        self._bucket = bucket_of(ids_of(self.whole.query_ids), n_buckets)
        return np.bincount(self._bucket, minlength=n_buckets)

    def part(self, buckets: range) -> Qrels:
        """Return the judgments of some buckets."""
        inside = (self._bucket >= buckets.start) & (self._bucket < buckets.stop)
        ids = [self.whole.query_ids[i] for i in np.flatnonzero(inside).tolist()]
        none = LeftOut()  # the notes on the whole are given once
        return self.whole.of(ids).replaced(left_out=none, repeated=none, chunks=None, notes=())


class Spilt:
    """Judgments that were dealt to the buckets of a file."""

    def __init__(self, reader: QrelsReader, n_buckets: int, spill: Spill) -> None:
        numbers = reader.rows.numbers
        self._reader, self.has_spans = reader, "start" in numbers
        self.dealt = Dealt(reader.rows, in_order(numbers), reader.errors, n_buckets, spill, usable)
        if not self.dealt.sizes.any():
            raise no_judgment(named(reader.rows.sources), self.dealt.left_out)

    def sizes(self, n_buckets: int) -> Ints:
        """Return how many rows each bucket has."""
        return self.dealt.sizes

    def part(self, buckets: range) -> Qrels:
        """Return the judgments of some buckets."""
        try:
            return self._reader.of(self.dealt.part(buckets))
        except DuplicateError as error:
            every = [self.dealt.part(range(i, i + 1)) for i in np.flatnonzero(self.dealt.sizes)]
            raise self._reader.twice(error, every) from None


def of_collection(qrels: Qrels, top: float, are_whole: bool) -> Qrels:
    """Return judgments with the highest grade of the collection, in the form of its grades."""
    if are_whole:
        return qrels.replaced(top_of_all=int(top))
    return qrels.replaced(top_of_all=top, grade=qrels.grade.astype(np.float64))


class KnownJudgments:
    """What is known of the judgments of several parts."""

    def __init__(self) -> None:
        self.first: Qrels | None = None  # of the first part, without its rows
        self.lowest, self.highest, self.top, self.are_whole = np.inf, -np.inf, 0.0, True
        self.left_out, self.repeated = LeftOut(), LeftOut()
        self.chunks: tuple[int, int] | None = None
        self.ids: list[Packed] = []
        self.digest = 0

    def add(self, qrels: Qrels, *, digests: bool) -> None:
        """Take the judgments of another part."""
        if self.first is None:
            none: dict[str, Any] = {"columns": {}, "groups": None, "by_group": None}
            self.first = qrels.replaced(documents=Ids.of([]), grade=np.zeros(0), **none)
        self.ids.append(ids_of(qrels.query_ids).packed())
        if len(qrels):
            self.lowest = min(self.lowest, qrels.grade.min().item())
            self.highest = max(self.highest, qrels.grade.max().item())
            self.top = max(self.top, self.highest)
        self.are_whole &= qrels.grade.dtype.kind != "f"
        self.left_out += qrels.left_out
        self.repeated += qrels.repeated
        if qrels.chunks is not None:
            before = self.chunks or (0, 0)
            self.chunks = before[0] + qrels.chunks[0], before[1] + qrels.chunks[1]
        if digests:
            self.digest += digest_of(qrels)
