"""The grammar of measures: text and value, other tools' names, and what is refused."""

import ast
import pickle
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.profile import is_full
from hypothesis import example, given
from hypothesis import strategies as st

import cranfield
from cranfield import (
    AP,
    F,
    IPrec,
    Measure,
    MeasureError,
    P,
    R,
    SetF,
    definitions,
    nDCG,
    parse,
    parse_all,
)
from cranfield.measures import find_definition

CANONICAL = [
    "nDCG@10",
    "P(rel=2)@5",
    "AP",
    "RR@10",
    "R@1000",
    "nDCG(gain='exp2')@20",
    "nDCG(gain={1: 3, 2: 9, 4: 4.5})",
    "IPrec@0.1",
    "IPrec@0",
    "IPrec@0.00001",
    "nDCG(gain={" + ", ".join(f"{i}: {i}.25" for i in range(100)) + "})",
    "IPrec(rel=2)@1",
    "F(beta=2)@5",
    "F(beta=0.5, rel=2)@5",
    "P@R",
    "nDCG@min(100,R)",
    "IAP(points=(0.25, 0.5, 0.75))",
    "IAP(points=(0.5,))",
    "SetF(x=2)",
    "AP(rel=0)@7",
    "Judged",
    "GMAP",
]


@pytest.mark.parametrize("text", CANONICAL)
def test_a_measure_prints_to_what_it_parses_from(text: str) -> None:
    assert str(parse(text)) == repr(parse(text)) == text
    assert parse(str(parse(text))) == parse(text)


