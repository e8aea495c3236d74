"""Rankings side by side: held against loops that sort and count, and against `explain`'s scene."""

import base64
import gzip
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield import Qrels, Run, compare, demo, rbo, read_qrels, read_run, report
from cranfield.data.judging import Judging
from cranfield.explanation.scene import Scene
from cranfield.extensions.report import rankings as module
from cranfield.extensions.report.rankings import EmbeddedRankings, embed_rankings

DocScores = dict[str, dict[str, float]]
DEMO = demo.QRELS, [str(path) for path in demo.RUNS]


def read(rankings: EmbeddedRankings | None) -> dict[str, dict[str, Any]]:
    """Return what a page would read."""
    assert rankings is not None
    if not rankings.n_queries:
        return {}
    queries = json.loads(gzip.decompress(base64.b64decode(rankings.archive)))
    assert len(queries) == rankings.n_queries <= rankings.n_total
    return dict(queries)


def lists_of(qrels: Any, runs: Any, top: int = 20, **options: Any) -> dict[str, dict[str, Any]]:
    """Return the embedded rankings of all queries, by the id of the query."""
    aligned_scores = compare(qrels, runs, "nDCG@10", test="t", **options).aligned
    rankings_of_query = read(embed_rankings(aligned_scores, depth=top, budget=10_000_000))
    assert len(rankings_of_query) == len(aligned_scores.query_ids)
    return {
        aligned_scores.query_ids[int(place)]: rankings
        for place, rankings in rankings_of_query.items()
    }


def ranks(docs: list[str]) -> dict[str, int]:
    """Return the first rank of each document."""
    rank_of_doc: dict[str, int] = {}
    for rank, doc in enumerate(docs, 1):
        rank_of_doc.setdefault(doc, rank)
    return rank_of_doc


def assert_shown(
    rankings: dict[str, Any], lists: list[list[str]], grades: Mapping[str, Any], depth: int
) -> None:
    """Hold one query against its rankings, each a list of documents as it is to be, by loops."""
    of_systems = [ranks(docs) for docs in lists]
    first = {
        doc
        for ranks_of_system in of_systems
        for doc, rank in ranks_of_system.items()
        if rank <= depth
    }
    relevant = {doc for doc, grade in grades.items() if grade > 0}
    assert sorted(rankings["d"]) == sorted(first | relevant)
    assert rankings["g"] == [grades.get(doc) for doc in rankings["d"]]
    assert rankings["r"] == [
        [ranks_of_system.get(doc, 0) for doc in rankings["d"]] for ranks_of_system in of_systems
    ]
    assert rankings["n"] == [len(docs) for docs in lists]
    assert rankings["rel"] == len(relevant)
    # Those nearest to the top of any come first, then the others by grade.
    nearest = [
        min(ranks_of_system.get(doc, 10**9) for ranks_of_system in of_systems)
        for doc in rankings["d"][: len(first)]
    ]
    assert set(rankings["d"][: len(first)]) == first
    assert nearest == sorted(nearest)
    rest = [grades[doc] for doc in rankings["d"][len(first) :]]
    assert rest == sorted(rest, reverse=True)


def sorted_by(scores: dict[str, float], *, ascending: bool = False) -> list[str]:
    """Return documents by score, falling; equal ones by the bytes of their ids."""
    by_id = sorted(scores, key=lambda doc: doc.encode(), reverse=not ascending)
    return sorted(by_id, key=lambda doc: -scores[doc])


# ---- against loops ------------------------------------------------------------------------------

_DOCS = st.sampled_from(["a", "b", "c", "d", "é", "a-long-document-1", "a-long-document-2", "0"])
_RUN = st.dictionaries(
    st.sampled_from(["q1", "q2", "q10", "q3"]),
    st.dictionaries(_DOCS, st.sampled_from([0.0, 0.5, 1.0, -2.0, 3.25]), max_size=8),
    max_size=4,
)
_QRELS = st.dictionaries(
    st.sampled_from(["q1", "q2", "q10"]),
    st.dictionaries(_DOCS, st.integers(-2, 6), min_size=1, max_size=6),
    min_size=1,
)


