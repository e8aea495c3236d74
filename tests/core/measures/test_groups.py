"""Judgments in groups, and preferences: against slow loops; what is read, what is refused."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers import oracle
from helpers.commands import invoke
from helpers.profile import seeds

from cranfield import (
    InputError,
    Measure,
    MeasureError,
    OptionError,
    Qrels,
    definitions,
    evaluate,
    parse,
    read_qrels,
)
from cranfield.measures.parameters import Depth

Write = Callable[[str, str], str]
SEEDS = seeds(60)
OF_GROUPS = [
    definition.name
    for definition in definitions()
    if definition.traits.takes_groups is True and definition.name not in {"NumQ", "NumRet"}
]


def test_arithmetic() -> None:
    """Ann prefers a to b and c, bob b to a; the run has b, x, a."""
    qrels = {"q": {"ann": {"a": 2, "b": 1, "c": 0}, "bob": {"a": 0, "b": 1}}}
    run = {"q": ["b", "x", "a"]}

    def value(name: str) -> float:
        score: float = evaluate(qrels, run, name).per_query(name)["q"]
        return score

    # Ann: a > b (retrieved, not fulfilled), a > c and b > c (implied, fulfilled); bob: b > a.
    assert value("NumPrefs") == 3 + 1
    assert value("NumPrefsFul") == 2 + 1
    assert value("NumPrefsFul(over='retrieved')") == 0 + 1
    assert value("Prefs") == (2 + 1) / (3 + 1)
    assert value("Prefs(over='retrieved')") == (0 + 1) / (1 + 1)
    assert value("PrefsByGroup") == (2 / 3 + 1 / 1) / 2
    assert value("PrefsByPair") == (1 / 2 + 1 / 1 + 1 / 1) / 3, "a, b; a, c; b, c"
    assert value("GroupAP") == ((1 / 1 + 2 / 3) / 2 + (1 / 1) / 1) / 2
    assert value("GroupP@2") == (1 / 2 + 1 / 2) / 2
    assert value("GroupRprec") == (1 / 2 + 1 / 1) / 2


def list_variants(name: str) -> Iterator[Measure]:
    """Yield the measure with its parameters and cutoffs."""
    definition = Measure(name).definition
    if name == "PrefsRnonrel":
        yield from (Measure(name), Measure(name)(over="retrieved"))
    elif "over" in definition.parameters:
        yield from (Measure(name)(over=over) for over in oracle.COUNTED_KINDS)
    elif name == "GroupRprec":
        yield from (Measure(name)(multiple=multiple) for multiple in (0.4, 1, 1.6))
    else:
        yield from (Measure(name) @ k for k in (1, 3, 5, "R", "min(3,R)"))


def expected(measure: Measure, run: list[str], groups: dict[str, Any], only: bool) -> float:
    """Return the slow loop's value for a query."""
    parts = [groups[name] for name in sorted(groups, key=str.encode)]
    if measure.name in oracle.PREFERENCES:
        return oracle.PREFERENCES[measure.name](run, parts, **measure.parameters)
    total = 0.0
    for (part,) in parts:
        cutoff: tuple[int, ...] = ()
        if isinstance(measure.cutoff, Depth):
            relevant = (
                oracle.n_relevant(list(part.values()), 1) if measure.cutoff.at_relevant else 99
            )
            cutoff = (min(measure.cutoff.n_ranks or 99, relevant),)
        ranking = [part.get(doc) for doc in run]
        if only:
            ranking = [grade for grade in ranking if grade is not None and grade >= 0]
        total += oracle.ORACLES[measure.name](
            ranking, list(part.values()), *cutoff, **measure.parameters
        )
    return total / len(parts)


@pytest.mark.parametrize("name", OF_GROUPS)
@pytest.mark.parametrize("only", [False, True])
def test_every_measure_of_groups_equals_its_slow_loop_to_the_bit(name: str, only: bool) -> None:
    n_compared = 0
    for seed in SEEDS:
        qrels, run = oracle.make_grouped_collection(seed, whole_grades=name.startswith("Group"))
        measures = list(list_variants(name))
        scores = evaluate(qrels, run, measures, judged_only=only)
        for query, groups in qrels.items():
            ranked = oracle.rank_docs(run.get(query, {}))
            for measure in measures:
                value = scores.per_query(measure)[query]
                assert value == expected(measure, ranked, groups, only), (measure, seed, query)
                n_compared += 1
    assert n_compared > 500 / 60 * len(SEEDS)


