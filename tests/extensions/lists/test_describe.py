"""describe: measures by slow loops, inputs, refusals, notes, slices, intervals, other verbs."""

import json
import math
import random
from collections.abc import Callable
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.commands import invoke
from helpers.profile import repetitions

import cranfield
from cranfield import (
    InputError,
    MeasureError,
    OptionError,
    Run,
    compare,
    describe,
    evaluate,
    gate,
    intervals,
    paper_table,
    parse,
)

pytestmark = pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")

LISTS = {"1": ["b", "x", "a"], "2": ["y", "c"], "3": ["z", "y"], "4": ["a"]}  # of recommenders.md
TRAIN = [("1", "x"), ("1", "q"), ("2", "y"), ("3", "d"), ("3", "y"), ("5", "x")]


def draw_lists(seed: int, n_users: int = 60, n_items: int = 90, k: int = 8) -> dict[str, list[str]]:
    """Return lists of up to k items; the first items are listed most."""
    generator = random.Random(seed)
    return {
        f"u{user}": list(
            dict.fromkeys(f"i{int(n_items * generator.random() ** 2)}" for _ in range(k))
        )
        for user in range(n_users)
    }


# ---- measures ------------------------------------------------------------------------------------


def test_the_lists_of_the_page() -> None:
    description = describe(LISTS, "Coverage@2 Gini@2 Entropy@2 Filled@2", catalogue=10)
    counts = [0, 0, 0, 0, 1, 1, 1, 1, 1, 2]  # of the first two of each list: b x, y c, z y, a
    gini = sum((2 * j - 10 - 1) * x for j, x in enumerate(counts, 1)) / (10 * 7)
    entropy = -sum(x / 7 * math.log2(x / 7) for x in counts if x)
    expected = {"Coverage@2": 6 / 10, "Gini@2": gini, "Entropy@2": entropy, "Filled@2": 7 / 8}
    assert description.means() == pytest.approx(expected)
    assert description.notes[0].text == "4 users with a list averaged. Catalogue: 10 items."


def test_pairs_of_items_are_those_of_slow_loops() -> None:
    lists = draw_lists(1)
    generator = np.random.default_rng(1)
    items = sorted({doc for ids in lists.values() for doc in ids})
    vectors = {doc: generator.normal(size=5).tolist() for doc in items[::2]}
    names = [f"c{i}" for i in range(150)]  # of more than 64 categories, masks have several words
    categories = {doc: random.Random(doc).sample(names, 3) for doc in items if doc[-1] != "7"}
    description = describe(
        lists,
        "ILD@6 ILD(distance='jaccard')@6 ILD(distance='hamming')@6",
        items=categories,
        embeddings=vectors,
    )

    def cosine(doc: str, other: str) -> float:
        x, y = (np.array(vectors[key]) for key in (doc, other))
        return 1 - float(x @ y / math.sqrt((x @ x) * (y @ y)))

    def jaccard(doc: str, other: str) -> float:
        x, y = set(categories[doc]), set(categories[other])
        return 1 - len(x & y) / len(x | y)

    def hamming(doc: str, other: str) -> float:
        return len(set(categories[doc]) ^ set(categories[other]))

    cases: list[tuple[str, dict[str, Any], Callable[[str, str], float]]] = [
        ("ILD@6", vectors, cosine),
        ("ILD(distance='jaccard')@6", categories, jaccard),
        ("ILD(distance='hamming')@6", categories, hamming),
    ]
    for name, features, distance in cases:
        expected = {}
        for user, ids in lists.items():
            pairs = combinations([doc for doc in ids[:6] if doc in features], 2)
            distances = [distance(*pair) for pair in pairs]
            if len(ids[:6]) == 1:
                expected[user] = 0.0
            elif distances:
                expected[user] = sum(distances) / len(distances)
        assert description.per_query(name) == pytest.approx(expected)


def test_many_users_are_described_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    lists, train = draw_lists(2), [(f"u{i}", f"i{i % 7}") for i in range(60)]
    measures = "ARP@5 APLT@5 Novelty@5 Seen@5 Filled@5 UserCoverage@5"
    joint_scores = describe(lists, measures, train=train)
    monkeypatch.setattr("cranfield.extensions.lists.user_lists.MAX_ROWS", 20)
    assert describe(lists, measures, train=train).to_dict() == joint_scores.to_dict()


