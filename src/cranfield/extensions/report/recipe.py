"""The recipe: what is needed to make a page again, with hashes of what was read."""

import platform
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from cranfield.comparison.comparison import Comparison
from cranfield.comparison.method import method_of
from cranfield.comparison.settings import Settings
from cranfield.data.judging import Judging
from cranfield.errors import InputError
from cranfield.extensions.report.element import Markup, element, escaped, joined, name_of
from cranfield.extensions.report.evidence import Evidence
from cranfield.formats.source import Source
from cranfield.progress import steps
from cranfield.render.numbers import number_of
from cranfield.version import __version__

if TYPE_CHECKING:
    from cranfield.comparison.alignment import Evaluated


def recipe(evidence: Evidence) -> Markup:
    """Return what was read and done, as the items of a list of terms."""
    lines = [*_lines(evidence)]
    return joined(element("div", element("dt", term), element("dd", said)) for term, said in lines)


def _lines(evidence: Evidence) -> Iterator[tuple[str, str | Markup]]:
    """Yield each term with what it is."""
    if evidence.made.command is not None:
        yield "Command", element("code", evidence.made.command)
    aligned = evidence.found.aligned
    if aligned.source is None:
        inputs = evidence.made.inputs
        yield "Scores", _files(inputs) if inputs else "precomputed, for example by an evaluation"
    else:
        yield from _inputs(aligned.source)
    for system, run_names in aligned.recipe.get("groups", {}).items():
        if len(run_names) > 1:
            runs = joined(map(name_of, run_names), ", ")
            yield "Runs", joined([name_of(system), ": the mean of ", runs])
    query_hash = evidence.found[evidence.measures[0]].queries_hash
    n_clusters = evidence.found[evidence.measures[0]].units.n_groups
    within = "" if n_clusters is None else f" in {number_of(n_clusters, 'cluster')}"
    yield "Queries", joined([f"{len(evidence.query_ids):,}{within}, ids ", _hash(query_hash)])
    if evidence.baseline is not None:
        yield "Baseline", joined([name_of(evidence.baseline), f": {_method(evidence.found)}"])
    if len(evidence.systems) > 1:
        yield "All pairs", _method(evidence.pairs)
    yield from _options(evidence)
    versions = (
        f"cranfield {__version__}, Python {platform.python_version()}, numpy {np.__version__}"
    )
    yield "Versions", versions


def _method(found: Comparison) -> str:
    """Return how systems were tested, under the first measure."""
    return " ".join(method_of([found[found.aligned.measures[0]]], found.settings))


def _inputs(source: "Evaluated") -> Iterator[tuple[str, Markup]]:
    """Yield the judgments and the runs, with the hashes of their files."""
    yield "Judgments", _files(source.qrels.sources)
    for name, run in steps(source.runs.items(), "hashes"):
        yield "Run", joined([name_of(name), " ", _files(run.sources)])


def _files(sources: Sequence[Source]) -> Markup:
    if not sources:
        return escaped("from Python: no file")
    return joined((joined([name_of(one.name), " ", _content(one)]) for one in sources), ", ")


def _content(source: Source) -> Markup:
    """Return the hash of a file as it is stored, if it can be read again."""
    try:
        digest = source.digest()
    except InputError:
        return escaped("(cannot be read any more: no hash)")
    return escaped("(read only once: no hash)") if digest is None else _hash(digest)


def _hash(digest: str) -> Markup:
    return element("code", f"sha256 {digest}", class_="hash")


def _options(evidence: Evidence) -> Iterator[tuple[str, str]]:
    """Yield the options that are not at their defaults."""
    found = evidence.found
    chosen = {"missing": found.aligned.recipe.get("missing")}
    chosen |= {
        name: value
        for name, value in vars(found.settings).items()
        if name != "baseline" and value != getattr(Settings(), name)
    }
    if found.aligned.source is not None:
        chosen |= Judging.of(found.aligned.recipe).unusual()
    said = ", ".join(f"{name}={value!r}" for name, value in chosen.items())
    yield "Options", f"{said}; the others at their defaults"
