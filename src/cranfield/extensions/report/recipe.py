"""The recipe: what is needed to make a page again, with hashes of the files that were read."""

import platform
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from cranfield.comparison.comparison import Comparison
from cranfield.comparison.method import describe_method
from cranfield.comparison.settings import Settings
from cranfield.data.judging import Judging
from cranfield.errors import InputError
from cranfield.extensions.report.element import Markup, element, escape, join_markup, name_element
from cranfield.extensions.report.evidence import Evidence
from cranfield.formats.source import Source
from cranfield.progress import watch_steps
from cranfield.render.numbers import format_count
from cranfield.version import __version__

if TYPE_CHECKING:
    from cranfield.comparison.aligned_scores import EvaluatedRuns


def write_recipe(evidence: Evidence) -> Markup:
    """Return the recipe, from the command to the versions, as the items of a list of terms."""
    lines = [*_recipe_terms(evidence)]
    return join_markup(
        element("div", element("dt", term), element("dd", description))
        for term, description in lines
    )


def _recipe_terms(evidence: Evidence) -> Iterator[tuple[str, str | Markup]]:
    """Yield each term of the recipe with its description."""
    if evidence.provenance.command is not None:
        yield "Command", element("code", evidence.provenance.command)
    aligned_scores = evidence.comparison.aligned
    if aligned_scores.evaluated_runs is None:
        inputs = evidence.provenance.inputs
        origin = "precomputed, for example by an evaluation"
        yield "Scores", _list_files(inputs) if inputs else origin
    else:
        yield from _input_terms(aligned_scores.evaluated_runs)
    for note in evidence.notes:
        if note.code == "model-labels":
            yield "Judge", str(note).partition(", and no person")[0]
    for system, run_names in aligned_scores.recipe.get("groups", {}).items():
        if len(run_names) > 1:
            runs = join_markup(map(name_element, run_names), ", ")
            yield "Runs", join_markup([name_element(system), ": the mean of ", runs])
    query_hash = evidence.comparison[evidence.measures[0]].queries_hash
    n_clusters = evidence.comparison[evidence.measures[0]].units.n_groups
    clusters_text = "" if n_clusters is None else f" in {format_count(n_clusters, 'cluster')}"
    queries_text = f"{len(evidence.query_ids):,}{clusters_text}, ids "
    yield "Queries", join_markup([queries_text, _hash_element(query_hash)])
    if evidence.baseline is not None:
        method_text = f": {_describe_method(evidence.comparison)}"
        names = [evidence.baseline, *evidence.more_baselines]
        baselines = join_markup(map(name_element, names), ", ")
        yield f"Baseline{'s' * (len(names) > 1)}", join_markup([baselines, method_text])
    if len(evidence.systems) > 1:
        yield "All pairs", _describe_method(evidence.pair_comparison)
    yield from _option_terms(evidence)
    python_text = f"Python {platform.python_version()}, numpy {np.__version__}"
    yield "Versions", f"cranfield {__version__}, {python_text}"


def _describe_method(comparison: Comparison) -> str:
    """Return how systems were tested, under the first measure."""
    result, settings = comparison[comparison.aligned.measures[0]], comparison.settings
    return f"{describe_method([result], settings)}; alpha {settings.alpha:g}"


def _input_terms(evaluated_runs: "EvaluatedRuns") -> Iterator[tuple[str, Markup]]:
    """Yield the judgments and the runs, with the hashes of their files."""
    yield "Judgments", _list_files(evaluated_runs.qrels.sources)
    for name, run in watch_steps(evaluated_runs.runs.items(), "hashes"):
        yield "Run", join_markup([name_element(name), " ", _list_files(run.sources)])


def _list_files(sources: Sequence[Source]) -> Markup:
    if not sources:
        return escape("from Python: no file")
    return join_markup(
        (join_markup([name_element(source.name), " ", _file_hash(source)]) for source in sources),
        ", ",
    )


def _file_hash(source: Source) -> Markup:
    """Return the hash of a file as it is stored, or why there is none: it cannot be read again."""
    try:
        digest = source.digest()
    except InputError:
        return escape("(cannot be read any more: no hash)")
    return escape("(read only once: no hash)") if digest is None else _hash_element(digest)


def _hash_element(digest: str) -> Markup:
    return element("code", f"sha256 {digest[:12]}", element("span", digest[12:]), class_="hash")


def _option_terms(evidence: Evidence) -> Iterator[tuple[str, str]]:
    """Yield a term: `missing`, and the options but the baseline that are not at their defaults."""
    comparison = evidence.comparison
    options = {"missing": comparison.aligned.recipe.get("missing")}
    options |= {
        name: value
        for name, value in vars(comparison.settings).items()
        if name != "baseline" and value != getattr(Settings(), name)
    }
    if comparison.aligned.evaluated_runs is not None:
        options |= Judging.of(comparison.aligned.recipe).changed_options()
    options_text = ", ".join(f"{name}={value!r}" for name, value in options.items())
    yield "Options", f"{options_text}; the others at their defaults"