def test_a_list_alone_and_a_cutoff_beyond_all_lists() -> None:
    train = [("1", "a"), ("2", "b")]
    names = ("Coverage", "Gini", "Entropy", "ARP", "Novelty", "Seen")
    for lists in ({"1": ["a"]}, LISTS):
        uncut = describe(lists, " ".join(names), train=train, catalogue=20)
        cut_scores = describe(lists, [f"{name}@999" for name in names], train=train, catalogue=20)
        assert [*uncut.means().values()] == [*cut_scores.means().values()]
    single = describe({"1": ["a"]}, "Personalization@1 Entropy@1 Gini@1", catalogue=["a"])
    assert single.means() == {"Entropy@1": 0, "Gini@1": 0}  # of one list, there is no pair
    assert "-" in str(single)


def test_a_catalogue_is_a_number_or_ids(tmp_path: Path) -> None:
    ids = [*"abcxyz", "p", "q"]
    (tmp_path / "ids.txt").write_text("\n".join(["doc_id", *ids]))
    expected = describe(LISTS, "Coverage@3 Gini@3", catalogue=len(ids)).means()
    forms = [ids, {*ids}, pd.Series(ids), tmp_path / "ids.txt", pd.DataFrame({"item_id": ids})]
    for catalogue in forms:
        assert describe(LISTS, "Coverage@3 Gini@3", catalogue=catalogue).means() == expected
    description = describe(LISTS, "Coverage@3", catalogue=["a", "b", "p"])
    assert description["Coverage@3"] == 2 / 3
    assert any(note.text.startswith("4 listed items outside the cat") for note in description.notes)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("CatalogCoverage@5", "Coverage@5"),
        ("GiniIndex@5", "Gini@5"),
        ("ExposureGini@5", "Gini(exposure='rbp')@5"),
        ("TailPercentage@5", "APLT(by='items', tail=0.1)@5"),
        ("MIUF@5", "Novelty@5"),
        ("Surprisal@5", "Novelty(over='cutoff', scale='users')@5"),
        ("MeanPopRank@5", "ARP(by='percentile')@5"),
        ("SufficientReco@5", "Filled(full=True)@5"),
        ("intra_list_diversity@5", "ILD@5"),
        ("distributional_coverage@5", "Entropy@5"),
    ],
)
def test_names_elsewhere(words: str, name: str) -> None:
    assert str(parse(words)) == f"{parse(name)}" == name


@pytest.mark.parametrize(
    ("name", "identity"),
    [
        ("EPC", "1 - users / U"),
        ("EFD@10", "self-information"),
        ("AWRF@10", "Jensen-Shannon"),
        ("EED", "EE-D - 2 EE-R"),
        ("EE_R", "EE-D - 2 EE-R"),
        ("PopRSP", "sd / mean"),
        ("REO@5", "sd / mean"),
        ("GAUC", "mean of the AUC of each user"),
        ("ShannonEntropy", "Entropy ln 2 / distinct items"),
        ("Diversity", r"ILD \(n - 1\) / 2"),
    ],
)
def test_names_that_are_no_measures_say_what_they_are(name: str, identity: str) -> None:
    with pytest.raises(MeasureError, match=f"is no measure here.*{identity}"):
        parse(name)


def test_definitions_of_queries_are_as_before() -> None:
    names = {definition.name for definition in cranfield.definitions()}
    assert names.isdisjoint({"Coverage", "ILD"})
    assert [d.name for d in cranfield.definitions("lists")].count("ILD") == 1
    assert "mean over the list" in invoke("measures", "ARP").output
    assert "ILD" in invoke("measures").output


# ---- inputs --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("measure", "text"),
    [
        ("ARP@10", "ARP@10 counts what users had before: train=, --train FILE"),
        ("Categories@3", "Categories@3 counts categories of items: items=, --items FILE"),
        ("ILD@3", "ILD@3 compares vectors of items: embeddings=, --embeddings FILE"),
        ("Gini@3", "Gini@3 counts all items there are: catalogue=, --catalogue NUMBER or FILE"),
        ("Unexpectedness@3", "Unexpectedness@3 compares with another run: base=, --base FILE"),
        ("nDCG@3", "nDCG@3 counts relevant items: qrels=, --qrels FILE"),
    ],
)
def test_a_missing_input_is_named(measure: str, text: str) -> None:
    with pytest.raises(MeasureError) as error:
        describe(LISTS, measure)
    assert str(error.value) == text