def share_documents(qrels: DocScores, runs: list[DocScores]) -> bool:
    """Tell whether each run has a judged document, without which it is refused."""
    return all(
        any(run.get(q, {}).keys() & docs.keys() for q, docs in qrels.items()) for run in runs
    )


@settings(deadline=None)
@given(_QRELS, st.lists(_RUN, min_size=1, max_size=3), st.integers(1, 5), st.data())
def test_rankings_by_a_loop(qrels: DocScores, runs: list[DocScores], depth: int, data: Any) -> None:
    if not share_documents(qrels, runs):
        return
    option = data.draw(
        st.sampled_from(
            [{}, {"ties": "ascending"}, {"depth": 2}, {"judged_only": True},
             {"unretrieved": "below"}, {"depth": 3, "judged_only": True}, {"ties": "best"},
             {"scores_above": 0.0}, {"order": "given"}]
        )
    )  # fmt: skip
    run_of_name = {f"s{i}": run for i, run in enumerate(runs)}
    page_lists = lists_of(qrels, run_of_name, depth, **option)
    for query, grades in qrels.items():
        lists = [_rank_by_loop(run.get(query, {}), grades, option) for run in runs]
        assert_shown(page_lists[query], lists, grades, depth)


def _rank_by_loop(
    scores: dict[str, float], grades: dict[str, float], option: dict[str, Any]
) -> list[str]:
    scores = {doc: score for doc, score in scores.items() if score > option.get("scores_above", -9)}
    docs = sorted_by(scores, ascending=option.get("ties") == "ascending")
    if option.get("order") == "given":
        docs = [*scores]
    if option.get("ties") == "best":
        docs.sort(key=lambda doc: (-scores[doc], -grades.get(doc, -99)))
    docs = docs[: option.get("depth")]
    if option.get("judged_only"):
        docs = [doc for doc in docs if grades.get(doc, -1) >= 0]
    if option.get("unretrieved") == "below":
        below = [doc for doc in grades if doc not in docs]
        docs += sorted(below, key=lambda doc: doc.encode(), reverse=True)
    return docs


def test_rankings_of_the_demonstration() -> None:
    qrels, lists = read_qrels(demo.QRELS).to_dict(), lists_of(*DEMO)
    runs = [read_run(path).to_dict() for path in DEMO[1]]
    for query, grades in qrels.items():
        assert_shown(lists[query], [sorted_by(run[query]) for run in runs], grades, 20)


def test_chunks_are_shown_as_their_documents() -> None:
    qrels = {"q1": {"d1": 2, "d4": 1}}
    chunks = {"d1#0": 0.5, "d2#1": 0.9, "d1#3": 0.8, "d3#0": 0.7, "d2#0": 0.1}
    run = Run({"q1": chunks}, "a").map_docs("(.*)#", "best")
    lists = lists_of(qrels, [run, Run({"q1": {"d1": 1.0}}, "b")])["q1"]
    assert_shown(lists, [["d2", "d1", "d3"], ["d1"]], qrels["q1"], 20)


