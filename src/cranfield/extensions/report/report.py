"""report: one page with everything that a comparison has, to look at and to share."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Unpack

from cranfield.captions import missing_text_notes
from cranfield.comparison.compare import compare, compare_all_pairs
from cranfield.comparison.comparison import Comparison
from cranfield.extensions.report.blob import safe_json
from cranfield.extensions.report.board import Board
from cranfield.extensions.report.content import make_content
from cranfield.extensions.report.depth import tabulate_cutoffs, tabulate_judged, tabulate_recall
from cranfield.extensions.report.element import NO_MARKUP, Markup, element, escape, join_markup, name_element
from cranfield.extensions.report.evidence import Evidence, Provenance
from cranfield.extensions.report.frame import fill_frame
from cranfield.extensions.report.headline import write_board_note, list_facts, write_headline
from cranfield.extensions.report.means import means_table
from cranfield.extensions.report.rankings import BUDGET, DEPTH, embed_rankings
from cranfield.extensions.report.recipe import write_recipe
from cranfield.extensions.report.scores_block import make_scores_block
from cranfield.extensions.report.sheets import SHEET_QUERIES, make_sheets
from cranfield.formats.small.texts import TextsLike, read_texts
from cranfield.formats.source import Path, Source, open_to_write
from cranfield.notes import Note, sort_by_severity, merge_notes
from cranfield.options import check_option, keywords, refuse_unknown_options, takes, whole_check
from cranfield.progress import Watching, stage, add_progress
from cranfield.render.numbers import format_count, format_query_count, format_names

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
    refuse_unknown_options(report, options)
    size = {
        "depth": check_option("depth", depth, whole_check(1, MAX_DEPTH)),
        "worksheets": check_option("worksheets", worksheets, whole_check(0)),
        "budget": check_option("budget", budget, whole_check(0)),
    }
    comparison = comparison if isinstance(comparison, Comparison) else compare(comparison)
    made = Provenance(command, [Source(one) for one in inputs])
    evidence = _collect_evidence(comparison, title, made, query_texts, doc_texts, **size)
    return Report(_compose_page(evidence), tuple(evidence.notes))


def _collect_evidence(
    found: Comparison,
    title: str | None,
    made: Provenance,
    query_texts: "TextsLike | None",
    doc_texts: "TextsLike | None",
    *,
    depth: int,
    worksheets: int,
    budget: int,
) -> Evidence:
    """Return what the page shows: read, compared and put side by side."""
    aligned = found.aligned
    has_runs = aligned.evaluated_runs is not None
    questions, notes = None, [*found.notes]
    if query_texts is not None:
        questions = read_texts(query_texts, aligned.query_ids, "the texts of queries")
        notes += missing_text_notes(aligned.query_ids, questions, "queries")
    with stage("all pairs"):
        pairs = compare_all_pairs(found)
    notes += (one for one in pairs.notes if one.code == "pairs-by-t")
    lists = embed_rankings(aligned, depth=depth, budget=budget, doc_texts=doc_texts)
    notes += lists.notes if lists is not None else ()
    curves = {
        "cutoffs": tabulate_cutoffs(found) if has_runs else None,
        "recall": tabulate_recall(found) if has_runs else None,
        "judged": tabulate_judged(found, depth),
    }
    if has_runs:
        notes += (_MISSING_CHART_NOTES[name] for name, one in curves.items() if one is None)
    return Evidence(
        comparison=found,
        pair_comparison=pairs,
        title=title or _compose_title(found),
        provenance=made,
        query_texts=questions,
        depth=depth,
        rankings=lists,
        **curves,
        sheets=make_sheets(found, worksheets),
        notes=sort_by_severity(notes),
    )


def _compose_title(found: Comparison) -> str:
    """Return a title in words: what was compared, under which measure, on how many queries."""
    aligned = found.aligned
    n = len(aligned.system_names)
    what = aligned.system_names[0] if n == 1 else " and ".join(aligned.system_names) if n == 2 else f"{n} systems"
    return f"{what}, {aligned.measures[0]}, {format_query_count(len(aligned.query_ids))}"


def _compose_page(evidence: Evidence) -> str:
    """Return the page: every part of it, in the frame."""
    scores = make_scores_block(evidence.comparison.aligned)
    grave = [one for one in evidence.notes if one.is_grave]
    of_others = _list_other_warnings(evidence.comparison)
    parts = {
        "TITLE": escape(evidence.title),
        "KICKER": name_element(evidence.title),
        "VERDICT": write_headline(evidence),
        "FACTS": join_markup(element("li", one) for one in list_facts(evidence)),
        "GRAVE": _warning_box(one for one in grave if one not in of_others),
        "BOARD_NOTE": write_board_note(evidence),
        "BOARD": Board(evidence).markup,
        "MEANS": means_table(evidence),
        "GRAVE_OF_OTHERS": _warning_box(one for one in grave if one in of_others),
        "RECIPE": write_recipe(evidence),
        "NOTES": _note_items(one for one in evidence.notes if not one.is_grave),
        "DATA": safe_json(make_content(evidence, scores)),
        "SCORES": scores.archive,
        "LISTS": "" if evidence.rankings is None else evidence.rankings.archive,
        "SHEETS": "" if evidence.sheets is None else evidence.sheets.archive,
    }
    return fill_frame(parts)


def _note_items(notes: Iterable[Note]) -> Markup:
    """Return notes as the items of a list."""
    return join_markup(element("li", str(one)) for one in notes)


def _warning_box(notes: Iterable[Note]) -> Markup:
    """Return the warnings, to show beside the numbers; nothing if there are none."""
    first, others = (grave := [*notes])[:MAX_VISIBLE_WARNINGS], grave[MAX_VISIBLE_WARNINGS:]
    if not first:
        return NO_MARKUP
    parts = [element("ul", _note_items(first))]
    if others:
        more = element("summary", format_count(len(others), "more warning"))
        parts.append(element("details", more, element("ul", _note_items(others))))
    return element("div", *parts, class_="grave")


def _list_other_warnings(found: Comparison) -> list[Note]:
    """Return the errors and warnings on measures other than the first, which is at the top."""
    first = {*found[found.aligned.measures[0]].notes}
    others = (
        (" of ".join(filter(None, (one.measure, one.slice_label))), note)
        for one in found.results
        for note in one.notes
        if note.is_grave and note not in first
    )
    return merge_notes(others, join_names=format_names)
