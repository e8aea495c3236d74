"""paper_table: systems by measures, as a paper prints them; the test says which differ."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from string import ascii_lowercase
from typing import Any, Literal, Unpack

from cranfield.comparison.compare import compare_scores, compare_all_pairs
from cranfield.comparison.comparison import Comparison
from cranfield.comparison.method import CORRECTIONS, describe_test
from cranfield.comparison.settings import Settings
from cranfield.errors import InputError
from cranfield.extensions import keywords
from cranfield.extensions.collections.macro import CollectionComparison, compare_aligned
from cranfield.extensions.report.paper_columns import ABSENT, AverageColumn, MeasureColumn
from cranfield.lazy import cached_property
from cranfield.notes import Note
from cranfield.options import Options, option, refuse_unknown_options, takes, whole_check
from cranfield.render.numbers import format_count, format_query_count
from cranfield.render.plain import to_text
from cranfield.render.shown import Shown
from cranfield.render.table import Table

Marks = Literal["letters", "daggers", "none"]
_BETTER, _WORSE = "\N{DAGGER}", "\N{DOUBLE DAGGER}"
_MAX_NAMED_COLLECTIONS = 6  # collections: of more, a caption does not tell each one's queries
_MAX_LEVEL_HEADINGS = 8  # columns: with more, LaTeX's headings are turned


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
        'baseline; or "none". [default: letters if all pairs were compared, else daggers]',
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

    `rows` has one for each number, with every digit: `place` is 1 for the best, by the digits
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
        *("mean", "low", "high", "place", "marks"),
    )

    found: Mapping[str | None, Comparison]  # by collection; None: there is only one
    style: Paper
    marks: Marks
    over: CollectionComparison | None = None  # the averages over the collections

    @property
    def _settings(self) -> Settings:
        return next(iter(self.found.values())).settings

    @cached_property
    def _columns(self) -> Sequence[MeasureColumn]:
        return [*self._measure_columns, *self._average_columns]

    @cached_property
    def _measure_columns(self) -> Sequence[MeasureColumn]:
        return [
            MeasureColumn(name, one, one[measure], self.style.digits, self.style.percent)
            for name, one in self.found.items()
            for measure in one.aligned.measures
        ]

    @cached_property
    def _average_columns(self) -> Sequence[AverageColumn]:
        """The columns of averages: of each collection's first measure, of the second ones, ..."""
        if self.over is None:
            return ()
        n, look = len(self.over.results), (self.style.digits, self.style.percent)
        return [
            AverageColumn("average", of[0].comparison, of[0].result, *look, macro, of)
            for i, macro in enumerate(self.over.results)
            for of in [self._measure_columns[i::n]]
        ]

    @cached_property
    def systems(self) -> Sequence[str]:
        """The names of the systems, in the order of the rows."""
        every = (name for one in self.found.values() for name in one.aligned.system_names)
        names = list(dict.fromkeys(every))
        if self.style.sort:
            ranked = [one.name for one in self._columns[0].result.ranked_systems]
            names = [*ranked, *(name for name in names if name not in ranked)]
            names.sort(key=lambda name: self.marks == "daggers" and name != self._settings.baseline)
        return names

    @cached_property
    def letters(self) -> Mapping[str, str]:
        """The letter by which superscripts name each system; with more than 26, its number."""
        names = self.systems
        signs = ascii_lowercase if len(names) <= 26 else [str(i + 1) for i in range(len(names))]
        return dict(zip(names, signs, strict=False)) if self.marks == "letters" else {}

    def _superscript(self, column: MeasureColumn, system: str) -> str:
        """Return the superscript of a value."""
        if self.marks == "none" or system not in column.systems:
            return ""
        if self.marks == "daggers":
            verdict = column.verdict(system, str(self._settings.baseline))
            return {None: "", "better": _BETTER, "worse": _WORSE}[verdict]
        worse = [
            self.letters[name] for name in self.systems if column.verdict(system, name) == "better"
        ]
        return "".join(worse) if len(self.systems) <= 26 else _format_ranges(list(map(int, worse)))

    @property
    def notes(self) -> tuple[Note, ...]:
        """The notes of each comparison, and on systems that a collection lacks."""
        if self.over is not None:
            return self.over.notes
        found: list[Note] = []
        for name, one in self.found.items():
            found += one.notes if name is None else [note.add_source(name) for note in one.notes]
            lacking = [system for system in self.systems if system not in one.aligned.system_names]
            if lacking:
                said = f"no run of {', '.join(lacking)}: the cells have a dash."
                found.append(Note("no-run", "info", said, source=name, count=len(lacking)))
        return tuple(found)

    @property
    def _has_one_measure(self) -> bool:
        """Whether there is one measure, the same on each of several collections."""
        measures = {one.result.measure for one in self._measure_columns}
        return len(self.found) > 1 and len(measures) == 1 and self._measure_columns[0].result.higher_is_better

    @property
    def caption(self) -> Sequence[str]:
        """The lines of the caption: over which queries, and what the marks say."""
        opening = (self.style.caption or "").strip()
        opening += "." * bool(re.search(r"[^.!?:]$", opening))
        return [f"{opening} {self._describe_means()}".lstrip(), *self._describe_marks()]

    def _describe_means(self) -> str:
        """Return what the numbers are, and how the best are marked."""
        counts = {name: len(one.aligned.query_ids) for name, one in self.found.items()}
        over = ", ".join(
            f"{format_query_count(n)} of {name}" if name else format_query_count(n) for name, n in counts.items()
        )
        if len(counts) > _MAX_NAMED_COLLECTIONS:
            least, most = min(counts.values()), max(counts.values())
            over = f"{least:,} to {format_query_count(most)} of each of {len(counts)} collections"
        shown = [one for one in self._columns if one.is_percent]
        scaled = ", ".join(dict.fromkeys(one.result.measure for one in shown))
        unit = f" ({scaled} in percent)" if shown else ""
        unit = " in percent" if shown == self._columns else unit
        best, second = (any(one.systems_at_place(place) for one in self._columns) for place in (1, 2))
        what = f"Mean {self._measure_columns[0].result.measure}" if self._has_one_measure else "Means"
        said = f"{what}{unit} over {over}"
        said += f"; best bold{', second underlined' if second else ''}" if best else ""
        seeds = {one.seeds for column in self._columns for one in column.systems.values()}
        if max(seeds) > 1:
            least, most = min(seeds - {1}), max(seeds)
            runs = f"{least} to {most}" if least < most else f"{most}"
            said += f"; {'some of ' * (1 in seeds)}the systems are means of {runs} runs"
        absent = any(name not in one.systems for one in self._measure_columns for name in self.systems)
        if absent:
            said += f"; {ABSENT} not run{' on all collections' * bool(self._average_columns)}"
        return f"{said}."

    def _describe_marks(self) -> Iterator[str]:
        """Yield what the superscripts say, and by which test."""
        if self.marks == "none" or len(self.systems) == 1:
            return
        marks = {self._superscript(one, name) for one in self._columns for name in self.systems} - {""}
        baseline = self._settings.baseline
        if self.marks == "letters":
            kind = "letter" if len(self.systems) <= 26 else "number"
            said = f"Superscripts: significantly better than the systems of these {kind}s"
            said = said if marks else "No two systems differ significantly"
        elif len(marks) == 2:
            said = f"{_BETTER} significantly better, {_WORSE} worse than {baseline}"
        elif marks:
            (mark,) = marks
            word = "better" if mark == _BETTER else "worse"
            said = f"{mark} significantly {word} than {baseline}"
        else:
            said = f"No system differs significantly from {baseline}"
        yield f"{said} ({'; '.join(self._describe_test())})."
        if self._average_columns:
            how = "a t-test that adds the variances of the collections (Welch)"
            if self._settings.test == "randomization":
                how = "flips of the signs of all queries, each collection with the same weight"
            yield f"Average: the mean of the collections; its marks are by {how}."

    def _describe_test(self) -> Iterator[str]:
        """Yield the test, the correction with its family, and the level."""
        settings = self._settings
        paired = "paired " if settings.test in ("randomization", "t") else ""
        yield paired + describe_test([one.result for one in self._measure_columns], settings)
        if settings.test == "bayes":
            yield f"with a probability of at least {settings.decisive_probability:g}"
            return
        sizes = {one.collection: one.result.comparisons for one in self._measure_columns}
        over = format_count(max(sizes.values()), "comparison")
        each = "all measures" if settings.family == "all" else "each measure"
        each = f" of {each}" if len(self._measure_columns) > len(self.found) else ""
        if len({*sizes.values()}) > 1:
            over = " and ".join(f"{n:,} ({name})" for name, n in sizes.items()) + " comparisons"
        elif len(sizes) > 1:
            each += " on each collection"
        how = CORRECTIONS.get(settings.correction, "uncorrected")
        if {*sizes.values()} != {1}:
            yield f"{how}, {over}{each}" if how == "uncorrected" else f"{how} over {over}{each}"
        yield f"p \N{LESS-THAN OR EQUAL TO} {settings.alpha:g}"

    def tables(self) -> list[Table]:
        """Return the table: a row for each system, a column for each measure."""
        labels = [[self.letters[name], name] if self.letters else [name] for name in self.systems]
        n_labels, columns = len(labels[0]), self._columns
        falling = " \N{DOWNWARDS ARROW}"  # less is better
        headings = [one.result.measure + falling * (not one.result.higher_is_better) for one in columns]
        groups = [one.collection or "" for one in columns]
        if self._has_one_measure:  # the caption names it
            headings, groups = groups, []
        cells = {
            (r, c): (one, name)
            for c, one in enumerate(columns, n_labels)
            for r, name in enumerate(self.systems)
        }
        marks = {place: self._superscript(*cell) for place, cell in cells.items()}
        best, second = (
            frozenset(place for place, (one, name) in cells.items() if name in one.systems_at_place(at))
            for at in (1, 2)
        )
        below = self.marks == "daggers" and self.systems[0] == self._settings.baseline
        return [
            Table(
                [*[""] * (n_labels - 1), "System", *headings],
                [
                    [*label, *(one.format_mean(name) for one in columns)]
                    for label, name in zip(labels, self.systems, strict=True)
                ],
                (),
                n_labels,
                best,
                frozenset({1} if below and len(labels) > 2 else ()),
                self.caption,
                underlined_cells=second,
                superscripts={place: mark for place, mark in marks.items() if mark},
                group_headings=[*[""] * n_labels, *groups] if groups else (),
                label=self.style.label or "",
                wide=self.style.wide,
                upright=self._has_one_measure and len(columns) > _MAX_LEVEL_HEADINGS,
            )
        ]

    def _drawn(self, table: Table, width: int | None, color: bool) -> str:
        return to_text(table, width=width, color=color, signs=not color)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each collection, measure and system; what does not exist is None."""
        return self._rows_as_dicts(
            (
                one.collection,
                one.result.measure,
                one.n_queries,
                name,
                self.letters.get(name),
                *((system.mean, system.low, system.high) if system else (None,) * 3),
                one.place_of_system.get(name),
                self._superscript(one, name),
            )
            for one in self._columns
            for name in self.systems
            for system in [one.systems.get(name)]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, as for JSON, with how it was made."""
        return {
            "caption": list(self.caption),
            "marks": self.marks,
            "systems": list(self.systems),
            "letters": dict(self.letters),
            "collections": [
                {
                    "name": name,
                    "queries": len(one.aligned.query_ids),
                    "settings": one.settings.to_dict(),
                    "recipe": dict(one.aligned.recipe),
                }
                for name, one in self.found.items()
            ],
            "rows": self.rows(),
            "notes": [note.to_dict() for note in self.notes],
        }