def test_refusals_of_inputs() -> None:
    with pytest.raises(OptionError) as error:
        describe(LISTS, "Coverage@3", catalogue=7, train=TRAIN)
    assert str(error.value) == "the catalogue has 7 items, runs and train have 8"
    with pytest.raises(OptionError, match="ties='best': expected an order that needs no grades"):
        describe(LISTS, "Filled@3", ties="best")
    with pytest.raises(InputError, match="row 1: the vector of 'b' has NaN"):
        describe(LISTS, "ILD@3", embeddings={"a": [1.0, 0.0], "b": [math.nan, 1.0]})
    with pytest.raises(InputError, match="row 1: expected 2 numbers as in the first, got 1"):
        describe(LISTS, "ILD@3", embeddings={"a": [1.0, 0.0], "b": [1.0]})
    movies = pd.DataFrame({"item": ["a"], "title": ["A"], "genres": ["Drama|War"]})
    with pytest.raises(InputError, match="which column is which: item, title, genres"):
        describe(LISTS, "Categories@3", items=movies)
    columns = {"items": {"category": "genres"}}
    description = describe(
        {"1": ["a"]}, "Categories(value='count')@3", items=movies, columns=columns
    )
    assert description["Categories(value='count')@3"] == 2
    assert "Categories are split at |." in [note.text for note in description.notes]
    with pytest.raises(InputError, match=r"columns=\{'train'"):
        describe(LISTS, "ARP@3", train=pd.DataFrame({"u": ["1"], "i": ["a"]}))
    columns = {"train": {"query_id": "u", "doc_id": "i"}}
    train = pd.DataFrame({"u": ["1", "2"], "i": ["a", "a"]})
    assert describe(LISTS, "ARP@1", train=train, columns=columns)["ARP@1"] == 2 / 4
    with pytest.raises(InputError, match="occurs twice"):
        describe({"1": ["a", "a"]}, "Filled@2")
    assert describe({"1": ["a", "a"]}, "Filled@2", duplicates="each")["Filled@2"] == 1


def test_an_input_that_meets_no_list_is_a_warning() -> None:
    foreign_inputs: dict[str, Any] = {
        "train": [("1", "A")],
        "embeddings": {"A": [1]},
        "base": {"1": ["A"]},
    }
    for name, data in foreign_inputs.items():
        options: dict[str, Any] = {name: data}
        description = describe(LISTS, "Filled@2", **options)
        (warning,) = [note for note in description.notes if note.is_grave]
        assert warning.text.startswith(f"No listed item is in {name}: lists have '")
        assert "it has 'A'. They differ only in blanks, capitals" in warning.text


def list_texts(description: Any) -> list[str]:
    """Return the texts of the notes."""
    return [note.text for note in description.notes]


def test_users_that_meet_no_list_are_a_warning() -> None:
    for name in ("train", "base"):
        options: dict[str, Any] = {name: {"01": ["a"], "02": ["b"]}}
        texts = list_texts(describe(LISTS, "Filled@2", **options))
        (warning,) = [text for text in texts if text.startswith("No listed user")]
        assert warning.startswith(f"No listed user is in {name}: lists have '1', it has '01'. They")
        options[name]["1"] = ["a"]
        texts = list_texts(describe(LISTS, "Filled@2", **options))
        assert not any(text.startswith("No listed") for text in texts)


def test_items_left_out_as_seen_are_no_strangers() -> None:
    train = {"1": ["b"], "2": ["y", "c"]}
    lists = {"1": ["b", "x"], "2": ["y", "c", "z"]}
    texts = list_texts(describe(lists, "Seen@2", train=train, without=train))
    assert not any(text.startswith("No listed") for text in texts)


