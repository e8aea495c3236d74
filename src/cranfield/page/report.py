"""report: one page with everything that a comparison has, to be looked at and sent around."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cranfield.comparison.compare import compare, every_pair
from cranfield.comparison.comparison import Comparison
from cranfield.formats.small.texts import texts_of
from cranfield.formats.source import Path, written
from cranfield.notes import Note, gravest_first
from cranfield.page.blob import safe_json
from cranfield.page.board import Board
from cranfield.page.content import content_of
from cranfield.page.depth import cutoffs, judged, recall
from cranfield.page.element import Markup, element, escaped, joined, name_of
from cranfield.page.evidence import Evidence
from cranfield.page.frame import filled
from cranfield.page.headline import board_note, facts, headline
from cranfield.page.means import means_table
from cranfield.page.rankings import BUDGET, DEPTH, rankings
from cranfield.page.recipe import recipe
from cranfield.page.scores_block import scores_block
from cranfield.progress import stage, watched

if TYPE_CHECKING:
    from cranfield.captions import TextsLike


@dataclass(frozen=True, eq=False)
class Report:
    """A page: one HTML file, which loads nothing and opens anywhere.

    `html` is the page; `notes` is what it says of doubtful numbers, the gravest first. A notebook
    shows it in a frame of its own.
    """

    html: str
    notes: tuple[Note, ...]

    def save(self, path: Path) -> None:
        """Write the page to a file, whole or not at all; InputError if that is not possible."""
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
def report(
    found: Any,
    *,
    title: str | None = None,
    query_texts: "TextsLike | None" = None,
    doc_texts: "TextsLike | None" = None,
    depth: int = DEPTH,
    budget: int = BUDGET,
    command: str | None = None,
) -> Report:
    """Make one page of a comparison."""
    comparison = found if isinstance(found, Comparison) else compare(found)
    with stage("pairs"):
        pairs = every_pair(comparison)
    aligned = comparison.aligned
    texts = None
    if query_texts is not None:
        texts = texts_of(query_texts, aligned.query_ids, "the texts of queries")
    notes = gravest_first(
        (*comparison.notes, *(one for one in pairs.notes if one.code == "pairs-by-t"))
    )
    has_runs = aligned.source is not None
    lists = rankings(aligned, depth=depth, budget=budget, doc_texts=doc_texts)
    evidence = Evidence(
        comparison,
        pairs,
        title or _title(comparison),
        command,
        texts,
        depth,
        lists,
        cutoffs(comparison) if has_runs else None,
        recall(comparison) if has_runs else None,
        judged(comparison, depth),
        notes,
    )
    return Report(_page(evidence), tuple(notes))


def _title(found: Comparison) -> str:
    n = len(found.aligned.names)
    return f"{found.aligned.measures[0]} of {n} systems" if n > 1 else found.aligned.names[0]


def _page(evidence: Evidence) -> str:
    scores = scores_block(evidence.found.aligned)
    parts = {
        "TITLE": escaped(evidence.title),
        "KICKER": name_of(evidence.title),
        "VERDICT": headline(evidence),
        "FACTS": joined(element("li", one) for one in facts(evidence)),
        "BOARD_NOTE": board_note(evidence),
        "BOARD": Board(evidence).markup,
        "MEANS": means_table(evidence),
        "RECIPE": recipe(evidence),
        "NOTES": _notes(evidence.notes),
        "DATA": safe_json(content_of(evidence, scores)),
        "SCORES": scores.data,
        "LISTS": evidence.rankings.data if evidence.rankings is not None else "",
        "SHEETS": "",
    }
    return filled(parts)


def _notes(notes: Iterable[Note]) -> Markup:
    return joined(element("li", str(one), class_=one.severity) for one in notes)