ELSEWHERE = {
    # trec_eval: names of its output
    "map": "AP",
    "ndcg": "nDCG",
    "ndcg_cut_10": "nDCG@10",
    "P_5": "P@5",
    "recip_rank": "RR",
    "recall_100": "R@100",
    "iprec_at_recall_0.10": "IPrec@0.1",
    "iprec_at_recall_1.00": "IPrec@1",
    "map_cut_100": "AP@100",
    "success_1": "Success@1",
    "Rprec": "Rprec",
    "bpref": "Bpref",
    "gm_map": "GMAP",
    "11pt_avg": "IAP",
    "11pt_avg_0.2,0.5": "IAP(points=(0.2, 0.5))",
    "relative_P_10": "RelP@10",
    "set_P": "SetP",
    "set_recall": "SetR",
    "set_F": "SetF",
    "set_F_2.0": "SetF(x=2)",
    "set_F_4": "SetF(beta=2)",
    "set_map": "SetAP",
    "set_relative_P": "SetRelP",
    "num_q": "NumQ",
    "num_rel_ret": "NumRelRet",
    "dcg": "DCG",
    "ndcg_1=3,2=7": "nDCG(gain={1: 3, 2: 7})",
    # trec_eval: names with parameters
    "ndcg_cut.10": "nDCG@10",
    "P.5": "P@5",
    "ndcg.1=3,2=9,4=4.5": "nDCG(gain={1: 3, 2: 9, 4: 4.5})",
    "set_F.0.5": "SetF(x=0.5)",
    "iprec_at_recall..10": "IPrec@0.1",
    "11pt_avg..25,.5,.75": "IAP(points=(0.25, 0.5, 0.75))",
    "success.5": "Success@5",
    # ranx
    "ndcg@10": "nDCG@10",
    "mrr": "RR",
    "mrr@10": "RR@10",
    "hit_rate@5": "Success@5",
    "map@100-l2": "AP(rel=2)@100",
    "map-l2": "AP(rel=2)",
    "precision@5": "P@5",
    "recall@100": "R@100",
    "f1@5": "F@5",
    "r-precision": "Rprec",
    "r_precision": "Rprec",
    "ndcg_burges@10": "nDCG(gain='exp2')@10",
    "dcg_burges": "DCG(gain='exp2')",
    "dcg@5": "DCG@5",
    # ir_measures
    "nDCG(dcg='exp-log2')@10": "nDCG(gain='exp2')@10",
    "nDCG(dcg='log2')@10": "nDCG@10",
    "nDCG(gains={0: 0, 1: 1, 2: 3})@10": "nDCG(gain={0: 0, 1: 1, 2: 3})@10",
    "Success@5": "Success@5",
    "MAP": "AP",
    "MRR": "RR",
    "NDCG@10": "nDCG@10",
    "Precision@5": "P@5",
    "Recall@5": "R@5",
    "RPrec": "Rprec",
    "BPref": "Bpref",
    "AP(rel=2)@100": "AP(rel=2)@100",
    "SetP(relative=False)": "SetP",
    "SetP(relative=True, rel=2)": "SetRelP(rel=2)",
    "NumRet(rel=1)": "NumRelRet",
    "NumRet(rel=2)": "NumRelRet(rel=2)",
    "NumRet": "NumRet",
    "P(REL=2)@5": "P(rel=2)@5",
    "nDCG(DCG='Exp-Log2')@5": "nDCG(gain='exp2')@5",
    "nDCG(gain='EXP2')@5": "nDCG(gain='exp2')@5",
    "MAP@100-L2": "AP(rel=2)@100",
    "nDCG @10": "nDCG@10",
    "P@ 5": "P@5",
    # others
    "ndcg_at_10": "nDCG@10",
    "recall_at_100": "R@100",
    "mrr_at_10": "RR@10",
    "R_cap@10": "RelP@10",
    "judged.10": "Judged@10",
    "p@5": "P@5",
    "ap": "AP",
    "nDCG(gain=exp2)@10": "nDCG(gain='exp2')@10",
    "P@min(R, 5)": "P@min(5,R)",
    "P_1234567": "P@1234567",
    # trec_eval's rarer ones
    "rbp": "RBP(p=0.9, gain='linear')",
    "RBP": "RBP",
    "Rbp": "RBP",
    "rbp.p=0.5": "RBP(p=0.5, gain='linear')",
    "rbp_p=0.5,1=2": "RBP(p=0.5, gain={1: 2})",
    "rbp_resid": "RBPResidual(p=0.9, tail='if unjudged')",
    "Rprec_mult_0.40": "Rprec(multiple=0.4)",
    "Rprec_mult_1.00": "Rprec",
    "Rprec_mult_avgjg.1.5": "GroupRprec(multiple=1.5)",
    "P_avgjg_5": "GroupP@5",
    "map_avgjg": "GroupAP",
    "utility.2,-1,0,0": "Utility(weights=(2, -1, 0, 0))",
    "utility_1,-1,0,0": "Utility",
    "relstring.40": "RelString@40",
    "relstring": "RelString@10",
    "RelString": "RelString",
    "unj_5": "Unjudged@5",
    "ideal_dcg.1=2": "IDCG(gain={1: 2})",
    "ndcg_rel": "nDCG_rel",
    "Rndcg": "RnDCG",
    "prefs_avgjg_Rnonrel_ret": "PrefsRnonrel(over='retrieved')",
    "gm_bpref": "GMBpref",
    "ndcg_cut@10": "nDCG@10",
    "recall@100-l2": "R(rel=2)@100",
    "Recall(rel=2)@5": "R(rel=2)@5",
    "P ( rel = 2 )@5": "P(rel=2)@5",
}


@pytest.mark.parametrize(("text", "canonical"), ELSEWHERE.items(), ids=ELSEWHERE.keys())
def test_names_from_elsewhere(text: str, canonical: str) -> None:
    if " )" in text:
        assert str(parse(text.replace("P (", "P("))) == canonical
    else:
        assert str(parse(text)) == canonical