def test_rows_that_are_skipped_are_counted() -> None:
    lists = [("1", "a", 2.0), ("1", "b", math.nan), ("2", "a", 1.0)]
    inputs: dict[str, Any] = {
        "train": [("1", "a"), ("2", None)],
        "qrels": [("1", "a", 1), ("2", "b", "much")],
        "base": [("1", "a", 1.0), ("2", "b", math.nan)],
    }
    description = describe(lists, "Seen@2 nDCG@2", errors="skip", **inputs)
    names = ("1 row of the run", "1 row of train", "1 row of the qrels", "base: 1 row of the run")
    for name in names:
        notes = [note for note in map(str, description.notes) if note.startswith(f"{name} left")]
        assert len(notes) == 1, name
    assert description["Seen@2"] == (1 + 0) / 2
    texts = list_texts(describe({"1": ["a", "a"]}, "Filled@2", duplicates="first"))
    assert any("in 1 row too many" in text for text in texts)
    for name, data in inputs.items():
        options: dict[str, Any] = {name: data}
        with pytest.raises(InputError):
            describe(LISTS, "Filled@2", **options)


def test_all_items_of_a_run_are_seen_below_the_cutoff_too() -> None:
    with pytest.raises(OptionError) as error:
        describe(LISTS, "Coverage@1", catalogue=5)
    assert str(error.value) == "the catalogue has 5 items, runs have 6"  # a b c x y z
    assert describe(LISTS, "Coverage@1", catalogue=6)["Coverage@1"] == 4 / 6


@pytest.mark.parametrize("n_users", [3, 500])
def test_the_border_of_the_tail_is_told_however_many_users_there_are(n_users: int) -> None:
    users = [f"u{i}" for i in range(n_users)]
    train = [(user, doc) for user in users for doc in "abcdefghij"]  # more users than items
    texts = list_texts(describe({"1": ["a"]}, "APLT@1", train=train))
    assert "APLT@1: items of equal counts are on both sides of its border." in texts
    train += [(f"v{i}", doc) for i in range(n_users) for doc in "abcdefgh"]
    texts = list_texts(describe({"1": ["a"]}, "APLT@1", train=train))
    assert not any("border" in text for text in texts)  # a to h are the head


def test_each_file_takes_the_columns_that_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = {
        "recs": "reader,book,points\n1,a,2\n1,b,1\n",
        "had": "person,novel\n1,b\n2,c\n",
        "genres": "novel,kind\na,x|y\nb,x\n",
        "clicks": "who,what,stars\n1,b,1\n",
    }
    for name, text in files.items():
        Path(f"{name}.csv").write_text(text)
    words = "describe recs.csv --train had.csv --items genres.csv --qrels clicks.csv --format csv"
    measures = "-m Seen@2 -m Categories@2 -m RR@2"
    columns = (
        "run.query_id=reader,run.doc_id=book,score=points,query_id=person,doc_id=novel,"
        "qrels.query_id=who,qrels.doc_id=what,qrels.relevance=stars"
    )
    output = invoke(*words.split(), *measures.split(), "--columns", columns).output
    values = [line.split(",")[-1] for line in output.splitlines()[1:4]]
    assert [*map(float, values)] == [1 / 2, 2 / 2, 1 / 2]
    for wrong, text in {
        f"{columns},doc_id=title": "no file has a column 'title'",
        "query_id=reader,doc_id=book,score=points": "has no column 'reader'",
    }.items():
        assert text in invoke(*words.split(), *measures.split(), "--columns", wrong).output
    words = "describe recs.csv --items genres.csv --category mood --columns doc_id=novel"
    run_columns = "run.query_id=reader,run.doc_id=book,score=points"
    result = invoke(*words.split(), "--columns", run_columns)
    assert "which column is which: novel, kind" in result.output


def test_chunks_become_documents_before_what_was_seen_is_left_out() -> None:
    chunks = {user: [f"{doc}#{i}" for doc in docs for i in (1, 2)] for user, docs in LISTS.items()}
    train = {"1": ["b"], "2": ["y", "c"]}
    described_runs = [
        describe(run, "Filled@3 Seen@3 Unexpectedness@3", train=train, base=LISTS, without=train)
        for run in (LISTS, Run(chunks).map_docs("(.*)#"))
    ]
    assert described_runs[0].to_dict() == described_runs[1].to_dict()
    assert described_runs[0].per_query("Filled@3") == {"1": 2 / 3, "3": 2 / 3, "4": 1 / 3}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"train": []}, "train: holds no rows"),
        ({"train": pd.DataFrame({"user": [], "item": []})}, "train: holds no rows"),
        ({"base": {}}, "holds no user"),
        ({"embeddings": {}}, "embeddings: holds no rows"),
        ({"embeddings": {"a": "x"}}, "row 0: expected a list of numbers, got 'x'"),
        ({"embeddings": {"a": ["x"]}}, "expected lists of numbers"),
    ],
)
def test_empty_inputs_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        describe(LISTS, "Filled@2", **options)


