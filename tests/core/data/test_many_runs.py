"""Many runs against the same judgments: each as if it were alone, and forgotten when scored."""

import pickle
import random
import subprocess
import sys
import weakref
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cranfield import evaluate, read_qrels, read_run
from cranfield.arrays import byte_strings, slots
from cranfield.arrays.byte_strings import find_repeated_keys, mix_words, pair_keys
from cranfield.arrays.ids import Ids
from cranfield.arrays.slots import PairIndex
from cranfield.data import match
from cranfield.data.judge import judge_all
from cranfield.formats.block import SIZES

N_RUNS = 12


@pytest.fixture
def track(tmp_path: Path) -> tuple[Path, list[Path]]:
    """Write judgments and runs that are not alike: in order and not, with ids of all lengths."""
    rng = random.Random(5)
    docs = [f"{'x' * rng.choice([0, 3, 9, 20, 600])}{i}" for i in range(300)]
    qrels = tmp_path / "qrels.txt"
    qrels.write_text(
        "".join(
            f"q{q} 0 {doc} {rng.randrange(-1, 3)}\n"
            for q in range(20)
            for doc in rng.sample(docs, 40)
        )
    )
    runs = []
    for i in range(N_RUNS):
        lines = []
        for q in rng.sample(range(25), 22):
            scores = [rng.randrange(50) / 4 for _ in range(100)]
            if i % 2:
                scores.sort(reverse=True)
            docs_and_scores = zip(rng.sample(docs, 100), scores, strict=True)
            lines += [f"q{q} Q0 {doc} 0 {score} r{i}\n" for doc, score in docs_and_scores]
        runs.append(tmp_path / f"r{i}.run")
        runs[-1].write_text("".join(lines))
    return qrels, runs


def test_each_run_has_the_scores_that_it_has_alone(track: tuple[Path, list[Path]]) -> None:
    """To the bit, and what is reported of it is the same."""
    qrels, runs = track
    together = evaluate(qrels, [*runs], "nDCG@10 AP RR bpref Judged@10")
    assert [*together] == [run.stem for run in runs]
    for run in runs:
        alone, run_scores = (
            evaluate(qrels, run, "nDCG@10 AP RR bpref Judged@10"),
            together[run.stem],
        )
        assert run_scores.values.tobytes() == alone.values.tobytes()
        assert (run_scores.counts, run_scores.notes) == (alone.counts, alone.notes)


