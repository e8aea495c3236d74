"""Entries of a trend: the scores of one system in each run, or in each file of saved scores."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cranfield.arrays.ranked import Floats, mean
from cranfield.comparison.alignment import align
from cranfield.comparison.origin import Origin
from cranfield.comparison.score_columns import find_measure, read_columns
from cranfield.comparison.settings import Alignment
from cranfield.data.judging import Judging
from cranfield.data.run import Run
from cranfield.data.run_names import make_unique_namer
from cranfield.errors import InputError
from cranfield.formats.small.score_files import system_name_of_file
from cranfield.notes import Note, join_names, merge_notes
from cranfield.render.numbers import format_count
from cranfield.scoring.arguments import Reading, check_scores
from cranfield.scoring.evaluate import MeasuresLike, judged_share_measure
from cranfield.scoring.scores import Systems


@dataclass(frozen=True, eq=False)
class Entry:
    """The scores of one system, of a run or of a file.

    `columns` is {measure: (query ids, scores (n_queries,))}; `judged_shares` is {measure: share of
    its documents that is judged}, of some measures. `origin` is None where scores do not say how
    they were made, and for runs, which are scored alike.
    """

    name: str
    path: str  # of its file; empty in memory
    columns: Mapping[str, tuple[Sequence[str], Floats]]
    judged_shares: Mapping[str, float]
    origin: Origin | None = None

    def find_share(self, measure: str) -> float | None:
        """Return the judged share beside a measure, or that of a saved Judged; None if unknown."""
        parsed_measure = find_measure(measure)
        if measure in self.judged_shares or parsed_measure is None:
            return self.judged_shares.get(measure)
        saved_share = self.columns.get(str(judged_share_measure(parsed_measure)))
        return None if saved_share is None else mean(saved_share[1])


def name_entries(parts: Any) -> Any:
    """Return {name: run or scores} of a list: the stem of the file, and its folder if stems agree.

    What is no list is returned unchanged.
    """
    if not isinstance(parts, list | tuple):
        return parts
    paths = list(map(_find_path, parts))
    stems = [
        system_name_of_file(path) if path else getattr(part, "name", "run")
        for part, path in zip(parts, paths, strict=True)
    ]
    make_unique = make_unique_namer()
    part_of_name = {}
    for part, path, stem in zip(parts, paths, stems, strict=True):
        has_folder = path and stems.count(stem) > 1
        name = f"{Path(path).absolute().parent.name}/{stem}" if has_folder else stem
        part_of_name[make_unique(name)] = part
    return part_of_name


def _find_path(part: Any) -> str:
    """Return the path of a file, or of a run's file; empty for what is in memory."""
    if isinstance(part, Run):
        part = part.sources[0].path if part.sources else ""
    return os.fspath(part) if isinstance(part, str | os.PathLike) else ""


def enter_runs(
    qrels: Any,
    runs: Any,
    measures: MeasuresLike | None,
    alignment: Alignment,
    judging: Judging,
    reading: Reading,
) -> tuple[list[Entry], list[Note]]:
    """Return an entry for each run, scored as `compare` scores them, and notes on the data."""
    aligned_scores = align(qrels, name_entries(runs), measures, alignment, judging, reading)
    run_of_name = (
        {} if aligned_scores.evaluated_runs is None else aligned_scores.evaluated_runs.runs
    )
    entries = []
    for i, name in enumerate(aligned_scores.system_names):
        columns, judged_shares = {}, {}
        for m, measure in enumerate(aligned_scores.measures):
            columns[measure] = aligned_scores.query_ids, aligned_scores.scores[m, :, i]
            if aligned_scores.judged_share is not None:
                judged_shares[measure] = mean(aligned_scores.judged_share[m, :, i])
        entries.append(Entry(name, _find_path(run_of_name.get(name)), columns, judged_shares))
    return entries, [*aligned_scores.notes]


def enter_scores(
    scores: Any, system: str | None, alignment: Alignment
) -> tuple[list[Entry], list[Note]]:
    """Return an entry for each file, or each Scores or dict, and notes on the data.

    Of several systems, `system` names the one to follow. Raises InputError for several without
    a named one, and for an entry that lacks it.
    """
    check_scores(scores)
    part_of_name = name_entries(scores if isinstance(scores, Mapping | list | tuple) else [scores])
    entries, notes = [], []
    for name, part in part_of_name.items():
        is_dict = isinstance(part, Mapping) and not isinstance(part, Systems)
        part_scores = read_columns({name: part} if is_dict else part, alignment)
        systems = [*dict.fromkeys(owner for _, owner in part_scores.columns)]
        if (system or systems[0]) not in systems or (system is None and len(systems) > 1):
            raise InputError(
                f"holds {format_count(len(systems), 'system')}: {join_names(systems, 10)}",
                source=_find_path(part) or name,
                hint="--system NAME says which to follow; every entry must have it (system=).",
            )
        system_name = system or systems[0]
        columns = {
            key[0]: column for key, column in part_scores.columns.items() if key[1] == system_name
        }
        origin_of_path = {origin.path: origin for origin in part_scores.origins}
        origin = origin_of_path.get(system_name) or next(iter(part_scores.origins), None)
        judged_shares = {} if origin is None else origin.judged_shares.get(system_name, {})
        entries.append(Entry(name, _find_path(part), columns, judged_shares, origin))
        notes += [(name, replace(note, source=None)) for note in part_scores.notes]
    return entries, merge_notes(notes, n_sources=len(entries))
