"""What the page on judging more says of how many judgments each way of choosing takes."""

import re
from pathlib import Path

import pytest
from helpers.folders import DOCS
from helpers.profile import choose_step
from judging_simulation import (
    SEED,
    OrderCorrelation,
    Simulation,
    count_relevant,
    count_until_tau,
    read_systems,
)

PAGE = DOCS / "how-to" / "judging-more.md"
pytestmark = pytest.mark.more


def _read_page_numbers() -> dict[str, list[list[float]]]:
    """Return the numbers of each row of the page's table: {way: [[mean, least, most], ...]}."""
    text = PAGE.read_text("utf-8").partition("### How many judgments")[2]
    rows = re.findall(r"^\| `([\w-]+)` \|(.*)\|$", text, re.M)
    return {
        method: [
            [float(n.replace(",", "")) for n in re.findall(r"[\d,]*\d", cell)]
            for cell in cells.split("|")
        ]
        for method, cells in rows
    }


@pytest.fixture(scope="module")
def simulation_and_correlation(data: Path) -> tuple[Simulation, OrderCorrelation]:
    qrels, runs = read_systems(data / "dl19")
    return Simulation(qrels, runs), OrderCorrelation(qrels, runs)


@pytest.mark.parametrize("strategy", ["depth", "fusion", "rbp"][:: choose_step(3)])
def test_ways_without_chance_take_as_many_as_stated(
    strategy: str, simulation_and_correlation: tuple[Simulation, OrderCorrelation]
) -> None:
    simulation, tau = simulation_and_correlation
    n_needed = count_until_tau(simulation, tau, strategy, SEED)
    numbers = [n_needed["nDCG@10"], n_needed["AP"], count_relevant(simulation, strategy, SEED)]
    assert [[n] for n in numbers] == _read_page_numbers()[strategy][:3]


@pytest.mark.parametrize("strategy", ["chance", "move-to-front"][:: choose_step(2)])
def test_draws_are_within_what_is_stated(
    strategy: str, simulation_and_correlation: tuple[Simulation, OrderCorrelation]
) -> None:
    simulation, tau = simulation_and_correlation
    n_needed = count_until_tau(simulation, tau, strategy, SEED + 3)
    numbers = [n_needed["nDCG@10"], n_needed["AP"], count_relevant(simulation, strategy, SEED + 3)]
    for n, (_, fewest, greatest) in zip(numbers, _read_page_numbers()[strategy][:3], strict=True):
        assert fewest <= n <= greatest
