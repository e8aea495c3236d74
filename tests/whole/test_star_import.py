"""An import of all names."""

from typing import Any

import cranfield
from cranfield import AP, evaluate


def test_a_star_imports_measures_too() -> None:
    names: dict[str, Any] = {}
    exec("from cranfield import *", names)  # noqa: S102 - what people type
    assert names["AP"] == AP
    assert names["evaluate"] is evaluate
    missing = {definition.name for definition in cranfield.definitions()} - names.keys()
    assert not missing
