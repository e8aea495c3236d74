"""Measures: arithmetic to check by eye, slow loops, and trec_eval's own numbers."""

import gzip
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers import oracle
from helpers.profile import seeds
from helpers.systems import SYSTEMS
from helpers.variants import variants

import cranfield
from cranfield import Measure, definitions, evaluate, parse, read_run
from cranfield.measures import Definition, make_example

# The judgments have grades 3, 2, 1, 1 and 0; the run finds 2, nothing, 0, 3, and misses two.
TRUTH = {"a": 3, "b": 2, "c": 1, "d": 1, "e": 0}
FOUND = ["b", "x", "e", "a", "y"]
IDEAL = 3 / math.log2(2) + 2 / math.log2(3) + 1 / math.log2(4) + 1 / math.log2(5)

WHOLE = 2 / math.log2(2) + 3 / math.log2(5)

ARITHMETIC: dict[str, float | str] = {
    "P@1": 1 / 1,
    "P@4": 2 / 4,
    "P@10": 2 / 10,
    "P(rel=3)@4": 1 / 4,
    "P@R": 2 / 4,
    "P@min(3,R)": 1 / 3,
    "R@3": 1 / 4,
    "R@100": 2 / 4,
    "R(rel=2)@4": 2 / 2,
    "F@4": 2 * (2 / 4) * (2 / 4) / (2 / 4 + 2 / 4),
    "F(beta=2)@1": (1 + 4) * 1 * (1 / 4) / (4 * 1 + 1 / 4),
    "P(over='returned')@10": 2 / 5,
    "P(over='returned')@3": 1 / 3,
    "R(over='reachable')@3": 1 / 3,
    "R(over='retrieved')@3": 1 / 2,
    "MeanP@2": (1 / 1 + 1 / 2) / 2,
    "RelP@3": 1 / 3,
    "RelP@10": 2 / 4,
    "Success@1": 1,
    "Success(rel=3)@3": 0,
    "Rprec": 2 / 4,
    "RR": 1 / 1,
    "RR(rel=3)": 1 / 4,
    "RR(rel=3)@3": 0,
    "AP": (1 / 1 + 2 / 4) / 4,
    "RR(over='hits')": (1 / 1 + 1 / 4) / 2,
    "AP@3": (1 / 1) / 4,
    "AP(over='returned')@3": (1 / 1) / 3,
    "AP(over='returned')": (1 / 1 + 2 / 4) / 4,
    "AP(over='cutoff')@8": (1 / 1 + 2 / 4) / 8,
    "nDCG(ideal='uncut')@3": 2 / IDEAL,
    "AP(rel=3)": (1 / 4) / 1,
    "Bpref": ((1 - 0 / 1) + (1 - 1 / 1)) / 4,
    "IPrec@0": 1,
    "IPrec@0.25": 1 / 1,
    "IPrec@0.5": 2 / 4,
    "IPrec@0.75": 0,
    "IAP(points=(0.25, 0.5))": (2 / 4 + 1 / 1) / 2,
    "Judged": 3 / 5,
    "Judged@2": 1 / 2,
    "Judged@10": 3 / 5,
    "DCG": 2 / math.log2(2) + 3 / math.log2(5),
    "DCG(gain='exp2')": (2**2 - 1) / math.log2(2) + (2**3 - 1) / math.log2(5),
    "DCG(discount='none')": 2 + 3,
    "DCG(discount='zipf')": 2 / 1 + 3 / 4,
    "DCG(discount='jk')": 2 / 1 + 3 / math.log2(4),
    "DCG(discount=('jk', 4))": 2 / 1 + 3 / (math.log2(4) / math.log2(4)),
    "DCG(discount='ln')": 2 / 1 + 3 / math.log(4),
    "DCG(discount=('power', 0.5))": 2 / 1 + 3 / 2,
    "DCG(discount='linear')@8": (9 * (2 + 3) - (2 * 1 + 3 * 4)) / 8,
    "nDCG(ideal='retrieved')": (2 / math.log2(2) + 3 / math.log2(5))
    / (3 / math.log2(2) + 2 / math.log2(3)),
    "nDCG(ideal='top')@2": (2 / math.log2(2)) / (3 / math.log2(2) + 3 / math.log2(3)),
    "nDCG": (2 / math.log2(2) + 3 / math.log2(5)) / IDEAL,
    "nDCG@2": (2 / math.log2(2)) / (3 / math.log2(2) + 2 / math.log2(3)),
    "nDCG(gain={1: 0, 2: 0, 3: 1})": (1 / math.log2(5)) / (1 / math.log2(2)),
    "nDCG(gain={0: 9, 3: 1})@3": (2 / math.log2(2) + 9 / math.log2(4))
    / (9 / math.log2(2) + 2 / math.log2(3) + 1 / math.log2(4)),
    # A grade g stops with (2^g - 1) / 2^3, or with g / (3 + 1).
    "ERR": 3 / 8 / 1 + (1 - 3 / 8) * (7 / 8) / 4,
    "ERR@3": 3 / 8 / 1,
    "ERR(top=4)": 3 / 16 / 1 + (1 - 3 / 16) * (7 / 16) / 4,
    "ERR(stop='linear')": 2 / 4 / 1 + (1 - 2 / 4) * (3 / 4) / 4,
    "ERR(stop={3: 0.5})": 0.5 / 4,
    "nERR@1": (3 / 8) / (7 / 8),
    # Thresholds 1, 2 and 3: relevant are 4, 2 and 1.
    "GAP": ((1 / 1 + 2 / 4) + (1 / 1 + 2 / 4) + 1 / 4) / (4 + 2 + 1),
    "GAP(share={3: 1})": (1 / 4) / 1,
    # Gain so far 2 and 5, of the ideal 3 and 7.
    "Q": ((1 + 2) / (1 + 3) + (2 + 5) / (4 + 7)) / 4,
    "Q(beta=0)": (1 / 1 + 2 / 4) / 4,
    "Q@1": (1 + 2) / (1 + 3) / 1,
    "O_measure": (1 + 2) / (1 + 3),
    "P_measure": (2 + 5) / (4 + 7),
    "Pplus": ((1 + 2) / (1 + 3) + (2 + 5) / (4 + 7)) / 2,
    "NCU": (2 * ((1 + 2) / (1 + 3)) + 3 * ((2 + 5) / (4 + 7))) / (3 + 2 + 1 + 1),
    "NCU(users='rb', gamma=0.5, beta=0)": (1 * 1 / 1 + 0.5 * 2 / 4) / (1 + 0.5 + 0.25 + 0.125),
    # Four relevant documents should be seen with (1 + 1/2 + 1/4 + 1/8) / 4 each.
    "EEL": (1 - 15 / 32) ** 2
    + (1 / 8 - 15 / 32) ** 2
    + 2 * (15 / 32) ** 2
    + 1 / 4
    + 1 / 16
    + 1 / 256,
    # Relevant at 1 and 4 of 5: 3 others, two of them above the second.
    "AUC": 1 - 2 / (2 * 3),
    "FallOut@4": 2 / 3,
    "FallOut(collection=104)@4": 2 / (104 - 4),
    "WSS@0.5": (5 - 4) / 5 - (1 - 0.5),
    "WSS(collection=100)@0.25": (100 - 1) / 100 - (1 - 0.25),
    "WSS@1": (5 - 5) / 5 - (1 - 1),
    "LastRel": 4,
    "SearchLength": 0,
    "SearchLength(n=2)": 2,
    "SearchLength(n=3)": 3,
    "IDCG": IDEAL,
    # DCG is 2 at ranks 1 to 3, and from rank 4 on that of the whole; two documents are missing.
    "nDCG_rel": (2 / 3 + WHOLE / IDEAL + 2 * WHOLE / IDEAL) / 4,
    "RnDCG": (2 / 3 + 2 / (3 + 2 / math.log2(3)) + WHOLE / IDEAL) / 3,
    "G": (2 / math.log2(2 + 3 - 2) + 3 / math.log2(2 + 7 - 5)) / 7,
    "GMAP": (1 / 1 + 2 / 4) / 4,
    "GMBpref": ((1 - 0 / 1) + (1 - 1 / 1)) / 4,
    "infAP": (1 / 1 + (1 / 4 + 3 / 4 * (2 / 3) * ((1 + 1e-5) / (1 + 1 + 2e-5)))) / 4,
    "binG": (1 / math.log2(2 + 0) + 1 / math.log2(2 + 2)) / 4,
    "YAAP": math.log((1 + (1 / 1 + 2 / 4)) / (1 + 4 - (1 / 1 + 2 / 4))),
    "Unjudged@5": 2 / 5,
    "RelString@4": "2-03",
    "RBP": (1 + 0.8 * 0.8 * 0.8) * (1 - 0.8),
    "RBPResidual": 0.8 * 0.8 * 0.8 * 0.8 * 0.8 + (1 - 0.8) * (0.8 + 0.8 * 0.8 * 0.8 * 0.8),
    "Utility": 1 * 2 - 1 * 3,
    "NumNonRelRet": 1,
    "GroupAP": (1 / 1 + 2 / 4) / 4,
    "GroupP@4": 2 / 4,
    "GroupRprec": 2 / 4,
    # Preferences: of a to four, of b to three, of c and d to e. Kept: a c, a d, b c, b d, b e.
    "NumPrefs": 4 + 3 + 2,
    "NumPrefsFul": 5,
    "Prefs": 5 / 9,
    "PrefsByPair": 5 / 9,
    "PrefsByGroup": 5 / 9,
    "PrefsRnonrel": (5 + 2 * (4 - 1)) / (9 + 4 * (4 - 1)),
    "SetP": 2 / 5,
    "SetR": 2 / 4,
    "SetF": 2 * (2 / 5) * (2 / 4) / (2 / 5 + 2 / 4),
    "SetF(beta=2)": (1 + 4) * (2 / 5) * (2 / 4) / (4 * (2 / 5) + 2 / 4),
    "SetF(x=2)": (1 + 2) * (2 / 5) * (2 / 4) / (2 * (2 / 5) + 2 / 4),
    "SetAP": 2 * 2 / (5 * 4),
    "SetRelP": 2 / 4,
    "NumQ": 1,
    "NumRet": 5,
    "NumRel": 4,
    "NumRel(rel=2)": 2,
    "NumRelRet": 2,
    # Gains 2/3, 0, 0, 1, 0 and then 0 for ever; W_i = 0.5^(i-1) / (1 + 0.5 + 0.25 + 0.125).
    "CWL('P')@4": 0.25 * (2 / 3) + 0.25 * 1,
    "CWL('P', value='ETU')@4": 2 / 3 + 1,
    "CWL('P', value='EC')@4": 4 * 0.25 * 1,
    "CWL('P', value='ETC')@4": 4,
    "CWL('P', value='ED')@4": 4,
    "CWL('RBP(p=0.5)', depth=4)": 1 / 1.875 * (2 / 3) + 0.125 / 1.875 * 1,
    "CWL('RBP(p=0.5)', depth=4, value='ED')": 1.875,
    "CWL('RR', value='ED', gain={1: 0, 2: 0, 3: 1})": 4,
    "CWL('SDCG', depth=4)@2": 2 / 3 / (1 + math.log2(2) / math.log2(3)),
    "CWL('NERR8', value='ED')@2": 1 + (1 - 2 / 3),
    "CWL('BPM(T=1)', value='ED')@10": 4,
    "CWL('BPM(T=1)', value='ED')@3": 3,
    # One subtopic with four relevant documents, of which the run has those of ranks 1 and 4.
    "alpha_DCG@4": (1 / math.log2(2) + 0.5 / math.log2(5))
    / (1 / math.log2(2) + 0.5 / math.log2(3) + 0.25 / math.log2(4) + 0.125 / math.log2(5)),
    "alpha_nDCG@2": (1 / math.log2(2)) / (1 / math.log2(2) + 0.5 / math.log2(3)),
    "ERR_IA@2": (1 / 1) / (1 / 1 + 0.5 / 2),
    "nERR_IA@4": (1 / 1 + 0.5 / 4) / (1 / 1 + 0.5 / 2 + 0.25 / 3 + 0.125 / 4),
    "NRBP": (1 + 0.5 * 0.125) * (1 - 0.5 * 0.5),
    "nNRBP": (1 + 0.5 * 0.125) / (1 + 0.5 * 0.5 + 0.25 * 0.25 + 0.125 * 0.125),
    "AP_IA": (1 / 1 + 2 / 4) / 4,
    "P_IA@4": 2 / 4,
    "StRecall@1": 1,
    "D_nDCG": (2 / math.log2(2) + 3 / math.log2(5)) / IDEAL,
    "Dsharp_nDCG@1": 0.5 * 1 + 0.5 * (2 / 3),
    "xinfAP": (1 / 1 + (1 / 4 + 3 / 4 * (2 / 3) * ((1 + 1e-5) / (1 + 1 + 2e-5)))) / 4,
    "statAP": (1 / 1 + 2 / 4) / 4,
    # The ideal is a b c d; b is in both from depth 2 on, a from 4 on.
    "Compat(p=0.5, depth=2)": (0 / 1 + 0.5 * 1 / 2) / (1 / 1 + 0.5 * 2 / 2),
    "Compat(p=1, depth=2, normalize=False)": (0 / 1 + 1 / 2) / (1 + 1),
}


