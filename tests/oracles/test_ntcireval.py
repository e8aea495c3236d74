"""Against pyNTCIREVAL 0.0.3, on generated collections.

It adds up in another order, so that its last bits differ; nothing else may. What it does otherwise:

- AP@k is divided by min(k, R); AP here is divided by R. Q@k is divided by min(k, R) here, too.
- Normalized measures raise ZeroDivisionError for a query without relevant documents: 0 here.
- ERR takes g / (gmax + 1) for the chance to stop; here that is stop='linear', and `top` says gmax.
"""

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import pyNTCIREVAL.metrics as ntcir
import pytest

from cranfield import Measure, parse

GRADES = [1, 2, 3]  # the gains of levels 1, 2 and 3
Peer = Callable[[list[int]], Any]  # the number of documents of each level

MEASURES: dict[str, Peer] = {
    "RR": lambda n: ntcir.RR(),
    "O_measure": lambda n: ntcir.OMeasure(n, GRADES, 1),
    "O_measure(beta=2)": lambda n: ntcir.OMeasure(n, GRADES, 2),
    "P_measure": lambda n: ntcir.PMeasure(n, GRADES, 1),
    "Pplus": lambda n: ntcir.PPlusMeasure(n, GRADES, 1),
    "Pplus(beta=0.5)": lambda n: ntcir.PPlusMeasure(n, GRADES, 0.5),
    "AP": lambda n: ntcir.AP(n, GRADES),
    "Q": lambda n: ntcir.QMeasure(n, GRADES, 1),
    "Q(beta=10)": lambda n: ntcir.QMeasure(n, GRADES, 10),
    "Q@5": lambda n: ntcir.QMeasure(n, GRADES, 1, 5),
    "NCUgu_P": lambda n: ntcir.NCUguP(n, GRADES, GRADES),
    "NCUgu_BR": lambda n: ntcir.NCUguBR(n, GRADES, GRADES, 1),
    "NCUrb_P": lambda n: ntcir.NCUrbP(n, GRADES, 0.95),
    "NCUrb_BR": lambda n: ntcir.NCUrbBR(n, GRADES, 0.95, 1),
    "NCU(users='rb', gamma=0.5)": lambda n: ntcir.NCUrbBR(n, GRADES, 0.5, 1),
    "nDCG_JK@5": lambda n: ntcir.nDCG(n, GRADES, 2, 5),
    "nDCG(discount=('jk', 3))@10": lambda n: ntcir.nDCG(n, GRADES, 3, 10),
    "MSnDCG@5": lambda n: ntcir.MSnDCG(n, GRADES, 5),
    "NTCIR_ERR(top=3)": lambda n: ntcir.ERR(n, GRADES),
    "NTCIR_nERR(top=3)@5": lambda n: ntcir.nERR(n, GRADES, 5),
    "P@5": lambda n: ntcir.Precision(5),
    "Success@3": lambda n: ntcir.Hit(3),
    "RBP(gain={1: 0.3333333333333333, 2: 0.6666666666666666, 3: 1}, p=0.95)": lambda n: ntcir.RBP(
        n, GRADES, 0.95
    ),
}


def make_collection(seed: int) -> tuple[dict[str, int], list[str], list[tuple[str, int | None]]]:
    """Return judgments of levels 0 to 3, a ranking, and the ranking with its levels."""
    chance = random.Random(seed)
    grades = {f"d{i}": chance.choice([0, 0, 1, 1, 2, 3]) for i in range(chance.randint(1, 12))}
    docs = [*grades, *(f"u{i}" for i in range(chance.randint(0, 6)))]
    ranking = chance.sample(docs, chance.randint(1, len(docs)))
    return grades, ranking, [(doc, grades.get(doc)) for doc in ranking]


def count_levels(grades: dict[str, int]) -> list[int]:
    grade_list: Sequence[int] = list(grades.values())
    return [grade_list.count(level) for level in range(len(GRADES) + 1)]


@pytest.mark.parametrize("name", MEASURES)
def test_every_value_is_pyntcirevals(name: str) -> None:
    measure: Measure = parse(name)
    n_compared = 0
    for seed in range(300):
        grades, ranking, with_levels = make_collection(seed)
        value = measure(grades, ranking)
        if not any(grades.values()):
            assert value == 0, "where theirs divides by 0"
            continue
        peer_value = MEASURES[name](count_levels(grades)).compute(with_levels)
        assert math.isclose(value, peer_value, rel_tol=1e-12, abs_tol=1e-15), (
            seed,
            value,
            peer_value,
        )
        n_compared += 1
    assert n_compared > 250


def test_ap_at_k_is_divided_by_something_else() -> None:
    grades, ranking = {"a": 1, "b": 1, "c": 1}, ["a", "x"]
    peer_value = ntcir.AP(count_levels(grades), GRADES, 2).compute([("a", 1), ("x", None)])
    assert (parse("AP@2")(grades, ranking), peer_value) == (1 / 3, 1 / 2)
