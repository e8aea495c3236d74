"""grades: a list of grades alone, as judgments and a run."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.errors import InputError, OptionError
from cranfield.formats.block import LARGEST_GRADE
from cranfield.formats.columns import What
from cranfield.formats.identifiers import with_text_ids
from cranfield.formats.objects import NestedRows, documents_of, is_list, listed, nested
from cranfield.notes import Note
from cranfield.options import level
from cranfield.render.numbers import plain

Grades = Iterable[float | None]


class Graded(NamedTuple):
    """Lists of grades as judgments and a run: what `evaluate` and the others take.

    The documents are called "#1", "#2", ... by their ranks, and "other 1", "other 2", ... if more
    were judged in the collection. They are those of these lists: the judgments of other lists,
    whose documents have the same names, do not go with this run.

    >>> from cranfield import grades
    >>> grades([1, 0], collection=[1, 1, 0]).qrels.to_dict()
    {'1': {'#1': 1, '#2': 0, 'other 1': 1}}
    """

    qrels: Qrels
    run: Run


def grades(
    lists: Grades | Iterable[Grades] | Mapping[Any, Grades],
    *,
    collection: Grades | Iterable[Grades] | Mapping[Any, Grades] | None = None,
    top: float | None = None,
) -> Graded:
    """Turn a list of grades, or several lists, into judgments and a run.

    The result of `evaluate(*grades([5, 2, 4]), "nDCG")` says what the ideal ranking was: these
    grades, sorted, as if nothing else in the collection were relevant; or those of `collection`.

    Args:
        lists: the grades of what was retrieved, best rank first: numbers, and None for an
            unjudged document, or a missing value in an array or a table's column (NaN, NA,
            null). Or a list of such lists, which are the queries "1", "2", ...; or a
            dict {query_id: list}. An empty list is a query for which nothing was retrieved.
        collection: the grades of all documents that are judged for the query, retrieved or not,
            in any order; of several lists, a list of lists in the same order, or a dict with the
            same queries.
        top: the highest grade of the scale, if no document here has it; for ERR,
            nDCG(ideal='top') and other measures that depend on it.

    Returns:
        Graded, a pair (qrels, run). `qrels.notes` says what was judged.

    Raises:
        InputError: a grade that is no number, or beyond 2,147,483,647 or the same below 0; a
            collection that has not the grades that were retrieved, or has other queries.
        OptionError: a top grade that is none, or below a grade, or above 2,147,483,647.

    >>> from cranfield import evaluate
    >>> print(evaluate(*grades([5, 2, 4, 0, 1]), "nDCG@5 P@5"), end="")
     run      nDCG@5      P@5
     ────────────────────────
     grades   0.9659   0.8000
    <BLANKLINE>
    1 query averaged.
    Judged: these grades, and nothing else.
    The ideal ranking, where a measure has one: these grades, sorted.
    >>> evaluate(*grades([5, 2, 4, 0, 1], collection=[5, 5, 4, 3, 2, 1, 0]), "nDCG@5")["nDCG@5"]
    0.7077283557012497
    >>> qrels, run = grades({"q1": [1, 0], "q2": [0, None, 1]})
    >>> evaluate(qrels, run, "RR").per_query("RR")
    {'q1': 1.0, 'q2': 0.3333333333333333}

    """
    named = _by_query(lists, "the grades")
    if not named:
        raise InputError("the grades: hold no list")
    judged, rankings = {}, {}
    for query, one in named.items():
        judged[query], rankings[query] = documents_of(one, _of("the grades", query, named))
    whose = "these grades" if len(named) == 1 else "each query's grades"
    said = [("grades", f"Judged: {whose}, and nothing else.")]
    if collection is not None:
        stated = _by_query(collection, "the collection", [*named])
        for query in sorted(named.keys() ^ stated.keys()):
            has, lacks = ("list", "collection") if query in named else ("collection", "list")
            raise InputError(f"query {query!r} has a {has} of grades, and no {lacks}")
        for query, one in stated.items():
            where = _of("the collection", query, named)
            judged[query] |= _not_retrieved(judged[query], one, where)
        said = [("collection", "Judged: the grades stated for the collection.")]
    qrels = Qrels(judged)
    form = "lists of grades"
    run = Run(NestedRows(nested(rankings, What.RUN), What.RUN, form=form), "grades")
    if top is not None:
        try:
            top = level(qrels.top_grade, LARGEST_GRADE)(top)
        except ValueError:
            raise OptionError(
                f"top={top!r:.40} (--top-grade): expected the highest grade of the scale, a number "
                f"from {plain(qrels.top_grade)}, the highest of these grades, to {LARGEST_GRADE}"
            ) from None
        said.append(("scale", f"The highest grade of the scale: {top}, as stated."))
    notes = tuple(Note(code, "info", one) for code, one in said)
    return Graded(qrels.replaced(form=form, notes=notes, top_of_all=top), run)


def _by_query(lists: Any, what: str, names: Iterable[str] = ()) -> dict[str, Any]:
    """Return {query: list}; without names the queries are `names`, and then go on by number."""
    if isinstance(lists, Mapping):
        return with_text_ids(lists, what)
    if not is_list(lists):
        raise InputError(f"{what}: expected a list of grades, best rank first, got {lists!r:.80}")
    found = listed(lists)
    if not any(map(is_list, {type(one): one for one in found}.values())):  # quick: one of a type
        found = [found]
    known = dict(enumerate(names))
    return {known.get(i, str(i + 1)): one for i, one in enumerate(found)}


def _of(what: str, query: str, queries: Mapping[str, Any]) -> str:
    return what if len(queries) == 1 else f"{what} of query {query!r}"


def _not_retrieved(retrieved: Mapping[str, float], collection: Any, where: str) -> dict[str, float]:
    """Return {document: grade} of what a collection has beside the retrieved documents."""
    every, places = documents_of(collection, where)
    if len(every) < len(places):
        raise InputError(f"{where}: holds None, but what is unjudged has no place in it")
    left = Counter(every.values())
    left.subtract(retrieved.values())
    lacking = [f"{grade} ({-n} more)" for grade, n in sorted(left.items()) if n < 0]
    if lacking:
        raise InputError(
            f"{where}: lacks grades that were retrieved: {', '.join(lacking):.200}",
            hint="It has the grades of all judged documents, the retrieved ones among them.",
        )
    rest = sorted(left.elements(), reverse=True)
    return {f"other {i}": grade for i, grade in enumerate(rest, 1)}
