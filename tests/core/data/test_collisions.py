"""Ids that were made up to have one hash cost no more than others; the numbers are right anyway."""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cranfield import Qrels, Run, evaluate
from cranfield.arrays import slots
from cranfield.arrays.byte_strings import FIXED_KEYS
from cranfield.arrays.ids import Ids
from cranfield.data import match, order
from cranfield.data.judge import judge
from cranfield.formats.batches import BYTES_METADATA

N_WORDS = 11
WORDS = [int.from_bytes(b"word %03d" % i, "little") | 0x20 for i in range(N_WORDS)]
N = 1 << (N_WORDS - 1)


def joined(words: Sequence[int]) -> bytes:
    return b"".join(word.to_bytes(8, "little") for word in words)


def top_bits() -> list[bytes]:
    """Flip bits 63, 34 and 5 of a word, and bit 63 of the next.

    `(x ^ x >> 29) * odd ^ next` is the same then, for every odd number: a difference in the
    highest bit remains one in the highest bit.
    """
    made = []
    for flips in product((0, 1), repeat=N_WORDS - 1):
        words = WORDS.copy()
        for i, flip in enumerate(flips):
            words[i] ^= flip * (1 << 63 | 1 << 34 | 1 << 5)
            words[i + 1] ^= flip << 63
        made.append(joined(words))
    return made


def high_bits_of_halves() -> list[bytes]:
    """Flip bit 31 or 63 of words: times any even number, the difference vanishes in 32 bits."""
    return [
        joined(
            [WORDS[0], *(word ^ (flip << 31) for word, flip in zip(WORDS[1:], flips, strict=True))]
        )
        for flips in product((1, 1 << 32), repeat=N_WORDS - 1)
    ]


def shifted_differences() -> list[bytes]:
    """Add to a word what is taken from the next: no sum of the words distinguishes them."""
    made = []
    for flips in product((0, 1), repeat=N_WORDS - 1):
        words = WORDS.copy()
        for i, flip in enumerate(flips):
            words[i] += flip << 8
            words[i + 1] -= flip << 8
        made.append(joined(words))
    return made


def reordered() -> list[bytes]:
    """Put the same words in other orders: no symmetric function distinguishes them."""
    draw = np.random.default_rng(1)
    orders = {tuple(draw.permutation(N_WORDS).tolist()) for _ in range(2 * N)}
    return [joined([WORDS[i] for i in order]) for order in sorted(orders)[:N]]


def of_one_fixed_hash() -> list[bytes]:
    """Choose the first word so that the hash by the fixed numbers, which all know, is one."""
    draw = np.random.default_rng(2)
    tails = draw.integers(33, 127, (8 * N, 16), np.uint8)
    target = int.from_bytes(b"a target", "little")
    made = []
    for tail in tails:
        of_tail = int(Ids.of([b"\0" * 8 + tail.tobytes()]).hash(FIXED_KEYS)[0])
        first = (target - of_tail) % 2**64
        if not set(first.to_bytes(8, "little")) & set(b"\0\t\n\v\f\r "):
            made.append(first.to_bytes(8, "little") + tail.tobytes())
    return made[:N]


MADE: list[Callable[[], list[bytes]]] = [
    top_bits,
    high_bits_of_halves,
    shifted_differences,
    reordered,
    of_one_fixed_hash,
]


@pytest.mark.parametrize("make", MADE)
def test_made_up_ids_have_hashes_of_their_own(make: Callable[[], list[bytes]]) -> None:
    """By numbers drawn with a seed; those of a process are drawn as well, and nobody knows them."""
    ids = make()
    assert len(set(ids)) == len(ids) == N
    keys = np.random.default_rng(3).integers(0, 2**64, len(FIXED_KEYS), np.uint64, endpoint=False)
    assert len(set(Ids.of(ids).hash(keys).tolist())) == N
    assert len(set(Ids.of(ids).hash().tolist())) > N - 10  # fewer pairs than one are expected


def test_the_fixed_hash_can_be_met() -> None:
    assert len(set(Ids.of(of_one_fixed_hash()).hash(FIXED_KEYS).tolist())) == 1


def test_the_hash_is_the_sum_that_it_is_said_to_be() -> None:
    keys = np.random.default_rng(4).integers(0, 2**64, len(FIXED_KEYS), np.uint64, endpoint=False)
    for text in (b"short", b"eight by", b"nine byte", b"%d" % 10**29, b"x" * 512):
        words = [
            int.from_bytes(text[i : i + 8], sys.byteorder)
            if len(text) >= i + 8
            else int.from_bytes(text[i:].ljust(8, b"\0"), sys.byteorder)
            for i in range(0, len(text), 8)
        ]
        expected = words[0]
        for j, word in enumerate(words[1:]):
            low, high = word % 2**32, word // 2**32
            a, b = int(keys[2 * j]), int(keys[2 * j + 1])
            expected += a * low + (a * 2**32 + b) * high
        assert int(Ids.of([text]).hash(keys)[0]) == expected % 2**64


