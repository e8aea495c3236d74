"""Plain shapes: rewrites a shape that no reader takes into one that is read: `plain`."""

from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from cranfield.formats.columns import COLUMNS, NAMES, ColumnsLike, Side, plain_name, roles_of
from cranfield.formats.json_text import unite_pairs
from cranfield.formats.shapes import (
    READ_ONCE_HINT,
    ROW_METHODS,
    Kind,
    as_array,
    first_of,
    holds_objects,
    is_object,
    kind_of,
    kinds_in,
    read_path,
    to_list,
    to_python,
)

#: The paths to the list of documents in the response to one query; `ids` is beside `distances`.
RESPONSES = (
    *("hits.hits", "result.points", "points", "result", "matches"),
    *("response.docs", "hits", "ids"),  # of Solr; of Meilisearch and Typesense; of Chroma
)
# The paths to the documents of all queries, whose keys, or places from 1, are the queries.
_BATCHES: Mapping[Side, Sequence[str]] = {
    Side.QRELS: ("requests.*.ratings", "details.*.hits", "relevant_docs"),
    Side.RUN: ("responses.*.hits.hits", "result.*.points", "details.*.hits.*.hit"),
}
_MODEL = "mteb_model_meta"  # beside {subset: {split: {query: ...}}}
#: The first keys of files with envelopes.
HEADS = {path.partition(".")[0] for paths in (RESPONSES, *_BATCHES.values()) for path in paths}
HEADS |= {_MODEL, "queries"}  # LlamaIndex writes `queries` before `relevant_docs`


class NumberedResponses(dict[int, Any]):
    """Responses, or their documents, by their places in a list from 1: they say no queries."""


def begin_rows(owner: Any, side: Side, user_columns: ColumnsLike | None) -> Any:
    """Return what is at the path that is stated as `rows`; without one, the object itself."""
    begin = (user_columns or {}).get("rows")
    rows = owner if begin is None else read_path(owner, str(begin))
    if rows is None and begin is not None:
        keys = ", ".join(map(repr, owner)) if isinstance(owner, Mapping) else "none"
        hint = f"If only the other side has it: --columns {side.other_side.word}.rows={begin}."
        raise side.error(f"has nothing at {begin!r}; its keys are {keys:.200}", hint, "columns")
    return rows


def open_envelope(owner: Any, side: Side) -> Any:
    """Return {query: documents} from responses of search engines, and from files of other tools.

    Other objects are returned unchanged: a path of the tables above counts only where it ends in a
    list of objects, or in {query: list}. Raises InputError for a response without its query, and
    for several subsets of queries.
    """
    first: Any = next(iter(owner.values()), None) if type(owner) is dict else None
    first_keys = first.keys() if type(first) is dict else HEADS - HEADS
    is_plain = type(first) in (dict, list) and owner.keys().isdisjoint(HEADS)
    if is_plain and first_keys.isdisjoint(HEADS):
        return owner  # what is given most often, and must cost least
    if isinstance(owner, list):
        members = (member for member in owner if not isinstance(member, list | None) or member)
        response: Any = next(members, None)
        document = response[0] if holds_objects(response) else response
        names = NAMES["query"] if document is not response else (*NAMES["query"], "id", "_id")
        has_query = any(read_path(document, name) is not None for name in names)
        if has_query or (document is response and _find_path(owner) is None):
            return owner
        owner = NumberedResponses(enumerate(owner, 1))
    if type(owner) not in (dict, NumberedResponses) or not owner:
        return owner
    if _MODEL in owner:
        return _choose_subset(owner, side)
    path = _find_path([owner])
    documents = owner.get("ids") if path == "ids" else None
    if documents and isinstance(documents[0], list):
        return NumberedResponses(enumerate(documents, 1))
    for batch_path in _BATCHES.get(side, ()):
        begin, _, inner_path = batch_path.partition(".*")
        documents = _read_members(read_path(owner, begin), inner_path[1:], side)
        if documents is not None:
            return documents
    are_queries = all(isinstance(docs, list) for docs in owner.values())
    if path is not None and read_path(owner, path) and not are_queries:
        hint = "One query: {query: response}; several: {query: response, ...}."
        raise side.error(f"one response, its documents in {path}, without a query", hint, "columns")
    path = _find_path(owner.values())
    return owner if path is None else _read_members(owner, path, side) or owner


