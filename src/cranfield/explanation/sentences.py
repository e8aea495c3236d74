"""Sentences: what else to know of a query's value, below the tables that explain it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cranfield.explanation.entries import Line, Section
from cranfield.explanation.expressions import to_six_decimals
from cranfield.explanation.value import QueryValue, RetrievedDocument
from cranfield.notes import format_notes
from cranfield.render.numbers import format_count, format_names, format_short

N_NAMED = 5  # most documents named in a sentence


def write_sentences(query_value: QueryValue) -> Iterator[str]:
    """Yield the sentences below the tables of a query's value, grave notes apart, and the value."""
    measure, worksheet = query_value.measure, query_value.worksheet
    yield from format_notes(note for note in query_value.notes if not note.is_grave)
    if worksheet.zero_divisions:
        yield f"0 / 0 counts as 0: in {', '.join(worksheet.zero_divisions)}."
    if worksheet.is_deep:
        yield f"{measure} takes too many steps one after the other to be shown."
    elif worksheet.is_incomplete:
        yield (
            f"Not every step to the value of {measure} is known: its function converts or "
            "changes the arrays that it is given (float(), np.asarray(), numpy's sums, writing "
            "into an array or a loop), and what was done then is not recorded."
        )
    if query_value.missing:  # the highest grade first
        doc_texts = [f"{doc} ({format_short(grade)})" for doc, grade in query_value.missing]
        missing_text = format_names(doc_texts, N_NAMED)
        count_text = f"{len(query_value.missing):,} of {query_value.n_relevant:,}"
        yield f"Relevant (with their grades) and not retrieved: {count_text}: {missing_text}."
    yield from _unjudged_sentences(query_value)
    for remark in query_value.remarks:
        yield from remark.sentences(query_value)
    yield from option_lines(query_value.options)
    if any(map(_is_rounded, worksheet.sections)):
        yield (
            "Numbers are rounded to six decimals (below 0.001: to six significant digits); the "
            "value is not."
        )
    yield worksheet.value_line.text(digits=True)


def _unjudged_sentences(query_value: QueryValue) -> Iterator[str]:
    """Yield at most a sentence: on what is judged where the measure looks, or on what it drops."""
    n_docs = len(query_value.retrieved)
    k = n_docs if query_value.cutoff is None else query_value.cutoff
    n_seen = min(k, n_docs)
    depth_text = f" down to rank {k}" * (k < n_docs)
    place_text = f"{format_count(n_seen, 'document')} retrieved{depth_text}"
    unjudged_places = [place for place in query_value.unjudged if place[0] <= n_seen]
    if not n_docs:
        yield "Nothing was retrieved."
    elif query_value.options.get("judged_only"):
        docs = [document for document in query_value.retrieved if not is_judged(document)]
        if docs:
            ranks = _list_ranks([(document.rank, document.document) for document in docs])
            yield (
                f"Dropped, as unjudged or of negative grade: {len(docs):,} of the "
                f"{format_count(n_docs, 'document')} retrieved, at {ranks}. The others moved "
                "up: the tables and the swap show the new ranks, everything else the ranks "
                "before that."
            )
    elif not k:
        yield "No rank is looked at: R, the number of relevant documents, is 0."
    elif unjudged_places:
        ranks = _list_ranks(unjudged_places)
        yield f"Unjudged: {len(unjudged_places):,} of the {place_text}, at {ranks}."
    else:
        yield f"Judged: all of the {place_text}." if n_seen > 1 else f"Judged: the {place_text}."


def format_change(value: float) -> str:
    """Return a change with its sign, and with two digits where four decimals would show none."""
    return f"{value:+.4f}" if abs(value) >= 0.00005 else f"{value:+.2g}"


def option_lines(options: Mapping[str, Any]) -> list[str]:
    """Return the line that names the options, if there are any."""
    option_texts = ", ".join(f"{key}={value}" for key, value in options.items())
    return [f"Options: {option_texts}."] * bool(options)


def _is_rounded(section: Section) -> bool:
    """Tell whether a number of a section is not shown in full."""
    numbers = [section.value] if isinstance(section, Line) else section.shown_numbers
    floats = (number for number in numbers if isinstance(number, float))
    return any(float(to_six_decimals(number)) != number for number in floats)


def is_judged(document: RetrievedDocument) -> bool:
    """Tell whether a document is kept where unjudged ones are dropped."""
    return document.grade is not None and document.grade >= 0


def _list_ranks(places: Sequence[tuple[int, str]]) -> str:
    """Return the first places, (rank, document), in words."""
    place_texts = format_names([f"{rank} ({doc})" for rank, doc in places], N_NAMED)
    return f"{'rank' if len(places) == 1 else 'ranks'} {place_texts}"
