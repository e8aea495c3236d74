"""One query's value explained: the terms it is made of, and what would change it."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from cranfield.errors import OptionError
from cranfield.explanation.entries import Column, Line, Sheet, Worksheet
from cranfield.explanation.expressions import number
from cranfield.explanation.follow import follow
from cranfield.explanation.scene import Scene
from cranfield.explanation.whatif import (
    DEEPEST,
    FIRST,
    Judgment,
    Judgments,
    Swap,
    Tie,
    best_swap,
    judgments,
    ties,
    unjudged,
    untried,
)
from cranfield.explanation.worksheet import worksheet
from cranfield.measures import Measure
from cranfield.measures.parameters import Depth
from cranfield.notes import Note, lines_of
from cranfield.options import is_whole
from cranfield.render.numbers import number_of, some
from cranfield.render.shown import Shown
from cranfield.render.table import Table, paragraphs, to_html
from cranfield.scoring.evaluate import ideals_of
from cranfield.scoring.scores import shown

_ROWS = 20  # of a table, before some are left out
_LAST = 2  # of these, at the end
_EMPTY = "(empty)"  # a text
_NAMED = 5  # documents, in a sentence


@dataclass(frozen=True)
class Retrieved:
    """A document of the ranking: `grade` is None if it is unjudged.

    `rank` is that before any document was dropped, `score` what the run says; None if it is not
    ranked by scores.
    """

    rank: int
    document: str
    score: float | None
    grade: int | None


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Shown):
    """Why a query has the value it has.

    `worksheet` is the measure's own computation, step by step: tables of documents with the terms
    that are added up, and the numbers that come of them; its last line is the value, to the last
    bit what `evaluate` returns. Beside it: what was retrieved and what of it was not judged; the
    equal scores whose order mattered; the swap of two ranks among the first 100 that makes the
    value most better; the judgment of one unjudged document that would raise it most, or lower it.

    >>> from cranfield import explain
    >>> found = explain({"q1": {"d1": 3, "d2": 1}}, {"q1": ["d1", "d4", "d2"]}, "P@3", "q1")
    >>> found.value, found.unjudged
    (0.6666666666666666, [(2, 'd4')])
    >>> print(str(found).splitlines()[-1])
    P@3 = A / 3 = 2 / 3 = 0.6666666666666666
    """

    header = ("query_id", "table", "group", "rank", "document", "grade", "column", "value")

    query: str
    run: str
    measure: Measure
    value: float | str
    worksheet: Worksheet
    retrieved: Sequence[Retrieved]
    unjudged: Sequence[tuple[int, str]]  # (rank, document), of all that was retrieved
    n_relevant: int  # documents of the judgments, retrieved or not; 0 of judgments in groups
    missing: Sequence[tuple[str, int]]  # (document, grade) of those that were not retrieved
    ties: Sequence[Tie]
    swap: Swap | None
    judgments: Judgments
    options: Mapping[str, Any]
    notes: Sequence[Note]  # what else to know of the data
    untried: str  # why no judgment was tried; empty if some were
    cutoff: int | None  # the last rank that counts for this query; None: all do

    @classmethod
    def of(cls, scene: Scene, measure: Measure) -> "Explanation":
        """Explain the value of the query that a scene is of."""
        found = follow(measure, scene)
        value = found.flat[0] if measure.definition.is_text else float(found.flat[0])
        sheet = worksheet(str(measure), found)
        scores, retrieved = scene.ranking.scores, set(scene.ranking.docs)
        level = measure.parameters.get("rel", 1)
        relevant = [
            doc for doc in scene.ideal if scene.grades[doc] >= level and not scene.qrels.in_groups
        ]
        return cls(
            query=scene.query,
            run=scene.run,
            measure=measure,
            value=value,
            worksheet=replace(sheet, result=replace(sheet.result, value=value)),
            retrieved=[
                Retrieved(rank, doc, None if scores is None else float(scores[rank - 1]), grade)
                for rank, (doc, grade) in enumerate(
                    ((doc, scene.grades.get(doc)) for doc in scene.ranking.docs), 1
                )
            ],
            unjudged=unjudged(scene),
            n_relevant=len(relevant),
            missing=[(doc, scene.grades[doc]) for doc in relevant if doc not in retrieved],
            ties=ties(scene, measure),
            swap=best_swap(scene, measure),
            judgments=judgments(scene, measure),
            options=scene.judging.unusual(),
            notes=[*scene.meeting.notes, *ideals_of([measure], scene.qrels)],
            untried=untried(scene, measure),
            cutoff=_cutoff(scene, measure),
        )

    # ---- as text --------------------------------------------------------------------------------

    def tables(self, limit: int | None = _ROWS) -> list[Table]:
        """Return the worksheet's tables, of at most `limit` rows each (None: all of them).

        Raises OptionError if `limit` is no whole number of 1 or more.
        """
        made, closing = self._parts(limit)
        grave = lines_of(one for one in self.notes if one.is_grave)
        return [*made[:-1], replace(made[-1], notes=[*grave, *made[-1].notes, *closing])]

    def _parts(self, limit: int | None) -> tuple[list[Table], list[str]]:
        """Return the tables, and what stands below them all."""
        check_limit(limit)
        made: list[Table] = []
        title, notes = self._title(), [""] * 0
        for entry in self._entries():
            if isinstance(entry, Line):
                (notes if made else title).append(_said(entry))
                continue
            if made:
                made[-1] = replace(made[-1], notes=notes)
                notes = []
            made.append(_table(self._with_ranks(entry), limit, [*title, _capital(entry.title)]))
            title = []
            notes += _made(entry)
        made[-1] = replace(made[-1], notes=notes)
        return made, [*self._beside(), _said(self.worksheet.result, digits=True)]

    def _with_ranks(self, sheet: Sheet) -> Sheet:
        """Say beside the documents of an ideal ranking at which rank the run has them."""
        several = "group" in sheet.labels or self.options.get("judged_only")
        if not sheet.is_ideal or "document" not in sheet.labels or several:
            return sheet
        rank = {one.document: one.rank for one in self.retrieved}
        here = [rank.get(doc) for doc in sheet.labels["document"]]
        return replace(sheet, labels={**sheet.labels, "rank in run": here})

    def _entries(self) -> list[Sheet | Line]:
        """Return the worksheet's entries; where it has no table, the ranking is one."""
        entries = list(self.worksheet.entries)
        if any(isinstance(entry, Sheet) for entry in entries):
            return entries
        labels: dict[str, Sequence[Any]] = {
            "rank": [one.rank for one in self.retrieved],
            "document": [one.document for one in self.retrieved],
            "grade": [one.grade for one in self.retrieved],
        }
        return [Sheet("documents retrieved", labels), *entries]

    def _title(self) -> list[str]:
        definition = self.measure.definition
        variant = ", of which this is a variant" * _is_variant(self.measure)
        return [
            f"{self._short(self.value)}: query {self.query}, run {self.run}",
            f"{definition.name}{variant}: {definition.formula} ({definition.source})",
        ]

    def _beside(self) -> list[str]:
        """Return what else to know of the value, in sentences."""
        said = lines_of(one for one in self.notes if not one.is_grave)
        if self.worksheet.divided_by_nothing:
            said.append(f"0 / 0 counts as 0: in {', '.join(self.worksheet.divided_by_nothing)}.")
        if self.worksheet.is_deep:
            said.append(f"{self.measure} takes too many steps one after the other to be shown.")
        elif self.worksheet.lost:
            said.append(
                f"How {self.measure} comes to its value is not known in all: its function leaves "
                "the arrays that it is given (by float(), np.asarray(), numpy's sums, by writing "
                "into an array or a loop), and with them the record of what was done."
            )
        said += [*self._of_missing(), *self._of_unjudged(), *self._of_ties()]
        said += [*self._of_swap(), *self._of_judgments()]
        if self.options:
            given = ", ".join(f"{key}={value}" for key, value in self.options.items())
            said.append(f"Options: {given}.")
        if any(map(_is_rounded, self.worksheet.entries)):
            said.append(
                "Numbers are rounded to six decimals (below 0.001: to six significant digits); the "
                "value is not."
            )
        return said

    def _of_unjudged(self) -> list[str]:
        n_docs = len(self.retrieved)
        if not n_docs:
            return ["Nothing was retrieved."]
        if self.options.get("judged_only"):
            out = [one for one in self.retrieved if one.grade is None or one.grade < 0]
            if not out:
                return []
            at = _listed([(one.rank, one.document) for one in out])
            return [
                f"Dropped, as unjudged or of negative grade: {len(out):,} of the "
                f"{number_of(n_docs, 'document')} retrieved, at {at}. The others closed up: the "
                "tables and the swap have their ranks after that, all else has the ranks before."
            ]
        k = n_docs if self.cutoff is None else self.cutoff
        looked_at = min(k, n_docs)
        its = [one for one in self.unjudged if one[0] <= looked_at]
        where = f"{number_of(looked_at, 'document')} retrieved" + f" down to rank {k}" * (
            k < n_docs
        )
        if not k:
            return ["No rank is looked at: R, the number of relevant documents, is 0."]
        if not its:
            return [f"Judged: all of the {where}." if looked_at > 1 else f"Judged: the {where}."]
        return [f"Not judged, of the {where}: {len(its):,}, at {_listed(its)}."]

    def _of_missing(self) -> list[str]:
        """Say which relevant documents were not retrieved, the highest grade first."""
        if not self.missing:
            return []
        named = some([f"{doc} ({grade})" for doc, grade in self.missing], _NAMED)
        of = f"{len(self.missing):,} of {self.n_relevant:,}"
        return [f"Relevant (with their grades) and not retrieved: {of}: {named}."]

    def _of_ties(self) -> list[str]:
        if self.options.get("ties") == "expected":
            scores = [one.score for one in self.retrieved if one.score is not None]
            one_of_many = "Ranks among equal scores are those of one order of many."
            return [one_of_many] * (len(set(scores)) < len(scores))
        seen = [one for one in self.ties if _four(one.lowest) != _four(one.highest)][:_NAMED]
        said = [self._of_tie(one) for one in seen]
        others = len(self.ties) - len(seen)
        if others:
            more = number_of(others, "more group" if seen else "group")
            less = "less" if seen else "little"
            said.append(f"The order of {more} of equal scores mattered {less}.")
        return said

    def _of_tie(self, tie: Tie) -> str:
        last = tie.first + tie.size - 1
        n_kept = len(tie.docs)
        docs = ", ".join(tie.docs[:_NAMED]) + (", ..." if n_kept > _NAMED else "")
        docs = f" ({docs})" * bool(docs)
        kept = f"; of these, {n_kept or 'none'} {'was' if n_kept < 2 else 'were'} kept"
        kept *= n_kept < tie.size
        best, worst = tie.highest, tie.lowest
        if self._better == "lower":
            best, worst = worst, best
        return (
            f"Ranks {tie.first} to {last} share their score{kept}{docs}: the best and the worst "
            f"order by grade would make it {_four(best)} and {_four(worst)}."
        )

    def _of_swap(self) -> list[str]:
        n_kept = len(self.retrieved)
        if self.options.get("judged_only"):
            n_kept = sum(one.grade is not None and one.grade >= 0 for one in self.retrieved)
        of = "two ranks" + f" among the first {FIRST}" * (n_kept > FIRST)
        if self.swap is None:
            known = n_kept > 1 and not self.measure.definition.is_text
            return [f"No swap of {of} would {self._better} it."] * known
        a, b = self.swap.i, self.swap.j
        return [
            f"Of all swaps of {of}, that of {a} ({self.swap.doc_i}) and {b} ({self.swap.doc_j}) "
            f"would {self._better} it most: {self._changed(self.swap.value)}."
        ]

    def _of_judgments(self) -> list[str]:
        if not self.unjudged or self.measure.definition.is_text:
            return []
        if self.untried:
            return [f"No judgment of an unjudged document was tried: {self.untried}."]
        up, down = self.judgments.up, self.judgments.down
        ways = [(one, way) for one, way in ((up, "raise"), (down, "lower")) if one is not None]
        deep = f" down to rank {DEEPEST:,}" * (self.unjudged[-1][0] > DEEPEST)
        *some, last = self.judgments.grades or [0]
        tried = f"the grades {', '.join(map(str, some))} and {last} for" if some else ""
        if not ways:
            none_of = f"None of {tried}" if tried else "No judgment of"
            return [f"{none_of} one unjudged document{deep} would change it."]
        return [
            f"Of {tried or 'all judgments of'} one unjudged document{deep}, grade {one.grade} for "
            f"{one.doc} at rank {one.rank} would {way} it most: {self._changed(one.value)}."
            for one, way in ways
        ]

    @property
    def _better(self) -> str:
        return "lower" if self.measure.definition.higher_is_better is False else "raise"

    def _short(self, value: float | str) -> str:
        return f"{self.measure} = {shown(self.measure, value) or _EMPTY}"

    def _changed(self, value: float) -> str:
        assert isinstance(self.value, float)  # noqa: S101 - a text is not changed
        change = value - self.value
        digits = "+.4f" if abs(change) >= 0.00005 else "+.2g"
        return f"{shown(self.measure, value)} ({change:{digits}})"

    def _repr_html_(self) -> str:
        # Tables stand beside each other where there is room.
        made, closing = self._parts(_ROWS)
        shown = "".join(f"<div>{to_html(table)}</div>" for table in made)
        beside = f'<div style="display: flex; flex-wrap: wrap; gap: 0 3em">{shown}</div>'
        return beside + paragraphs(closing)

    # ---- for programs ---------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, every digit of every number.

        A score of a document that is not finite, which JSON does not have, is "inf" or "-inf".
        """
        definition, sheet = self.measure.definition, self.worksheet
        return {
            "query": self.query,
            "run": self.run,
            "measure": str(self.measure),
            "value": self.value,
            "formula": definition.formula,
            "source": definition.source,
            "steps": [_step(entry) for entry in [*sheet.entries, sheet.result]],
            "complete": not sheet.lost,
            "retrieved": [
                {**asdict(one), "score": _plain_score(one.score)} for one in self.retrieved
            ],
            "unjudged": [{"rank": rank, "document": doc} for rank, doc in self.unjudged],
            "relevant": self.n_relevant,
            "missing": [{"document": doc, "grade": grade} for doc, grade in self.missing],
            "ties": [asdict(one) for one in self.ties],
            "best_swap": None if self.swap is None else asdict(self.swap),
            "judgment_up": _judgment(self.judgments.up),
            "judgment_down": _judgment(self.judgments.down),
            "options": dict(self.options),
            "notes": [one.to_dict() for one in self.notes],
        }

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each number of the worksheet: where it stands, and its value."""
        found: list[tuple[Any, ...]] = []
        for entry in [*self._entries(), self.worksheet.result]:
            if isinstance(entry, Line):
                found.append((*[None] * 5, entry.symbol, entry.value))
                continue
            labels = [entry.labels.get(name) for name in ("group", "rank", "document", "grade")]
            n_rows = len(next(iter(entry.labels.values())))
            # A row for each document, also where it is all that counts.
            columns = entry.columns or [Column("grade", entry.labels.get("grade", [""] * n_rows))]
            for column in columns:
                for i, value in enumerate(column.values):
                    cells = [each and each[i] for each in labels]
                    found.append((entry.title, *cells, column.header, value))
            for total in entry.totals:
                found += [(entry.title, *[None] * 4, total.symbol, value) for value in total.values]
        return self._dicts((self.query, *row) for row in found)


