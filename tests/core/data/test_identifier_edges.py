"""Identifiers at the edges: of any length, kept as bytes, at the ends of memory and of hashes."""

import random
from pathlib import Path

import numpy as np
import pytest

from cranfield import lazy, read_qrels
from cranfield.arrays.byte_strings import ByteStrings
from cranfield.arrays.grades import widen_grades
from cranfield.arrays.ids import IdList, Ids
from cranfield.arrays.ranked import Numbers
from cranfield.data import judgment_columns, regroup

LENGTHS = [1, 7, 8, 9, 16, 17, 64, 65, 127, 128, 129, 255, 256, 511, 512, 513, 600, 70_000]


def many(n: int = 60, seed: int = 1) -> list[bytes]:
    """Return identifiers of all lengths, of which some differ in their last byte only."""
    chance = random.Random(0)
    found = [b"", *(bytes(chance.choices(b"ab\xff", k=length)) for length in LENGTHS)]
    found += [one[:-1] + b"z" for one in found if one]
    return random.Random(seed).choices(found, k=n)


@pytest.mark.parametrize("ids", [many(), many(300, 2), [b"x" * 300] * 9, [b"a", b"bb"], [b""], []])
def test_packed_identifiers_are_unpacked(ids: list[bytes]) -> None:
    packed = Ids.of(ids).pack()
    assert packed.text_bytes.tobytes() == b"".join(ids)
    longest = max(map(len, ids), default=0)
    assert packed.length.itemsize == 1 + (longest > 255) + 2 * (longest > 65_535)
    found = Ids.of_packed(packed)
    assert found.to_list() == ids
    assert found.hash().tolist() == Ids.of(ids).hash().tolist()
    assert found.sort_keys().tolist() == Ids.of(ids).sort_keys().tolist()
    assert found.compact().to_list() == Ids.concatenate([found]).to_list() == ids


@pytest.mark.parametrize("seed", range(5))
def test_identifiers_are_equal_where_their_bytes_are(seed: int) -> None:
    chance = np.random.default_rng(seed)
    one, other = many(200, seed), many(150, seed + 100)
    rows, others = chance.integers(0, 200, 3000), chance.integers(0, 150, 3000)
    wanted = [one[i] == other[j] for i, j in zip(rows.tolist(), others.tolist(), strict=True)]
    assert any(wanted)
    assert Ids.of(one).equal(rows, Ids.of(other), others).tolist() == wanted
    compact = Ids.of(other).compact()  # of which starts and lengths take fewer bits
    assert Ids.of(one).compact().equal(rows, compact, others).tolist() == wanted


class _Memory:
    """Two gigabytes less a few bytes, of which only the last are held."""

    def __init__(self, end: int, last: bytes) -> None:
        self._begin = end - len(last)
        self._words = np.ndarray(len(last) + 1, np.uint64, last + bytes(8), strides=(1,))

    def __len__(self) -> int:
        return self._begin + len(self._words)

    def __getitem__(self, at: np.ndarray) -> np.ndarray:
        assert (at >= 0).all()
        return self._words[at.astype(np.int64) - self._begin]


def test_identifiers_at_the_end_of_two_gigabytes_are_compared() -> None:
    """Places behind their last byte are no number of 32 bits."""
    texts = [b"a" * 20, b"b" * 3, b"c"]
    last = b"".join(texts)
    end = 2**31 - 3
    start = np.array([end - 24, end - 4, end - 1], np.int32)
    ids = ByteStrings(np.zeros(8, np.uint8), start, np.array([20, 3, 1], np.int16))
    ids._word_at_byte = _Memory(end, last)  # type: ignore[assignment] # two gigabytes are too many
    rows = np.array([0, 0, 1, 2])
    other = Ids.of([b"a" * 20, b"a" * 19 + b"b", b"bbb", b"d"])
    assert ids.equal(rows, other, np.arange(4)).tolist() == [True, False, True, False]
    assert other.equal(np.arange(4), ids, rows).tolist() == [True, False, True, False]  # type: ignore[arg-type] # also columns


def test_no_identifier_is_half_of_a_surrogate_pair() -> None:
    assert "\ud800" not in IdList(Ids.of_texts(["a", "\udcff"]))
    assert "\udcff" in IdList(Ids.of_texts(["a", "\udcff"]))


@pytest.mark.parametrize(
    "hashes", [[0, 2**64 - 1], [0, 1], [5], [2**63, 2**63 - 1], [0, 1, 2**64 - 1]]
)
@pytest.mark.parametrize("collide", [False, True])
def test_rows_are_grouped_whatever_their_hashes(
    hashes: list[int], collide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hashes at both ends, beside one another, and the same of different queries."""
    texts = [b"q%d%s" % (i, b"-longer" * collide) for i in range(len(hashes) * (1 + collide))]
    of = {text: hashes[i % len(hashes)] for i, text in enumerate(texts)}
    monkeypatch.setattr(
        regroup,
        "fixed_hashes",
        lambda ids: np.array([of[one] for one in ids.to_list()], np.uint64),
    )
    rows = random.Random(3).choices(texts, k=50)
    order = regroup._sort_by_query(Ids.of(rows)).tolist()
    assert sorted(order) == list(range(50))
    found = [rows[i] for i in order]
    runs = [one for i, one in enumerate(found) if i == 0 or found[i - 1] != one]
    assert len(runs) == len(set(rows))  # adjacent
    for text in set(rows):
        its = [i for i in order if rows[i] == text]
        assert its == sorted(its)  # in their order
    for n in (1, 7, 1 << 14):
        bucket = regroup.assign_buckets(Ids.of(rows), n).tolist()
        assert bucket == [of[one] // 2**32 * n // 2**32 for one in rows]


def test_all_judgments_as_a_dict_take_the_grades_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of many judgments the grades in 64 bits are not kept: to make them takes long."""
    wanted = {f"q{i}": {"a": i % 3, "b": 1} for i in range(20)}
    path = tmp_path / "qrels.txt"
    path.write_text(
        "".join(f"{q} 0 {d} {g}\n" for q, docs in wanted.items() for d, g in docs.items())
    )
    judged = read_qrels(path)
    monkeypatch.setattr(lazy, "MAX_CACHED_ROWS", 10)
    calls = []

    def counted(grades: Numbers) -> Numbers:
        calls.append(len(grades))
        return widen_grades(grades)

    monkeypatch.setattr(judgment_columns, "widen_grades", counted)
    assert judged.to_dict() == wanted
    assert calls == [2 * len(wanted)]
