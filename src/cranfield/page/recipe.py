"""The recipe: what it takes to make a page again, with hashes of what was read."""

import hashlib
import os
import platform
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from cranfield.data.judging import Judging
from cranfield.formats.source import Source
from cranfield.page.element import Markup, element, joined, name_of
from cranfield.page.evidence import Evidence
from cranfield.page.headline import families
from cranfield.progress import steps
from cranfield.version import __version__

if TYPE_CHECKING:
    from cranfield.comparison.alignment import Evaluated


def recipe(evidence: Evidence) -> Markup:
    """Return what was read and done, as the items of a list of terms."""
    lines = [*_lines(evidence)]
    return joined(element("div", element("dt", term), element("dd", said)) for term, said in lines)


def _lines(evidence: Evidence) -> Iterator[tuple[str, str | Markup]]:
    """Yield each term with what it is."""
    if evidence.command is not None:
        yield "Command", element("code", evidence.command)
    aligned = evidence.found.aligned
    if aligned.source is None:
        yield "Scores", "made before: saved scores, or the scores of an evaluation"
    else:
        yield from _inputs(aligned.source)
    query_hash = evidence.found[evidence.measures[0]].queries_hash
    yield "Queries", joined([f"{len(evidence.query_ids):,}, ids ", _hash(query_hash)])
    against, of_pairs = families(evidence)
    if against is not None:
        yield "Beside the baseline", joined([name_of(str(evidence.baseline)), f": {against}"])
    if of_pairs is not None:
        yield "All pairs", of_pairs
    yield from _options(evidence)
    versions = (
        f"cranfield {__version__}, Python {platform.python_version()}, numpy {np.__version__}"
    )
    yield "Versions", versions


def _inputs(source: "Evaluated") -> Iterator[tuple[str, Markup]]:
    """Yield the judgments and the runs, with the hashes of their files."""
    yield "Judgments", _files(source.qrels.sources)
    for name, run in steps(source.runs.items(), "hashes"):
        yield "Run", joined([name_of(name), " ", _files(run.sources)])


def _files(sources: Sequence[Source]) -> Markup:
    if not sources:
        return Markup("from Python, no file")
    return joined((joined([name_of(one.name), " ", _content(one)]) for one in sources), ", ")


def _content(source: Source) -> Markup:
    """Return the hash of a file as it is stored, if it can be read again."""
    if source.is_url or not os.path.isfile(source.path):
        return Markup("(not a file of this machine, no hash)")
    try:
        with open(source.path, "rb") as stream:
            return _hash(hashlib.file_digest(stream, "sha256").hexdigest())
    except OSError:
        return Markup("(cannot be read any more, no hash)")


def _hash(digest: str) -> Markup:
    return element("code", f"sha256 {digest}", class_="hash")


def _options(evidence: Evidence) -> Iterator[tuple[str, str]]:
    """Yield the options that are not at their defaults."""
    made = evidence.found.aligned.recipe
    judging = {} if evidence.found.aligned.source is None else Judging.of(made).unusual()
    chosen = {**evidence.found.settings.unusual(), **judging}
    chosen.pop("baseline", None)
    shown = [f"{name}={value!r}" for name, value in chosen.items()]
    yield "Options", ", ".join(shown) if shown else "all at their defaults"
    yield "Missing scores", str(made.get("missing"))