@pytest.mark.parametrize(("runs", "message"), [({}, "holds no user"), ([], "no run is given")])
def test_no_lists_are_refused(runs: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        describe(runs, "Filled@2")


def test_users_and_items_that_are_left_out_are_counted() -> None:
    description = describe(
        LISTS, "UserCoverage@2 ILD@2", users=["1", "2", "7"], embeddings={"a": [1.0]}
    )
    assert description["UserCoverage@2"] == 2 / 3
    texts = [note.text for note in description.notes]
    assert "1 user without a list left out." in texts
    assert "ILD@2: 3 users without a value left out." in texts  # but of one item it is 0
    seen_left_out = describe(LISTS, "Seen@2", train=TRAIN, without=TRAIN)
    assert seen_left_out["Seen@2"] == 0
    assert any("3 of 8 rows removed" in note.text for note in seen_left_out.notes)


def test_judged_measures_are_those_of_evaluate() -> None:
    qrels = {"1": {"a": 1}, "2": {"c": 1}, "9": {"a": 1}}
    description = describe({"one": LISTS, "two": LISTS}, "nDCG@2 Filled@2", qrels=qrels)
    scores = evaluate(qrels, LISTS, "nDCG@2")
    assert description["one"]["nDCG@2"] == scores["nDCG@2"]
    assert description["two"].per_query("nDCG@2") == scores.per_query("nDCG@2")
    assert description["one"]["Filled@2"] == 7 / 8
    assert {"3 queries averaged.", "4 users with a list averaged."} <= {
        note.text for note in description.notes
    }


def test_slices_are_the_lists_of_each_label() -> None:
    labels = {"1": "old", "2": "old", "3": "new", "4": "new"}
    measures, qrels = "Coverage@2 Filled@2 nDCG@2", {"1": {"b": 1}, "3": {"q": 1}}
    description = describe(LISTS, measures, catalogue=10, qrels=qrels, slices=labels)
    for label in ("old", "new"):
        part = {user: ids for user, ids in LISTS.items() if labels[user] == label}
        own_qrels = {user: docs for user, docs in qrels.items() if labels[user] == label}
        alone = describe(part, measures, catalogue=10, qrels=own_qrels)
        assert description.slice(label).means() == alone.means()


# ---- other verbs ---------------------------------------------------------------------------------

PAIR = {"old": draw_lists(3), "new": draw_lists(4)}
TRAIN_OF_PAIR = [(f"u{i}", f"i{i % 11}") for i in range(60)]


def test_compare_takes_the_result_and_its_json(tmp_path: Path) -> None:
    description = describe(PAIR, "ARP@5 Coverage@5", train=TRAIN_OF_PAIR)
    (tmp_path / "lists.json").write_text(description.to_json(per_query=True))
    file_comparison = compare(tmp_path / "lists.json", measures="ARP@5")
    pair = compare(description, "ARP@5")["ARP@5"]["new"]
    assert file_comparison["ARP@5"]["new"] == pair
    old, new = (description[name].per_query("ARP@5") for name in PAIR)
    assert pair.difference == pytest.approx(np.mean([new[user] - old[user] for user in old]))


def test_users_without_a_list_are_dropped_from_a_comparison() -> None:
    lists = {user: ids for user, ids in PAIR["new"].items() if user != "u7"}
    description = describe({"old": PAIR["old"], "new": lists}, "ARP@5", train=TRAIN_OF_PAIR)
    assert len(compare(description).aligned.query_ids) == 59
    with pytest.raises(OptionError, match="a user without a list has no ARP@5"):
        compare(description, missing="zero")


VERBS_OF_JUDGMENTS: tuple[Callable[..., Any], ...] = (evaluate, cranfield.explain, compare)


def test_what_cannot_be_tested_is_refused() -> None:
    description = describe(
        PAIR, "ARP@5 ILD@5 Coverage@5", train=TRAIN_OF_PAIR, embeddings={"i1": [1.0]}
    )
    no_test = "Coverage@5 has no value for a user, so that no test applies: `describe --intervals`"
    gate_options: Any = {"baseline": "old", "margin": 0.1}
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: compare(description, "Coverage@5"), no_test),
        (lambda: gate(description, measures="Coverage@5", **gate_options), no_test),
        (lambda: description["old"].per_query("Coverage@5"), no_test),
        (
            lambda: gate(description, measures="ARP@5", **gate_options),
            "neither more nor less ARP@5 is better",
        ),
    ]
    looks_at_lists = (
        "ARP@5 looks at lists, not at judgments: `cranfield describe RUN... -m ARP@5`; "
    )
    looks_at_lists += "with --qrels both kinds are in one table"
    judged: Any = ({"u1": {"i1": 1}}, PAIR["old"])
    calls += [(partial(verb, *judged, "ARP@5"), looks_at_lists) for verb in VERBS_OF_JUDGMENTS]
    calls += [
        (partial(evaluate, *judged, "ARP@5", **options), looks_at_lists)
        for options in ({"bounds": True}, {"buckets": 2})
    ]
    for call, text in calls:
        with pytest.raises(MeasureError) as error:
            call()
        assert str(error.value) == text