def _find_path(responses: Iterable[Any]) -> str | None:
    """Return the path at which the first response that is not null has its documents, or None."""
    for response in responses:
        for path in RESPONSES:
            docs = read_path(response, path)
            is_chroma = path == "ids" and docs and read_path(response, "distances") is not None
            if isinstance(docs, list | tuple) and (not docs or is_chroma or is_object(docs[0])):
                return path
        if not any(_is_null(response, path) for path in RESPONSES):
            break
    return None


def _is_null(response: Any, path: str) -> bool:
    """Tell whether a response is null, or has null in the place of its documents."""
    begin, _, name = path.rpartition(".")
    owner = read_path(response, begin) if begin else response
    return response is None or (isinstance(owner, Mapping) and owner.get(name, name) is None)


def _choose_subset(file: Mapping[Any, Any], side: Side) -> Any:
    """Return {query: {document: score}} of the only subset and split; InputError for several."""
    subsets = {
        f"{subset}.{split}": docs_of_query
        for subset, splits in file.items()
        if subset != _MODEL and isinstance(splits, Mapping)
        for split, docs_of_query in splits.items()
    }
    if len(subsets) != 1:
        problem = f"has {len(subsets)} subsets of queries, {', '.join(subsets)}: which one?"
        option = f"--columns {side.word}.rows={next(iter(subsets), '...')}"
        raise side.error(problem, f"State where its rows begin: {option}.", kind="columns")
    return next(iter(subsets.values()))


def _read_members(members: Any, path: str, side: Side) -> Mapping[Any, Any] | None:
    """Return {query: documents} from responses that have documents at a path; None from others.

    `members` are {query: response}, or a list: its queries are the ids beside ratings, or 1, 2, ...
    """
    responses = NumberedResponses(enumerate(members, 1)) if isinstance(members, list) else members
    if not isinstance(responses, dict):
        return None
    if path == "ratings":
        responses = {read_path(request, "id"): request for request in responses.values()}
    documents = type(responses)(
        (query, read_path(response, path) if path else response)
        for query, response in responses.items()
    )
    if side is Side.RUN:  # which retrieved nothing for such a query
        documents |= {query: [] for query in documents if _is_null(responses[query], path)}
    first_docs = next(filter(None, documents.values()), None)
    if not holds_objects(first_docs) and not (path in ("", "ids") and isinstance(first_docs, list)):
        return None
    for query, docs in documents.items():
        if not isinstance(docs, list | tuple) or len(responses) < len(members):
            problem = f"query {query!r} has no list {path}, or is there twice"
            raise side.error(f"{problem}: {responses[query]!r:.80}", kind="columns")
        if path == "ids" and [*map(type, docs)] == [list]:  # Chroma answers a list of queries
            documents[query] = docs[0]
        elif path == "hits" and side is Side.QRELS:  # some of them were not judged
            documents[query] = [hit for hit in docs if read_path(hit, "rating") is not None]
    return documents


def plain(data: Any, side: Side) -> Any:
    """Return the data in a shape that is read: rewritten until no rewriting changes it.

    Raises InputError for an iterator without rows, and where a shape has two readings.
    """
    if type(data) is dict:  # what is given most often, and must cost least
        first_docs = next(iter(data.values()), None)
        if type(first_docs) is dict and type(next(iter(first_docs.values()), 0)) in (float, int):
            names = data.keys(), first_docs.keys()
            if names[0].isdisjoint(HEADS) and names[1].isdisjoint(HEADS):
                return data
    for _ in range(_MOST_ROUNDS):
        rewritings = _REWRITINGS.get(kind_of(data), ())
        shapes = (shape for rewrite in rewritings if (shape := rewrite(data, side)) is not data)
        data_above, data = data, next(shapes, data)
        if data is data_above:
            break
        if isinstance(data_above, NumberedResponses) and type(data) is dict:
            data = NumberedResponses(data)
    return data