def _format_ranges(numbers: Sequence[int]) -> str:
    """Return numbers as text, with consecutive ones as ranges.

    >>> _in_runs([1, 2, 3, 5, 6])
    '1\u20133,5,6'
    """
    parts: list[str] = []
    for _, run in groupby(enumerate(numbers), lambda one: one[1] - one[0]):
        several = [str(n) for _, n in run]
        long = len(several) > 2
        parts += [f"{several[0]}\N{EN DASH}{several[-1]}"] if long else several
    return ",".join(parts)


@takes(Paper)
def paper_table(
    comparison: Comparison | Mapping[str, Comparison] | CollectionComparison,
    **options: "Unpack[keywords.Paper]",
) -> PaperTable:
    r"""Return the table that a paper prints: systems by measures, with marks of significance.

    The best value of each measure is bold, the second underlined, by the digits that are shown.
    Superscripts say which systems a value is significantly better than, by the corrected p-values;
    the caption names the test, the correction and its family, alpha and the number of queries.

    Args:
        found: what `compare` returned, with a baseline or for all pairs. Or several, by collection,
            `{"DL 2019": ..., "DL 2020": ...}`: each has a group of columns. Or what
            `compare_collections` returned: then their average has columns, too.
        **options: each option of `Paper`.

    Returns:
        The table, which prints as text. `to_latex` needs \usepackage{booktabs}; `to_markdown`,
        `to_html`, `to_csv` and `to_json` have the same.

    Raises:
        InputError: not what `compare` returns; collections compared in different ways.
        OptionError: an option with an unknown value.

    >>> from cranfield import compare
    >>> runs = ["demo/bm25.run", "demo/dense.run"]
    >>> found = compare("demo/qrels.txt", runs, "nDCG@10 AP", all_pairs=True)
    >>> for line in paper_table(found).to_latex().splitlines()[10:12]:
    ...     print(line)
    a & bm25 & 0.452 & 0.339 \\
    b & dense & \textbf{0.665}\textsuperscript{a} & \textbf{0.613}\textsuperscript{a} \\

    """
    refuse_unknown_options(paper_table, options)
    style = Paper.of(options)
    if isinstance(comparison, CollectionComparison):
        marks = style.marks or ("letters" if comparison.settings.all_pairs else "daggers")
        over = _average_for_marks(comparison, marks)
        of_each: dict[str | None, Comparison] = dict(over.comparisons.items())
        return PaperTable(of_each, style, marks, over)
    several: dict[str | None, Comparison] = {None: comparison} if isinstance(comparison, Comparison) else {}
    if isinstance(comparison, Mapping):
        several = {str(name): one for name, one in comparison.items()}
    if not several or not all(isinstance(one, Comparison) for one in several.values()):
        raise InputError(
            f"expected what compare(...) returns, or that by collection, got {comparison!r:.60}",
            hint="As in paper_table({'DL 2019': compare(...), 'DL 2020': compare(...)}).",
        )
    first = next(iter(several.values())).settings
    marks = style.marks or ("letters" if first.baseline is None else "daggers")
    of_marks = {name: _compare_for_marks(one, marks) for name, one in several.items()}
    _refuse_mixed_settings(of_marks, marks)
    return PaperTable(of_marks, style, marks)