def test_a_table_marks_none_as_best_where_none_is() -> None:
    description = describe(PAIR, "ARP@5 Novelty@5", train=TRAIN_OF_PAIR)
    table = paper_table(compare(description))
    (latex_row,) = [line for line in table.to_latex().splitlines() if line.startswith("new")]
    popularity, novelty = latex_row.split("&")[1:]
    assert ("textbf" in popularity, "textbf" in novelty) == (False, False)
    (latex_row,) = [line for line in table.to_latex().splitlines() if line.startswith("old")]
    popularity, novelty = latex_row.split("&")[1:]
    assert ("textbf" in popularity, "textbf" in novelty) == (False, True)


def test_means_have_the_intervals_of_means() -> None:
    inputs: dict[str, Any] = {"train": TRAIN_OF_PAIR, "catalogue": 90}
    description = describe(PAIR, "ARP@5 Coverage@5", **inputs)
    page = describe(PAIR, "ARP@5 Coverage@5", **inputs, intervals=True)
    rows = {(row["run"], row["measure"]): row for row in page.rows()}
    assert [*rows] == [(run, name) for run in PAIR for name in ("ARP@5", "Coverage@5")]
    for mean in intervals(description).means:
        row = rows[mean.system, mean.measure]
        assert (row["value"], row["low"], row["high"]) == (mean.mean, mean.low, mean.high)
    pair = compare(description, "ARP@5", test="t")["ARP@5"]["new"]
    row = rows["new", "ARP@5"]
    assert row["difference"] == pytest.approx(pair.difference)
    assert (row["difference_low"], row["difference_high"]) == pytest.approx((pair.low, pair.high))
    row = rows["new", "Coverage@5"]
    assert 0 <= row["low"] < row["value"] < row["high"] <= 1
    assert row["difference"] == description["new"]["Coverage@5"] - description["old"]["Coverage@5"]
    assert rows["old", "ARP@5"]["difference"] is None


def test_few_users_have_no_interval_of_a_run() -> None:
    page = describe(LISTS, "Coverage@2 Filled@2", catalogue=9, intervals=True)
    assert [row["low"] is None for row in page.rows()] == [True, False]
    assert "No interval of Coverage@2: fewer than 20 users" in str(page)


@pytest.mark.slow
def test_intervals_hold_what_they_say() -> None:
    """400 users of 1,000 items; the truth is the mean of as many draws."""
    n, weights = repetitions(60, 3), np.arange(1, 1001) ** -0.8
    generator = np.random.default_rng(7)

    def draw() -> dict[str, list[str]]:
        keys = generator.gumbel(size=(400, 1000)) + np.log(weights)
        top = np.argpartition(-keys, 10, axis=1)[:, :10]
        return {f"u{i}": [f"i{doc}" for doc in row] for i, row in enumerate(top.tolist())}

    rows = [
        {
            row["measure"]: row
            for row in describe(draw(), "Coverage Gini", catalogue=1000, intervals=True).rows()
        }
        for _ in range(n)
    ]
    for name in ("Coverage", "Gini"):
        truth = np.mean([row[name]["value"] for row in rows])
        n_held = sum(row[name]["low"] <= truth <= row[name]["high"] for row in rows)
        assert n_held >= 0.9 * n - 1