def _read_series(series: Any, side: Side) -> Any:
    """Return a Series as {index: cell}; two index levels as a table; numbers as a list.

    A Series without an index, as those of polars and Arrow, is a list.
    """
    index: Any = getattr(series, "index", None)
    n_levels = getattr(index, "nlevels", 0)
    if n_levels > 1:
        column_names = {name for role in roles_of(side) for name in COLUMNS[role].names_for(side)}
        plain_names = [plain_name(str(name)) for name in (*index.names, series.name)]
        begins_with_doc = plain_names[0] in NAMES["doc"] or plain_names[1] in NAMES["query"]
        usual_names = ["doc_id", "query_id"] if begins_with_doc else ["query_id", "doc_id"]
        usual_names = [*(usual_names if n_levels == 2 else index.names), side.number_name]
        *level_names, number_name = (
            name if name in column_names else usual_name
            for name, usual_name in zip(plain_names, usual_names, strict=True)
        )
        return series.rename_axis(level_names).reset_index(name=number_name)
    cells = to_list(series)
    if not n_levels or kinds_in(cells) <= {"whole number", "fraction", "flag"}:
        return cells
    if index.is_unique:
        return dict(zip(to_list(index), cells, strict=True))
    raise side.error(
        f"the Series has {index[index.duplicated()][0]!r:.80} twice in its index",
        hint="A query has one list. Rows are a table: series.reset_index().",
    )


def _hold_iterator(iterator: Iterator[Any], side: Side) -> list[Any]:
    """Return the rows of an iterator as a list; InputError for one without rows, or of tables."""
    rows, hint = list(iterator), READ_ONCE_HINT
    if rows and kind_of(rows[0]) != "table":
        return rows
    problem = "holds no rows"
    if rows:
        problem = "an iterator of tables: parts of one table, or several tables?"
        hint = "Parts: pandas.concat(tables), polars.concat(tables); several: list(tables)."
    raise side.error(problem, hint)


def _spell_docs_of_queries(docs_of_query: Mapping[Any, Any], side: Side) -> Mapping[Any, Any]:
    """Return {query: documents} with {index: number} for Series of numbers, lists for iterators.

    Arrays become lists and numbers. Raises InputError if no document is left of iterators.
    """
    kinds, first_docs = kinds_in(docs_of_query.values()), first_of(docs_of_query)
    if kind_of(first_docs) in ("dict", "list"):
        kinds |= kinds_in([first_of(first_docs)])
    if kinds.isdisjoint(("series", "iterator", "array", "tensor", "scalar")):
        return docs_of_query
    new_docs = {query: _spell_docs(docs, side) for query, docs in docs_of_query.items()}
    if "iterator" in kinds and first_of(new_docs) is None:
        raise side.error("holds no documents", READ_ONCE_HINT)
    return new_docs


def _spell_docs(docs: Any, side: Side) -> Any:
    """Return the documents of a query, iterators and arrays as lists, Series of numbers as dicts.

    The index of the Series has to say the documents. Raises InputError where its cells may, too.
    """
    if kind_of(docs) == "dict":
        return {doc: _spell_docs(number, side) for doc, number in docs.items()}
    if kind_of(docs) == "list" and "scalar" in kinds_in(docs):
        return [*map(to_python, docs)]
    if kind_of(docs) != "series":
        return list(docs) if kind_of(docs) == "iterator" else to_python(docs)
    cells = to_list(docs)
    kinds, index = kinds_in(cells), to_list(docs.index) if hasattr(docs, "reset_index") else []
    if kinds_in(index) == {"tuple"}:  # of several levels: a run
        return docs
    if not kinds <= {"whole number", "fraction"} or index in ([], [*range(len(cells))]):
        return docs if index else cells
    if kinds == {"whole number"} and kinds_in(index) == {"whole number"}:
        raise side.error(
            f"a Series of whole numbers, whose index is {index[0]!r}, ...: which are the ids?",
            hint="Its index: series.to_dict(); its cells: series.tolist().",
        )
    return dict(zip(index, cells, strict=True))


def query_row(query: Any, documents: Any, side: Side) -> dict[str, Any]:
    """Return a query and its list of objects as a row of a table."""
    return {"query_id": query, "retrieved" if side is Side.RUN else "expected": documents}