def test_spans_are_shown_as_the_judged_ones_that_they_meet() -> None:
    rows = [("q1", "d1", 0, 100, 1), ("q1", "d2", 50, 90, 2), ("q2", "d1", 0, 10, 1)]
    names = ("query_id", "doc_id", "start", "end", "relevance")
    qrels = Qrels([dict(zip(names, row, strict=True)) for row in rows])
    spans = {"q1": ["d3:0-9", "d1:10-90", "d2:55-95"], "q2": ["d1:500-600", "d1:1-9"]}
    runs = [
        Run(spans, "a").spans(r"(?P<doc>.*):(?P<start>\d+)-(?P<end>\d+)"),
        Run({"q1": ["d1:0-100"]}, "b").spans(r"(?P<doc>.*):(?P<start>\d+)-(?P<end>\d+)"),
    ]
    page_lists = lists_of(qrels, runs)
    lists = [["d3[0:9]", "d1[0:100]", "d2[50:90]"], ["d1[0:100]"]]
    assert_shown(page_lists["q1"], lists, {"d1[0:100]": 1, "d2[50:90]": 2}, 20)
    assert_shown(page_lists["q2"], [["d1[500:600]", "d1[0:10]"], []], {"d1[0:10]": 1}, 20)


@pytest.mark.parametrize("duplicates", ["first", "best", "once", "each"])
def test_a_document_that_is_there_twice_has_its_best_rank(duplicates: Any) -> None:
    rows = [("q1", "a", 1.0), ("q1", "b", 3.0), ("q1", "a", 2.0), ("q1", "c", 1.5)]
    runs = [Run(rows, "x"), Run({"q1": {"c": 1.0}}, "y")]
    shown_docs = {
        "first": ["b", "c", "a"],
        "best": ["b", "a", "c"],
        "once": ["b", "a", "c", "a"],
        "each": ["b", "a", "c", "a"],
    }
    lists = lists_of({"q1": {"a": 1}}, runs, duplicates=duplicates)["q1"]
    assert_shown(lists, [shown_docs[duplicates], ["c"]], {"a": 1}, 20)


def test_fractional_grades_and_judgments_in_groups() -> None:
    run = {"x": {"q1": {"a": 2.0, "b": 1.0}}}
    lists = lists_of({"q1": {"a": 0.25, "c": 0.0}}, run)["q1"]
    assert_shown(lists, [["a", "b"]], {"a": 0.25, "c": 0.0}, 20)
    groups = Qrels({"q1": {"ann": [{"a": 1, "b": 3}], "bob": [{"a": 2}]}})
    comparison = compare(groups, run, "alpha_nDCG@10", test="t")
    rankings = embed_rankings(comparison.aligned)
    assert_shown(read(rankings)["0"], [["a", "b"]], {"a": 2, "b": 3}, 20)
    assert rankings is not None
    assert [note.code for note in rankings.notes] == ["best-of-groups"]


@pytest.mark.parametrize(
    ("options", "code"),
    [({"ties": "expected"}, "ties-shown"), ({"duplicates": "each"}, "best-rank-shown")],
)
def test_what_one_order_does_not_show_is_said(options: dict[str, Any], code: str) -> None:
    rankings = embed_rankings(compare(*DEMO, "nDCG@10", test="t", **options).aligned)
    assert rankings is not None
    assert [note.code for note in rankings.notes] == [code]


def test_they_are_those_that_explain_shows() -> None:
    runs, qrels = [read_run(path) for path in DEMO[1]], read_qrels(demo.QRELS)
    judging = Judging(depth=30, judged_only=True)
    page_lists = lists_of(qrels, runs, top=5, **judging.changed_options())
    for query in qrels.query_ids:
        scenes = [Scene.of(qrels, run, query, judging) for run in runs]
        lists = [[*scene.docs] for scene in scenes]
        assert_shown(page_lists[query], lists, scenes[0].grades, 5)


# ---- which queries, and how many bytes ----------------------------------------------------------


def test_the_queries_that_systems_differ_on_most_come_first() -> None:
    aligned_scores = compare(*DEMO, "nDCG@10 AP", test="t").aligned
    scores = aligned_scores.measure_scores("nDCG@10").tolist()
    spread = {str(i): max(row) - min(row) for i, row in enumerate(scores)}
    expected_order = sorted(spread, key=lambda place: -spread[place])
    sizes = []
    for budget in (200, 5_000, 10_000, 20_000, 1_000_000):
        rankings = embed_rankings(aligned_scores, budget=budget)
        assert rankings is not None
        assert len(rankings.archive) <= budget
        assert rankings.n_total == 40
        assert [*read(rankings)] == expected_order[: rankings.n_queries]
        sizes.append(rankings.n_queries)
    assert sizes == sorted(sizes)
    assert sizes[0] == 0
    assert 0 < sizes[2] < 40 == sizes[-1]


