"""Collection: judgments that `score_in_buckets` reads part by part, and the facts of all parts."""

from typing import Any

import numpy as np

from cranfield.arrays.ids import Ids, PackedIds, encode_ids
from cranfield.arrays.ranked import Ints
from cranfield.data.fingerprint import digest_judgments
from cranfield.data.judges import Judges
from cranfield.data.qrels import Qrels
from cranfield.data.reader import QrelsReader
from cranfield.data.regroup import assign_buckets
from cranfield.data.relevance import no_judgment_error, read_valid_block
from cranfield.errors import DuplicateError
from cranfield.extensions.scale.deal import BucketStore, GradeFacts
from cranfield.extensions.scale.spill import Spill
from cranfield.formats.block import FaultyRows
from cranfield.formats.columns import sort_roles
from cranfield.formats.source import describe_sources


class HeldJudgments:
    """Judgments in memory, which `count_per_bucket` divides before `select_buckets` selects."""

    has_spans = False

    def __init__(self, qrels: Qrels) -> None:
        self.qrels = qrels
        self.has_spans = "start" in qrels.columns

    def count_per_bucket(self, n_buckets: int) -> Ints:
        """Return how many queries each bucket has."""
        self._bucket_of_query = assign_buckets(encode_ids(self.qrels.query_ids), n_buckets)
        return np.bincount(self._bucket_of_query, minlength=n_buckets)

    def select_buckets(self, buckets: range) -> Qrels:
        """Return the judgments of some buckets."""
        bucket = self._bucket_of_query
        is_inside = (bucket >= buckets.start) & (bucket < buckets.stop)
        query_ids = [self.qrels.query_ids[i] for i in np.flatnonzero(is_inside).tolist()]
        no_rows = FaultyRows()  # the notes on the whole are given once
        return self.qrels.select_queries(query_ids).replace_fields(
            left_out=no_rows, repeats=no_rows, chunk_counts=None, notes=()
        )


class SpilledJudgments:
    """Judgments that were written to the buckets of a file; InputError if there is none."""

    def __init__(self, reader: QrelsReader, n_buckets: int, spill: Spill) -> None:
        extra_roles = reader.rows.extra_roles
        self._reader, self.has_spans = reader, "start" in extra_roles
        self.store = BucketStore(
            reader.rows, sort_roles(extra_roles), reader.errors, n_buckets, spill, read_valid_block
        )
        if not self.store.bucket_sizes.any():
            raise no_judgment_error(describe_sources(reader.rows.sources), self.store.left_out)

    def count_per_bucket(self, n_buckets: int) -> Ints:
        """Return how many rows each bucket has; there are as many as `__init__` was told."""
        return self.store.bucket_sizes

    def select_buckets(self, buckets: range) -> Qrels:
        """Return the judgments of some buckets."""
        try:
            return self._reader.read_part(self.store.select_buckets(buckets))
        except DuplicateError as error:
            single_buckets = [
                self.store.select_buckets(range(bucket, bucket + 1))
                for bucket in np.flatnonzero(self.store.bucket_sizes)
            ]
            raise self._reader.first_repeat_error(error, single_buckets) from None


def apply_grade_facts(qrels: Qrels, facts: GradeFacts) -> Qrels:
    """Return judgments with the highest grade of the collection; floats if that has fractions."""
    if facts.has_whole_grades:
        return qrels.replace_fields(stated_top_grade=int(facts.top_grade))
    grade = qrels.grade.astype(np.float64)
    return qrels.replace_fields(stated_top_grade=facts.top_grade, grade=grade)


class JudgmentFacts:
    """The facts of the judgments of several parts: grades, counts of rows, query ids, digest."""

    def __init__(self) -> None:
        self.template: Qrels | None = None  # the judgments of the first part, without its rows
        self.lowest_grade, self.highest_grade = np.inf, -np.inf
        self.grade_facts = GradeFacts()
        self.left_out, self.repeats = FaultyRows(), FaultyRows()
        self.chunk_counts: tuple[int, int] | None = None  # mapped chunks, and documents
        self.packed_query_ids: list[PackedIds] = []
        self.digest = 0
        self.judges: list[tuple[Judges, int]] = []  # and the number of judgments

    def add(self, qrels: Qrels, *, with_digest: bool) -> None:
        """Add the facts of the judgments of another part, `with_digest` also their digest."""
        if self.template is None:
            empty_fields: dict[str, Any] = {"columns": {}, "groups": None, "group_levels": None}
            self.template = qrels.replace_fields(
                documents=Ids.of([]), grade=np.zeros(0), **empty_fields
            )
        self.packed_query_ids.append(encode_ids(qrels.query_ids).pack())
        self.judges.append((qrels.judges, len(qrels)))
        if len(qrels):
            self.lowest_grade = min(self.lowest_grade, qrels.grade.min().item())
            self.highest_grade = max(self.highest_grade, qrels.grade.max().item())
        self.grade_facts = GradeFacts(
            max(self.grade_facts.top_grade, self.highest_grade),
            self.grade_facts.has_whole_grades and qrels.grade.dtype.kind != "f",
        )
        self.left_out += qrels.left_out
        self.repeats += qrels.repeats
        if qrels.chunk_counts is not None:
            previous_counts = self.chunk_counts or (0, 0)
            self.chunk_counts = (
                previous_counts[0] + qrels.chunk_counts[0],
                previous_counts[1] + qrels.chunk_counts[1],
            )
        if with_digest:
            self.digest += digest_judgments(qrels)
