"""report: one page with everything that a comparison has, to look at and to share."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Unpack

from cranfield.captions import without_text
from cranfield.comparison.compare import compare, every_pair
from cranfield.comparison.comparison import Comparison
from cranfield.extensions.report.blob import safe_json
from cranfield.extensions.report.board import Board
from cranfield.extensions.report.content import content_of
from cranfield.extensions.report.depth import cutoffs, judged, recall
from cranfield.extensions.report.element import NOTHING, Markup, element, escaped, joined, name_of
from cranfield.extensions.report.evidence import Evidence, Made
from cranfield.extensions.report.frame import filled
from cranfield.extensions.report.headline import board_note, facts, headline
from cranfield.extensions.report.means import means_table
from cranfield.extensions.report.rankings import BUDGET, DEPTH, rankings
from cranfield.extensions.report.recipe import recipe
from cranfield.extensions.report.scores_block import scores_block
from cranfield.extensions.report.sheets import QUERIES, sheets
from cranfield.formats.small.texts import TextsLike, texts_of
from cranfield.formats.source import Path, Source, written
from cranfield.notes import Note, gravest_first, merged
from cranfield.options import checked, keywords, refuse_others, takes, whole
from cranfield.progress import Watching, stage, watched
from cranfield.render.numbers import number_of, queries_of, some

DEEPEST = 100  # ranks of each system
MOST_IN_VIEW = 3  # warnings; others are a click away
# Why a chart is left out.
_LEFT_OUT = {
    "cutoffs": Note("no-cutoffs", "info", "No measure that was compared has a cutoff at a rank."),
    "recall": Note(
        "no-recall", "info", "Precision by recall needs one grade for each document, and one order."
    ),
    "judged": Note(
        "no-judged-by-rank", "info", "These judgments do not say which other documents were judged."
    ),
}


@dataclass(frozen=True, eq=False)
class Report:
    """A page: one HTML file, which loads nothing and opens anywhere.

    `html` is the page; `notes` are its remarks on the numbers, the gravest first. A notebook
    shows it in a frame of its own.

    >>> from cranfield import compare
    >>> page = report(compare({"old": {"q1": 0.5}, "new": {"q1": 0.75}}))
    >>> page.html.startswith("<!doctype html>")
    True
    """

    html: str
    notes: tuple[Note, ...]

    def save(self, path: Path) -> None:
        """Write the page to a file, never half of it; raise InputError if that is not possible."""
        with written(path) as stream:
            stream.write(self.html.encode())

    def __repr__(self) -> str:
        return f"<Report: a page of {len(self.html) / 1000:,.0f} kB; .save('report.html')>"

    def _repr_html_(self) -> str:
        return element(
            "iframe",
            srcdoc=Markup(self.html.replace("&", "&amp;").replace('"', "&quot;")),
            sandbox="allow-scripts",
            width="100%",
            height=800,
            title="cranfield report",
        )


@watched
@takes(Watching)
def report(
    found: Comparison | Any,
    *,
    title: str | None = None,
    query_texts: "TextsLike | None" = None,
    doc_texts: "TextsLike | None" = None,
    depth: int = DEPTH,
    worksheets: int = QUERIES,
    budget: int = BUDGET,
    command: str | None = None,
    inputs: Iterable[Path] = (),
    **options: "Unpack[keywords.Watching]",
) -> Report:
    """Make one page of a comparison: tables, charts, and every query's rankings side by side.

    The page is one HTML file of some 100 kB to 3 MB. It loads nothing and sends nothing, and needs
    no extra. Without scripts it still shows its tables.

    Args:
        found: what `compare` returns. If it comes from judgments and runs, the page shows rankings,
            too; for precomputed scores, it does not. Scores, Systems, or anything else that
            `compare` takes as its only argument are compared with the first system, as by
            `compare`.
        title: what the page is called. [default: the systems, measures and queries in words]
        query_texts: what the queries ask, as `with_texts` takes it; shown to 300 characters.
        doc_texts: titles or texts of documents, as `with_texts` takes them; to 330 characters.
        depth: how many documents of each system the page shows for a query, 1 to 100.
        worksheets: for how many queries the page has what `explain` prints, for the best system and
            the baseline; those on which scores differ most come first.
        budget: bytes that the rankings with their texts may take; if those of all queries do not
            fit, the page has those of the queries on which scores differ most, and says how many.
        command: the command that made it, for the page to show.
        inputs: files of precomputed scores: the page has their hashes, as it has those
            of judgments and runs.
        **options: each option of `Watching`.

    Returns:
        Report: `.save("report.html")` writes it, a notebook shows it.

    Raises:
        InputError: texts or runs that cannot be read; what `compare` raises for scores.
        OptionError: a number out of its range.

    >>> from cranfield import compare
    >>> half = {"old": {"q1": 0.5, "q2": 0.25}, "new": {"q1": 0.5, "q2": 0.75}}
    >>> page = report(compare(half), title="Two <systems>")
    >>> "<title>Two &lt;systems&gt;</title>" in page.html
    True

    """
    refuse_others(report, options)
    size = {
        "depth": checked("depth", depth, whole(1, DEEPEST)),
        "worksheets": checked("worksheets", worksheets, whole(0)),
        "budget": checked("budget", budget, whole(0)),
    }
    comparison = found if isinstance(found, Comparison) else compare(found)
    made = Made(command, [Source(one) for one in inputs])
    evidence = _evidence(comparison, title, made, query_texts, doc_texts, **size)
    return Report(_page(evidence), tuple(evidence.notes))


def _evidence(
    found: Comparison,
    title: str | None,
    made: Made,
    query_texts: "TextsLike | None",
    doc_texts: "TextsLike | None",
    *,
    depth: int,
    worksheets: int,
    budget: int,
) -> Evidence:
    """Return what the page shows: read, compared and put side by side."""
    aligned = found.aligned
    has_runs = aligned.source is not None
    questions, notes = None, [*found.notes]
    if query_texts is not None:
        questions = texts_of(query_texts, aligned.query_ids, "the texts of queries")
        notes += without_text(aligned.query_ids, questions, "queries")
    with stage("all pairs"):
        pairs = every_pair(found)
    notes += (one for one in pairs.notes if one.code == "pairs-by-t")
    lists = rankings(aligned, depth=depth, budget=budget, doc_texts=doc_texts)
    notes += lists.notes if lists is not None else ()
    curves = {
        "cutoffs": cutoffs(found) if has_runs else None,
        "recall": recall(found) if has_runs else None,
        "judged": judged(found, depth),
    }
    if has_runs:
        notes += (_LEFT_OUT[name] for name, one in curves.items() if one is None)
    return Evidence(
        found=found,
        pairs=pairs,
        title=title or _title(found),
        made=made,
        query_texts=questions,
        depth=depth,
        rankings=lists,
        **curves,
        sheets=sheets(found, worksheets),
        notes=gravest_first(notes),
    )


def _title(found: Comparison) -> str:
    """Return a title in words: what was compared, under which measure, on how many queries."""
    aligned = found.aligned
    n = len(aligned.names)
    what = aligned.names[0] if n == 1 else " and ".join(aligned.names) if n == 2 else f"{n} systems"
    return f"{what}, {aligned.measures[0]}, {queries_of(len(aligned.query_ids))}"


def _page(evidence: Evidence) -> str:
    """Return the page: every part of it, in the frame."""
    scores = scores_block(evidence.found.aligned)
    grave = [one for one in evidence.notes if one.is_grave]
    of_others = _of_others(evidence.found)
    parts = {
        "TITLE": escaped(evidence.title),
        "KICKER": name_of(evidence.title),
        "VERDICT": headline(evidence),
        "FACTS": joined(element("li", one) for one in facts(evidence)),
        "GRAVE": _grave(one for one in grave if one not in of_others),
        "BOARD_NOTE": board_note(evidence),
        "BOARD": Board(evidence).markup,
        "MEANS": means_table(evidence),
        "GRAVE_OF_OTHERS": _grave(one for one in grave if one in of_others),
        "RECIPE": recipe(evidence),
        "NOTES": _notes(one for one in evidence.notes if not one.is_grave),
        "DATA": safe_json(content_of(evidence, scores)),
        "SCORES": scores.data,
        "LISTS": "" if evidence.rankings is None else evidence.rankings.data,
        "SHEETS": "" if evidence.sheets is None else evidence.sheets.data,
    }
    return filled(parts)


def _notes(notes: Iterable[Note]) -> Markup:
    """Return notes as the items of a list."""
    return joined(element("li", str(one)) for one in notes)


def _grave(notes: Iterable[Note]) -> Markup:
    """Return the warnings, to show beside the numbers; nothing if there are none."""
    first, others = (grave := [*notes])[:MOST_IN_VIEW], grave[MOST_IN_VIEW:]
    if not first:
        return NOTHING
    parts = [element("ul", _notes(first))]
    if others:
        more = element("summary", number_of(len(others), "more warning"))
        parts.append(element("details", more, element("ul", _notes(others))))
    return element("div", *parts, class_="grave")


def _of_others(found: Comparison) -> list[Note]:
    """Return the errors and warnings on measures other than the first, which is at the top."""
    first = {*found[found.aligned.measures[0]].notes}
    others = (
        (" of ".join(filter(None, (one.measure, one.of))), note)
        for one in found.results
        for note in one.notes
        if note.is_grave and note not in first
    )
    return merged(others, listed=some)