def check_limit(limit: int | None) -> None:
    """Raise OptionError unless it is a number of rows that a table may show; None: all."""
    if limit is not None and (not is_whole(limit) or limit < 1):
        raise OptionError(f"limit={limit!r:.40}: expected a number of rows, 1 or more")


def change(value: float) -> str:
    """Return a change with its sign, and with two digits where four decimals would show none."""
    return f"{value:+.4f}" if abs(value) >= 0.00005 else f"{value:+.2g}"


def given(options: Mapping[str, Any]) -> list[str]:
    """Return the line that names the options, if there are any."""
    listed = ", ".join(f"{key}={value}" for key, value in options.items())
    return [f"Options: {listed}."] * bool(options)


def _plain_score(score: float | None) -> float | str | None:
    return score if score is None or math.isfinite(score) else str(score)


def _judgment(one: Judgment | None) -> dict[str, Any] | None:
    return None if one is None else asdict(one)


def _step(entry: Sheet | Line) -> dict[str, Any]:
    """Return a table or a line of a worksheet as plain values."""
    if isinstance(entry, Line):
        return asdict(entry)
    return {
        "table": entry.title,
        **{name: list(column) for name, column in entry.labels.items()},
        "columns": [
            {"name": one.header, "made": one.made or one.header, "values": list(one.values)}
            for one in entry.columns
        ],
        "totals": [asdict(one) for one in entry.totals],
    }


