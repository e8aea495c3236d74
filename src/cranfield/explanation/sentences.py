"""Sentences: what else to know of a query's value, below the tables that explain it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cranfield.explanation.entries import Entry, Line
from cranfield.explanation.expressions import number
from cranfield.explanation.value import QueryValue, Retrieved
from cranfield.notes import lines_of
from cranfield.render.numbers import number_of, short, some

NAMED = 5  # documents, in a sentence


def sentences(found: QueryValue) -> Iterator[str]:
    """Yield what else to know of the value of a query, and the value."""
    yield from lines_of(one for one in found.notes if not one.is_grave)
    if found.worksheet.divided_by_nothing:
        yield f"0 / 0 counts as 0: in {', '.join(found.worksheet.divided_by_nothing)}."
    if found.worksheet.is_deep:
        yield f"{found.measure} takes too many steps one after the other to be shown."
    elif found.worksheet.lost:
        yield (
            f"Not every step to the value of {found.measure} is known: its function converts or "
            "changes the arrays that it is given (float(), np.asarray(), numpy's sums, writing "
            "into an array or a loop), and what was done then is not recorded."
        )
    if found.missing:  # the highest grade first
        named = some([f"{doc} ({short(grade)})" for doc, grade in found.missing], NAMED)
        of = f"{len(found.missing):,} of {found.n_relevant:,}"
        yield f"Relevant (with their grades) and not retrieved: {of}: {named}."
    yield from _of_unjudged(found)
    for remark in found.remarks:
        yield from remark.sentences(found)
    yield from given(found.options)
    if any(map(_is_rounded, found.worksheet.entries)):
        yield (
            "Numbers are rounded to six decimals (below 0.001: to six significant digits); the "
            "value is not."
        )
    yield found.worksheet.result.text(digits=True)


def _of_unjudged(found: QueryValue) -> Iterator[str]:
    n_docs = len(found.retrieved)
    k = n_docs if found.cutoff is None else found.cutoff
    looked_at = min(k, n_docs)
    down_to = f" down to rank {k}" * (k < n_docs)
    where = f"{number_of(looked_at, 'document')} retrieved{down_to}"
    its = [one for one in found.unjudged if one[0] <= looked_at]
    if not n_docs:
        yield "Nothing was retrieved."
    elif found.options.get("judged_only"):
        out = [(one.rank, one.document) for one in found.retrieved if not is_kept(one)]
        if out:
            yield (
                f"Dropped, as unjudged or of negative grade: {len(out):,} of the "
                f"{number_of(n_docs, 'document')} retrieved, at {_listed(out)}. The others moved "
                "up: the tables and the swap show the new ranks, everything else the ranks "
                "before that."
            )
    elif not k:
        yield "No rank is looked at: R, the number of relevant documents, is 0."
    elif its:
        yield f"Unjudged: {len(its):,} of the {where}, at {_listed(its)}."
    else:
        yield f"Judged: all of the {where}." if looked_at > 1 else f"Judged: the {where}."


def change(value: float) -> str:
    """Return a change with its sign, and with two digits where four decimals would show none."""
    return f"{value:+.4f}" if abs(value) >= 0.00005 else f"{value:+.2g}"


def given(options: Mapping[str, Any]) -> list[str]:
    """Return the line that names the options, if there are any."""
    listed = ", ".join(f"{key}={value}" for key, value in options.items())
    return [f"Options: {listed}."] * bool(options)


def _is_rounded(entry: Entry) -> bool:
    """Tell whether a number of it is not shown in full."""
    shown = [entry.value] if isinstance(entry, Line) else entry.numbers
    return any(isinstance(one, float) and float(number(one)) != one for one in shown)


def is_kept(one: Retrieved) -> bool:
    """Tell whether a document is kept where unjudged ones are dropped."""
    return one.grade is not None and one.grade >= 0


def _listed(places: Sequence[tuple[int, str]]) -> str:
    """Return the first of some (rank, document), in words."""
    named = some([f"{rank} ({doc})" for rank, doc in places], NAMED)
    return f"{'rank' if len(places) == 1 else 'ranks'} {named}"