def _spell_pairs(pairs_of_query: Mapping[Any, Any], side: Side) -> Any:
    """Return {query: {document: number}} of {query: [(document, number), ...]}, in either order.

    Of (object, number), as vector stores return them, a table with a column of each. Lists of two
    whole numbers, which may be ids, and other dicts are returned unchanged. Raises InputError for
    tuples of two whole numbers.
    """
    lists, first_list = pairs_of_query.values(), first_of(pairs_of_query)
    list_kinds = {"list", "tuple", "set"}
    first_pair: Any = next(iter(first_list)) if kind_of(first_list) in list_kinds else None
    if kind_of(first_pair) not in ("list", "tuple") or not kinds_in(lists) <= list_kinds:
        return pairs_of_query
    pairs = [*chain.from_iterable(lists)]
    lengths = {*map(len, pairs)} if kinds_in(pairs) <= {"list", "tuple"} else set()
    items = pairs_of_query.items()
    queries = ((query, row[0]) for query, rows in items for row in rows)
    if lengths == {3} and all(str(query) == str(query_id) for query, query_id in queries):
        return {query: [row[1:] for row in rows] for query, rows in items}
    if lengths != {2}:
        return pairs_of_query
    kinds = [*map(kinds_in, zip(*pairs, strict=True))]
    if "scalar" in kinds[0]:
        numbers = {query: [map(to_python, row) for row in rows] for query, rows in items}
        return {query: [*map(tuple, rows)] for query, rows in numbers.items()}
    for doc in (0, 1):
        if is_object(first_pair[doc]) and kinds[1 - doc] <= _NUMBERS:
            if read_path(first_pair[doc], side.role) not in (None, first_pair[1 - doc]):
                raise side.error(f"objects with a {side.role} in pairs with another: which counts?")
            return [
                query_row(query, [pair[doc] for pair in pairs], side)
                | {f"{side.role}s": [pair[1 - doc] for pair in pairs]}
                for query, pairs in items
            ]
    for id_kind in ("text", "whole number"):
        if (kinds[0] == {id_kind}) != (kinds[1] == {id_kind}):
            doc = 0 if kinds[0] == {id_kind} else 1
            return {
                query: unite_pairs([(pair[doc], pair[1 - doc]) for pair in query_pairs])
                for query, query_pairs in pairs_of_query.items()
            }
    if isinstance(first_pair, tuple) and kinds[0] == {"whole number"}:
        raise side.error(
            f"pairs of whole numbers, as {first_pair}: which is the document, which the "
            f"{side.role}?",
            hint=f"Write {{query: {{document: {side.role}}}}}.",
        )
    return pairs_of_query


def _spell_queries(pairs: list[Any], side: Side) -> Any:
    """Return a list of (query, documents), as `items()` of a dict yields them, as that dict."""
    first = pairs[0] if pairs else None
    if kind_of(first) not in ("list", "tuple") or not kinds_in(pairs) <= {"list", "tuple"}:
        return pairs
    queries, docs = zip(*pairs, strict=True) if {*map(len, pairs)} == {2} else ([None], [])
    if kinds_in(queries) - {"text", "whole number"} or kinds_in(docs) & {"text", *_NUMBERS}:
        return pairs
    if len({*queries}) < len(pairs):
        raise side.error("a query occurs twice in pairs (query, documents)")
    return dict(pairs)


def _spell_pair_keys(numbers: Mapping[Any, Any], side: Side) -> Any:
    """Return {(query, document): number} as rows; any other dict unchanged."""
    are_pairs = isinstance(next(iter(numbers), None), tuple) and {*map(len, numbers)} == {2}
    if not are_pairs or not kinds_in(numbers.values()) <= _NUMBERS:
        return numbers
    return [(*key, number) for key, number in numbers.items()]


def _refuse_pairs_of_lists(pairs: Sequence[Any], side: Side) -> Sequence[Any]:
    """Return a list; InputError for pairs of lists, which may be ranked and relevant documents."""
    first = pairs[0] if pairs else None
    if not isinstance(first, tuple) or len(first) != 2 or not kinds_in(first) <= {"list", "array"}:
        return pairs
    calls = [
        f"evaluate([labels for {order} in pairs], [ranked for {order} in pairs], ...)"
        for order in ("ranked, labels", "labels, ranked")
    ]
    raise side.error(
        f"pairs of lists, as {first!r:.60}: which comes first?",
        hint=f"What was ranked, as in Spark: {calls[0]}; the labels: {calls[1]}.",
    )


# What returns another shape, or the same object where it does not apply; the first one counts.
_REWRITINGS: Mapping[Kind, Sequence[Callable[[Any, Side], Any]]] = {
    "tensor": [lambda tensor, side: as_array(tensor)],
    "series": [_read_series],
    "collection": [lambda data, side: getattr(data, ROW_METHODS.get(side, ""), lambda: data)()],
    "iterator": [_hold_iterator],
    "dict": [_spell_pair_keys, _spell_docs_of_queries, open_envelope, _spell_pairs],
    "set": [lambda data, side: [*data] if isinstance(data, ItemsView) else data],
    "list": [_spell_queries, open_envelope, _refuse_pairs_of_lists],
}
_NUMBERS = {"whole number", "fraction", "number", "scalar"}
_MOST_ROUNDS = 4