def _cutoff(scene: Scene, measure: Measure) -> int | None:
    """Return the last rank that counts, None if all do; where each group has its own, the most."""
    if not isinstance(measure.cutoff, Depth):
        return None
    if scene.judged.in_groups:
        return measure.cutoff.ranks
    return int(measure.cutoff.of(scene.judged, measure.parameters.get("rel", 1)).flat[0])


def _is_variant(measure: Measure) -> bool:
    """Tell whether a parameter makes the formula another one: a formula has names of its own."""
    definition = measure.definition
    return any(
        value != definition.defaults[name]
        and name not in ("rel", definition.names.unnamed)
        and not any(
            re.search(rf"\b{re.escape(str(one))}\b", definition.formula) for one in (name, value)
        )
        for name, value in measure.given
    )


def _is_rounded(entry: Sheet | Line) -> bool:
    """Tell whether a number of it is not shown in full."""
    if isinstance(entry, Line):
        shown: list[Any] = [entry.value]
    else:
        shown = [one for column in entry.columns for one in column.values]
        shown += [one for total in entry.totals for one in (*total.values, *(total.running or ()))]
    return any(isinstance(one, float) and float(number(one)) != one for one in shown)


def _four(value: float) -> str:
    return f"{value:.4f}"


def _listed(places: Sequence[tuple[int, str]]) -> str:
    """Return the first of some (rank, document), in words."""
    named = some([f"{rank} ({doc})" for rank, doc in places], _NAMED)
    return f"{'rank' if len(places) == 1 else 'ranks'} {named}"


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _said(line: Line, *, digits: bool = False) -> str:
    """Return a line as it is shown: A = words = numbers = value, with all `digits` or with six."""
    value = number(line.value)
    if digits:
        value = str(line.value) or _EMPTY
    numbers = line.numbers if len(line.words) > 1 else ""  # A, which stands above
    parts = [line.symbol, line.words, numbers, value]
    return " = ".join(dict.fromkeys(part for part in parts if part))


