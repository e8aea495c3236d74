"""Every stored file of trec_eval's: the same bits in buckets, and on any number of processors.

That the numbers in memory are trec_eval's, test_trec_eval.py and test_same_bits.py say.
"""

from pathlib import Path

import pytest

from cranfield import Scores, evaluate, read_qrels
from cranfield.arrays import threads
from cranfield.formats.block import SIZES

MEASURES = (
    "AP AP(rel=2) nDCG nDCG@10 Rprec Bpref P@5 R@100 RR GMAP IPrec@0.1 infAP RBP ERR@20 "
    "RelString@20 NumRet NumRel NumRelRet Judged@10 Success@1"
)
GROUPS = "Prefs"  # of preferences; of judges, each a mind of its own, too
STORED_CASES = [
    *(("trec_eval", "qrels.test", f"results.{end}", None) for end in ("test", "trunc")),
    ("trec_eval", "qrels.test.with-comments", "results.test", None),
    ("trec_eval", "qrels.comment.test", "results.comment.test", None),
    ("trec_eval", "qrels.rel_level", "results.test", None),
    ("trec_eval", "qrels-302.test", "results-302.test", None),
    ("trec_eval", "qrels.test", "results.test", "qrels_prefs"),
    ("trec_eval", "prefs.test", "prefs.results.test", "prefs"),
    ("trec_eval", "prefs.comment.test", "prefs.results.test", "prefs"),
    ("trec_eval", "qrels.123", "results.test", "qrels_jg"),
    ("trec_eval", "qrels.comments.123", "results.test", "qrels_jg"),
    ("random", "qrels.txt", "run.txt", None),
    ("microblog2014", "qrels.txt", "result.txt", None),
    *(
        ("dl19", "qrels.txt", f"{name}.run.gz", None)
        for name in (
            *("ada2", "ada2-rankvicuna", "bm25", "bm25-rankgpt35", "bm25-rankvicuna", "bm25rm3"),
            *("bm25rm3-rankvicuna", "repllama", "splade", "splade-rankvicuna", "tasb"),
            "tasb-rankvicuna",
        )
    ),
]


@pytest.mark.parametrize(("folder", "qrels", "run", "form"), STORED_CASES)
@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
def test_buckets_and_processors_change_no_bit(
    data: Path, folder: str, qrels: str, run: str, form: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = data / folder / qrels if form is None else read_qrels(data / folder / qrels, form)
    measures = MEASURES if form is None else GROUPS

    def evaluate_files(n: int) -> Scores:
        scores = evaluate(judged, data / folder / run, measures, duplicates="first", buckets=n)
        assert isinstance(scores, Scores)
        return scores

    in_memory = evaluate_files(1)
    monkeypatch.setattr(SIZES, "bytes", 20_000)  # so that there is work for several threads
    monkeypatch.setattr(SIZES, "rows", 500)
    for n_cores in (1, 2, 8):
        monkeypatch.setattr(threads, "_count_cores", lambda n=n_cores: n)
        for n in (1, 16, 64):
            scores = evaluate_files(n)
            assert [*scores.query_ids] == [*in_memory.query_ids]
            assert scores.values.dtype == in_memory.values.dtype
            assert repr(scores.values.tolist()) == repr(in_memory.values.tolist())
            assert scores.means() == in_memory.means()
            assert scores.counts == in_memory.counts


def test_a_number_beside_texts_is_of_the_same_type_in_every_bucket() -> None:
    """Where a bucket has no hit, some measures return whole numbers."""
    judged = {f"q{i}": {"a": 1} for i in range(40)}
    run = {f"q{i}": ["a" if i % 20 == 0 else "x"] for i in range(40)}
    for n in (1, 16, 64):
        scores = evaluate(judged, run, "RelString@2 ERR@5 RR NumRet", buckets=n)
        assert isinstance(scores, Scores)
        kinds = {tuple(map(type, row)) for row in scores.values.tolist()}
        assert kinds == {(str, float, float, float)}