def test_queries_in_both_and_a_depth() -> None:
    for seed in SEEDS:
        qrels, run = oracle.make_grouped_collection(seed, whole_grades=True)
        scores = evaluate(qrels, run, "PrefsByGroup GroupAP", queries="both", depth=4)
        assert scores.query_ids == sorted(qrels.keys() & run.keys())
        for query in scores.query_ids:
            ranked = oracle.rank_docs(run[query])[:4]
            for name in ("PrefsByGroup", "GroupAP"):
                value = scores.per_query(name)[query]
                assert value == expected(parse(name), ranked, qrels[query], False)


def test_many_documents_are_compared_in_blocks() -> None:
    """More than are looked at in one go."""
    docs = [f"d{i:04}" for i in range(1300)]
    levels = {doc: float(i % 7) for i, doc in enumerate(docs)}
    docs_found = docs[1::2]
    scores = evaluate({"q": {"one": levels}}, {"q": docs_found}, "NumPrefsFul NumPrefs")
    position = {doc: i for i, doc in enumerate(docs_found)}
    n_fulfilled = sum(
        levels[a] > levels[b] and position[a] < position.get(b, len(docs))
        for a in docs_found
        for b in docs
    )
    possible = sum(levels[a] > levels[b] for a in docs for b in docs)
    assert scores.means() == {"NumPrefsFul": n_fulfilled, "NumPrefs": possible}


def test_what_follows_goes_by_way_of_documents_in_several_subgroups() -> None:
    """A chain through 400 subgroups of two documents each, told in an odd order."""
    chain = [{f"d{i}": 2.0, f"d{i + 1}": 1.0} for i in range(400)]
    parts = chain[::2] + chain[1::2][::-1]
    scores = evaluate({"q": {"g": parts}}, {"q": ["d0", "d400"]}, "NumPrefs NumPrefsFul")
    assert scores.means() == {
        "NumPrefs": 401 * 400 / 2,
        "NumPrefsFul": 1 + 399,  # d0 above d400, and above those that were not retrieved
    }


def test_plain_judgments_are_one_group() -> None:
    for seed in SEEDS:
        qrels, run = oracle.make_collection(seed)
        names = "Prefs PrefsByPair PrefsByGroup PrefsRnonrel GroupAP GroupP@3"
        plain = evaluate(qrels, run, names).to_dict()
        group_qrels = {query: {"all": docs} for query, docs in qrels.items()}
        assert evaluate(group_qrels, run, names).to_dict() == plain


def test_a_negative_level_is_no_judgment() -> None:
    run = {"q": ["a", "b"]}
    plain = evaluate({"q": {"a": -1, "b": 1}}, run, "NumRet", judged_only=True)
    scores = evaluate({"q": {"g": {"a": -1, "b": 1}}}, run, "NumRet", judged_only=True)
    assert plain["NumRet"] == scores["NumRet"] == 1


def test_measures_of_one_grade_refuse_groups() -> None:
    with pytest.raises(
        MeasureError, match="measures of groups, subtopics and preferences are NumQ"
    ):
        evaluate({"q": {"ann": {"a": 1}}}, {"q": ["a"]}, "AP")
    with pytest.raises(MeasureError, match="'all' or 'retrieved'"):
        parse("PrefsRnonrel(over='implied')")
    with pytest.raises(MeasureError, match="subgroups"):
        evaluate({"q": {"ann": [{"a": 1}, {"a": 1}]}}, {"q": ["a"]}, "GroupAP")
    with pytest.raises(MeasureError, match=r"as in GroupAP\(rel=0.5\)"):
        evaluate({"q": {"ann": {"a": 0.5}}}, {"q": ["a"]}, "GroupAP")