def _made(sheet: Sheet) -> list[str]:
    """Return how the columns of a table come about, and what becomes of them."""
    said = [f"{one.header} = {one.made}" for one in sheet.columns if one.made]
    for one in sheet.totals:
        if len(one.values) == 1:
            said.append(f"{one.symbol} = {one.words} = {number(one.values[0])}")
        else:
            said.append(f"{one.symbol} = {one.words}, of each group")
    return said


def _table(sheet: Sheet, limit: int | None, title: Sequence[str]) -> Table:
    """Return a sheet as a table; of more rows than the limit the middle is left out, and said."""
    summed = [one for one in sheet.totals if one.running is not None]
    so_far = ["sum so far"] if len(summed) == 1 else [f"sum so far, {one.symbol}" for one in summed]
    texts = [name for name in ("group", "rank", "document") if name in sheet.labels]
    labels = [*texts, *(name for name in ("grade", "rank in run") if name in sheet.labels)]
    header = [*labels, *(one.header for one in sheet.columns), *so_far]
    columns: list[Sequence[Any]] = [
        *(sheet.labels[name] for name in labels),
        *(one.values for one in sheet.columns),
        *(one.running or () for one in summed),
    ]
    n = len(columns[0]) if columns else 0
    rows_shown = list(range(n))
    last = min(_LAST, (limit or 0) // 2)
    if limit is not None and n > limit + 1:
        rows_shown = [*range(limit - last), *range(n - last, n)]
    cells = [["-" if one[i] is None else number(one[i]) for one in columns] for i in rows_shown]
    if len(rows_shown) < n:
        left_out = f"({n - len(rows_shown):,} more)"
        at = header.index("document") if "document" in header else 0
        gap = [left_out if i == at else "..." for i in range(len(header))]
        cells.insert((limit or 0) - last, gap)
    return Table(header, cells, (), len(texts), title=title)
