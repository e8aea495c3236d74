"""Ids: numbers that stand for the bytes of identifiers."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from cranfield.arrays.ids import Ids, decode, encode

ids = st.lists(
    st.one_of(
        st.binary(max_size=30),
        st.sampled_from([b"d1", b"d10", b"document", b"document1", b"a" * 16, b"a" * 17]),
        st.binary(min_size=120, max_size=200),
        # What goes on behind the words that are looked at in columns.
        st.binary(max_size=2).map(lambda end: b"x" * 511 + end),
        st.binary(max_size=2).map(lambda end: b"y" * 5000 + end),
    ),
    max_size=30,
)


@given(ids)
def test_the_bytes_come_back(texts: list[bytes]) -> None:
    for column in (Ids.of(texts), Ids.of_arrow(pa.array(texts, pa.binary()))):
        assert column.to_list() == texts
        assert [column[i] for i in range(len(texts))] == texts


@given(ids, st.integers(0, 5))
def test_a_slice_of_an_arrow_array_is_read_from_its_offset(texts: list[bytes], skip: int) -> None:
    for kind in (pa.binary(), pa.large_binary()):
        assert Ids.of_arrow(pa.array(texts, kind)[skip:]).to_list() == texts[skip:]


@given(ids)
def test_numbers_are_in_the_order_of_the_bytes(texts: list[bytes]) -> None:
    texts = [text.replace(b"\0", b"0") for text in texts]
    numbers = Ids.of(texts).sort_keys().tolist()
    for text, number in zip(texts, numbers, strict=True):
        for second_text, second_number in zip(texts, numbers, strict=True):
            assert (text < second_text) == (number < second_number)
            assert (text == second_text) == (number == second_number)


@given(ids, ids)
def test_compare_is_the_comparison_of_bytes(texts: list[bytes], second_texts: list[bytes]) -> None:
    n = min(len(texts), len(second_texts))
    rows = np.arange(n)
    signs = Ids.of(texts).compare(rows, Ids.of(second_texts), rows).tolist()
    expected = [
        (text > second_text) - (text < second_text)
        for text, second_text in zip(texts, second_texts, strict=False)
    ]
    assert signs == expected


@given(st.data())
def test_any_rows_in_any_order_are_compared(data: st.DataObject) -> None:
    """The bytes of ids of one length follow a pattern; a permutation of the rows does not."""
    size = data.draw(st.integers(1, 20))
    texts = data.draw(st.lists(st.binary(min_size=size, max_size=size), min_size=1, max_size=12))
    rows = data.draw(st.permutations(range(len(texts))))
    column, order = Ids.of(texts), np.array(rows)
    for j in range(column.n_words):
        assert column.word(j, order).tolist() == [int(column.word(j)[row]) for row in rows]
    signs = column.compare(order, column, np.arange(len(texts))).tolist()
    assert signs == [(texts[r] > t) - (texts[r] < t) for r, t in zip(rows, texts, strict=True)]
    step = data.draw(st.integers(1, 3))
    assert column.take(slice(0, None, step)).to_list() == texts[::step]
    column_part = column.take(slice(0, None, step))
    assert column_part.hash().tolist() == column.hash().tolist()[::step]
    assert column.take(order).hash().tolist() == column.hash()[order].tolist()


@given(ids)
def test_equal_ids_have_equal_hashes_and_short_ones_their_own(texts: list[bytes]) -> None:
    texts = [text.replace(b"\0", b"0") for text in texts]
    hashes = Ids.of(texts).hash().tolist()
    assert hashes == [Ids.of([text]).hash()[0] for text in texts], "alone as among others"
    short = {text: h for text, h in zip(texts, hashes, strict=True) if len(text) <= 8}
    assert len(set(short.values())) == len(short)


@given(ids)
def test_an_id_begins_where_it_differs_from_the_one_above(texts: list[bytes]) -> None:
    expected = [i for i in range(len(texts)) if i == 0 or texts[i] != texts[i - 1]]
    assert Ids.of(texts).find_changes().tolist() == expected


@given(ids)
def test_empty_ids_and_null_bytes_are_found(texts: list[bytes]) -> None:
    expected = [not text or b"\0" in text for text in texts]
    for column, expected_mask in (
        (Ids.of(texts), expected),
        (Ids.concatenate([Ids.of([b"a"]), Ids.of(texts)]), [False, *expected]),
    ):
        spoilt = column.mark_invalid()
        assert (spoilt is None) == (not any(expected_mask))
        assert spoilt is None or spoilt.tolist() == expected_mask


@given(st.lists(st.text(min_size=1)))
def test_texts_are_their_utf8(texts: list[str]) -> None:
    assert Ids.of_texts(texts).to_list() == [text.encode() for text in texts]


@given(st.binary())
def test_bytes_that_are_no_text_survive(data: bytes) -> None:
    assert encode(decode(data)) == data


@given(ids, ids)
def test_joined_columns_stand_below_each_other(
    texts: list[bytes], second_texts: list[bytes]
) -> None:
    assert Ids.concatenate([Ids.of(texts), Ids.of(second_texts)]).to_list() == texts + second_texts


@given(ids, st.data())
def test_rows_that_share_their_bytes_are_as_others(texts: list[bytes], data: st.DataObject) -> None:
    row_indices = st.lists(st.integers(0, max(0, len(texts) - 1)), max_size=12 if texts else 0)
    rows = data.draw(row_indices)
    shared, alone = Ids.of(texts).take(np.array(rows, np.int64)), Ids.of([texts[i] for i in rows])
    assert shared.to_list() == alone.to_list() == shared.compact().to_list()
    assert shared.hash().tolist() == alone.hash().tolist()
    assert shared.find_changes().tolist() == alone.find_changes().tolist()
    assert shared.sort_keys().tolist() == alone.sort_keys().tolist()
    is_invalid, expected_mask = shared.mark_invalid(), alone.mark_invalid()
    assert (is_invalid is None) == (expected_mask is None)
    assert (
        is_invalid is None or expected_mask is None or is_invalid.tolist() == expected_mask.tolist()
    )
    order = np.arange(len(rows))[::-1]
    signs, own_texts = shared.compare(np.arange(len(rows)), shared, order), [texts[i] for i in rows]
    expected = [
        (text > second_text) - (text < second_text)
        for text, second_text in zip(own_texts, own_texts[::-1], strict=True)
    ]
    assert signs.tolist() == expected


def test_a_long_id_that_stands_in_many_rows_is_held_once() -> None:
    """A thousand rows of two megabytes: they are not put beside each other."""
    long = "x" * 2_000_000
    for ids in (Ids.of_texts([long, "y"] * 500), Ids.of([long.encode(), b"y"] * 500)):
        assert len(ids._buffer) < 3 * len(long)
        assert ids.hash().tolist() == [ids.hash()[0], ids.hash()[1]] * 500
        assert ids.find_changes().tolist() == list(range(1000))
        assert ids.sort_keys().tolist() == [0, 1] * 500
        assert ids.compact().to_list() == ids.to_list() == [long.encode(), b"y"] * 500
        assert len(ids.compact()._buffer) < 3 * len(long)
