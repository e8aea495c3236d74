"""The core without extensions: their table is empty, and what imports one of them is refused."""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType


class Refusing(MetaPathFinder):
    """A finder of modules that refuses those of extensions."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> None:
        if fullname.startswith("cranfield.extensions."):
            raise ImportError(f"{fullname} is refused: the core runs alone")


def refuse_extensions() -> None:
    """Leave this process the core alone, before it imports more of the package than the table."""
    from cranfield import extensions

    extensions.COMMANDS.clear()
    for names in extensions.ENTRIES.values():
        names.clear()
    extensions.FAMILIES.update(dict.fromkeys(extensions.FAMILIES, ()))
    extensions.WAYS.clear()
    sys.meta_path.insert(0, Refusing())