def test_every_measure_has_an_example_that_can_be_checked_by_eye() -> None:
    assert {parse(name).name for name in ARITHMETIC} == {
        definition.name for definition in definitions()
    }


@pytest.mark.parametrize("definition", definitions(), ids=lambda definition: definition.name)
def test_every_measure_is_declared_with_all_that_is_shown_of_it(definition: Definition) -> None:
    assert definition.name.isidentifier()
    assert definition.formula
    assert definition.source
    assert len(definition.documentation.split()) > 8
    assert definition.summary.endswith((".", ")"))
    assert all(parameter.meaning for parameter in definition.parameters.values())
    assert "unjudged" in definition.documentation.lower(), "what do they do?"
    low, high = definition.range
    assert high is None or low <= high
    measure, value = make_example(definition)
    assert measure.name == definition.name
    assert isinstance(value, str) == definition.is_text


@pytest.mark.parametrize(("name", "value"), ARITHMETIC.items(), ids=ARITHMETIC.keys())
def test_arithmetic(name: str, value: float | str) -> None:
    assert parse(name)(TRUTH, FOUND) == value


def test_gmap_is_a_geometric_mean_of_ap() -> None:
    scores = evaluate({"q1": {"a"}, "q2": {"a"}}, {"q1": ["a"], "q2": ["b", "a"]}, "GMAP AP")
    assert scores["GMAP"] == math.exp((math.log(1) + math.log(0.5)) / 2)
    assert scores.per_query("GMAP") == scores.per_query("AP") == {"q1": 1.0, "q2": 0.5}


