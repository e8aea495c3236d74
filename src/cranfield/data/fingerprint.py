"""Fingerprints: hashes of judgments and of retrieved documents, kept with saved scores.

A hash tells whether two judgments are the same. Of the documents that a run retrieved, the least
hashes are a sketch, by which two runs can be seen to have hardly a document in common, because
documents were cut, or named, differently in between (a bottom-k sketch: Cohen & Kaplan, PODC 2007).
"""

from hashlib import sha256
from typing import Any

import numpy as np

from cranfield.arrays.byte_strings import FIXED_KEYS, Words, mix_words
from cranfield.arrays.ranked import Numbers
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run

SKETCH_SIZE = 64  # hashes in a sketch
_HASH_DIGITS = 16  # of a hash


def hash_judgments(qrels: Qrels) -> str:
    """Return a hash (SHA-256) of judgments: of each query's documents and their grades.

    Neither the order of the rows nor the format matters, but everything that measures may see: the
    highest grade of the collection, how documents were sampled, the groups.

    >>> qrels = Qrels({"q1": {"a": 1, "b": 0}, "q2": {"a": 2}})
    >>> same_qrels = Qrels([("q2", "a", 2), ("q1", "b", 0), ("q1", "a", 1)])
    >>> hash_judgments(qrels) == hash_judgments(same_qrels)
    True
    """
    return hash_digest(digest_judgments(qrels), qrels.top_grade)


def digest_judgments(qrels: Qrels) -> int:
    """Return the sum of the hashes of each query's judgments; sums of parts can be added up.

    (A hash of such a sum is AdHash: Bellare & Micciancio, EUROCRYPT 1997.)
    """
    begins, columns = _judgment_rows(qrels)
    digest_sum = 0
    for query, begin, end in zip(qrels.query_ids, begins, begins[1:], strict=False):
        rows = sorted(zip(*(column[begin:end] for column in columns), strict=True))
        digest = sha256(repr((len(columns), query, rows)).encode()).digest()
        digest_sum += int.from_bytes(digest, "big")
    return digest_sum % (1 << 256)


def hash_digest(digest: int, top_grade: float) -> str:
    """Return the hash of judgments, by their digest and the highest grade of the collection."""
    (top_number,) = _plain_numbers(np.array([top_grade]))
    return sha256(repr((top_number, digest % (1 << 256))).encode()).hexdigest()


def _judgment_rows(qrels: Qrels) -> tuple[list[int], list[list[Any]]]:
    """Return the row where each query begins, and the last ends; the columns of rows, as lists."""
    docs = qrels.docs.to_list()
    levels = qrels.group_levels
    if levels is None:
        sampling_columns = [qrels.columns[role] for role in sorted(qrels.columns)]
        return qrels.starts.tolist(), [docs, *map(_plain_numbers, (qrels.grade, *sampling_columns))]
    starts = np.searchsorted(levels.query[levels.group], np.arange(len(qrels.query_ids) + 1))
    columns = [[levels.names[i] for i in levels.group.tolist()], levels.subgroup.tolist()]
    columns += [[docs[row] for row in levels.row.tolist()], _plain_numbers(levels.level)]
    if levels.weight is not None:
        columns.append(_plain_numbers(levels.weight[levels.group]))
    return starts.tolist(), columns


def _plain_numbers(column: Numbers) -> list[Any]:
    """Return a column as a list, whole numbers of any type as int."""
    numbers: list[Any] = column.tolist()
    if column.dtype.kind == "f":
        numbers = [int(number) if number.is_integer() else number for number in numbers]
    return numbers


def sketch_documents(run: Run) -> str:
    """Return the least 64 hashes of the documents that a run retrieved, each once, as hex digits.

    Of a run of chunks that are mapped, these are the documents. It reads the run once more.

    >>> run = Run({"q1": ["a", "b"], "q2": ["a"]})
    >>> sketch_documents(run) == sketch_documents(Run({"q": ["b", "a"]}))
    True
    """
    least_hashes: Words = np.zeros(0, np.uint64)
    for load in run.read_columns(run.needed_roles):
        block = load()
        docs = block.doc if run.conversion is None else run.conversion.document_ids(block)
        hashes = mix_words(docs.hash(FIXED_KEYS))
        if len(least_hashes) == SKETCH_SIZE:
            hashes = hashes[hashes < least_hashes[-1]]
        least_hashes = np.unique(np.concatenate((least_hashes, hashes)))[:SKETCH_SIZE]
    return "".join(f"{hash_number:0{_HASH_DIGITS}x}" for hash_number in least_hashes.tolist())


def estimate_overlap(sketch: str, second_sketch: str) -> float:
    """Estimate the share of documents of either run that are in both, by their sketches.

    As far as 64 hashes tell; exact where there are no more documents; 1 for two empty sketches.

    >>> sketch = sketch_documents(Run({"q": ["a", "b", "c"]}))
    >>> other_sketch = sketch_documents(Run({"q": ["b", "c", "d"]}))
    >>> estimate_overlap(sketch, other_sketch) == 2 / 4
    True
    """
    hashes, second_hashes = _split_hashes(sketch), _split_hashes(second_sketch)
    least_hashes = sorted(hashes | second_hashes)[:SKETCH_SIZE]
    if least_hashes:
        return len(hashes.intersection(second_hashes, least_hashes)) / len(least_hashes)
    return 1.0


def _split_hashes(sketch: str) -> set[str]:
    return {
        sketch[position : position + _HASH_DIGITS]
        for position in range(0, len(sketch), _HASH_DIGITS)
    }