def test_each_run_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read_names = []
    aligned_scores = compare(*DEMO, "AP", test="t").aligned

    def refuse_read(self: Run, columns: Any) -> Any:
        if self.sources:  # else it is held in memory
            read_names.append(self.name)
        return self.rows.blocks(tuple(columns), self.errors)

    monkeypatch.setattr(Run, "read_columns", refuse_read)
    assert len(read(embed_rankings(aligned_scores))) == 40
    assert read_names == [*aligned_scores.system_names]


def test_a_page_reads_each_run_three_times_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the curves, for the rankings, and, of two of them, for the worksheets."""
    n_read: Counter[str] = Counter()
    comparison, read_columns = compare(*DEMO, "nDCG@10 AP", test="t"), Run.read_columns

    def count_reads(self: Run, columns: Any) -> Any:
        n_read[self.name] += bool(self.sources)  # else it is held in memory
        return read_columns(self, columns)

    monkeypatch.setattr(Run, "read_columns", count_reads)
    report(comparison)
    assert sorted(n_read.values()) == [2, 2, 3, 3]


def test_no_more_queries_are_held_than_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    aligned_scores = compare(*DEMO, "AP", test="t").aligned
    all_queries = [*read(embed_rankings(aligned_scores))]
    monkeypatch.setattr(module, "MAX_ROWS", 500)
    page_queries = [*read(embed_rankings(aligned_scores))]
    assert 0 < len(page_queries) < 40
    assert page_queries == all_queries[: len(page_queries)]
    monkeypatch.setattr(module, "MAX_QUERIES", 3)
    assert [*read(embed_rankings(aligned_scores))] == all_queries[:3]


def test_saved_scores_have_no_rankings() -> None:
    assert embed_rankings(compare({"a": {"q1": 0.5}, "b": {"q1": 0.25}}).aligned) is None


# ---- texts --------------------------------------------------------------------------------------


def test_texts_of_the_documents_that_are_shown() -> None:
    qrels, run = {"q1": {"a": 1, "z": 2}}, {"x": {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}}}
    aligned_scores = compare(qrels, run, test="t").aligned
    texts = {"a": "first  text", "b": "long " * 100, "z": "not among the first", "c": ""}
    rankings = embed_rankings(aligned_scores, depth=3, doc_texts=texts)
    first_rankings = read(rankings)["0"]
    assert first_rankings["d"] == ["a", "b", "c", "z"]
    assert first_rankings["t"] == ["first text", ("long " * 100)[:329] + "…", "", ""]
    assert rankings is not None
    assert [(n.code, n.count) for n in rankings.notes] == [("no-text", 1)]
    assert "t" not in read(embed_rankings(aligned_scores))["0"]


def test_texts_count_towards_the_budget(tmp_path: Path) -> None:
    aligned_scores = compare(*DEMO, "AP", test="t").aligned
    source = np.random.default_rng(3)
    docs = {
        doc
        for path in DEMO[1]
        for of_query in read_run(path).to_dict().values()
        for doc in of_query
    }
    file = tmp_path / "docs.tsv"
    words = {doc: " ".join(map(str, source.integers(0, 10**9, 40).tolist())) for doc in docs}
    file.write_text("".join(f"{doc}\t{text}\n" for doc, text in words.items()))
    without = embed_rankings(aligned_scores, budget=30_000)
    rankings = embed_rankings(aligned_scores, budget=30_000, doc_texts=file)
    assert rankings is not None
    assert without is not None
    assert 0 < rankings.n_queries < without.n_queries
    assert len(rankings.archive) <= 30_000
    assert rankings.notes == []


def test_ids_are_data() -> None:
    odd = ["</script>", "‮evil", '"quoted"', "{{DATA}}", "x" * 10_000, "\udc80", "'", "a\tb"]
    run = {"s": {"q": {doc: float(-i) for i, doc in enumerate(odd)}}}
    lists = lists_of({"q": {odd[0]: 1}}, run)
    assert_shown(lists["q"], [odd], {odd[0]: 1}, 20)


# ---- how unlike two lists are -------------------------------------------------------------------


def test_overlap_can_be_had_of_the_ranks() -> None:
    """The ranks down to `depth` are all there: a reader can compute RBO of any two systems."""
    page_lists, runs = lists_of(*DEMO, top=10), [read_run(path).to_dict() for path in DEMO[1]]
    for query, rankings in page_lists.items():
        for a, b in ((0, 1), (2, 3)):
            lists = []
            for system in (a, b):
                top = {
                    rank: doc
                    for doc, rank in zip(rankings["d"], rankings["r"][system], strict=True)
                }
                lists.append([top[rank] for rank in range(1, 11) if rank in top])
            mine, theirs = (sorted_by(runs[system][query])[:10] for system in (a, b))
            assert lists == [mine, theirs]
            assert overlap_of_ranks(rankings["r"][a], rankings["r"][b], 10) == pytest.approx(
                rbo(mine, theirs).ext
            )


def overlap_of_ranks(a: list[int], b: list[int], depth: int, p: float = 0.9) -> float:
    """Return RBO (extrapolated) of two lists by the ranks of the same documents in each.

    Webber, Moffat & Zobel, ACM TOIS 2010, equation 32, of which 23 is the case of two lists that
    are as long: beyond the end of the shorter one, its share of agreement stays.
    """
    short, long = sorted(min(depth, max(ranks)) for ranks in (a, b))
    if not short:
        return 0.0
    deeper = [max(x, y) for x, y in zip(a, b, strict=True) if x and y]
    common = [sum(rank <= d for rank in deeper) for d in range(long + 1)]
    overlap = sum(common[d] / d * p**d for d in range(1, long + 1))
    overlap += sum(
        common[short] * (d - short) / (short * d) * p**d for d in range(short + 1, long + 1)
    )
    rest = (common[long] - common[short]) / long + common[short] / short
    return (1 - p) / p * overlap + rest * p**long


# ---- some queries of a run ----------------------------------------------------------------------


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["q1", "q2", "a query of many bytes"]),
            st.integers(0, 10**12).map(str),
            st.floats(-5, 5).map(lambda x: round(x, 3)),
        ),
        max_size=30,
        unique_by=lambda row: row[:2],
    )
)
def test_some_queries_of_a_run(rows: list[tuple[str, str, float]]) -> None:
    queries = ["q2", "none", "a query of many bytes", "q1"]
    if not rows:
        return
    for run in (Run(rows, "x"), Run(_nest_rows(rows), "x")):
        query_runs, rankings = (
            run.select_queries(queries).split_queries(),
            run.read_rankings(queries, Judging()),
        )
        full_rankings = {query: rankings[query].select_query(query) for query in queries}
        for query in queries:
            alone = run.select_query(query).read_ranking(Judging())
            assert query_runs[query].read_ranking(Judging()).docs == alone.docs
            assert [*full_rankings[query].docs] == alone.docs
            assert alone.docs == sorted_by({doc: value for q, doc, value in rows if q == query})
            assert full_rankings[query].tie_size.tolist() == alone.tie_size.tolist()


def _nest_rows(rows: list[tuple[str, str, float]]) -> DocScores:
    docs_of_query: DocScores = {}
    for query, doc, score in rows:
        docs_of_query.setdefault(query, {})[doc] = score
    return docs_of_query
