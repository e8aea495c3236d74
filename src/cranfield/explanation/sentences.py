"""Sentences: what else to know of a query's value, below the tables that explain it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cranfield.explanation import whatif
from cranfield.explanation.entries import Entry, Line
from cranfield.explanation.expressions import number
from cranfield.explanation.value import QueryValue, Retrieved
from cranfield.notes import lines_of
from cranfield.render.numbers import number_of, short, some
from cranfield.scoring.scores import shown

_NAMED = 5  # documents, in a sentence


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
        named = some([f"{doc} ({short(grade)})" for doc, grade in found.missing], _NAMED)
        of = f"{len(found.missing):,} of {found.n_relevant:,}"
        yield f"Relevant (with their grades) and not retrieved: {of}: {named}."
    yield from _of_unjudged(found)
    yield from _of_ties(found)
    yield from _of_swap(found)
    yield from _of_judgments(found)
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
        out = [(one.rank, one.document) for one in found.retrieved if not _is_kept(one)]
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


def _of_ties(found: QueryValue) -> Iterator[str]:
    if found.options.get("ties") == "expected":
        scores = [one.score for one in found.retrieved if one.score is not None]
        if len(set(scores)) < len(scores):
            yield "Ranks of tied documents are those of one of many orders."
    seen = [one for one in found.ties if f"{one.lowest:.4f}" != f"{one.highest:.4f}"][:_NAMED]
    yield from (_of_tie(found, one) for one in seen)
    others = len(found.ties) - len(seen)
    if others:
        more, less = ("more group", "less") if seen else ("group", "little")
        yield f"The order of {number_of(others, more)} of tied documents mattered {less}."


def _of_tie(found: QueryValue, tie: whatif.Tie) -> str:
    n_kept = len(tie.docs)
    docs = ", ".join(tie.docs[:_NAMED]) + ", ..." * (n_kept > _NAMED)
    kept = f"; of these, {n_kept or 'none'} {'was' if n_kept < 2 else 'were'} kept"
    pair = (tie.lowest, tie.highest) if _better(found) == "lower" else (tie.highest, tie.lowest)
    return (
        f"Ranks {tie.first} to {tie.first + tie.size - 1} are tied"
        f"{kept * (n_kept < tie.size)}{f' ({docs})' * bool(docs)}: the best and the worst "
        f"order by grade would give {pair[0]:.4f} and {pair[1]:.4f}."
    )


def _of_swap(found: QueryValue) -> Iterator[str]:
    dropping = found.options.get("judged_only")
    n_kept = sum(_is_kept(one) or not dropping for one in found.retrieved)
    of = "two ranks" + f" among the first {whatif.FIRST}" * (n_kept > whatif.FIRST)
    one = found.swap
    if one is not None:
        yield (
            f"Best swap of {of}: {one.i} ({one.doc_i}) and {one.j} ({one.doc_j}): "
            f"{_changed(found, one.value)}."
        )
    elif n_kept > 1 and not found.measure.definition.is_text:
        yield f"No swap of {of} would {_better(found)} it."


def _of_judgments(found: QueryValue) -> Iterator[str]:
    if not found.unjudged or found.measure.definition.is_text:
        return
    if found.untried:
        yield f"No judgment of an unjudged document was tried: {found.untried}."
        return
    deep = f" down to rank {whatif.DEEPEST:,}" * (found.unjudged[-1][0] > whatif.DEEPEST)
    *some, last = found.judgments.grades or [0]
    first = ", ".join(map(short, some))
    tried = f" (of grades {first} and {short(last)})" if some else ""
    up, down = found.judgments.up, found.judgments.down
    for one, way in ((up, "Highest"), (down, "Lowest")):
        if one is not None:
            yield (
                f"{way} value with one more judgment{tried}{deep}: grade {short(one.grade)} for "
                f"{one.doc} at rank {one.rank}: {_changed(found, one.value)}."
            )
    if up is None and down is None:
        yield f"One more judgment{tried}{deep} would not change it."


def _better(found: QueryValue) -> str:
    return "lower" if found.measure.definition.higher_is_better is False else "raise"


def _changed(found: QueryValue, value: float) -> str:
    assert isinstance(found.value, float)  # noqa: S101 - a string is not changed
    return f"{shown(found.measure, value)} ({change(value - found.value)})"


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


def _is_kept(one: Retrieved) -> bool:
    """Tell whether a document is kept where unjudged ones are dropped."""
    return one.grade is not None and one.grade >= 0


def _listed(places: Sequence[tuple[int, str]]) -> str:
    """Return the first of some (rank, document), in words."""
    named = some([f"{rank} ({doc})" for rank, doc in places], _NAMED)
    return f"{'rank' if len(places) == 1 else 'ranks'} {named}"