def test_published_examples() -> None:
    """From teaching material: AP of 1100000000 and 0100100001 with five relevant documents."""
    truth = {f"r{i}" for i in range(5)}
    assert cranfield.AP(truth, ["r0", "r1", *"abcdefgh"]) == (1 / 1 + 2 / 2) / 5
    ranking = ["a", "r0", "b", "c", "r1", "d", "e", "f", "g", "r2"]
    assert cranfield.AP(truth, ranking) == (1 / 2 + 2 / 5 + 3 / 10) / 5


def test_a_gain_that_cannot_be_added_up_is_refused() -> None:
    with pytest.raises(cranfield.MeasureError, match="rescale the grades"):
        parse("nDCG(gain='exp2')")({"a": 2000}, ["a"])
    assert parse("nDCG(gain='exp2')")({"a": 1000, "b": 1}, ["a"]) == 1, "all but 1 of 2^1000"


def test_gains_that_rounding_swallows() -> None:
    """G takes logarithms of 2 and more, also where 2 is lost beside the gains."""
    assert parse("G(gain={1: 1e20})")({"a": 1, "b": 0}, ["b", "a"]) == 1 / math.log2(2)
    assert parse("G(gain='exp2')")({"a": 60}, ["x", "a"]) > 0


def test_gains_are_brought_to_0_to_1_for_rbp() -> None:
    def rbp(gain: dict[int, float]) -> object:
        return Measure("RBP")(gain=gain, p=0.5)({"a": 1, "b": 0}, ["a", "b"])

    assert rbp({0: -5, 1: -3}) == (1 - 0.5) * ((-3 + 5) / (-3 + 5) * 1 + 0 * 0.5)
    assert rbp({0: 0.5, 1: 0.75}) == (1 - 0.5) * (0.75 * 1 + 0.5 * 0.5), "they are there already"
    assert rbp({0: 2, 1: 4}) == (1 - 0.5) * 1, "2 is the least"
    assert rbp({7: 4}) == (1 - 0.5) * (1 / 4), "4 is the greatest, though no document has it"


