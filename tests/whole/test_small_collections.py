"""The collections that other tools are run on, and the table of these tools."""

from itertools import pairwise
from typing import Any

import pytest
from helpers.folders import ROOT
from small_collections import TRAITS, make_collection
from tools import TOOLS

DRIVERS = ROOT / "scripts" / "conventions"
SEEDS = range(60)


def has_trait(trait: str, collection: dict[str, Any]) -> bool:
    """Tell whether a collection has a trait, from its judgments, run and lists."""
    qrels, run, lists = collection["qrels"], collection["run"], collection["lists"]
    return {
        "missing": bool(qrels.keys() - run.keys()),
        "empty": any(not docs for docs in run.values()),
        "unjudged": bool(run.keys() - qrels.keys()),
        "duplicates": any(len(docs) > len(set(docs)) for docs in lists.values()),
        "identical": any(query in docs for query, docs in run.items()),
    }[trait]


@pytest.mark.parametrize("trait", ["missing", "empty", "unjudged", "duplicates", "identical"])
def test_a_collection_has_what_it_says_and_nothing_else(trait: str) -> None:
    collection_of_seed = {seed: make_collection(seed) for seed in SEEDS}
    stated_seeds = {
        seed
        for seed, collection in collection_of_seed.items()
        if trait in collection["about"].split(", ")
    }
    seeds_with_trait = {
        seed for seed, collection in collection_of_seed.items() if has_trait(trait, collection)
    }
    # what is taken away or added later may undo a trait: the one query that had it is gone
    assert seeds_with_trait <= stated_seeds
    assert len(seeds_with_trait) > len(stated_seeds) / 2


def test_every_trait_is_in_some_collection() -> None:
    stated_traits = {
        trait for seed in SEEDS for trait in make_collection(seed)["about"].split(", ")
    }
    assert set(TRAITS) <= stated_traits


def test_the_same_seed_gives_the_same_collection_and_its_lists_follow_the_scores() -> None:
    for seed in SEEDS:
        collection = make_collection(seed)
        assert collection == make_collection(seed)
        for query, documents in collection["lists"].items():
            assert set(documents) == set(collection["run"][query])
            if "duplicates" not in collection["about"]:
                scores = [collection["run"][query][document] for document in documents]
                assert all(
                    higher_score >= lower_score for higher_score, lower_score in pairwise(scores)
                )


def test_each_tool_has_a_driver_and_each_driver_a_tool() -> None:
    assert {f"run_{name}.py" for name in TOOLS} == {path.name for path in DRIVERS.glob("run_*.py")}


def test_a_value_that_no_convention_claims_has_no_counterpart() -> None:
    ranx = TOOLS["ranx"].variants["ranx"]
    assert ranx.find_counterpart("nDCG_burges@10") == ("ranx", "nDCG(gain='exp2')@10")
    assert ranx.find_counterpart("Hit@10") == ("ranx", "Success@10")
    assert TOOLS["trectools"].variants["file"].find_counterpart("AP@10") is None
