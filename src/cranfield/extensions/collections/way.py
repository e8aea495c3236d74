"""`cranfield compare --collections DIR|FILE`: systems compared over several collections."""

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from cranfield.cli import flags
from cranfield.cli.way import Way
from cranfield.errors import InputError, OptionError, escape_unprintable
from cranfield.formats.stated_columns import refuse_unread
from cranfield.options import option

if TYPE_CHECKING:
    from cranfield.cli.several import ComparisonOptions
    from cranfield.data.run import Run
    from cranfield.extensions.collections.collection_files import CollectionFiles
    from cranfield.extensions.collections.macro import CollectionComparison


@dataclass(frozen=True, kw_only=True)
class CollectionSource(Way):
    """The option that names the files of several collections, in place of QRELS and RUN."""

    heading: ClassVar = "Several collections"
    flags: ClassVar = {"collections": {"metavar": "DIR|FILE"}}
    refusal: ClassVar = "does not apply to collections together"
    in_place_of_files: ClassVar = "--collections DIR|FILE"

    collections: str | None = option(
        None,
        "Several collections, in place of QRELS and RUN: a folder of folders, or a table of "
        "files. Each folder has a file of judgments (qrels.txt) and runs (bm25.run); a table has "
        "the columns collection, qrels, run (the system) and path, and measure where these differ.",
    )

    def compare(
        self, qrels: str | None, runs: tuple[str, ...], comparing: "ComparisonOptions"
    ) -> "CollectionComparison":
        """Return the comparison over the collections; raise OptionError if QRELS is typed."""
        if qrels is not None:
            raise OptionError("--collections takes the place of QRELS and RUN: leave these out")
        return compare_collection_files(str(self.collections), comparing)


def compare_collection_files(path: str, comparing: "ComparisonOptions") -> "CollectionComparison":
    """Return the comparison over the collections in a folder, or in a table of files."""
    from cranfield.comparison.alignment import DEFAULT_MEASURES
    from cranfield.extensions.collections.collection_files import find_collections
    from cranfield.extensions.collections.macro import compare_collections

    flags.refuse_options(
        {"slices", "saved", "family", "rope", "bounds", *flags.option_names(comparing.families)}
        | comparing.alignment.changed_options().keys() - {"missing"},
        CollectionSource.refusal,
    )
    comparing.refuse_two_kinds()
    files_of, notes = find_collections(path)
    inputs = {name: _read_collection(name, files, comparing) for name, files in files_of.items()}
    refuse_unread(comparing.data.columns)
    has_user_measures = comparing.names or comparing.rel is not None
    measures = comparing.measures(DEFAULT_MEASURES) if has_user_measures else None
    system_of_path = {
        os.path.realpath(path): system
        for files in files_of.values()
        for system, path in files.runs.items()
    }
    baselines = [system_of_path.get(os.path.realpath(name), name) for name in comparing.baselines]
    options: Any = {
        **comparing.settings.changed_options(),
        **comparing.alignment.changed_options(),
        **comparing.judging.changed_options(),
    }
    comparison = compare_collections(inputs, measures, baseline=baselines or None, **options)
    return replace(comparison, data_notes=(*notes, *comparison.data_notes))


def _read_collection(
    name: str, files: "CollectionFiles", comparing: "ComparisonOptions"
) -> tuple[Any, dict[str, "Run"], Any]:
    """Return the judgments and runs of a collection, and its measures if these are its own."""
    try:
        judgments = comparing.data.read_qrels(files.qrels, comparing.judging.duplicates)
        runs = [comparing.data.read_run(path, more_follow=True) for path in files.runs.values()]
    except InputError as error:
        raise error.add_reason(f"In the collection {escape_unprintable(name)}.") from None
    measures = None
    if files.measure is not None:
        measures = flags.parse_measures((files.measure,), "", comparing.rel)
    return judgments, dict(zip(files.runs, runs, strict=True)), measures
