"""report: one page with everything that a comparison has, to look at and to share."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Unpack

from cranfield.captions import missing_text_notes
from cranfield.comparison.compare import compare, compare_all_pairs
from cranfield.comparison.comparison import Comparison
from cranfield.errors import OptionError
from cranfield.extensions.report.blob import safe_json
from cranfield.extensions.report.board import Board
from cranfield.extensions.report.content import make_content
from cranfield.extensions.report.depth import tabulate_cutoffs, tabulate_judged, tabulate_recall
from cranfield.extensions.report.element import (
    NO_MARKUP,
    Markup,
    element,
    escape,
    join_markup,
    name_element,
)
from cranfield.extensions.report.evidence import Evidence, Provenance
from cranfield.extensions.report.frame import fill_frame
from cranfield.extensions.report.headline import list_facts, write_board_note, write_headlines
from cranfield.extensions.report.means import means_table
from cranfield.extensions.report.rankings import BUDGET, DEPTH, embed_rankings
from cranfield.extensions.report.recipe import write_recipe
from cranfield.extensions.report.scores_block import make_scores_block
from cranfield.extensions.report.sheets import SHEET_QUERIES, make_sheets
from cranfield.formats.small.texts import TextsLike, read_texts
from cranfield.formats.source import Path, Source, open_to_write
from cranfield.notes import Note, merge_notes, sort_by_severity
from cranfield.options import check_option, keywords, refuse_unknown_options, takes, whole_check
from cranfield.progress import Watching, add_progress, stage
from cranfield.render.numbers import format_count, format_query_count
from cranfield.render.typed_names import as_typed, describe_typed_names, write_as_typed

MAX_DEPTH = 100  # ranks of each system
MAX_VISIBLE_WARNINGS = 3  # warnings; others are a click away
# Why a chart is left out.
_MISSING_CHART_NOTES = {
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
        with open_to_write(path) as stream:
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


@add_progress
@takes(Watching)
def report(
    comparison: Comparison | Any,
    *,
    title: str | None = None,
    query_texts: "TextsLike | None" = None,
    doc_texts: "TextsLike | None" = None,
    depth: int = DEPTH,
    worksheets: int = SHEET_QUERIES,
    budget: int = BUDGET,
    command: str | None = None,
    inputs: Iterable[Path] = (),
    **options: "Unpack[keywords.Watching]",
) -> Report:
    """Make one page of a comparison: tables, charts, and every query's rankings side by side.

    The page is one HTML file of some 100 kB to 3 MB. It loads nothing and sends nothing, and needs
    no extra. Without scripts it still shows its tables.

    Args:
        comparison: what `compare` returns. If it comes from judgments and runs, the page shows
            rankings, too; for precomputed scores, it does not. Scores, Systems, or anything else
            that `compare` takes as its only argument are compared with the first system, as by
            `compare`.
        title: what the page is called. [default: systems, first measure and queries in words]
        query_texts: texts of the queries, as `with_texts` takes them; shown to 300 characters.
        doc_texts: titles or texts of documents, as `with_texts` takes them; to 330 characters.
        depth: how many documents of each system the page shows for a query, 1 to 100.
        worksheets: for how many queries the page has what `explain` prints, for the best system and
            the baseline, or else the second; queries on which scores differ most come first.
        budget: bytes that the rankings with their texts may take; if they do not fit, or are of
            more than 3,000 queries, the page has the rankings of the queries on which scores differ
            most, and says of how many.
        command: the command that made it, for the page to show.
        inputs: files of precomputed scores: the page has their hashes, as it has the hashes of
            judgments and runs.
        **options: each option of `Watching`.

    Returns:
        Report: `.save("report.html")` writes it, a notebook shows it.

    Raises:
        InputError: texts or runs that cannot be read; what `compare` raises for scores.
        OptionError: a number out of its range, or a title or command that is no text.

    >>> from cranfield import compare
    >>> half = {"old": {"q1": 0.5, "q2": 0.25}, "new": {"q1": 0.5, "q2": 0.75}}
    >>> page = report(compare(half), title="Two <systems>")
    >>> "<title>Two &lt;systems&gt;</title>" in page.html
    True

    """
    refuse_unknown_options(report, options)
    limits = {
        "depth": check_option("depth", depth, whole_check(1, MAX_DEPTH)),
        "worksheets": check_option("worksheets", worksheets, whole_check(0)),
        "budget": check_option("budget", budget, whole_check(0)),
    }
    for name, text in (("title", title), ("command", command)):
        if not isinstance(text, str | None):
            raise OptionError(f"{name}={text!r:.80}: expected a text")
    comparison = comparison if isinstance(comparison, Comparison) else compare(comparison)
    provenance = Provenance(command, [Source(path) for path in inputs])
    evidence = _collect_evidence(comparison, title, provenance, query_texts, doc_texts, **limits)
    return Report(_compose_page(evidence), tuple(evidence.notes))


def _collect_evidence(
    comparison: Comparison,
    title: str | None,
    provenance: Provenance,
    query_texts: "TextsLike | None",
    doc_texts: "TextsLike | None",
    *,
    depth: int,
    worksheets: int,
    budget: int,
) -> Evidence:
    """Read the texts and the runs, compare all pairs, and return what the page shows."""
    aligned_scores = comparison.aligned
    has_runs = aligned_scores.evaluated_runs is not None
    questions, notes = None, [*comparison.notes]
    if query_texts is not None:
        questions = read_texts(query_texts, aligned_scores.query_ids, "the texts of queries")
        notes += missing_text_notes(aligned_scores.query_ids, questions, "queries")
    with stage("all pairs", 1):
        pair_comparison = compare_all_pairs(comparison)
    notes += (note for note in pair_comparison.notes if note.code == "pairs-by-t")
    rankings = embed_rankings(aligned_scores, depth=depth, budget=budget, doc_texts=doc_texts)
    notes += rankings.notes if rankings is not None else ()
    curves = {
        "cutoffs": tabulate_cutoffs(comparison) if has_runs else None,
        "recall": tabulate_recall(comparison) if has_runs else None,
        "judged": tabulate_judged(comparison, depth),
    }
    if has_runs:
        notes += (_MISSING_CHART_NOTES[name] for name, curve in curves.items() if curve is None)
    return Evidence(
        comparison=comparison,
        pair_comparison=pair_comparison,
        title=title or _compose_title(comparison),
        provenance=provenance,
        query_texts=questions,
        depth=depth,
        rankings=rankings,
        **curves,
        sheets=make_sheets(comparison, worksheets),
        notes=sort_by_severity(notes),
    )


def _compose_title(comparison: Comparison) -> str:
    """Return a title in words: the systems, the first measure, and the number of queries."""
    aligned_scores = comparison.aligned
    names, measure = aligned_scores.system_names, aligned_scores.measures[0]
    systems_text = " and ".join(names) if len(names) < 3 else f"{len(names)} systems"
    return (
        f"{systems_text}, {as_typed(measure)}, {format_query_count(len(aligned_scores.query_ids))}"
    )


def _compose_page(evidence: Evidence) -> str:
    """Return the page: every part of it, in the frame."""
    scores = make_scores_block(evidence.comparison.aligned)
    warnings = [note for note in evidence.notes if note.is_grave]
    other_warnings = _list_other_warnings(evidence.comparison)
    parts = {
        "TITLE": escape(evidence.title),
        "KICKER": name_element(evidence.title),
        "VERDICT": write_headlines(evidence),
        "FACTS": join_markup(element("li", fact) for fact in list_facts(evidence)),
        "GRAVE": _warning_box(note for note in warnings if note not in other_warnings),
        "BOARD_NOTE": write_board_note(evidence),
        "BOARD": Board(evidence).markup,
        "MEANS": means_table(evidence),
        "GRAVE_OF_OTHERS": _warning_box(note for note in warnings if note in other_warnings),
        "RECIPE": write_recipe(evidence),
        "NOTES": _note_items([note for note in evidence.notes if not note.is_grave]),
        "DATA": safe_json(make_content(evidence, scores)),
        "SCORES": scores.archive,
        "LISTS": "" if evidence.rankings is None else evidence.rankings.archive,
        "SHEETS": "" if evidence.sheets is None else evidence.sheets.archive,
    }
    for part in ("GRAVE", "GRAVE_OF_OTHERS", "NOTES"):
        text = write_as_typed(parts[part], evidence.measures, evidence.systems)
        parts[part] = Markup(text)
    if names_line := describe_typed_names(evidence.measures):
        parts["NOTES"] = join_markup([parts["NOTES"], element("li", names_line)])
    return fill_frame(parts)


def _note_items(notes: Iterable[Note]) -> Markup:
    """Return notes as the items of a list."""
    return join_markup(element("li", str(note)) for note in notes)


def _warning_box(notes: Iterable[Note]) -> Markup:
    """Return a box of warnings, to show beside the numbers; no markup without warnings."""
    warnings = [*notes]
    if not warnings:
        return NO_MARKUP
    parts = [element("ul", _note_items(warnings[:MAX_VISIBLE_WARNINGS]))]
    if more_warnings := warnings[MAX_VISIBLE_WARNINGS:]:
        summary = element("summary", format_count(len(more_warnings), "more warning"))
        parts.append(element("details", summary, element("ul", _note_items(more_warnings))))
    return element("div", *parts, class_="grave")


def _list_other_warnings(comparison: Comparison) -> list[Note]:
    """Return the errors and warnings on results but the first measure's over all queries."""
    first_notes = {*comparison[comparison.aligned.measures[0]].notes}
    other_notes = (
        (" of ".join(filter(None, (result.measure, result.slice_label))), note)
        for result in comparison.results
        for note in result.notes
        if note.is_grave and note not in first_notes
    )
    return merge_notes(other_notes)