# ---- against slow loops ---------------------------------------------------------------------


def test_every_measure_has_an_oracle() -> None:
    assert {definition.name for definition in definitions()} == set(oracle.ORACLES)


@pytest.mark.parametrize("name", [definition.name for definition in definitions()])
def test_every_measure_equals_its_slow_loop_to_the_bit(name: str) -> None:
    measures = list(variants(name))
    for seed in seeds(60, step=10):
        qrels, run = oracle.make_collection(seed)
        scores = evaluate(qrels, run, measures)
        top_grade = max(grade for docs in qrels.values() for grade in docs.values())
        for query, (ranking, grades) in oracle.grade_rankings(qrels, run).items():
            for measure in measures:
                expected = oracle.compute_value(measure, ranking, grades, top_grade)
                value = scores.per_query(measure)[query]
                assert value == oracle.allow_rounding(measure, expected), (measure, seed, query)


# ---- trec_eval's own numbers ----------------------------------------------------------------


def read_stored(path: Path) -> Iterator[tuple[str, str, str]]:
    with gzip.open(path, "rt") as lines:
        for line in lines:
            name, query, value = line.rstrip("\n").split("\t")
            yield name.strip(), query, value


def compare_with_trec_eval(
    outputs: list[Path],
    qrels: Path,
    run: Path,
    rel: int | None = None,
    without: frozenset[str] = frozenset(),
    **options: Any,
) -> int:
    """Compare every value to the last bit, except `runid` and names left out; return how many."""
    lines = [line for output in outputs for line in read_stored(output)]
    measure_of_name = {
        name: parse(name, rel) for name in {line[0] for line in lines} - {"runid"} - without
    }
    scores = evaluate(
        str(qrels), str(run), list(dict.fromkeys(measure_of_name.values())), **options
    )
    by_name = {name: scores.per_query(measure) for name, measure in measure_of_name.items()}
    n_compared = 0
    for name, query, value in lines:
        if name not in measure_of_name:
            continue
        mine = scores[measure_of_name[name]] if query == "all" else by_name[name][query]
        if name.startswith("relstring"):
            # trec_eval puts an unjudged document in the place of no results, and shows it.
            is_empty = name != "relstring" and not options.get("judged_only")
            assert value == f"'{mine or '-' * is_empty}'", (name, query)
        elif value.strip() == "-nan":  # 0/0: topics with nothing left, and their means
            assert options == {"judged_only": True}
            assert query == "all" or mine == 0
            continue
        elif (name, query, rel) == ("num_rel", "all", 2):
            continue  # trec_eval counts again, with grade > 0: 1197
        else:
            assert mine == float(value), (name, query)
        n_compared += 1
    return n_compared


