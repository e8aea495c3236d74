"""The list of mutants: its changes and tests exist. `python scripts/mutants.py` runs them."""

import ast
import re
from pathlib import Path

from helpers.profile import some_of
from mutants import N_MUTANTS, SOURCES, TESTS, Mutant, read_mutants, read_sites


def path_of(mutant: Mutant) -> Path:
    return SOURCES / f"{mutant.module.replace('.', '/')}.py"


def test_the_list_has_its_mutants() -> None:
    mutants = read_mutants()
    assert len(mutants) == N_MUTANTS
    assert len({mutant.place[:2] for mutant in mutants}) == N_MUTANTS  # each in its own function


def test_what_the_mutants_change_exists() -> None:
    mutants = read_mutants()
    sites = read_sites(sorted({path_of(m) for m in mutants if path_of(m).exists()}))
    gone = [
        f"{mutant.module}.{mutant.function}: {mutant.before} ({mutant.count})"
        for mutant in mutants
        if mutant.place not in sites or sites[mutant.place].mutant.after != mutant.after
    ]
    assert not gone, f"python scripts/mutants.py --refresh looks for {gone}"


def test_the_tests_that_kill_the_mutants_exist() -> None:
    paths: dict[str, list[Path]] = {}
    for path in TESTS.rglob("test_*.py"):
        paths.setdefault(path.name, []).append(path)
    gone = []
    for mutant in read_mutants():
        file_name, *classes, test = mutant.killer.partition("[")[0].split("::")
        (text,) = [path.read_text() for path in paths.get(file_name, [])] or [""]
        patterns = [rf"^class {name}\b" for name in classes] + [rf"^\s*def {test}\("]
        if not all(re.search(pattern, text, re.MULTILINE) for pattern in patterns):
            gone.append(mutant.killer)
    assert not gone, f"python scripts/mutants.py --refresh finds others for {gone}"


def test_a_change_leaves_valid_code_that_differs() -> None:
    for path in some_of(sorted({path_of(mutant) for mutant in read_mutants()})[::50]):
        before = ast.dump(ast.parse(path.read_bytes()))
        sites = some_of(read_sites([path]).values())
        changes = {ast.dump(ast.parse(site.change())) for site in sites}
        assert before not in changes
        assert len(changes) == len(sites)