# ---- one list, and the command -------------------------------------------------------------------


def test_a_list_is_explained_item_by_item() -> None:
    measures = "ARP@2 Seen@2 Novelty@2 Coverage@2"
    page = describe(LISTS, measures, train=TRAIN, catalogue=10, query="1")
    description = describe(LISTS, measures, train=TRAIN, catalogue=10)
    assert [(row["document"], row["rows"], row["known"]) for row in page.rows()] == [
        ("b", 0, False),
        ("x", 2, True),
    ]
    for name in ("ARP@2", "Seen@2", "Novelty@2"):
        sheet = page.worksheets[name]
        assert not sheet.is_incomplete, name
        assert sheet.value_line.value == description.per_query(name)["1"]
    assert "Coverage@2 = 6 distinct / 10 = 0.6 (of all users)" in str(page)
    assert json.loads(page.to_json())["query"] == "1"
    with pytest.raises(InputError, match="the user '8' has no list"):
        describe(LISTS, measures, train=TRAIN, catalogue=10, query="8")


def test_the_command_prints_what_python_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Run(LISTS, "recs").write("recs.csv")
    pd.DataFrame(TRAIN, columns=["user", "item"]).to_csv("train.csv", index=False)
    movies = {"item": [*"abx"], "title": [*"ABX"], "genres": ["Drama|War", "Drama", ""]}
    pd.DataFrame(movies).to_csv("movies.csv", index=False)
    words = [
        "describe",
        "recs.csv",
        "--train",
        "train.csv",
        "--items",
        "movies.csv",
        "--category",
        "genres",
    ]
    result = invoke(*words, "--format", "csv")
    columns = {"items": {"category": "genres"}}
    description = describe("recs.csv", train="train.csv", items="movies.csv", columns=columns)
    assert result.output.startswith(description.to_csv())
    assert description.measures[0] == parse("Entropy@10")
    assert "Calibration@10" in [str(measure) for measure in description.measures]
    assert "its 95% interval" not in invoke(*words, "--intervals").output  # of one run
    assert "recs, 1: the list" in invoke(*words, "--query", "1").output
    assert "query_id" in invoke(*words, "-q", "-m", "ARP@2").output
    for options, text in {
        "--baseline recs": "--baseline applies to intervals: add --intervals",
        "-q --query 1": "does not go with --intervals or --query",
        "-m UserCoverage@2 --users nowhere.csv": "no such file",
    }.items():
        assert text in invoke(*words, *options.split()).output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"embeddings": (["a", "b", "c"], np.ones((1, 2)))}, r"3 ids beside .*\(1, 2\)"),
        ({"embeddings": (["a"], np.ones(1))}, "expected a row for each id"),
        ({"embeddings": (["a", "a"], np.ones((2, 2)))}, "'a' has more than one vector"),
        ({"catalogue": 0}, "how many items there are"),
        ({"catalogue": -5}, "how many items there are"),
        ({"qrels": {"1": {"x": 1}}, "intervals": True}, "NumRelRet is no mean over users"),
        ({"train": {}}, "train: holds no rows"),
        ({"query": "1", "intervals": True, "catalogue": 9}, "shows one list"),
        ({"baseline": "als", "catalogue": 9}, "add intervals=True"),
    ],
)
def test_inputs_that_have_no_meaning_are_refused(options: dict[str, Any], message: str) -> None:
    measures = "ILD@2" if "embeddings" in options else "Coverage@2"
    measures = "NumRelRet" if "qrels" in options else measures
    with pytest.raises(cranfield.CranfieldError, match=message):
        describe(LISTS, measures, **options)


def test_novelty_is_divided_by_log2_of_the_users() -> None:
    train = [*TRAIN, *TRAIN[:2]]  # more rows than users
    names = ("Novelty(of='interactions')@2", "Novelty(of='interactions',scale='users')@2")
    novelty, scaled_novelty = describe(LISTS, names, train=train).means().values()
    assert scaled_novelty == pytest.approx(novelty / math.log2(len({user for user, _ in TRAIN})))