@pytest.mark.parametrize(
    ("suffix", "rel", "options", "left_out"),
    [
        ("", None, {}, 0),
        ("-l2", 2, {}, 1),  # the number that trec_eval counts otherwise
        ("-M5", None, {"depth": 5}, 0),
        ("-J", None, {"judged_only": True}, 90),  # the 0/0
    ],
)
def test_random_collection_equals_trec_eval_to_the_last_bit(
    suffix: str, rel: int | None, options: dict[str, Any], left_out: int, data: Path
) -> None:
    """Without rbp: trec_eval's reads memory that it never wrote, in some topics of these."""
    folder = data / "random"
    outputs = [folder / f"all{suffix}.out.gz", folder / f"dcg{suffix}.out.gz"]
    n_compared = compare_with_trec_eval(
        outputs, folder / "qrels.txt", folder / "run.txt", rel, frozenset({"rbp"}), **options
    )
    lines = sum(1 for output in outputs for _ in read_stored(output))
    assert n_compared == lines - left_out - (300 + 1) - 1  # rbp, runid


@pytest.mark.parametrize(
    ("suffix", "options", "wrong"),
    [
        ("", {}, 39),
        ("-l2", {}, 1),
        ("-M5", {"depth": 5}, 14),
        ("-J", {"judged_only": True}, 79),
    ],
)
def test_rbp_where_trec_eval_does_not_read_memory_that_it_never_wrote(
    suffix: str, options: dict[str, Any], wrong: int, data: Path
) -> None:
    folder = data / "random"
    scores = evaluate(str(folder / "qrels.txt"), str(folder / "run.txt"), "rbp", **options)
    mine = scores.per_query("rbp")
    lines = [line for line in read_stored(folder / f"all{suffix}.out.gz") if line[0] == "rbp"]
    different = [
        query for _, query, value in lines if query != "all" and mine[query] != float(value)
    ]
    assert (len(lines), len(different)) == (300 + 1, wrong)


