"""Origin: how saved scores were made, and whether several files of scores were made alike."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from cranfield.comparison.settings import Alignment
from cranfield.data.fingerprint import estimate_overlap
from cranfield.errors import InputError
from cranfield.notes import Note
from cranfield.render.numbers import format_names, format_percent
from cranfield.scoring.scores import RUN_KEYS, Scores

_HASH = "judgments_sha256"  # in a recipe: of the judgments
_NO_OPTIONS = {_HASH, "cranfield", "qrels", "bounds", "judges"}  # in a recipe; `qrels` is a format
OTHER_JUDGMENTS = "other judgments"  # a difference of two files
_HARDLY = 0.02  # two runs with a smaller share of documents in common have hardly any in common


@dataclass(frozen=True)
class Origin:
    """How the scores of a file were made, as far as the file says: only cranfield's JSON does."""

    path: str
    recipe: Mapping[str, Any]  # {option: value}, with the hash and the format; empty: not known
    doc_sketches: Mapping[str | None, str]  # {system: sketch of the documents that it retrieved}
    # {system: what these documents were made of}, if mapped.
    doc_conversions: Mapping[str | None, str]
    # {system: {measure: share of the documents that it looks at that is judged}}
    judged_shares: Mapping[str | None, Mapping[str, float]]

    @classmethod
    def of_scores(cls, scores: Scores) -> "Origin":
        """Return the origin of the scores of a run."""
        recipe = {name: scores.recipe[name] for name in scores.recipe if name not in RUN_KEYS}
        shares: dict[str | None, Any] = {scores.name: scores.recipe.get("judged")}
        return cls(scores.name, recipe, {}, {}, shares if "judged" in scores.recipe else {})

    def share_in_common(self, other: "Origin") -> float | None:
        """Return the greatest share of documents that a run of each have in common.

        None unless both files say what their runs retrieved.
        """
        pairs = product(self.doc_sketches.values(), other.doc_sketches.values())
        return max((estimate_overlap(*pair) for pair in pairs), default=None)


def compare_origins(origins: Sequence[Origin], alignment: Alignment) -> Iterator[Note]:
    """Yield notes on files whose scores were made in other ways than those of the first file.

    The first is the first with a recipe; a file without a recipe has no options to compare. Notes
    are also on runs with hardly a document in common, and on files that do not say by which
    judgments. Raises InputError for a file whose scores were made with other options or judgments,
    or of documents mapped in another way, unless `alignment` allows that.
    """
    if len(origins) < 2:
        return
    first = next((origin for origin in origins if origin.recipe), origins[0])
    for origin in origins:
        differences = list_differences(first, origin)
        if differences and alignment.differing == "error":
            raise InputError(
                f"made differently from {first.path}: {'; '.join(differences)}",
                source=origin.path,
                hint=f"{_repair_hint(first, origin)}differing='allow' (--differing allow) takes "
                "them as they are.",
            )
        if differences:
            message = f"made differently from {first.path}: {'; '.join(differences)}."
            yield Note("made-otherwise", "warning", message, source=origin.path)
        shared = first.share_in_common(origin) if origin is not first else None
        if shared is not None and shared < _HARDLY:
            message = (
                f"of the documents retrieved here and in {first.path}, less than "
                f"{format_percent(_HARDLY)} are the same: were documents split or renamed?"
            )
            yield Note("other-documents", "warning", message, source=origin.path)
    unknown_paths = [origin.path for origin in origins if _HASH not in origin.recipe]
    if unknown_paths:
        message = (
            "the judgments behind these scores are not known, and may differ. (JSON records them: "
            "`cranfield evaluate -q -o scores.json`.)"
        )
        yield Note("judgments-unknown", "info", message, source=format_names(unknown_paths))


def list_differences(first: Origin, other: Origin) -> list[str]:
    """Return texts on what differs in how two files were made, as far as both files say."""
    shared_options = [name for name in first.recipe if name in other.recipe]
    # A recipe that does not name it had no convention.
    if shared_options and "convention" not in shared_options:
        shared_options.append("convention")
    differences = [
        f"{name}={other.recipe.get(name)}, not {first.recipe.get(name)}"
        for name in shared_options
        if name not in _NO_OPTIONS and other.recipe.get(name) != first.recipe.get(name)
    ]
    if first.doc_conversions != other.doc_conversions and _maps_differ(first, other):
        differences.append(
            f"{_describe_docs(other.doc_conversions)}, not {_describe_docs(first.doc_conversions)}"
        )
    if _HASH in shared_options and other.recipe[_HASH] != first.recipe[_HASH]:
        differences.append(OTHER_JUDGMENTS)
    return differences


def _maps_differ(first: Origin, other: Origin) -> bool:
    """Tell whether the documents of two files were mapped from chunks in two ways.

    If only one file maps, also few documents, or an unknown share, must be the same in both. False
    without a recipe.
    """
    if not first.recipe or not other.recipe:
        return False
    if first.doc_conversions and other.doc_conversions:
        return {*first.doc_conversions.values()} != {*other.doc_conversions.values()}
    shared = first.share_in_common(other)
    return shared is None or shared < _HARDLY


def _describe_docs(doc_conversions: Mapping[str | None, str]) -> str:
    return ", ".join(dict.fromkeys(doc_conversions.values())) or "documents as they were retrieved"


def _repair_hint(first: Origin, other: Origin) -> str:
    shared = first.share_in_common(other)
    if bool(first.doc_conversions) != bool(other.doc_conversions) and _maps_differ(first, other):
        return (
            "If both runs retrieved chunks, map those of both: Run.map_docs(...), "
            "--map-docs-pattern. "
        )
    if shared is not None and shared < _HARDLY:
        return (
            "Their runs have almost no documents in common: if documents were split or renamed, "
            "evaluate both by ids that did not change. "
        )
    return "Evaluate both runs again, with the same judgments and options. "
