"""PaperTable: the result of `paper_table`, with its caption, rows, and options."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, groupby
from string import ascii_lowercase
from typing import Any, Literal

from cranfield.comparison.compare import compare_all_pairs
from cranfield.comparison.comparison import Comparison
from cranfield.comparison.method import CORRECTIONS, describe_test
from cranfield.comparison.settings import Settings
from cranfield.errors import OptionError
from cranfield.extensions.collections.macro import CollectionComparison
from cranfield.extensions.report.paper_columns import ABSENT, AverageColumn, MeasureColumn
from cranfield.lazy import cached_property
from cranfield.notes import Note
from cranfield.options import Options, option, whole_check
from cranfield.render.numbers import format_count, format_names, format_query_count
from cranfield.render.plain import to_text
from cranfield.render.shown import Shown
from cranfield.render.table import Column, Table

Marks = Literal["letters", "daggers", "none"]
_BETTER, _WORSE = _DAGGERS = "\N{DAGGER}\N{DOUBLE DAGGER}"
_SIGNS = f"{_DAGGERS}\N{SECTION SIGN}\N{PILCROW SIGN}"  # of several baselines, then doubled
_MAX_NAMED_COLLECTIONS = 6  # of more collections, a caption does not tell the queries of each
_MAX_LEVEL_HEADINGS = 8  # columns: with more of one measure, LaTeX's headings are turned


def _check_text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("a string")
    return value


def _check_label(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9:._/-]+", value):
        raise ValueError("letters, digits, and any of : . _ / -, as in tab:main")
    return value


@dataclass(frozen=True, kw_only=True)
class Paper(Options):
    """How the table of a paper looks."""

    marks: Marks | None = option(
        None,
        'How significance is marked. "letters": each system has one, and superscripts name the '
        'systems that a value is significantly better than; "daggers": on what differs from the '
        'baseline, with a sign for each if there are several; or "none". [default: letters if all '
        "pairs were compared, else daggers]",
    )
    ranks: bool = option(
        False,
        "Beside each measure, the places that a system may have by all pairs, and * if it may be "
        "the best.",
    )
    sort: bool = option(
        False, "The best system first, by the first measure, below a baseline; else as given."
    )
    digits: int | None = option(
        None, "Digits after the decimal point. [default: 3; 1 for percent]", whole_check(0, 15)
    )
    percent: bool = option(False, "Measures between 0 and 1 in percent: 51.2 for 0.512.")
    caption: str | None = option(
        None, "What the caption says first, before the number of queries and the test.", _check_text
    )
    label: str | None = option(None, r"LaTeX's \label, as in tab:main.", _check_label)
    wide: bool = option(False, "In LaTeX, across both columns of a page: table*.")


@dataclass(frozen=True, eq=False, repr=False)
class PaperTable(Shown):
    """Systems by measures, as `paper_table` makes them: a row for each system.

    `rows` has a dict for each cell, with every digit: `place` is 1 for the best, by the digits
    shown; `marks` is the superscript; `low` and `high` are the ends of the mean's own interval.

    >>> from cranfield import compare, paper_table
    >>> half = {f"q{i}": i / 20 for i in range(10)}
    >>> table = paper_table(compare({"half": half, "all": {q: 2 * x for q, x in half.items()}}))
    >>> [(row["system"], round(row["mean"], 4), row["marks"]) for row in table.rows()]
    [('half', 0.225, ''), ('all', 0.45, '\u2020')]
    >>> table.caption[0]
    'Means over 10 queries; best bold.'
    """

    header = (
        *("collection", "measure", "queries", "system", "letter"),
        *("mean", "low", "high", "place", "marks", "ranks"),
    )

    found: Mapping[str | None, Comparison]  # by collection; None: there is only one
    style: Paper
    marks: Marks
    over: CollectionComparison | None = None  # the averages over the collections

    def __post_init__(self) -> None:
        pair_results = [column.pair_result for column in self._measure_columns]
        if any(result is not None and result.best_test is None for result in pair_results):
            raise OptionError(
                "ranks=True needs a correction for any false alarm, such as 'holm' or 'maxt'"
            )

    @property
    def _settings(self) -> Settings:
        return next(iter(self.found.values())).settings

    @cached_property
    def _columns(self) -> Sequence[MeasureColumn]:
        return [*self._measure_columns, *self._average_columns]

    @cached_property
    def _measure_columns(self) -> Sequence[MeasureColumn]:
        columns = []
        for name, comparison in self.found.items():
            pairs = compare_all_pairs(comparison) if self.style.ranks else None
            for measure in comparison.aligned.measures:
                pair_result = None if pairs is None else pairs[measure]
                result = comparison[measure]
                columns.append(MeasureColumn(name, comparison, result, self.style, pair_result))
        return columns

    @cached_property
    def _average_columns(self) -> Sequence[AverageColumn]:
        """The columns of averages: of all collections' first measures, second measures, ..."""
        if self.over is None:
            return ()
        n_measures, average_columns = len(self.over.results), []
        for i, averages in enumerate(self.over.results):
            columns = self._measure_columns[i::n_measures]
            comparison, result = columns[0].comparison, columns[0].result
            average_columns.append(
                AverageColumn("average", comparison, result, self.style, None, averages, columns)
            )
        return average_columns

    @cached_property
    def systems(self) -> Sequence[str]:
        """The names of the systems, in the order of the rows."""
        all_names = (
            name for comparison in self.found.values() for name in comparison.aligned.system_names
        )
        names = list(dict.fromkeys(all_names))
        if self.style.sort:
            ranked_names = [system.name for system in self._columns[0].result.ranked_systems]
            names = [*ranked_names, *(name for name in names if name not in ranked_names)]
            baselines = self._settings.baselines if self.marks == "daggers" else ()
            names.sort(key=lambda name: name not in baselines)
        return names

    @cached_property
    def letters(self) -> Mapping[str, str]:
        """{system: its letter in superscripts; of more than 26, its number}, empty for daggers."""
        names = self.systems
        signs = ascii_lowercase if len(names) <= 26 else [str(i + 1) for i in range(len(names))]
        return dict(zip(names, signs, strict=False)) if self.marks == "letters" else {}

    @cached_property
    def _sign_of_baseline(self) -> Mapping[str, str]:
        """{baseline: its sign}, of several: daggers, section, pilcrow, then the same twice."""
        signs = (sign * n for n in count(1) for sign in _SIGNS)
        return dict(zip(self._settings.baselines, signs, strict=False))

    def _superscript(self, column: MeasureColumn, system: str) -> str:
        """Return the superscript of a system's mean, empty if there is none."""
        if self.marks == "none" or system not in column.systems:
            return ""
        if self.marks == "daggers" and self._settings.only_baseline is not None:
            verdict = column.verdict(system, self._settings.only_baseline)
            return {None: "", "better": _BETTER, "worse": _WORSE}[verdict]
        if self.marks == "daggers":
            rivals = self._sign_of_baseline.items()
            return "".join(sign for rival, sign in rivals if column.verdict(system, rival))
        worse_letters = [
            self.letters[name] for name in self.systems if column.verdict(system, name) == "better"
        ]
        if len(self.systems) <= 26:
            return "".join(worse_letters)
        return _format_ranges(list(map(int, worse_letters)))

    @property
    def notes(self) -> tuple[Note, ...]:
        """The notes of each comparison, and on systems that a collection lacks."""
        if self.over is not None:
            return self.over.notes
        notes: list[Note] = []
        for name, comparison in self.found.items():
            notes += (
                comparison.notes
                if name is None
                else [note.add_source(name) for note in comparison.notes]
            )
            missing_systems = [
                system for system in self.systems if system not in comparison.aligned.system_names
            ]
            if missing_systems:
                text = f"no run of {', '.join(missing_systems)}: the cells have a dash."
                notes.append(Note("no-run", "info", text, source=name, count=len(missing_systems)))
        return tuple(notes)

    @property
    def _has_one_measure(self) -> bool:
        """Whether several collections have one measure, the same on each; higher is better."""
        measures = {column.result.measure for column in self._measure_columns}
        return (
            len(self.found) > 1
            and len(measures) == 1
            and self._measure_columns[0].result.higher_is_better
        )

    @property
    def caption(self) -> Sequence[str]:
        """The lines of the caption: over which queries, and what the marks say."""
        opening = (self.style.caption or "").strip()
        opening += "." * bool(re.search(r"[^.!?:]$", opening))
        lines = [f"{opening} {self._describe_means()}".lstrip(), *self._describe_marks()]
        if (pair_result := self._measure_columns[0].pair_result) is not None:
            n, correction = pair_result.comparisons, self._settings.correction
            family = f" by {CORRECTIONS.get(correction)} over {n:,} comparisons of all pairs"
            lines.append(
                f"Ranks: places that a system may have, all right at once{family * (n > 1)}; * may "
                "be the best."
            )
        notes = (note for note in self.notes if note.code == "model-labels")
        return [*lines, *(str(note).partition(": cranfield")[0] + "." for note in notes)]

    def _describe_means(self) -> str:
        """Return the caption's sentence on the means: their queries, the best, the runs, gaps."""
        counts = {
            name: len(comparison.aligned.query_ids) for name, comparison in self.found.items()
        }
        queries_text = ", ".join(
            f"{format_query_count(n)} of {name}" if name else format_query_count(n)
            for name, n in counts.items()
        )
        if len(counts) > _MAX_NAMED_COLLECTIONS:
            fewest_queries, most_queries = min(counts.values()), max(counts.values())
            queries_text = f"{fewest_queries:,} to {format_query_count(most_queries)} of each of "
            queries_text += f"{len(counts)} collections"
        percent_columns = [column for column in self._columns if column.is_percent]
        percent_measures = ", ".join(
            dict.fromkeys(column.result.measure for column in percent_columns)
        )
        unit = f" ({percent_measures} in percent)" if percent_columns else ""
        unit = " in percent" if percent_columns == self._columns else unit
        has_best, has_second = (
            any(column.systems_at_place(place) for column in self._columns) for place in (1, 2)
        )
        subject = (
            f"Mean {self._measure_columns[0].result.measure}" if self._has_one_measure else "Means"
        )
        sentence = f"{subject}{unit} over {queries_text}"
        sentence += f"; best bold{', second underlined' if has_second else ''}" if has_best else ""
        seeds = {system.seeds for column in self._columns for system in column.systems.values()}
        if max(seeds) > 1:
            fewest_runs, most_runs = min(seeds - {1}), max(seeds)
            runs = f"{fewest_runs} to {most_runs}" if fewest_runs < most_runs else f"{most_runs}"
            sentence += f"; {'some of ' * (1 in seeds)}the systems are means of {runs} runs"
        is_incomplete = any(
            name not in column.systems for column in self._measure_columns for name in self.systems
        )
        if is_incomplete:
            sentence += f"; {ABSENT} not run{' on all collections' * bool(self._average_columns)}"
        return f"{sentence}."

    def _describe_marks(self) -> Iterator[str]:
        """Yield the caption's sentences on the superscripts, and on their test."""
        if self.marks == "none" or len(self.systems) == 1:
            return
        marks = {
            self._superscript(column, name) for column in self._columns for name in self.systems
        } - {""}
        baselines = self._settings.baselines
        baseline = format_names(baselines)
        if self.marks == "letters":
            kind = "letter" if len(self.systems) <= 26 else "number"
            sentence = f"Superscripts: significantly better than the systems of these {kind}s"
            sentence = sentence if marks else "No two systems differ significantly"
        elif len(baselines) > 1 and marks:
            meanings = [f"{sign} from {name}" for name, sign in self._sign_of_baseline.items()]
            sentence = f"Significantly different: {', '.join(meanings)}"
        elif len(marks) == 2:
            sentence = f"{_BETTER} significantly better, {_WORSE} worse than {baseline}"
        elif marks:
            (mark,) = marks
            word = "better" if mark == _BETTER else "worse"
            sentence = f"{mark} significantly {word} than {baseline}"
        else:
            sentence = f"No system differs significantly from {baseline}"
        yield f"{sentence} ({'; '.join(self._describe_test())})."
        if self._average_columns:
            test_text = "a t-test that adds the variances of the collections (Welch)"
            if self._settings.test == "randomization":
                test_text = (
                    "flips of the signs of all queries, each collection with the same weight"
                )
            yield f"Average: the mean of the collections; its marks are by {test_text}."

    def _describe_test(self) -> Iterator[str]:
        """Yield the test, the correction of several comparisons, and the level of p, or beliefs."""
        settings = self._settings
        paired_word = "paired " if settings.test in ("randomization", "t") else ""
        yield paired_word + describe_test(
            [column.result for column in self._measure_columns], settings
        )
        if settings.test == "bayes":
            yield f"with a probability of at least {settings.decisive_probability:g}"
            return
        n_comparisons = {
            column.collection: column.result.comparisons for column in self._measure_columns
        }
        comparisons_text = format_count(max(n_comparisons.values()), "comparison")
        scope = "all measures" if settings.family == "all" else "each measure"
        scope = f" of {scope}" if len(self._measure_columns) > len(self.found) else ""
        if len({*n_comparisons.values()}) > 1:
            comparisons_text = (
                " and ".join(f"{n:,} ({name})" for name, n in n_comparisons.items())
                + " comparisons"
            )
        elif len(n_comparisons) > 1:
            scope += " on each collection"
        correction = CORRECTIONS.get(settings.correction, "uncorrected")
        if {*n_comparisons.values()} != {1}:
            yield (
                f"{correction}, {comparisons_text}{scope}"
                if correction == "uncorrected"
                else f"{correction} over {comparisons_text}{scope}"
            )
        yield f"p \N{LESS-THAN OR EQUAL TO} {settings.alpha:g}"

    def tables(self) -> list[Table]:
        """Return the table: a row for each system, a column for each measure of each collection."""
        labels = [[self.letters[name], name] if self.letters else [name] for name in self.systems]
        n_labels, columns = len(labels[0]), self._columns
        falling = " \N{DOWNWARDS ARROW}"  # less is better
        table_columns: list[Column] = []  # of names of systems
        column_at: dict[int, MeasureColumn] = {}
        for column in columns:
            group = column.collection or ""
            heading = column.result.measure + falling * (not column.result.higher_is_better)
            if self._has_one_measure:  # the caption names it
                heading, group = group, ""
            column_at[n_labels + len(table_columns)] = column
            table_columns.append(Column(heading, column.format_mean, group=group))
            if column.pair_result is not None:
                table_columns.append(Column("ranks", column.format_ranks, group=group))
        cells = {
            (r, c): (column, name)
            for c, column in column_at.items()
            for r, name in enumerate(self.systems)
        }
        marks = {position: self._superscript(*cell) for position, cell in cells.items()}
        best, second = (
            frozenset(
                position
                for position, (column, name) in cells.items()
                if name in column.systems_at_place(place)
            )
            for place in (1, 2)
        )
        baselines = self._settings.baselines if self.marks == "daggers" else ()
        n_baselines = len(baselines) * (set(self.systems[: len(baselines)]) == {*baselines})
        groups = [column.group for column in table_columns]
        return [
            Table(
                [*[""] * (n_labels - 1), "System", *(column.heading for column in table_columns)],
                [
                    [*label, *(column.cell(name) for column in table_columns)]
                    for label, name in zip(labels, self.systems, strict=True)
                ],
                (),
                n_labels,
                best,
                frozenset({n_baselines} if 0 < n_baselines < len(labels) - 1 else ()),
                self.caption,
                underlined_cells=second,
                superscripts={position: mark for position, mark in marks.items() if mark},
                group_headings=[*[""] * n_labels, *groups] if any(groups) else (),
                label=self.style.label or "",
                wide=self.style.wide,
                upright=self._has_one_measure and len(columns) > _MAX_LEVEL_HEADINGS,
            )
        ]

    def _draw_table(self, table: Table, width: int | None, color: bool) -> str:
        return to_text(table, width=width, color=color, signs=not color)

    def rows(self) -> list[dict[str, Any]]:
        """Return a dict for each column of numbers and each system; a missing number is None."""
        return self._rows_as_dicts(
            (
                column.collection,
                column.result.measure,
                column.n_queries,
                name,
                self.letters.get(name),
                *((system.mean, system.low, system.high) if system else (None,) * 3),
                column.place_of_system.get(name),
                self._superscript(column, name),
                None if column.pair_result is None else column.format_ranks(name),
            )
            for column in self._columns
            for name in self.systems
            for system in [column.systems.get(name)]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return caption, marks, rows and notes as plain values, and how scores were compared."""
        return {
            "caption": list(self.caption),
            "marks": self.marks,
            "systems": list(self.systems),
            "letters": dict(self.letters),
            "collections": [
                {
                    "name": name,
                    "queries": len(comparison.aligned.query_ids),
                    "settings": comparison.settings.to_dict(),
                    "recipe": dict(comparison.aligned.recipe),
                }
                for name, comparison in self.found.items()
            ],
            "rows": self.rows(),
            "notes": [note.to_dict() for note in self.notes],
        }


def _format_ranges(numbers: Sequence[int]) -> str:
    """Return ascending numbers as text, with three or more consecutive ones as ranges.

    >>> _format_ranges([1, 2, 3, 5, 6])
    '1\u20133,5,6'
    """
    parts: list[str] = []
    for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        texts = [str(n) for _, n in run]
        is_long = len(texts) > 2
        parts += [f"{texts[0]}\N{EN DASH}{texts[-1]}"] if is_long else texts
    return ",".join(parts)