@pytest.mark.parametrize(
    ("qrels", "message"),
    [
        ({"q": {"g": {"a": 1}}, "r": {"a": 1}}, "query 'r' has no groups"),
        ({"q": {"g": {"a": "x"}}}, "expected a level, got 'x'"),
        ({"q": {"g": {"a": float("nan")}}}, "expected a level"),
        ({"q": {"g": [{"a": 1}, 3]}}, "document: level"),
        ({"q": {"g": {}}}, "query 'q', group 'g': holds no judgment"),
        ({"q": {"g": [{"a": 1}, {}]}}, "group 'g': holds no judgment"),
        ({"q": {"f": {"x": 1}, "g": [{"a": 2, "b": 1}, {"b": 2, "a": 1}]}}, "'q', group 'g'.*'a'"),
        ({"q": {"g": [{"a": 2, "b": 1}, {"b": 2, "c": 1}, {"c": 3, "a": 2}]}}, "in a circle"),
        ({"q": {"g": [{"a": 2, "b": 0}, {"b": 2, "c": 1}]}}, "document 'b'.*level 0 and another"),
    ],
)
def test_what_is_refused(qrels: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        evaluate(qrels, {"q": ["a", "b"]}, "Prefs")


def test_the_formats_hold_the_same(write: Write) -> None:
    rows = [("q1", "g1", "a", 2), ("q1", "g1", "b", 0), ("q1", "g2", "b", 1), ("q0", "g1", "c", 1)]
    data = {"q1": {"g1": [{"a": 2, "b": 0}], "g2": [{"b": 1}]}, "q0": {"g1": [{"c": 1}]}}
    jg = write("jg", "# judgments\n\n" + "".join(f"{q}\t{g} {d} {n}\r\n" for q, g, d, n in rows))
    prefs = write("prefs", "".join(f"{q} {g} s {d} {n}.0\n" for q, g, d, n in rows))
    for path, form in ((jg, "qrels_jg"), (jg, "qrels_prefs"), (prefs, "prefs")):
        assert read_qrels(path, form).to_dict() == data
    assert repr(Qrels(data)) == "Qrels(2 queries, 4 judgments in 3 groups)"
    assert Qrels(data).query_ids == ["q0", "q1"]


def test_rows_that_are_all_relevant_may_have_groups_or_a_column_that_is_called_so(
    write: Write,
) -> None:
    path = write("bought.csv", "user,item,group\n1,a,x\n1,b,y\n2,c,x\n")
    run = {"1": ["a", "z"], "2": ["c"]}
    qrels = read_qrels(path, columns={"relevance": None})
    assert evaluate(qrels, run, "StRecall@2").per_query("StRecall@2") == {"1": 1 / 2, "2": 1}
    with pytest.raises(MeasureError, match="--columns group=-"):
        evaluate(qrels, run, "P@2")
    plain = read_qrels(path, columns={"relevance": None, "group": None})
    assert plain.to_dict() == {"1": {"a": 1, "b": 1}, "2": {"c": 1}}
    outcome = invoke(
        "evaluate",
        path,
        write("a.run", "1 Q0 a 1 2 t\n"),
        "-m",
        "P@1",
        "--qrels-columns",
        "relevance=-,group=-",
    )
    assert outcome.exit_code == 0
    with pytest.raises(OptionError, match="query_id=None: None says that a table has"):
        read_qrels(path, columns={"relevance": None, "query_id": None})


def test_subgroups_of_a_file(write: Write) -> None:
    lines = "q g s1 a 3\nq g s1 b 2\nq g s2 b 5\nq g s2 c 4\n"
    qrels = read_qrels(write("prefs", lines), "prefs")
    assert evaluate(qrels, {"q": ["a", "b", "c"]}, "NumPrefs")["NumPrefs"] == 3, "a > c follows"


def test_preferences_on_the_command_line(data: Path) -> None:
    from click.testing import CliRunner

    from cranfield.cli import cli

    folder = data / "trec_eval"
    files = [str(folder / "prefs.test"), str(folder / "prefs.results.test")]
    measures = ("-m", "prefs_simp", "-m", "NumPrefs")
    options = ("--qrels-format", "prefs", "--format", "tsv", *measures)
    result = CliRunner().invoke(cli, ["evaluate", *files, *options])
    lines = [line.split("\t") for line in (folder / "out.test.prefs").read_text().splitlines()]
    means = {name.strip(): value for name, topic, value in lines if topic == "all"}
    value_of_name = {
        line.split("\t")[1]: line.split("\t")[3] for line in result.stdout.splitlines()[1:]
    }
    assert f"{float(value_of_name['Prefs']):6.4f}" == means["prefs_simp"]
    assert value_of_name["NumPrefs"] == means["prefs_num_prefs_poss"]
