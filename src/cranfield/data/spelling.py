"""Finds ids of a run and of the qrels that differ only in part, for errors and notes."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from cranfield.arrays.ids import decode
from cranfield.data.chunks import PLAIN, prefix_pattern
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.data.run_notes import SPELLING, no_common_query_error, normalize_id, normalize_ids
from cranfield.data.sketch import QuerySketch
from cranfield.errors import InputError, NothingSharedError
from cranfield.formats.block import FaultyRows
from cranfield.notes import Note, Severity
from cranfield.render.numbers import format_count, format_query_count

_MIN_PAIRS = 3  # fewer may be so by chance, unless they are most documents that were missed
_MIN_LETTER_PAIRS = 5  # affixes of letters alone, and cut numbers
_MIN_CUT_LENGTH, _MIN_CUT_NUMBER_LENGTH = 6, 12  # characters
_MAX_ID_LENGTH = 200  # characters of an id that may have an affix
_PART_SIGNS = "#?|@"  # what is behind them names a part of a document
_PART = re.compile(r"[\W_]+[^\W\d]*[\W_]*\d*")  # an affix such as `#3`, `-chunk12`, `.txt`
_FIND_ALL = re.compile("").search
_MAX_PARTS = 3  # of an id, such as `d_1_7`
_MIN_WORDS, _MIN_LONG_WORDS = 5, 8  # of a sentence, and of a text without a full stop


class Pair(NamedTuple):
    """A relevant document that a run missed, and an unjudged one that it has in its place."""

    judged_doc: str
    run_doc: str
    query_id: str


class Lookalikes(NamedTuple):
    """Pairs of ids that differ in one way, in words, and what to do about it."""

    code: str  # of the note where no judged document was retrieved
    pairs: Sequence[Pair]
    difference: str
    remedy: str

    def describe(self, n_examples: int) -> str:
        """Return the difference, some examples and the remedy."""
        pairs = list({pair.judged_doc: pair for pair in self.pairs}.values())[:n_examples]
        examples = [_format_example(*pairs[0])]
        examples += [f"{_quote_id(run_doc)} and {_quote_id(doc)}" for doc, run_doc, _ in pairs[1:]]
        return f"{self.difference}: {'; '.join(examples)}. {self.remedy}"


def _format_example(judged_doc: str, run_doc: str, _: str) -> str:
    return f"the run has {_quote_id(run_doc)}, the qrels {_quote_id(judged_doc)}"


def _quote_id(doc: str) -> str:
    """Return an id in quotes; letters that may look like others are escaped."""
    return f"{doc!r:.80}" if doc.isascii() else f"{doc!a:.80}"


class _Sides:
    """The ids of the sketches of queries: those of the judgments, and those of the run."""

    def __init__(self, sketches: Sequence[QuerySketch]) -> None:
        self.sketches = sketches
        docs = chain.from_iterable((*sketch.missed, *sketch.hits) for sketch in sketches)
        run_docs = chain.from_iterable((*sketch.unjudged, *sketch.hits) for sketch in sketches)
        self.ids = {"qrels": list(dict.fromkeys(docs)), "run": list(dict.fromkeys(run_docs))}
        self.n_missed = sum(len(sketch.missed) for sketch in sketches)
        self.n_hits = sum(len(sketch.hits) for sketch in sketches)

    def is_sizeable(self, n: int) -> bool:
        """Tell whether n pairs are hardly chance, and not few beside the documents retrieved."""
        are_most = n == _MIN_PAIRS - 1 and 2 * n >= self.n_missed
        return are_most or (n >= _MIN_PAIRS and 100 * n >= n + self.n_hits)


def find_lookalikes(sketches: Sequence[QuerySketch]) -> list[Lookalikes]:
    """Return the ways in which ids of the judgments differ from those of the run, for a part.

    Where no judged document was retrieved, a pair or two will do.
    """
    sides = _Sides(sketches)
    if not sides.ids["run"] or sides.n_missed < (2 if sides.n_hits else 1):
        return []
    kinds = [*_find_respelled(sides), *_find_affixes(sides), *_find_texts(sides)]
    lookalikes, explained_docs = [], set[tuple[str, str]]()
    for kind in sorted(kinds, key=lambda kind: -len({pair[::2] for pair in kind.pairs})):
        pair_of_doc = {pair[::2]: pair for pair in kind.pairs if pair[::2] not in explained_docs}
        if pair_of_doc and (not sides.n_hits or sides.is_sizeable(len(pair_of_doc))):
            lookalikes.append(kind._replace(pairs=[*pair_of_doc.values()]))
            explained_docs.update(pair_of_doc)
    return lookalikes


def lookalike_notes(
    sketches: Sequence[QuerySketch], n_queries: int, n_examples: int = 2
) -> Iterator[Note]:
    """Yield a note for each way in which ids differ; `n_queries` are those with an answer."""
    n_missed = sum(len(sketch.missed) for sketch in sketches)
    extent = ""
    if len(sketches) < n_queries:
        extent = f" in a sample of {len(sketches):,} of {format_query_count(n_queries)}"
    for kind in find_lookalikes(sketches):
        n, n_pair_queries = len(kind.pairs), len({pair.query_id for pair in kind.pairs})
        text = (
            f"{n:,} of {format_count(n_missed, 'relevant document')} that the run missed{extent} "
            f"may have other ids there: {kind.describe(n_examples)}"
        )
        query_id = kind.pairs[0].query_id
        yield Note("doc-spelling", "warning", text, n_pair_queries, count=n, query_id=query_id)


def no_judged_doc_note(
    sketches: Sequence[QuerySketch], severity: Severity = "warning", *, all_queries: bool = True
) -> Note:
    """Return the note that no judged document was retrieved.

    `all_queries`: the note is on all queries of a run, not on one query, where it is likely.
    """
    kinds = find_lookalikes(sketches)
    if kinds:
        text = f"not one judged document was retrieved: {kinds[0].describe(1)}"
        return Note(kinds[0].code, severity, text)
    if not all_queries:
        return Note("nothing-judged", "info", "Not one judged document was retrieved.")
    examples = [
        _format_example(sketch.missed[0], sketch.unjudged[0], "")
        for sketch in sketches
        if sketch.missed and sketch.unjudged
    ]
    text = "".join(f"{example}; " for example in examples[:1])
    text += "are the ids of the same collection, and of documents, not of their parts?"
    return Note("nothing-judged", severity, f"not one judged document was retrieved: {text}")


def spelling_mismatch_error(sketches: Sequence[QuerySketch], run: Run) -> NothingSharedError | None:
    """Return the error if the run has the judged documents, but spelt otherwise; else None."""
    for kind in _find_respelled(_Sides(sketches)):
        judged_doc, run_doc, query = kind.pairs[0]
        return NothingSharedError(
            f"the run {run.name!r} and the qrels share no document as they are "
            f"written: for query {query!r} the run has {run_doc!r}, the qrels {judged_doc!r}",
            source=run.source,
            hint=f"{SPELLING} {kind.remedy}",
            query_id=query,
        )
    return None


# ---- spelling -----------------------------------------------------------------------------------


def _find_respelled(sides: _Sides) -> Iterator[Lookalikes]:
    """Yield the ids that are equal without capitals, blanks, Unicode forms and leading zeros.

    Where one side writes an id in two ways, these may be two documents.
    """
    docs = list(dict.fromkeys(chain(*sides.ids.values())))
    plain_id = dict(zip(docs, normalize_ids(docs), strict=True))
    pairs, distinct_ids = [], set[str]()
    for ids in sides.ids.values():
        counts = Counter(map(plain_id.__getitem__, ids))
        distinct_ids |= {text for text, n in counts.items() if n > 1}
    for sketch in sides.sketches:
        run_docs = {plain_id[doc]: doc for doc in sketch.unjudged}
        for doc in sketch.missed:
            if plain_id[doc] in run_docs and plain_id[doc] not in distinct_ids:
                pairs.append(Pair(doc, run_docs[plain_id[doc]], sketch.query_id))
    if len(pairs) > len(distinct_ids):
        remedy = _state_remedy("write blanks, capitals, zeros and Unicode alike", PLAIN)
        yield Lookalikes("spelling", pairs, "ids match except for how they are written", remedy)


def _state_remedy(purpose: str, pattern: str, *, maps_qrels: bool = True) -> str:
    """Return a sentence on how to map the documents of a run, and of judgments, by a pattern."""
    call = f"map_docs({pattern!r})"
    option = (
        f"--map-docs-pattern {pattern}" if pattern == PLAIN else f"--map-docs-pattern '{pattern}'"
    )
    if maps_qrels:
        return f"To {purpose}: Run.{call} and Qrels.{call} ({option} --map-qrels)."
    return f"To {purpose}: Run.{call} ({option})."


# ---- affixes and cuts ---------------------------------------------------------------------------


class _Extension(NamedTuple):
    """A pair of which one id is the other one with an affix: behind it, or before it."""

    pair: Pair
    side: str  # of the longer id
    position: str
    affix: str

    @property
    def short_doc(self) -> str:
        """The id without the affix."""
        return self.pair.judged_doc if self.side == "run" else self.pair.run_doc

    @property
    def is_in_number(self) -> bool:
        """Whether the affix is a number, or begins or ends within one."""
        ends = self.short_doc[-1] + self.affix[0]
        if self.position == "before":
            ends = self.affix[-1] + self.short_doc[0]
        return ends.isdigit() or self.affix.isdigit()

    @property
    def shape(self) -> str:
        """The affix; behind an id, with its numbers as 0, as parts have; or the sign of a part."""
        if self.position == "before" or self.affix == ".0":
            return self.affix
        is_part = self.affix[0] in _PART_SIGNS
        return self.affix[0] if is_part else re.sub(r"\d+", "0", self.affix)


def _list_extensions(sketches: Iterable[QuerySketch]) -> Iterator[_Extension]:
    """Yield all pairs of a query in which one id begins, or ends, with the other one."""
    for sketch in sketches:
        docs_of_side = {"qrels": sketch.missed, "run": sketch.unjudged}
        for position, step in (("behind", 1), ("before", -1)):
            texts = sorted(
                (doc[::step], side)
                for side, docs in docs_of_side.items()
                for doc in docs
                if len(doc) <= _MAX_ID_LENGTH
            )
            begins_next = map(
                str.startswith, (text for text, _ in texts[1:]), (t for t, _ in texts)
            )
            if not any(begins_next):
                continue
            beginnings: list[tuple[str, str]] = []  # of the next text, the shortest first
            for text, side in texts:
                while beginnings and not text.startswith(beginnings[-1][0]):
                    beginnings.pop()
                for short_text, short_side in beginnings:
                    if short_side != side:
                        docs = {side: text[::step], short_side: short_text[::step]}
                        pair = Pair(docs["qrels"], docs["run"], sketch.query_id)
                        yield _Extension(pair, side, position, text[len(short_text) :][::step])
                beginnings.append((text, side))


def _find_affixes(sides: _Sides) -> Iterator[Lookalikes]:
    """Yield the ids that have the same affix on one side, or were cut at one length."""
    extensions_of_shape = defaultdict[tuple[str, ...], list[_Extension]](list)
    extensions_of_length = defaultdict[tuple[str, int], list[_Extension]](list)
    for extension in _list_extensions(sides.sketches):
        side, position = extension.side, extension.position
        if not extension.is_in_number:
            extensions_of_shape[side, position, extension.shape].append(extension)
        if position == "behind":
            extensions_of_length[side, len(extension.short_doc)].append(extension)
    for (side, length), extensions in extensions_of_length.items():
        yield from _find_cut(sides, side, length, extensions)
    for extensions in extensions_of_shape.values():
        yield from _find_affix(sides, extensions)


def _find_cut(
    sides: _Sides, side: str, length: int, extensions: Sequence[_Extension]
) -> Iterator[Lookalikes]:
    """Yield the ids of one side that were cut at a length, which no id of that side exceeds.

    Some may, where many have just this length, as where ids are read in two ways.
    """
    short_side, n = "qrels" if side == "run" else "run", len(extensions)
    affixes = [extension.affix for extension in extensions]
    signs = {affix[0] for affix in affixes}
    is_longest = max(map(len, sides.ids[short_side])) == length
    are_affixes = len(set(affixes)) == 1 or 2 * sum(map(bool, map(_PART.fullmatch, affixes))) > n
    are_affixes |= not (is_longest or len(signs) > 1 or max(signs).isalnum())
    are_numbers = 2 * sum(extension.is_in_number for extension in extensions) > n
    if are_numbers or not is_longest:
        is_cut = length >= _MIN_CUT_NUMBER_LENGTH and n >= _MIN_LETTER_PAIRS
    else:
        is_cut = length >= _MIN_CUT_LENGTH and n >= _MIN_PAIRS
    if is_cut and not are_affixes:
        maps_qrels = side == "qrels" or not is_longest
        remedy = _state_remedy("cut all", f"^(.{{1,{length}}})", maps_qrels=maps_qrels)
        text = f"ids match except that those of the {short_side} are cut at {length} characters"
        yield Lookalikes("affix", [extension.pair for extension in extensions], text, remedy)


def _find_affix(sides: _Sides, extensions: Sequence[_Extension]) -> Iterator[Lookalikes]:
    """Yield the ids of one side with an affix of one shape.

    Not if some ids of both sides have it: then it is a part of them. Where other ids have such
    parts, too, as `d_1` has beside `d_1_7`, the longer ids must have one more. An affix that begins
    with a letter must be frequent.
    """
    _, side, position, affix = extensions[0]
    shape, is_behind = extensions[0].shape, position == "behind"
    part = re.sub(r"\\([#\-/:&~ ])", r"\1", re.escape(shape))
    is_sign, is_numbered = is_behind and shape in _PART_SIGNS, is_behind and affix != ".0"
    if is_numbered:
        part = f"{part}.*" if is_sign else part.replace("0", r"\d+")
    short_docs = {extension.short_doc for extension in extensions}
    n, n_parts, search = len({extension.pair.judged_doc for extension in extensions}), 0, _FIND_ALL
    while n_parts < _MAX_PARTS and 10 * sum(map(bool, map(search, short_docs))) > len(short_docs):
        n_parts += 1
        search = re.compile(f"{part * n_parts}$" if is_behind else f"^{part * n_parts}").search
    short_side = "qrels" if side == "run" else "run"
    n_long, n_short = (sum(map(bool, map(search, sides.ids[name]))) for name in (side, short_side))
    all_have = 50 * n_long >= 49 * len(sides.ids[side])
    none_has = 50 * n_short <= len(sides.ids[short_side])
    is_letter = (affix[0] if is_behind else affix[-1]).isalnum()
    is_certain = (all_have or none_has) and n_long > 0 and (n > 1 or n == len(sides.ids[side]))
    if is_letter:
        min_pairs = _MIN_PAIRS if all_have else _MIN_LETTER_PAIRS
        is_certain = is_certain and n_short == 0 and n >= min_pairs
    if n_parts > 1:
        is_repeated = not is_letter and is_numbered and part != re.escape(affix)
        is_certain = is_repeated and none_has and (all_have or (n_long >= n and not is_sign))
    if not is_certain:
        return
    pattern = f"^(?:{part})?(.*)$"
    if is_sign:
        pattern = prefix_pattern(shape) if n_parts == 1 else f"^(.*){re.escape(shape)}"
    elif is_behind:
        own_parts = f"(?:{part}){{0,{n_parts - 1}}}" if n_parts > 1 else ""
        pattern = f"^(.*?{own_parts})(?:{part})?$"
    purpose = "make documents" if is_numbered and affix[-1].isdigit() else "take it off"
    remedy = _state_remedy(purpose, pattern, maps_qrels=side == "qrels" or n_short > 0)
    text = f"ids match except for {affix!r:.40} {position} those of the {side}"
    yield Lookalikes("affix", [extension.pair for extension in extensions], text, remedy)


# ---- texts --------------------------------------------------------------------------------------


def _is_text(doc: str) -> bool:
    n_words = len(doc.split())
    return n_words >= _MIN_LONG_WORDS or (n_words >= _MIN_WORDS and doc[-1] in ".!?:;")


def _find_texts(sides: _Sides) -> Iterator[Lookalikes]:
    """Yield the judged texts where the run has ids, or texts that hold them."""
    has_ids = not any(len(doc.split()) > 1 for doc in sides.ids["run"])
    text_pairs, part_pairs = [], []
    for query_id, missed, _, unjudged in sides.sketches:
        for text in filter(_is_text, missed):
            longer_texts = [doc for doc in unjudged if text in doc]
            if longer_texts:
                part_pairs.append(Pair(text, longer_texts[0], query_id))
            elif unjudged and has_ids:
                text_pairs.append(Pair(text, unjudged[0], query_id))
    remedy = "Give ids; or a table of all ids and texts, and the id of each (--map-docs FILE "
    difference = "the qrels have texts, the run ids"
    yield Lookalikes("affix", text_pairs, difference, f"{remedy}--map-qrels).")
    remedy = "Run.map_docs takes a function, which may return the judged text in a retrieved one."
    yield Lookalikes("affix", part_pairs, "retrieved texts hold the judged ones", remedy)


# ---- queries ------------------------------------------------------------------------------------


def query_spelling_notes(
    missing_queries: Sequence[str], unjudged_queries: Collection[Any]
) -> Iterator[Note]:
    """Yield a note if queries that the run lacks are in it, but spelt otherwise.

    `unjudged_queries` are in the run and not in the qrels, as text or bytes.
    """
    if not missing_queries or not unjudged_queries:
        return
    query_of_plain_id = {normalize_id(query): query for query in missing_queries}
    run_queries = (query if isinstance(query, str) else decode(query) for query in unjudged_queries)
    respelt_pairs = [
        (query_of_plain_id[normalize_id(query)], query)
        for query in run_queries
        if normalize_id(query) in query_of_plain_id
    ]
    if respelt_pairs:
        judged_query, run_query = min(respelt_pairs)
        n = len({query for query, _ in respelt_pairs})
        text = (
            f"{format_query_count(n)} of the qrels, of {len(missing_queries):,} that the run "
            "lacks, differ only in "
            f"how they are written: {judged_query!r:.80} in the qrels, {run_query!r:.80} in the "
            "run. Such rows "
            "count for nothing: write blanks, capitals, leading zeros and 1 or 1.0 alike."
        )
        yield Note("query-spelling", "warning", text, n, count=n, query_id=judged_query)


def no_shared_query_error(
    qrels: Qrels, run: Run, unjudged_queries: Iterable[Any], left_out: FaultyRows
) -> InputError:
    """Return the error of a run whose queries, `unjudged_queries`, are all unjudged.

    `left_out` counts the rows of the run that could not be used.
    """
    run_queries = sorted(
        query if isinstance(query, str) else decode(query) for query in unjudged_queries
    )
    if not run_queries:
        hint = f"{left_out.describe('the run')}." if left_out.count else None
        return InputError(f"the run {run.name!r} holds no query", source=run.source, hint=hint)
    source = run.source or qrels.source
    return no_common_query_error(run.name, run_queries, "the qrels", qrels.query_ids, source)