def test_the_numbers_are_drawn_in_every_process() -> None:
    code = (
        "from cranfield.arrays.ids import Ids; "
        "from cranfield.arrays.byte_strings import FIXED_KEYS; "
        "print(*Ids.of([b'a long id'] * 2).hash(), FIXED_KEYS[0])"
    )
    first, second = (
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout.split()
        for _ in range(2)
    )
    assert first[0] == first[1] != second[0]
    assert first[2] == second[2], "the fixed ones are not"


def table(ids: list[bytes], column: str) -> Any:
    numbers = np.arange(1, len(ids) + 1) if column == "relevance" else -np.arange(len(ids) * 1.0)
    return pa.table(
        {"query_id": [b"q"] * len(ids), "doc_id": ids, column: numbers}, metadata=BYTES_METADATA
    )


@pytest.mark.parametrize("n_judged", [1, N // 2, N])
def test_hits_are_found_though_all_have_one_hash(
    n_judged: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And every row is compared with few judgments, not with all."""
    ids = reordered()
    judged = sorted(ids)[:n_judged]
    expected = judge(Qrels(table(judged, "relevance")), Run(table(ids, "score"))).judged.hits
    monkeypatch.setattr(Ids, "hash", lambda self, keys=None: np.zeros(len(self), np.uint64))
    compared = []
    equal = Ids.equal

    def counted(self: Ids, rows: Any, other: Ids, other_rows: Any) -> Any:
        compared.append(len(rows))
        return equal(self, rows, other, other_rows)

    monkeypatch.setattr(Ids, "equal", counted)
    hits = judge(Qrels(table(judged, "relevance")), Run(table(ids, "score"))).judged.hits
    assert hits.rank.tolist() == expected.rank.tolist()
    assert hits.grade.tolist() == expected.grade.tolist()
    assert len(hits.rank) == n_judged
    assert 0 < sum(compared) <= 12 * N


def test_hits_are_found_though_a_document_has_one_key_for_all_queries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    qrels = {f"q{i}": {f"d{j}": 1 + i for j in range(3 + i % 2)} for i in range(20)}
    rows = [(f"q{i}", f"d{j}", -float(j)) for i in range(20) for j in range(5)]
    run = pa.table(dict(zip(("query_id", "doc_id", "score"), zip(*rows, strict=True), strict=True)))
    expected = evaluate(qrels, run, "AP nDCG NumRelRet").to_dict()
    for module in (match, order, slots):
        monkeypatch.setattr(module, "pair_keys", lambda hashes, group: hashes.copy())
    assert evaluate(qrels, run, "AP nDCG NumRelRet").to_dict() == expected
    assert evaluate(qrels, run, "NumRelRet").means()["NumRelRet"] == 10 * 3 + 10 * 4


def seconds(ids: list[bytes]) -> float:
    """Return the least processor time of three that a run of these ids takes, to read and evaluate.

    What other programs do at the same time does not count.
    """
    qrels, run = table(ids, "relevance"), table(ids, "score")
    took = []
    for _ in range(3):
        begin = time.process_time()
        evaluate(Qrels(qrels), Run(run), "AP")
        took.append(time.process_time() - begin)
    return min(took)


@pytest.mark.parametrize("make", MADE)
def test_made_up_ids_cost_what_others_cost(make: Callable[[], list[bytes]]) -> None:
    """The bound is generous, as the machine may be busy; step by step it was a hundred times."""
    ids = make()
    draw = np.random.default_rng(5)
    others = [draw.integers(33, 127, len(one), np.uint8).tobytes() for one in ids]
    assert seconds(ids) < 6 * seconds(others) + 0.05


def test_queries_of_one_fixed_hash_that_stand_apart_are_brought_together() -> None:
    queries = of_one_fixed_hash()
    twice = [*queries, *reversed(queries)]
    docs = [b"a"] * len(queries) + [b"b"] * len(queries)
    score = [1.0] * len(queries) + [2.0] * len(queries)
    run = Run(
        pa.table({"query_id": twice, "doc_id": docs, "score": score}, metadata=BYTES_METADATA)
    )
    rows = {"query_id": [*queries, *queries], "doc_id": [b"a"] * N + [b"b"] * N}
    qrels = Qrels(pa.table({**rows, "relevance": [1] * N + [0] * N}, metadata=BYTES_METADATA))
    assert evaluate(qrels, run, "RR")["RR"] == 1 / 2
