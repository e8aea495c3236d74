"""Lists without ids or queries: lists of grades as judgments and a run; checks of lists of ids."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypedDict, Unpack, overload

from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.errors import InputError, OptionError
from cranfield.formats.block import LARGEST_GRADE
from cranfield.formats.columns import Side
from cranfield.formats.dict_rows import NestedRows
from cranfield.formats.identifiers import refuse_other_queries, with_text_ids
from cranfield.formats.objects import LIST_DESCRIPTIONS, read_grade_list, to_nested
from cranfield.formats.shapes import is_sequence, to_list
from cranfield.notes import Note
from cranfield.options import is_whole_number, level_check
from cranfield.render.numbers import format_count, format_shortest

Grades = Iterable[float | None]
GradeLists = Grades | Iterable[Grades] | Mapping[Any, Grades]


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


class GradedSystems(NamedTuple):
    """Lists of grades of several systems as judgments and runs: what `evaluate` and others take.

    >>> from cranfield import grades
    >>> qrels, runs = grades({"A": [2, 0], "B": [0, 2]}, systems=True)
    >>> qrels.to_dict()
    {'1': {'grade 2': 2, 'grade 0': 0}}
    >>> {name: list(run.to_dict()["1"]) for name, run in runs.items()}
    {'A': ['grade 2', 'grade 0'], 'B': ['grade 0', 'grade 2']}
    """

    qrels: Qrels
    runs: dict[str, Run]


class _Options(TypedDict, total=False):
    groups: Iterable[Any] | None
    mask: Iterable[Any] | None
    collection: GradeLists | None
    n_relevant: int | Iterable[int] | Mapping[Any, int] | None
    top: float | None


@overload
def grades(
    labels: GradeLists, *, scores: Mapping[Any, Any], **options: Unpack[_Options]
) -> Any: ...
@overload
def grades(
    labels: GradeLists,
    *,
    scores: Iterable[Any] | None = ...,
    systems: Literal[False] = ...,
    **options: Unpack[_Options],
) -> Graded: ...
@overload
def grades(
    labels: Mapping[Any, Any], *, systems: Literal[True], **options: Unpack[_Options]
) -> GradedSystems: ...
def grades(
    labels: Grades | Iterable[Grades] | Mapping[Any, Any],
    *,
    scores: Iterable[Any] | Mapping[Any, Any] | None = None,
    groups: Iterable[Any] | None = None,
    mask: Iterable[Any] | None = None,
    collection: Grades | Iterable[Grades] | Mapping[Any, Grades] | None = None,
    n_relevant: int | Iterable[int] | Mapping[Any, int] | None = None,
    systems: bool = False,
    top: float | None = None,
) -> Graded | GradedSystems:
    """Turn a list of grades, or labels and scores, into judgments and a run, or several runs.

    The result of `evaluate(*grades([5, 2, 4]), "nDCG")` says what the ideal ranking was: these
    grades, sorted, as if nothing else in the collection were relevant; or those of `collection`.

    Args:
        labels: the grades of what was retrieved, best rank first: numbers, and None for an
            unjudged document, or a missing value in an array or a table's column (NaN, NA,
            null). Or a list of such lists, which are the queries "1", "2", ...; or a
            dict {query_id: list}. An empty list is a query for which nothing was retrieved.
            With `scores`, grades in any order, as an array (n_queries, n_documents), lists, a dict
            or a flat column.
        scores: the score of each label's document, of the same shape: the highest ranks first,
            -inf last. {system: scores} are several systems. The documents are called "#1", "#2",
            ... by their places in the row or group.
        groups: of flat columns, which query each row belongs to: the sizes of the groups, as
            LightGBM takes them, or an id for each row. None: there is one query.
        mask: truth values of the same shape: True where a document counts. Masked arrays of numpy
            bring their own.
        collection: the grades of all documents that are judged for the query, retrieved or not,
            in any order; of several lists, a list of lists in the same order, or a dict with the
            same queries. Retrieved documents of grade 0 or less may be left out of it.
        n_relevant: how many documents are relevant, retrieved or not, where that is all one knows:
            those that were not retrieved have grade 1. One number for every query, or a list or
            a dict of them.
        systems: the names in `lists` are those of systems: {system: list}, or of several queries
            {system: [list, ...]} or {system: {query_id: list}}. The lists of a query hold the same
            documents as far as their grades allow: the judgments are the fewest from which each
            list can come.
        top: the highest grade of the scale, if no document here has it; for ERR,
            nDCG(ideal='top') and other measures that depend on it.

    Returns:
        Graded, a pair (qrels, run); with `systems`, or scores of several, GradedSystems, a pair
        (qrels, {name: run}).
        `qrels.notes` says what was judged.

    Raises:
        InputError: labels, scores and mask of different shapes; groups that do not add up to the
            labels; a score that is NaN; a grade that is no number, or beyond 2,147,483,647 or the
            same below 0; a collection that has not the grades that were retrieved, or has other
            queries; more documents relevant in a list than there are; systems with different
            queries.
        OptionError: a top grade that is not a grade, or below a grade, or above 2,147,483,647; a
            number of relevant documents that is not whole, below 0, too large, or beside a
            collection.

    >>> from cranfield import evaluate
    >>> print(evaluate(*grades([5, 2, 4, 0, 1]), "nDCG@5 P@5"), end="")
     run     nDCG@5     P@5
     ──────────────────────
     grades  0.9659  0.8000
    <BLANKLINE>
    1 query averaged.
    Judged: these grades, and nothing else.
    The ideal ranking, where a measure has one: these grades, sorted.
    >>> evaluate(*grades([5, 2, 4, 0, 1], collection=[5, 5, 4, 3, 2, 1, 0]), "nDCG@5")["nDCG@5"]
    0.7077283557012497
    >>> evaluate(*grades([1, 1, 0], n_relevant=5), "AP")["AP"]
    0.4
    >>> both = grades({"A": [5, 2, 4, 0, 1], "B": [2, 0, 5, 1, 4]}, systems=True)
    >>> {name: round(value["DCG@5"], 2) for name, value in evaluate(*both, "DCG@5").means().items()}
    {'A': 8.65, 'B': 6.48}
    >>> labels, scores = [[0, 1, 2, 0], [1, 0, 0, 3]], [[0.3, 0.9, 0.1, 0.2], [0.15, 0.25, 0.35, 0]]
    >>> evaluate(*grades(labels, scores=scores), "AP").per_query("AP")
    {'1': 0.75, '2': 0.41666666666666663}
    >>> qrels, run = grades({"q1": [1, 0], "q2": [0, None, 1]})
    >>> evaluate(qrels, run, "RR").per_query("RR")
    {'q1': 1.0, 'q2': 0.3333333333333333}

    """
    if collection is not None and n_relevant is not None:
        raise OptionError("n_relevant (--n-relevant) has no effect beside a collection of grades")
    runs: Any
    if scores is None:
        if groups is not None or mask is not None:
            raise OptionError(
                "groups and mask belong to scores: grades(labels, scores=..., groups=...)"
            )
        judged, runs = _read_systems(labels) if systems else _read_queries(labels)
        notes = _complete_grades(judged, [*judged], collection, n_relevant, systems=systems)
        qrels = Qrels(judged)
    else:
        if systems:
            raise OptionError("systems names those of lists of grades: scores={'old': ...} does")
        from cranfield.data.label_arrays import read_label_arrays

        qrels, runs, array_notes = read_label_arrays(labels, scores, groups, mask)
        judged = {} if collection is None and n_relevant is None else qrels.to_dict()
        notes = _complete_grades(judged, qrels.query_ids, collection, n_relevant)
        qrels, notes = Qrels(judged) if judged else qrels, [*array_notes, *notes]
    if top is not None:
        top = _check_top(top, qrels.top_grade)
        text = f"The highest grade of the scale: {top}, as stated."
        notes.append(Note("scale", "info", text))
    qrels = qrels.replace_fields(
        list_kind="grades",
        description=LIST_DESCRIPTIONS["grades"],
        notes=tuple(notes),
        stated_top_grade=top,
    )
    return GradedSystems(qrels, runs) if isinstance(runs, dict) else Graded(qrels, runs)


def _complete_grades(
    judged: "_GradesOfQuery",
    queries: Sequence[str],
    collection: Any,
    n_relevant: Any,
    *,
    systems: bool = False,
) -> list[Note]:
    """Add the judged documents that were not retrieved to {query: {document: grade}}.

    Return the note on what was judged. `systems`: the grades are lists of several systems.
    """
    has_lists = len(queries) > 1 or systems
    code, grades_name = "grades", "each query's grades" if has_lists else "these grades"
    text = f"{grades_name}, and nothing else"
    if collection is not None:
        n_extra = _add_collection(judged, _lists_by_query(collection, "the collection", queries))
        code, text = "collection", "the grades stated for the collection"
        text += f", and {format_count(n_extra, 'document')} retrieved, of grade 0" * (n_extra > 0)
    elif n_relevant is not None:
        for query, n in _read_counts(n_relevant, queries).items():
            label = _query_label("the grades", query, judged)
            judged[query] |= missing_relevant_docs(judged[query], n, 1, label)
        code, text = "n-relevant", f"{grades_name}, and the other relevant documents, grade 1 each"
    elif systems:
        code, text = "systems", "the fewest documents from which every list can come"
    return [Note(code, "info", f"Judged: {text}.")]


def _check_top(top: float, highest_grade: float) -> float:
    """Return the highest grade of the scale; OptionError if it is none, or below a grade."""
    try:
        checked_top: float = level_check(highest_grade, LARGEST_GRADE)(top)
    except ValueError:
        raise OptionError(
            f"top={top!r:.40} (--top-grade): expected the highest grade of the scale, a number "
            f"from {format_shortest(highest_grade)}, the highest of these grades, "
            f"to {LARGEST_GRADE}"
        ) from None
    return checked_top


def _make_graded_run(rankings: dict[str, list[str]], name: str) -> Run:
    rows = NestedRows(to_nested(rankings, Side.RUN), Side.RUN)
    rows.list_kind, rows.description, rows.is_ranking = "grades", LIST_DESCRIPTIONS["grades"], True
    return Run(rows, name)


_GradesOfQuery = dict[str, dict[str, float]]


def _read_queries(lists: Any) -> tuple[_GradesOfQuery, Run]:
    """Return {query: {document: grade}} and the run of a list of grades for each query."""
    lists_of_query = _lists_by_query(lists, "the grades")
    if not lists_of_query:
        raise InputError("the grades: hold no list")
    judged, rankings = {}, {}
    for query, grade_list in lists_of_query.items():
        label = _query_label("the grades", query, lists_of_query)
        judged[query], rankings[query] = read_grade_list(grade_list, label)
    return judged, _make_graded_run(rankings, "grades")


def _read_systems(lists: Any) -> tuple[_GradesOfQuery, dict[str, Run]]:
    """Return {query: {document: grade}} and {system: run} of lists of grades.

    A document is called by its grade, or "unjudged"; a list's second of a grade has a number, too.
    """
    if not isinstance(lists, Mapping) or not lists:
        raise InputError(
            f"the systems: expected {{system: list of grades}}, got {lists!r:.80}",
            hint='As in grades({"A": [5, 2, 4], "B": [2, 5, 4]}, systems=True).',
        )
    judged: _GradesOfQuery = {}
    runs: dict[str, Run] = {}
    for system, lists_of_system in lists.items():
        owner, rankings = f"system {system!r}", dict[str, list[str]]()
        lists_of_query = _lists_by_query(lists_of_system, owner)
        judged = judged or {query: {} for query in lists_of_query}
        refuse_other_queries(judged, lists_of_query, f"system {next(iter(lists))!r}", owner)
        for query, grade_list in lists_of_query.items():
            label = f"{owner}: {_query_label('the grades', query, lists_of_query)}"
            grade_of_doc, docs = read_grade_list(grade_list, label)
            n_of_grade: Counter[float | None] = Counter()
            rankings[query] = []
            for grade in map(grade_of_doc.get, docs):
                n_of_grade[grade] += 1
                number = f" ({n_of_grade[grade]})" if n_of_grade[grade] > 1 else ""
                rankings[query].append(("unjudged" if grade is None else f"grade {grade}") + number)
                if grade is not None:
                    judged[query][rankings[query][-1]] = grade
        runs[str(system)] = _make_graded_run(rankings, str(system))
    return judged, runs


def _add_collection(judged: _GradesOfQuery, collection: Mapping[str, Any]) -> int:
    """Add the documents of a collection that were not retrieved to the grades of each query.

    Return the number of documents of grade 0 or less that were retrieved and that the collection
    does not mention: they are judged, too.
    """
    refuse_other_queries(judged, collection, "the grades", "the collection")
    n_unmentioned = 0
    for query, grade_list in collection.items():
        label = _query_label("the collection", query, judged)
        grade_of_doc, docs = read_grade_list(grade_list, label)
        if len(grade_of_doc) < len(docs):
            raise InputError(f"{label}: holds None, but what is unjudged has no place in it")
        n_left = Counter(grade_of_doc.values())
        n_left.subtract(judged[query].values())
        lacking = [f"{grade} ({-n} more)" for grade, n in sorted(n_left.items()) if n < 0 < grade]
        if lacking:
            raise InputError(
                f"{label}: lacks grades that were retrieved: {', '.join(lacking):.200}",
                hint="It has the grades of all judged documents, the retrieved ones among them; "
                "only those of grade 0 may be left out.",
            )
        unretrieved_grades = sorted(n_left.elements(), reverse=True)
        judged[query] |= {f"other {i}": grade for i, grade in enumerate(unretrieved_grades, 1)}
        n_unmentioned -= sum(n for n in n_left.values() if n < 0)
    return n_unmentioned


def _read_counts(n_relevant: Any, queries: Sequence[str]) -> dict[str, Any]:
    """Return {query: number of relevant documents} of one number, a list or a dict."""
    if isinstance(n_relevant, Mapping):
        count_of_query = with_text_ids(n_relevant, "n_relevant")
    elif is_sequence(n_relevant):
        count_of_query = {str(i + 1): n for i, n in enumerate(to_list(n_relevant))}
        if len(count_of_query) == len(queries):
            count_of_query = dict(zip(queries, count_of_query.values(), strict=True))
    else:
        count_of_query = dict.fromkeys(queries, n_relevant)
    refuse_other_queries(queries, count_of_query, "the grades", "n_relevant")
    return count_of_query


def missing_relevant_docs(
    grades_of_doc: Mapping[str, float], n_relevant: Any, rel: float, list_name: str
) -> dict[str, float]:
    """Return {document: grade} of the relevant documents that are not in a list of grades.

    `n_relevant` is the number of documents with grade `rel` or more; `list_name` is what errors
    call the list. Raises OptionError for an impossible number, InputError if the list has more.
    """
    if not is_whole_number(n_relevant) or not 0 <= n_relevant <= _MAX_RELEVANT:
        raise OptionError(
            f"n_relevant={n_relevant!r:.40} (--n-relevant): expected the number of relevant "
            f"documents, a whole number from 0 to {_MAX_RELEVANT:,}"
        )
    n_present = sum(grade >= rel for grade in grades_of_doc.values())
    if n_present > n_relevant:
        raise InputError(
            f"{list_name}: {format_count(n_present, 'relevant document')} retrieved, and "
            f"n_relevant={n_relevant} of them in all"
        )
    return {f"other {i}": rel for i in range(1, n_relevant - n_present + 1)}


_MAX_RELEVANT = 10_000_000


def _lists_by_query(lists: Any, lists_name: str, names: Iterable[str] = ()) -> dict[str, Any]:
    """Return {query: list}; a list, or lists, without names get `names`, and then numbers."""
    if isinstance(lists, Mapping):
        return with_text_ids(lists, lists_name)
    if not is_sequence(lists):
        raise InputError(
            f"{lists_name}: expected a list of grades, best rank first, got {lists!r:.80}"
        )
    grade_lists = to_list(lists)
    example_of_type = {type(member): member for member in grade_lists}
    if not any(map(is_sequence, example_of_type.values())):  # quick: one member of each type
        grade_lists = [grade_lists]
    name_of_position = dict(enumerate(names))
    return {name_of_position.get(i, str(i + 1)): grades for i, grades in enumerate(grade_lists)}


def _query_label(lists_name: str, query: str, queries: Mapping[str, Any]) -> str:
    return lists_name if len(queries) == 1 else f"{lists_name} of query {query!r}"


def check_lists(qrels: Qrels, run: Run, n_rankings: int) -> None:
    """Raise InputError if only one of qrels and run is lists of ids, or their numbers differ."""
    sides = ("the qrels", qrels), (f"the run {run.name!r}", run)
    for (side_name, side), (second_name, second_side) in (sides, sides[::-1]):
        if side.list_kind == "ids" != second_side.list_kind:
            raise InputError(
                f"{side_name}: lists of ids, whose queries have no names; {second_name}: "
                f"{second_side.description}",
                source=run.source,
                hint="Both are lists of ids, query by query in the same order, or neither is.",
            )
    n_lists = len(qrels.query_ids)
    if n_lists != n_rankings:
        raise unequal_lists_error(n_lists, n_rankings, run.source)


def unequal_lists_error(n_lists: int, n_rankings: int, source: str | None = None) -> InputError:
    """Return the error for different numbers of lists of ids on the two sides."""
    return InputError(
        f"{format_count(n_lists, 'list')} of relevant documents and "
        f"{format_count(n_rankings, 'ranking')}"
        ": each query has one of both, in the same order",
        source=source,
        hint="A query without relevant documents, or for which nothing was retrieved, has an empty "
        "list.",
    )