def test_num_rel_at_level_2_is_the_sum_over_queries(data: Path) -> None:
    folder = data / "random"
    scores = evaluate(str(folder / "qrels.txt"), str(folder / "run.txt"), "NumRel(rel=2)")
    assert scores["NumRel(rel=2)"] == 516


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize(("suffix", "rel"), [("", None), (".l2", 2)])
def test_real_systems_equal_trec_eval_to_the_last_bit(
    system: str, suffix: str, rel: int | None, data: Path
) -> None:
    folder = data / "dl19"
    output = folder / "trec_eval" / f"{system}{suffix}.out.gz"
    n_compared = compare_with_trec_eval(
        [output], folder / "qrels.txt", folder / f"{system}.run.gz", rel
    )
    lines = sum(1 for _ in read_stored(output))
    assert n_compared == (lines if suffix else lines - 1)  # runid
    assert lines == (880 if suffix else 4227)


def test_no_system_is_forgotten(data: Path) -> None:
    assert sorted(read_run(path).name for path in (data / "dl19").glob("*.run.gz")) == SYSTEMS


def test_published_ndcg_of_deep_learning_2019(data: Path) -> None:
    expected_values = {
        "bm25": ".5058",
        "bm25rm3": ".5216",
        "tasb": ".7210",
        "ada2": ".7035",
        "repllama": ".7384",
        "splade": ".7308",
    }
    folder = data / "dl19"
    runs = [str(folder / f"{system}.run.gz") for system in expected_values]
    systems = evaluate(str(folder / "qrels.txt"), runs, "nDCG@10")
    assert {name: f"{s['nDCG@10']:.4f}"[1:] for name, s in systems.items()} == expected_values


def test_microblog_2014(data: Path) -> None:
    """A run without scores, in the order given; sums from left to right."""
    folder = data / "microblog2014"
    names = ["AP@100", "RR@100", "nDCG(gain='exp2')@min(100,R)"]
    scores = evaluate(str(folder / "qrels.txt"), str(folder / "result.txt"), names)
    means = [0.6148422817122279, 0.79737012987013, 0.756819929645465]
    query_171 = [0.9498040597601829, 0.5, 0.9398543518229351]
    assert scores.counts.queries == 55
    assert [scores[name] for name in names] == means
    assert [scores.per_query(name)["171"] for name in names] == query_171