FAMILIES = {
    "ndcg_cut": [f"nDCG@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)],
    "recall": [f"R@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)],
    "map_cut": [f"AP@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)],
    "relative_P.5": ["RelP@5"],
    "P.5,7,3": ["P@3", "P@5", "P@7"],
    "recall.20,2000": ["R@20", "R@2000"],
    "ndcg_cut.10,20": ["nDCG@10", "nDCG@20"],
    "Rprec_mult": [f"Rprec(multiple={i / 5:g})" if i != 5 else "Rprec" for i in range(1, 11)],
    "Rprec_mult.2,0.5": ["Rprec(multiple=0.5)", "Rprec(multiple=2)"],
    "unj": ["Unjudged@5", "Unjudged@10", "Unjudged@20"],
    "success.2,5,20": ["Success@2", "Success@5", "Success@20"],
    "iprec_at_recall..10,.20": ["IPrec@0.1", "IPrec@0.2"],
    "iprec_at_recall": [f"IPrec@{i / 10:g}" for i in range(11)],
    "AP  nDCG(gain={1: 2})@5\tmap P.5": ["AP", "nDCG(gain={1: 2})@5", "P@5"],
}


@pytest.mark.parametrize(("text", "canonical"), FAMILIES.items(), ids=FAMILIES.keys())
def test_families_expand(text: str, canonical: list[str]) -> None:
    assert list(map(str, parse_all(text))) == canonical


def test_the_relevance_level_is_given_to_those_that_state_none() -> None:
    measures = parse_all("P_5 P(rel=1)@5 nDCG@10 map map@100-l3 Judged@10 num_rel recall.5", rel=2)
    assert list(map(str, measures)) == [
        "P(rel=2)@5",
        "P@5",
        "nDCG@10",
        "AP(rel=2)",
        "AP(rel=3)@100",
        "Judged@10",
        "NumRel(rel=2)",
        "R(rel=2)@5",
    ]


def test_measures_are_values_equal_by_meaning() -> None:
    assert P(rel=1) @ 5 == P @ 5 == parse("P_5")
    assert hash(P(rel=1) @ 5) == hash(P @ 5)
    assert F(beta=1) @ 5 == F @ 5
    assert F(beta=2.0) @ 5 == F(beta=2) @ 5
    assert nDCG(gain="linear") == nDCG
    assert nDCG(gain={2: 9, 1: 3.0}) == nDCG(gain={1: 3, 2: 9})
    assert SetF(x=4) == SetF(beta=2)
    assert SetF(x=1) == SetF
    assert SetF(x=np.int64(4)) == SetF(x=4)
    assert str(IPrec @ -0.0) == "IPrec@0"
    assert SetF(beta=2)(x=2) == SetF(x=2)
    assert SetF(x=2)(beta=3) == SetF(beta=3)
    assert parse(str(nDCG(gain={1: 1e20, 2: 1e99}))) == nDCG(gain={1: 1e20, 2: 1e99})
    assert nDCG @ 10 != nDCG @ 20
    assert len({P @ 5, P(rel=1) @ 5, P(rel=2) @ 5}) == 2
    assert (P @ 5)(rel=2) == P(rel=2) @ 5
    assert pickle.loads(pickle.dumps(P(rel=2) @ 5)) == P(rel=2) @ 5  # noqa: S301 - our own


def test_a_measure_made_by_hand_is_checked() -> None:
    with pytest.raises(MeasureError, match="unknown measure 'ndgc'"):
        Measure("ndgc")
    untyped: Any = 5
    with pytest.raises(MeasureError, match="write P@5"):
        Measure("P", untyped)


def test_python_spells_measures_as_text_does() -> None:
    assert str(P @ R) == "P@R"
    assert str(nDCG @ "min(100,R)") == "nDCG@min(100,R)"
    assert str(nDCG(gain={1: 3}) @ 10) == "nDCG(gain={1: 3})@10"
    assert str(IPrec @ 0.1) == "IPrec@0.1"
    assert (nDCG @ 10).parameters["gain"] == "linear"


def test_every_measure_is_an_attribute_and_listed() -> None:
    for definition in definitions():
        assert getattr(cranfield, definition.name) == Measure(definition.name)
        assert definition.name in dir(cranfield)
    with pytest.raises(AttributeError, match="'nDGC'"):
        _ = cranfield.nDGC


REFUSED = {
    "nDGC@10": "Did you mean nDCG",
    "ndgc_cut_10": "unknown measure",
    "P": r"P needs a cutoff: P@10; over everything retrieved it is SetP",
    "R": r"R needs a cutoff: R@10; over everything retrieved it is SetR",
    "F": r"F needs a cutoff: F@10; over everything retrieved it is SetF",
    "p": r"P needs a cutoff: P@10; over everything retrieved it is SetP",
    "precision(over='returned')": "SetP has no parameter 'over'",
    "IPrec": r"IPrec needs a cutoff: IPrec@0.1",
    "P(rel=2)": r"P\(rel=2\) needs a cutoff: P\(rel=2\)@10",
    "P@0": "a number of ranks, 1 or more",
    "P@-1": "a number of ranks",
    "P@ten": "a number of ranks",
    "P@1.5": "a number of ranks",
    "P.0": "a number of ranks",
    "P_5.5": "a number of ranks",
    "IPrec@1.1": "a recall from 0 to 1",
    "IPrec@nan": "a recall from 0 to 1",
    "Rprec@5": "Rprec takes no cutoff",
    "P(rel=-1)@5": "a number from 0 to 2,147,483,647",
    "P(rel=1e10)@5": "a number from 0 to",
    "P(rel='1')@5": "a number from 0 to",
    "P(rel=True)@5": "a number from 0 to",
    "P(level=2)@5": "has no parameter 'level'; it takes over, rel",
    "P(re=2)@5": "Did you mean rel",
    "P(2)@5": "expected name=value",
    "P(rel=2@5": "a bracket is not closed",
    "P(rel=__import__('os'))@5": "expected name=value",
    "P(**{'rel': 1})@5": "expected name=value",
    "nDCG(gain='exp')@5": "'linear', 'exp2', 'binary', ",
    "nDCG(gain={})@5": "a mapping",
    "nDCG(gain={1: 'a'})@5": "a mapping",
    "nDCG(gain={1: 1e999})@5": "a mapping",
    "nDCG(dcg='other')@5": "no parameter 'dcg'",
    "nDCG(judged_only=True)@10": "judged_only=True",
    "P(cutoff=5)": "written P@5",
    "ndcg@10-l2": "takes no relevance level",
    "F(beta=0)@5": "greater than 0",
    "SetF(beta=2, x=2)": "not both",
    "SetF(x=True)": "greater than 0",
    "SetF(beta=1e200)": "no more than 1e9",
    "SetP(relative='False')": "True or False",
    "nDCG(dcg='exp-log2', gain=linear)": "one of gain, gains and dcg",
    "nDCG(gain={" + ", ".join(f"{i}: 1" for i in range(101)) + "})": "a mapping",
    "num_ret-l3": "takes no relevance level",
    "nDCG(gain={1: 1e300})@5": "a mapping",
    "IAP(points=(2,))": "recall points from 0 to 1",
    "IAP(points=())": "recall points from 0 to 1",
    "P." + "9" * 400: "unknown measure",
    "ndcg." + "9" * 5000 + "=3": "unknown measure",
    "map.p=3": "unknown measure",
    "utility.1,2": "four numbers",
    "RBP(p=1.5)": "a number from 0 to 1",
    "RBPResidual(tail='no')": "'counts' or 'if unjudged'",
    "Prefs(over='some')": "'all', 'implied' or 'retrieved'",
    "IPrec(version=8)@0.1": "9 or 10",
    "": "no measure is named",
    "   ": "no measure is named",
    "@10": "unknown measure",
    "nDCG@": "there is no number behind @, as in nDCG@10",
    "x" * 50_000: "50,000 characters",
    "P(" + "(" * 900: "a bracket is not closed",
    "F(beta=2)(rel=2)@5": "expected name=value",
    "P(rel=2).x(rel=1)@5": "expected name=value",
    "P(rel=2, rel=1)@5": "expected name=value",
    "P_" + "11," * 60 + "x": "unknown measure",
    "P." + ",".join(map(str, range(10, 310, 10))) + "!": "unknown measure",
    "P(rel=1" + "0" * 400 + ")@5": "a number from 0 to 2,147,483,647",
    "P@1" + "0" * 20: "there are no rankings so long",
    "IPrec@0_1": "a recall from 0 to 1",
    "IPrec@\u0660.\u0661": "a recall from 0 to 1",
    "P@min(1 0,R)": "a number of ranks",
    "mapp,RR": "unknown measure 'mapp'",
    "nDCG(gain=" + "[" * 300 + "]" * 300 + ")@5": "expected",
}


@pytest.mark.parametrize(("text", "problem"), REFUSED.items(), ids=[t[:30] for t in REFUSED])
def test_what_is_not_known_is_refused_with_what_to_write(text: str, problem: str) -> None:
    with pytest.raises(MeasureError, match=problem):
        parse_all(text)


@given(st.text(st.characters(exclude_categories=["Cs"])))
@example("map P.5,10 nDCG(gain='exp2')@20")
@example("AP")
@example(" nDCG@10 map\tP(rel=2)@5\n")
@example("ndcg_cut.5,10")
def test_any_text_is_a_measure_or_a_measure_error(text: str) -> None:
    try:
        measures = parse_all(text)
    except MeasureError:
        return
    assert parse_all(" ".join(map(str, measures))) == measures


PIECES = [
    "@5",
    "@R",
    "@0.5",
    "@min(3,R)",
    "(rel=2)",
    "(gain='exp2')",
    ".5,10",
    "_10",
    " ",
    "AP",
    ",",
]


def test_texts_that_look_like_measures() -> None:
    measures = set()

    @given(
        st.sampled_from(["P", "nDCG", "map", "recall", "set_F", "IAP", "ndcg_cut"]),
        st.text("PRrel0123456789=.,_@-()l'{}: ", max_size=12)
        | st.lists(st.sampled_from(PIECES), max_size=3).map("".join),
    )
    @example("P", "(rel=2)@5")
    @example("P", "_5")
    @example("nDCG", "@1..3")
    @example("recall", "@100-l2")
    def check(name: str, rest: str) -> None:
        try:
            found = parse_all(name + rest)
        except MeasureError:
            return
        measures.add(name + rest)
        assert parse_all(" ".join(map(str, found))) == found

    check()
    assert len(measures) >= 5, "of a hundred texts"


def test_one_list_is_scored_without_ceremony() -> None:
    assert AP({"d3"}, ["d1", "d2", "d3"]) == 1 / 3
    assert AP(["d3"], ("d1", "d2", "d3")) == 1 / 3
    assert AP({3: 1}, [1, 2, 3]) == 1 / 3
    assert AP({"d3": 1}, {"d1": 0.1, "d3": 0.9}) == 1 / 1
    assert (P @ 2)({"d3"}, []) == 0
    with pytest.raises(cranfield.InputError, match="'d1' occurs twice"):
        AP({"d3"}, ["d1", "d1"])
    call: Any = AP
    with pytest.raises(cranfield.InputError, match="best first"):
        call({"d3"}, "d1 d2")
    with pytest.raises(MeasureError, match="P needs a cutoff"):
        P({"d3"}, ["d1"])
    with pytest.raises(TypeError, match="use one of the two"):
        call({"d3"})


def test_find_knows_every_name() -> None:
    for definition in definitions():
        for name in (definition.name, *definition.aliases, definition.name.upper()):
            assert find_definition(name) is definition
    assert find_definition("ndcg_cut_10").name == "nDCG"
    with pytest.raises(MeasureError, match="Did you mean nDCG"):
        find_definition("nDGC")


def test_no_name_stands_for_two_measures() -> None:
    names = [
        name.lower() for d in definitions() for name in {d.name.lower(), *map(str.lower, d.aliases)}
    ]
    assert len(names) == len(set(names))


@pytest.mark.more
def test_types_of_measures_are_known_to_a_checker(
    tmp_path: Any, pytestconfig: pytest.Config
) -> None:
    """`cranfield.nDCG@10` is a Measure, a call with two lists a float."""
    code = (
        "from cranfield import AP, nDCG, P, Measure, Scores, Systems, evaluate\n"
        "one: Measure = nDCG(gain='exp2')@10\n"
        "value: float = AP({'d1'}, ['d1'])\n"
        "alone: Scores = evaluate({'q': {'d': 1}}, {'q': {'d': 1.0}}, [P@5])\n"
        "both: Systems = evaluate('qrels', ['a.run', 'b.run'])\n"
    )
    path = tmp_path / "use.py"
    path.write_text(code)
    mypy = pytest.importorskip("mypy.api")
    del mypy
    # The quick profile keeps what mypy knows of the package, for the next time.
    cache_options = ["--no-incremental"]
    if not is_full() and hasattr(pytestconfig, "cache") and pytestconfig.cache is not None:
        cache_options = ["--cache-dir", str(pytestconfig.cache.mkdir("mypy"))]
    process = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", *cache_options, str(path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert process.returncode == 0, process.stdout


def test_a_declaration_is_shorter_than_what_it_says_of_the_measure() -> None:
    """In lines: what only machinery needs should not be between a reader and the formula."""
    decorators, docstrings = [], []
    registering = ("measure(", "count_measure(", "_preference_measure(")
    for path in Path(cranfield.measures.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            for call in getattr(node, "decorator_list", ()):
                if isinstance(node, ast.FunctionDef) and ast.unparse(call).startswith(registering):
                    decorators.append(call.end_lineno - call.lineno + 1)
                    docstrings.append((ast.get_docstring(node) or "").count("\n") + 1)
    assert len(decorators) == sum(not definition.is_user_defined for definition in definitions())
    assert statistics.median(decorators) < statistics.median(docstrings)
