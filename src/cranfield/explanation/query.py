"""One query's value explained: the terms it is made of, and what would change it."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from cranfield.errors import OptionError
from cranfield.explanation import whatif
from cranfield.explanation.entries import EMPTY, Entry, Line, Sheet, Worksheet
from cranfield.explanation.expressions import number
from cranfield.explanation.follow import follow
from cranfield.explanation.retrieved import n_shown, ranking, with_unjudged
from cranfield.explanation.scene import Scene
from cranfield.explanation.worksheet import worksheet
from cranfield.measures import Measure
from cranfield.measures.parameters import Depth
from cranfield.notes import Note, lines_of
from cranfield.options import is_whole
from cranfield.render.numbers import number_of, short, some
from cranfield.render.shown import Shown
from cranfield.render.table import Table, paragraphs, to_html
from cranfield.scoring.evaluate import ideals_of
from cranfield.scoring.scores import shown

_ROWS = 20  # of a table, before some are left out
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
    grade: float | None


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Shown):
    """Why a query has the value it has.

    `worksheet` is the measure's own computation, step by step: tables of documents with the terms
    that are added up, and the numbers that come of them; its last line is the value, to the last
    bit what `evaluate` returns. Unjudged documents are in its tables, too, where they add nothing;
    where no table has the first documents retrieved, they are a table before it. Beside it: what
    of the ranking was not judged; the equal scores whose order mattered; the swap of two ranks
    among the first 100 that makes the value most better; the judgment of one unjudged document
    that would raise it most, or lower it.

    >>> from cranfield import explain
    >>> found = explain({"q1": {"d1": 3, "d2": 1}}, {"q1": ["d1", "d4", "d2"]}, "P@3", "q1")
    >>> found.value, found.unjudged
    (0.6666666666666666, [(2, 'd4')])
    >>> print(str(found).splitlines()[-1])
    P@3 = A / 3 = 2 / 3 = 0.6666666666666666
    """

    query: str
    run: str
    measure: Measure
    value: float | str
    worksheet: Worksheet
    retrieved: Sequence[Retrieved]
    n_relevant: int  # documents of the judgments, retrieved or not; 0 of judgments in groups
    missing: Sequence[tuple[str, float]]  # (document, grade) of those that were not retrieved
    ties: Sequence[whatif.Tie]
    swap: whatif.Swap | None
    judgments: whatif.Judgments
    options: Mapping[str, Any]
    notes: Sequence[Note]  # what else to know of the data
    untried: str  # why no judgment was tried; empty if some were
    cutoff: int | None  # the last rank that counts for this query; None: all do

    @property
    def unjudged(self) -> list[tuple[int, str]]:
        """The rank and the name of every unjudged document retrieved."""
        return [(one.rank, one.document) for one in self.retrieved if one.grade is None]

    @classmethod
    def of(cls, scene: Scene, measure: Measure) -> "Explanation":
        """Explain the value of a scene's query."""
        cutoff = _cutoff(scene, measure)
        sheet = worksheet(str(measure), follow(measure, scene))
        sheet = with_unjudged(sheet, measure, scene, n_shown(len(scene.docs), cutoff))
        docs, scores, grades = scene.ranking.docs, scene.ranking.scores, scene.grades
        scored = [None] * len(docs) if scores is None else scores.tolist()
        level = scene.least_relevant(measure)
        judged = () if scene.qrels.in_groups else scene.ideal
        relevant = [doc for doc in judged if grades[doc] >= level]
        missing = set(relevant).difference(docs) | scene.below.intersection(relevant)
        return cls(
            query=scene.query,
            run=scene.run,
            measure=measure,
            value=sheet.result.value,
            worksheet=sheet,
            retrieved=[
                Retrieved(rank, doc, None if doc in scene.below else score, grades.get(doc))
                for rank, (doc, score) in enumerate(zip(docs, scored, strict=True), 1)
            ],
            n_relevant=len(relevant),
            missing=[(doc, grades[doc]) for doc in relevant if doc in missing],
            ties=whatif.ties(scene, measure),
            swap=whatif.best_swap(scene, measure),
            judgments=whatif.judgments(scene, measure),
            options=scene.judging.unusual(),
            notes=[*scene.meeting.notes, *ideals_of([measure], scene.qrels)],
            untried=whatif.untried(scene, measure),
            cutoff=cutoff,
        )

    # ---- as text --------------------------------------------------------------------------------

    def tables(self, limit: int | None = _ROWS) -> list[Table]:
        """Return the worksheet's tables, of at most `limit` rows each (None: all of them).

        Raises OptionError if `limit` is no whole number of 1 or more.
        """
        *above, last = self._sheets(limit)
        grave = lines_of(one for one in self.notes if one.is_grave)
        return [*above, replace(last, notes=[*grave, *last.notes, *self._closing()])]

    def _sheets(self, limit: int | None) -> list[Table]:
        check_limit(limit)
        made: list[Table] = []
        definition = self.measure.definition
        variant = ", of which this is a variant" * _is_variant(self.measure)
        value = shown(self.measure, self.value) or EMPTY
        lines = [
            f"{self.measure} = {value}: query {self.query}, run {self.run}",
        ]
        if definition.formula:  # python -OO has taken it away
            lines.append(f"{definition.name}{variant}: {definition.formula} ({definition.source})")
        for entry in self._entries():
            if isinstance(entry, Line):
                lines.append(entry.text())
                continue
            title = [*([] if made else lines), entry.title[:1].upper() + entry.title[1:]]
            lines = entry.lines  # and what follows, up to the next table
            made.append(self._with_ranks(entry).table(limit, title, lines))
        return made

    def _with_ranks(self, sheet: Sheet) -> Sheet:
        """Say beside the documents of an ideal ranking at which rank the run has them."""
        several = "group" in sheet.labels or self.options.get("judged_only")
        if several or not sheet.is_ideal or "document" not in sheet.labels:
            return sheet
        rank = {one.document: one.rank for one in reversed(self.retrieved)}
        here = [rank.get(doc) for doc in sheet.labels["document"]]
        return replace(sheet, labels={**sheet.labels, "rank in run": here})

    def _entries(self) -> list[Entry]:
        """Return the worksheet's entries; before them the ranking, if none of them shows it.

        Of a ranking, the first documents are shown; all of them where there is no other table.
        """
        entries = list(self.worksheet.entries)
        tables = [one for one in entries if isinstance(one, Sheet)]
        n_docs = len(self.retrieved)
        n = n_shown(n_docs, self.cutoff) if tables else n_docs
        first = self.retrieved[:n]
        wanted = {one.document for one in first}
        here = (one.labels.get("document", ()) for one in tables if not one.is_sorted)
        if any(wanted <= {*documents} for documents in here):
            return entries
        title = "documents retrieved"
        if self.options.get("judged_only"):
            title += ", before any were dropped"
        rows = [(one.rank, one.document, one.grade) for one in first]
        return [ranking(rows, n_docs, title), *entries]

    def _closing(self) -> Iterator[str]:
        """Yield what else to know of the value, in sentences, and the value."""
        yield from lines_of(one for one in self.notes if not one.is_grave)
        if self.worksheet.divided_by_nothing:
            yield f"0 / 0 counts as 0: in {', '.join(self.worksheet.divided_by_nothing)}."
        if self.worksheet.is_deep:
            yield f"{self.measure} takes too many steps one after the other to be shown."
        elif self.worksheet.lost:
            yield (
                f"How {self.measure} comes to its value is not known in all: its function leaves "
                "the arrays that it is given (by float(), np.asarray(), numpy's sums, by writing "
                "into an array or a loop), and with them the record of what was done."
            )
        if self.missing:  # the highest grade first
            named = some([f"{doc} ({short(grade)})" for doc, grade in self.missing], _NAMED)
            of = f"{len(self.missing):,} of {self.n_relevant:,}"
            yield f"Relevant (with their grades) and not retrieved: {of}: {named}."
        yield from self._of_unjudged()
        yield from self._of_ties()
        yield from self._of_swap()
        yield from self._of_judgments()
        yield from given(self.options)
        if any(map(_is_rounded, self.worksheet.entries)):
            yield (
                "Numbers are rounded to six decimals (below 0.001: to six significant digits); the "
                "value is not."
            )
        yield self.worksheet.result.text(digits=True)

    def _of_unjudged(self) -> Iterator[str]:
        n_docs = len(self.retrieved)
        k = n_docs if self.cutoff is None else self.cutoff
        looked_at = min(k, n_docs)
        down_to = f" down to rank {k}" * (k < n_docs)
        where = f"{number_of(looked_at, 'document')} retrieved{down_to}"
        its = [one for one in self.unjudged if one[0] <= looked_at]
        if not n_docs:
            yield "Nothing was retrieved."
        elif self.options.get("judged_only"):
            out = [(one.rank, one.document) for one in self.retrieved if not _is_kept(one)]
            if out:
                yield (
                    f"Dropped, as unjudged or of negative grade: {len(out):,} of the "
                    f"{number_of(n_docs, 'document')} retrieved, at {_listed(out)}. The others "
                    "closed up: the tables and the swap have their ranks after that, all else has "
                    "the ranks before."
                )
        elif not k:
            yield "No rank is looked at: R, the number of relevant documents, is 0."
        elif its:
            yield f"Not judged, of the {where}: {len(its):,}, at {_listed(its)}."
        else:
            yield f"Judged: all of the {where}." if looked_at > 1 else f"Judged: the {where}."

    def _of_ties(self) -> Iterator[str]:
        if self.options.get("ties") == "expected":
            scores = [one.score for one in self.retrieved if one.score is not None]
            if len(set(scores)) < len(scores):
                yield "Ranks among equal scores are those of one order of many."
        seen = [one for one in self.ties if f"{one.lowest:.4f}" != f"{one.highest:.4f}"][:_NAMED]
        yield from map(self._of_tie, seen)
        others = len(self.ties) - len(seen)
        if others:
            more, less = ("more group", "less") if seen else ("group", "little")
            yield f"The order of {number_of(others, more)} of equal scores mattered {less}."

    def _of_tie(self, tie: whatif.Tie) -> str:
        n_kept = len(tie.docs)
        docs = ", ".join(tie.docs[:_NAMED]) + ", ..." * (n_kept > _NAMED)
        kept = f"; of these, {n_kept or 'none'} {'was' if n_kept < 2 else 'were'} kept"
        pair = (tie.lowest, tie.highest) if self._better == "lower" else (tie.highest, tie.lowest)
        return (
            f"Ranks {tie.first} to {tie.first + tie.size - 1} share their score"
            f"{kept * (n_kept < tie.size)}{f' ({docs})' * bool(docs)}: the best and the worst "
            f"order by grade would make it {pair[0]:.4f} and {pair[1]:.4f}."
        )

    def _of_swap(self) -> Iterator[str]:
        dropping = self.options.get("judged_only")
        n_kept = sum(_is_kept(one) or not dropping for one in self.retrieved)
        of = "two ranks" + f" among the first {whatif.FIRST}" * (n_kept > whatif.FIRST)
        one = self.swap
        if one is not None:
            yield (
                f"Of all swaps of {of}, that of {one.i} ({one.doc_i}) and {one.j} ({one.doc_j}) "
                f"would {self._better} it most: {self._changed(one.value)}."
            )
        elif n_kept > 1 and not self.measure.definition.is_text:
            yield f"No swap of {of} would {self._better} it."

    def _of_judgments(self) -> Iterator[str]:
        if not self.unjudged or self.measure.definition.is_text:
            return
        if self.untried:
            yield f"No judgment of an unjudged document was tried: {self.untried}."
            return
        deep = f" down to rank {whatif.DEEPEST:,}" * (self.unjudged[-1][0] > whatif.DEEPEST)
        *some, last = self.judgments.grades or [0]
        first = ", ".join(map(short, some))
        tried = f"the grades {first} and {short(last)} for" if some else ""
        up, down = self.judgments.up, self.judgments.down
        for one, way in ((up, "raise"), (down, "lower")):
            if one is not None:
                yield (
                    f"Of {tried or 'all judgments of'} one unjudged document{deep}, grade "
                    f"{short(one.grade)} for {one.doc} at rank {one.rank} would {way} it most: "
                    f"{self._changed(one.value)}."
                )
        if up is None and down is None:
            none_of = f"None of {tried}" if tried else "No judgment of"
            yield f"{none_of} one unjudged document{deep} would change it."

    @property
    def _better(self) -> str:
        return "lower" if self.measure.definition.higher_is_better is False else "raise"

    def _changed(self, value: float) -> str:
        assert isinstance(self.value, float)  # noqa: S101 - a text is not changed
        return f"{shown(self.measure, value)} ({change(value - self.value)})"

    def _repr_html_(self) -> str:
        # Tables are beside each other where there is room.
        sheets = "".join(f"<div>{to_html(table)}</div>" for table in self._sheets(_ROWS))
        beside = f'<div style="display: flex; flex-wrap: wrap; gap: 0 3em">{sheets}</div>'
        return beside + paragraphs(self._closing())

    # ---- for programs ---------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, every digit of every number.

        A score of a document that is not finite, which JSON does not have, is "inf" or "-inf".
        """
        definition, sheet = self.measure.definition, self.worksheet
        up, down = self.judgments.up, self.judgments.down
        return {
            "query": self.query,
            "run": self.run,
            "measure": str(self.measure),
            "value": self.value,
            "formula": definition.formula,
            "source": definition.source,
            "steps": [entry.to_dict() for entry in [*sheet.entries, sheet.result]],
            "complete": not sheet.lost,
            "retrieved": [
                {**asdict(one), "score": _plain_score(one.score)} for one in self.retrieved
            ],
            "unjudged": [{"rank": rank, "document": doc} for rank, doc in self.unjudged],
            "relevant": self.n_relevant,
            "missing": [{"document": doc, "grade": grade} for doc, grade in self.missing],
            "ties": [asdict(one) for one in self.ties],
            "best_swap": self.swap and asdict(self.swap),
            "judgment_up": up and asdict(up),
            "judgment_down": down and asdict(down),
            "options": dict(self.options),
            "notes": [one.to_dict() for one in self.notes],
        }

    @property
    def header(self) -> list[str]:
        """The names of the columns of `rows`."""
        return list(self.rows()[0])

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each document of each table, and one for each step that follows.

        The columns are query_id, table, group, rank, document and grade, then those of the tables,
        then `step` and `value`: what a column is added up to, and what is computed of that. The
        last row is the value.

        >>> from cranfield import explain, grades
        >>> found = explain(*grades([5, 2, 4]), "DCG").rows()
        >>> [(row["rank"], row["grade"], row["discount"], row["sum so far"]) for row in found[:2]]
        [(1, 5, 1.0, 5.0), (2, 2, 1.584962500721156, 6.2618595071429155)]
        >>> found[-1]["step"], found[-1]["value"]
        ('DCG', 8.261859507142916)
        """
        found: list[dict[str, Any]] = []
        for entry in [*self._entries(), self.worksheet.result]:
            if isinstance(entry, Line):
                found.append({"step": entry.symbol, "value": entry.value})
                continue
            found += ({"table": entry.title, **row} for row in entry.rows(_FIXED))
            for total in entry.totals:
                found += (
                    {"table": entry.title, "step": total.symbol, "value": value}
                    for value in total.values
                )
        own = dict.fromkeys(name for row in found for name in row if name not in _FIXED)
        *first, step, value = _FIXED
        names = (*first, *own, step, value)
        return [{name: row.get(name) for name in names} | {"query_id": self.query} for row in found]


# The columns of the rows of every explanation; before the last two are those of its tables.
_FIXED = ("query_id", "table", "group", "rank", "document", "grade", "step", "value")


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


def _is_rounded(entry: Entry) -> bool:
    """Tell whether a number of it is not shown in full."""
    shown = [entry.value] if isinstance(entry, Line) else entry.numbers
    return any(isinstance(one, float) and float(number(one)) != one for one in shown)


def _is_kept(one: Retrieved) -> bool:
    """Tell whether a document is kept where unjudged ones are dropped."""
    return one.grade is not None and one.grade >= 0


def _listed(places: Sequence[tuple[int, str]]) -> str:
    """Return the first of some (rank, document), in words."""
    named = some([f"{rank} ({doc})" for rank, doc in places], _NAMED)
    return f"{'rank' if len(places) == 1 else 'ranks'} {named}"
