"""Envelopes: finds values by paths in objects, and the documents in responses of search engines."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from cranfield.errors import InputError
from cranfield.formats.columns import NAMES, ColumnsLike, Side

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


def read_path(owner: Any, path: str) -> Any:
    """Return the value at a path of keys and attributes, `metadata.source`; None without one.

    A key of exactly that name comes first. `*` is every element of a list, or every value of a
    dict: the value is a list then.
    """
    if isinstance(owner, Mapping) and path in owner:
        return owner[path]
    step, _, inner_path = path.partition(".")
    if step == "*":
        if not isinstance(owner, Mapping | list | tuple):
            return None
        members = owner.values() if isinstance(owner, Mapping) else owner
        return [read_path(member, inner_path) if inner_path else member for member in members]
    if isinstance(owner, Mapping) or hasattr(owner, "keys"):  # some responses are no Mapping
        value = owner[step] if step in owner.keys() else None  # noqa: SIM118
    else:
        value = getattr(owner, step, None)
    if callable(value):
        return None
    return read_path(value, inner_path) if inner_path else value


def is_object(value: Any) -> bool:
    """Tell whether a value has named fields, as keys or attributes: it is no id, list or array."""
    if isinstance(value, Mapping) or hasattr(value, "_fields"):
        return True
    return hasattr(value, "__dict__") and not isinstance(value, str | Collection)


def holds_objects(value: Any) -> bool:
    """Tell whether a value is a list of objects, by its first element."""
    return isinstance(value, list | tuple) and len(value) > 0 and is_object(value[0])


def begin_rows(owner: Any, side: Side, user_columns: ColumnsLike | None) -> Any:
    """Return what is at the path that is stated as `rows`; without one, the object itself."""
    begin = (user_columns or {}).get("rows")
    rows = owner if begin is None else read_path(owner, str(begin))
    if rows is None:
        keys = ", ".join(map(repr, owner)) if isinstance(owner, Mapping) else "none"
        hint = f"If only the other side has it: --columns {side.other_side.word}.rows={begin}."
        raise _envelope_error(f"has nothing at {begin!r}; its keys are {keys:.200}", side, hint)
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
        raise _envelope_error(f"one response, its documents in {path}, without a query", side, hint)
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
        raise _envelope_error(problem, side, f"State where its rows begin: {option}.")
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
            raise _envelope_error(f"{problem}: {responses[query]!r:.80}", side)
        if path == "ids" and [*map(type, docs)] == [list]:  # Chroma answers a list of queries
            documents[query] = docs[0]
        elif path == "hits" and side is Side.QRELS:  # some of them were not judged
            documents[query] = [hit for hit in docs if read_path(hit, "rating") is not None]
    return documents


def _envelope_error(problem: str, side: Side, hint: str | None = None) -> InputError:
    return InputError(problem, source=side.name_in_errors, hint=hint, kind="columns")