def _compare_for_marks(found: Comparison, marks: Marks) -> Comparison:
    """Return a comparison that has what the marks say: all pairs, or those with a baseline."""
    if marks == "letters":
        return compare_all_pairs(found)
    if marks == "daggers" and found.settings.baseline is None:
        return compare_scores(found.aligned, replace(found.settings, all_pairs=False))
    return found


def _average_for_marks(found: CollectionComparison, marks: Marks) -> CollectionComparison:
    """Return a comparison over collections that has what the marks say."""
    all_pairs = marks == "letters"
    if marks == "none" or found.settings.all_pairs == all_pairs:
        return found
    settings = replace(found.settings, all_pairs=all_pairs, baseline=None)
    aligned = {name: one.aligned for name, one in found.comparisons.items()}
    return compare_aligned(aligned, settings, found.data_notes)


_CAPTION_SETTINGS = ("baseline", "test", "correction", "family", "alpha", "rope")


def _refuse_mixed_settings(found: Mapping[str | None, Comparison], marks: Marks) -> None:
    """Raise InputError for collections compared in different ways: a caption describes only one."""
    (first, one), *others = found.items()
    for name, other in others if marks != "none" else ():
        for what in _CAPTION_SETTINGS:
            ours, theirs = (getattr(each.settings, what) for each in (one, other))
            if ours != theirs:
                raise InputError(
                    f"the collections were compared in different ways: {what} is {ours!r} on "
                    f"{first}, {theirs!r} on {name}",
                    hint="Compare with the same options on each, or choose marks='none'.",
                )
