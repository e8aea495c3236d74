"""What axe-core, a checker of pages for people with disabilities, finds in a page."""

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from importlib.util import find_spec

import pytest

from helpers.browser import Page

AXE = "axe_playwright_python"  # it comes with axe-core in one file; nothing else of it is used


@cache
def axe_source() -> str:
    """Return the source of axe-core."""
    if find_spec(AXE) is None:
        pytest.skip(f"there is no axe-core: pip install --no-deps {AXE.replace('_', '-')}")
    return files(AXE).joinpath("axe.min.js").read_text("utf-8")


def find_faults(page: Page, *, skipped_rules: Sequence[str] = ()) -> list[str]:
    """Return the faults that axe-core finds in a page, each with its place; but `skipped_rules`."""
    rules = json.dumps({rule: {"enabled": False} for rule in skipped_rules})
    page.evaluate(f"(() => {{ {axe_source()} }})(), 0")
    report = page.evaluate(
        f'axe.run(document, {{resultTypes: ["violations"], rules: {rules}}})'
        ".then(({violations, passes}) =>"
        " ({passed: passes.length, violations: violations.map(({id, impact, nodes}) =>"
        " ({id, impact, where: nodes.slice(0, 3).map((one) => one.html.slice(0, 200))}))}))"
    )
    assert report["passed"] > 20
    return [
        f"{violation['id']} ({violation['impact']}): {violation['where']}"
        for violation in report["violations"]
    ]