def test_hits_are_those_of_a_loop(
    track: tuple[Path, list[Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the table is so small that most judgments find their slot taken."""
    qrels, runs = track
    judgments = read_qrels(qrels).to_dict()
    for bits in (1, 4, 14):
        monkeypatch.setattr(slots, "_MIN_BITS", bits)
        for run, judged_run in zip(
            runs, judge_all(read_qrels(qrels), [read_run(run) for run in runs]), strict=True
        ):
            n: Counter[str] = Counter()
            for line in run.read_text().splitlines():
                query, _, doc, *_ = line.split()
                n[query] += doc in judgments.get(query, {})
            hits = dict(
                zip(
                    judged_run.query_ids, judged_run.judged.hits.count()[:, 0].tolist(), strict=True
                )
            )
            assert hits == {query: n[query] for query in judgments}


@pytest.mark.parametrize("n_hashes", [1, 3, None])
def test_pairs_are_found_whatever_their_hashes(
    n_hashes: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where many pairs have one key, and after a pickle."""
    full_hash = Ids.hash

    def hash_few_bits(self: Ids, *keys: Any) -> Any:
        hashes = full_hash(self, *keys)
        return hashes if n_hashes is None else hashes % np.uint64(n_hashes)

    monkeypatch.setattr(Ids, "hash", hash_few_bits)
    rng = random.Random(11)
    texts = [b"%d" % i + b"x" * rng.choice([0, 9, 600]) for i in range(40)]
    all_pairs = [(group, text) for group in range(8) for text in texts]
    held_pairs, sought_pairs = rng.sample(all_pairs, 100), rng.sample(all_pairs, 250)
    pair_index = PairIndex(
        np.array([group for group, _ in held_pairs]), Ids.of([text for _, text in held_pairs])
    )
    sought_ids = Ids.of([text for _, text in sought_pairs])
    for index in (pair_index, pickle.loads(pickle.dumps(pair_index))):  # noqa: S301 - made here
        groups = np.array([group for group, _ in sought_pairs])
        rows, found_rows = index.find(groups, sought_ids, pair_keys(sought_ids.hash(), groups))
        expected = [
            (i, held_pairs.index(pair)) for i, pair in enumerate(sought_pairs) if pair in held_pairs
        ]
        assert [*zip(rows.tolist(), found_rows.tolist(), strict=True)] == expected
        assert 0 < len(expected) < 100


def test_judgments_that_met_a_run_are_pickled(track: tuple[Path, list[Path]]) -> None:
    """Hashes are other ones in another process, and are made again there."""
    qrels, runs = track
    judgments = read_qrels(qrels)
    expected = evaluate(judgments, runs[0], "AP").means()
    code = (
        "import pickle, sys; from cranfield import evaluate; "
        "qrels = pickle.load(sys.stdin.buffer); "
        "print(evaluate(qrels, sys.argv[1], 'AP').means())"
    )
    process = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, runs[0]],
        input=pickle.dumps(judgments),
        capture_output=True,
        check=True,
    )
    assert process.stdout.decode().strip() == repr(expected)


@pytest.mark.parametrize(("n_queries", "n_blocks"), [(9, 1), (15, 1), (16, 2), (30, 3)])
def test_a_file_little_longer_than_a_block_is_one(
    n_queries: int, n_blocks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block is as long as ten of these queries, which have ten lines of twelve bytes."""
    lines = [f"{chr(97 + q)} 0 {d} 1 1 t\n" for q in range(n_queries) for d in range(10)]
    monkeypatch.setattr(SIZES, "bytes", 10 * 10 * len(lines[0]))
    path = tmp_path / "a.run"
    path.write_text("".join(lines))
    lengths = [len(load()) for load in read_run(path).blocks()]
    assert (len(lengths), sum(lengths)) == (n_blocks, 10 * n_queries)


def test_runs_are_forgotten_when_they_are_scored(track: tuple[Path, list[Path]]) -> None:
    """Of a hundred runs, never more than two are held: the one that is scored, and the next."""
    qrels, runs = track
    match_refs: list[weakref.ref[match.Match]] = []
    max_alive = 0
    for judged_run in judge_all(read_qrels(qrels), [read_run(run) for run in runs]):
        match_refs.append(weakref.ref(judged_run.match))
        max_alive = max(max_alive, sum(match_ref() is not None for match_ref in match_refs))
    assert len(match_refs) == N_RUNS
    assert max_alive <= 2


def test_equal_is_equality_of_the_bytes() -> None:
    """Of any length: within a word, at its end, behind all words."""
    rng = random.Random(7)
    texts = [
        bytes(rng.choice(b"ab") for _ in range(n % 3)) + b"x" * rng.choice([1, 7, 8, 15, 16, 700])
        for n in range(200)
    ]
    ids, second_ids = Ids.of(texts), Ids.of(texts[::-1]).take(np.arange(200)[::-1])
    rows, second_rows = (np.array(rng.choices(range(200), k=3000)) for _ in range(2))
    is_equal = ids.equal(rows, second_ids, second_rows)
    assert is_equal.tolist() == [
        texts[i] == texts[j] for i, j in zip(rows, second_rows, strict=True)
    ]
    assert is_equal.any()
    assert not is_equal.all()


@pytest.mark.parametrize("bits", [1, 6, 22])
def test_rows_in_several_are_what_a_counter_finds(
    bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However small the table is."""
    monkeypatch.setattr(byte_strings, "_MAX_SLOT_BITS", bits)
    rng = np.random.default_rng(3)
    for n, kinds in ((0, 1), (1, 1), (500, 10**9), (500, 2000), (500, 20)):
        keys = mix_words(rng.integers(0, kinds, n).astype(np.uint64))
        count_of_key = Counter(keys.tolist())
        expected = [i for i, key in enumerate(keys.tolist()) if count_of_key[key] > 1]
        assert find_repeated_keys(keys).tolist() == expected


def test_a_note_on_many_runs_counts_them() -> None:
    """The first three are named: a page of names tells nobody more. Each run has its own notes."""
    qrels = {"q1": {"a": 1}}
    tied_runs = {f"r{i:02}": {"q1": {"a": 2.0, "b": 1.0, "c": 1.0}} for i in range(N_RUNS)}
    systems = evaluate(qrels, {**tied_runs, "other": {"q1": {"a": 1.0}}}, "RR")
    (note,) = (candidate for candidate in systems.notes if candidate.code == "ties")
    assert str(note) == (
        f"Ties, ranked by document id: r00 2 documents, r01 2, r02 2, and {N_RUNS - 3} more."
    )
    assert all("ties" in {run_note.code for run_note in systems[name].notes} for name in tied_runs)
    systems_of_three = evaluate(
        qrels, {name: tied_runs[name] for name in ("r00", "r01")} | {"o": {"q1": {"a": 1.0}}}, "RR"
    )
    (note,) = (candidate for candidate in systems_of_three.notes if candidate.code == "ties")
    assert note.text == "Ties, ranked by document id: r00 2 documents, r01 2."
