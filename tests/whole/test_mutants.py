"""The list of mutants: its changes and tests exist. `python scripts/mutants.py` runs them."""

import ast
import re
from pathlib import Path

from helpers.profile import sample_cases
from mutants import N_MUTANTS, SOURCES, TESTS, Mutant, read_mutants, read_sites


def find_path(mutant: Mutant) -> Path:
    return SOURCES / f"{mutant.module.replace('.', '/')}.py"


def test_the_list_has_its_mutants() -> None:
    mutants = read_mutants()
    assert len(mutants) == N_MUTANTS
    assert len({mutant.place[:2] for mutant in mutants}) == N_MUTANTS  # each in its own function


def test_what_the_mutants_change_exists() -> None:
    mutants = read_mutants()
    sites = read_sites(sorted({find_path(m) for m in mutants if find_path(m).exists()}))
    missing_mutants = [
        f"{mutant.module}.{mutant.function}: {mutant.before} ({mutant.count})"
        for mutant in mutants
        if mutant.place not in sites or sites[mutant.place].mutant.after != mutant.after
    ]
    assert not missing_mutants, f"python scripts/mutants.py --refresh looks for {missing_mutants}"


def test_the_tests_that_kill_the_mutants_exist() -> None:
    paths: dict[str, list[Path]] = {}
    for path in TESTS.rglob("test_*.py"):
        paths.setdefault(path.name, []).append(path)
    missing_killers = []
    for mutant in read_mutants():
        file_name, *classes, test = mutant.killer.partition("[")[0].split("::")
        (text,) = [path.read_text() for path in paths.get(file_name, [])] or [""]
        patterns = [rf"^class {name}\b" for name in classes] + [rf"^\s*def {test}\("]
        if not all(re.search(pattern, text, re.MULTILINE) for pattern in patterns):
            missing_killers.append(mutant.killer)
    assert not missing_killers, (
        f"python scripts/mutants.py --refresh finds others for {missing_killers}"
    )


def test_a_change_leaves_valid_code_that_differs() -> None:
    for path in sample_cases(sorted({find_path(mutant) for mutant in read_mutants()})[::50]):
        tree_before = ast.dump(ast.parse(path.read_bytes()))
        sites = sample_cases(read_sites([path]).values())
        changes = {ast.dump(ast.parse(site.change())) for site in sites}
        assert tree_before not in changes
        assert len(changes) == len(sites)
