"""Finds ids of a run and of the qrels that differ only in part, for errors and notes."""

import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from cranfield.arrays.ids import decode
from cranfield.data.chunks import PLAIN, prefix_pattern
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.data.run_notes import SPELLING, no_common_query_error
from cranfield.data.sketch import QuerySketch
from cranfield.errors import InputError, NothingSharedError
from cranfield.formats.block import FaultyRows
from cranfield.formats.identifiers import normalize_id, normalize_ids
from cranfield.notes import Note, Severity
from cranfield.render.numbers import format_count, format_query_count

_MIN_PAIRS = 3  # fewer may be so by chance, unless they are most documents that were missed
_MIN_LETTER_PAIRS = 5  # affixes of letters alone, and cut numbers
_MIN_CUT_LENGTH, _MIN_CUT_NUMBER_LENGTH = 6, 12  # characters
_PART_SIGNS = "#?|@"  # what is behind them names a part of a document
_PART = re.compile(r"[\W_]+[^\W\d]*[\W_]*\d*")  # an affix such as `#3`, `-chunk12`, `.txt`
_MIN_WORDS, _MIN_LONG_WORDS = 5, 8  # of a sentence, and of a text without a full stop
_OTHER_SIDE = {"run": "qrels", "qrels": "run"}
_Ids = Mapping[str, Sequence[str]]  # the ids of the sketches of each side


class Pair(NamedTuple):
    """A relevant document that a run missed, and an unjudged one that it has in its place."""

    judged_doc: str
    run_doc: str
    query_id: str

    def describe(self, sentence: str = "the run has {}, the qrels {}") -> str:
        """Return both ids in quotes, with escapes where letters may look like others."""
        docs = self.run_doc, self.judged_doc
        return sentence.format(
            *(f"{doc!r:.80}" if doc.isascii() else f"{doc!a:.80}" for doc in docs)
        )


class Lookalikes(NamedTuple):
    """Pairs of ids that differ in one way, in words, and what to do about it."""

    code: str  # of the note where no judged document was retrieved
    pairs: Sequence[Pair]
    difference: str
    remedy: str

    def describe(self, n_examples: int) -> str:
        """Return the difference, some examples and the remedy."""
        pairs = list({pair.judged_doc: pair for pair in self.pairs}.values())
        examples = [pairs[0].describe(), *(pair.describe("{} and {}") for pair in pairs[1:])]
        return f"{self.difference}: {'; '.join(examples[:n_examples])}. {self.remedy}"


def find_lookalikes(sketches: Sequence[QuerySketch]) -> list[Lookalikes]:
    """Return the ways in which ids of the judgments differ from those of the run, for a part.

    Where no judged document was retrieved, a pair will do.
    """
    ids = {
        "qrels": _list_distinct((*sketch.missed, *sketch.hits) for sketch in sketches),
        "run": _list_distinct((*sketch.unjudged, *sketch.hits) for sketch in sketches),
    }
    n_missed = sum(len(sketch.missed) for sketch in sketches)
    n_hits, min_pairs = sum(len(sketch.hits) for sketch in sketches), 1.0
    if n_hits:
        min_pairs = _MIN_PAIRS - 1 if n_missed <= 4 else max(_MIN_PAIRS, n_hits / 99)
    if not ids["run"] or n_missed < min_pairs:
        return []
    finders = _find_respelled, _find_affixes, _find_texts
    kinds = chain.from_iterable(find(sketches, ids) for find in finders)
    lookalikes, explained_docs = [], set[tuple[str, str]]()
    for kind in sorted(kinds, key=lambda kind: -len({pair[::2] for pair in kind.pairs})):
        pair_of_doc = {pair[::2]: pair for pair in kind.pairs if pair[::2] not in explained_docs}
        if len(pair_of_doc) >= min_pairs:
            lookalikes.append(kind._replace(pairs=[*pair_of_doc.values()]))
            explained_docs.update(pair_of_doc)
    return lookalikes


def _list_distinct(doc_lists: Iterable[Iterable[str]]) -> list[str]:
    return list(dict.fromkeys(chain.from_iterable(doc_lists)))


def lookalike_notes(
    sketches: Sequence[QuerySketch], n_queries: int, n_examples: int = 2
) -> Iterator[Note]:
    """Yield a note for each way in which ids differ; `n_queries` are those with an answer."""
    n_missed, n_sketches = sum(len(sketch.missed) for sketch in sketches), len(sketches)
    extent = f" in a sample of {n_sketches:,} of {format_query_count(n_queries)}"
    for kind in find_lookalikes(sketches):
        n, n_pair_queries = len(kind.pairs), len({pair.query_id for pair in kind.pairs})
        text = (
            f"{n:,} of {format_count(n_missed, 'relevant document')} that the run missed"
            f"{extent if n_sketches < n_queries else ''} may have other ids there: "
            f"{kind.describe(n_examples)}"
        )
        query_id = kind.pairs[0].query_id
        yield Note("doc-spelling", "warning", text, n_pair_queries, count=n, query_id=query_id)


def no_judged_doc_note(
    sketches: Sequence[QuerySketch], severity: Severity = "warning", *, all_queries: bool = True
) -> Note:
    """Return the note that no judged document was retrieved.

    `all_queries`: the note is on all queries of a run, not on one query, where it is likely.
    """
    code, text = "nothing-judged", "not one judged document was retrieved"
    if kinds := find_lookalikes(sketches):
        return Note(kinds[0].code, severity, f"{text}: {kinds[0].describe(1)}")
    if not all_queries:
        return Note(code, "info", f"{text[0].upper()}{text[1:]}.")
    question = "are the ids of the same collection, and of documents, not of their parts?"
    for query_id, missed, _, unjudged in sketches:
        if missed and unjudged:
            example = Pair(missed[0], unjudged[0], query_id).describe()
            return Note(code, severity, f"{text}: {example}; {question}")
    return Note(code, severity, f"{text}: {question}")


def spelling_mismatch_error(sketches: Sequence[QuerySketch], run: Run) -> NothingSharedError | None:
    """Return the error if the run has the judged documents, but spelt otherwise; else None."""
    kinds = [kind for kind in find_lookalikes(sketches) if kind.code == "spelling"]
    if not kinds:
        return None
    judged_doc, run_doc, query = kinds[0].pairs[0]
    return NothingSharedError(
        f"the run {run.name!r} and the qrels share no document as they are "
        f"written: for query {query!r} the run has {run_doc!r}, the qrels {judged_doc!r}",
        source=run.source,
        hint=f"{SPELLING} {kinds[0].remedy}",
        query_id=query,
    )


def _state_remedy(purpose: str, pattern: str, *, maps_qrels: bool = True) -> str:
    """Return a sentence on how to map the documents of a run, and of judgments, by a pattern."""
    call, option = f"map_docs({pattern!r})", f"--map-docs-pattern {shlex.quote(pattern)}"
    if maps_qrels:
        return f"To {purpose}: Run.{call} and Qrels.{call} ({option} --map-qrels)."
    return f"To {purpose}: Run.{call} ({option})."


def _find_respelled(sketches: Sequence[QuerySketch], ids: _Ids) -> Iterator[Lookalikes]:
    """Yield the ids that are equal without capitals, blanks, Unicode forms and leading zeros.

    Where one side writes an id in two ways, these may be two documents.
    """
    docs = [*ids["qrels"], *ids["run"]]
    plain_ids = normalize_ids(docs)
    if plain_ids == docs:
        return
    plain_id, pairs = dict(zip(docs, plain_ids, strict=True)), []
    counts = (Counter(map(plain_id.__getitem__, side_ids)) for side_ids in ids.values())
    repeated_ids = {text for count in counts for text, n in count.items() if n > 1}
    for query_id, missed, _, unjudged in sketches:
        run_docs = {plain_id[doc]: doc for doc in unjudged if plain_id[doc] not in repeated_ids}
        pairs += [
            Pair(doc, run_docs[plain_id[doc]], query_id)
            for doc in missed
            if plain_id[doc] in run_docs
        ]
    if len(pairs) > len(repeated_ids):
        remedy = _state_remedy("write blanks, capitals, zeros and Unicode alike", PLAIN)
        yield Lookalikes("spelling", pairs, "ids match except for how they are written", remedy)


# ---- affixes and cuts ---------------------------------------------------------------------------


class _Extension(NamedTuple):
    """A pair of which one id is the other one with an affix: behind it, or before it."""

    pair: Pair
    side: str  # of the longer id
    position: str
    short_doc: str
    affix: str
    is_in_number: bool  # whether the affix is a number, or begins or ends within one

    @property
    def pattern(self) -> str:
        """A pattern of such affixes: behind an id, they may be numbered parts of it."""
        text, sign = re.sub(r"\\([#\-/:&~ ])", r"\1", re.escape(self.affix)), self.affix[0]
        if self.position == "before" or self.affix == ".0":
            return text
        is_part = sign in _PART_SIGNS and sign not in self.short_doc
        return f"{re.escape(sign)}.*" if is_part else re.sub(r"\d+", r"\\d+", text)


def _list_extensions(sketches: Iterable[QuerySketch], position: str) -> Iterator[_Extension]:
    """Yield all pairs of a query in which one id begins, or ends, with the other one."""
    step = 1 if position == "behind" else -1
    texts = sorted(
        {doc[::step] for sketch in sketches for doc in (*sketch.missed, *sketch.unjudged)}
    )
    if not any(map(str.startswith, texts[1:], texts)):
        return
    for query_id, missed, _, unjudged in sketches:
        texts_of_sides = [(doc[::step], "qrels") for doc in missed]
        texts_of_sides += [(doc[::step], "run") for doc in unjudged]
        beginnings: list[tuple[str, str]] = []  # of the next text
        for text, side in sorted(texts_of_sides):
            beginnings = [pair for pair in beginnings if text.startswith(pair[0])]
            for short_text, short_side in beginnings:
                if short_side != side:
                    docs, n = {side: text[::step], short_side: short_text[::step]}, len(short_text)
                    pair = Pair(docs["qrels"], docs["run"], query_id)
                    is_in_number = text[n - 1 : n + 1].isdigit() or text[n:].isdigit()
                    affix = text[n:][::step]
                    yield _Extension(pair, side, position, docs[short_side], affix, is_in_number)
            beginnings.append((text, side))


def _find_affixes(sketches: Sequence[QuerySketch], ids: _Ids) -> Iterator[Lookalikes]:
    """Yield the ids that have affixes of one pattern on one side, or were cut at one length."""
    extensions_of_pattern = defaultdict[tuple[str, str, str], list[_Extension]](list)
    extensions_of_length = defaultdict[tuple[str, int], list[_Extension]](list)
    for position in ("behind", "before"):
        for extension in _list_extensions(sketches, position):
            if position == "behind":
                length = len(extension.short_doc)
                extensions_of_length[extension.side, length].append(extension)
            if not extension.is_in_number:
                key = extension.side, position, extension.pattern
                extensions_of_pattern[key].append(extension)
    for (side, position, part), extensions in extensions_of_pattern.items():
        yield from _find_affix(ids, side, part, extensions, is_behind=position == "behind")
    for (side, length), extensions in extensions_of_length.items():
        yield from _find_cut(ids, side, length, extensions)


def _find_affix(
    ids: _Ids, side: str, part: str, extensions: Sequence[_Extension], *, is_behind: bool
) -> Iterator[Lookalikes]:
    """Yield the ids of one side with an affix of the pattern `part`.

    Not if some ids of both sides have it: then it is a part of them. Where other ids have such
    parts, too, as `d_1` has beside `d_1_7`, the longer ids must have one more. An affix that begins
    with a letter must be frequent.
    """

    def count_ids(docs: Collection[str]) -> int:
        search = re.compile(f"(?:{part}){{{n_parts}}}$" if is_behind else f"^{part}").search
        return sum(search(doc) is not None for doc in docs)

    n_parts, affix = 1, extensions[0].affix
    short_docs = {extension.short_doc for extension in extensions}
    n = len({extension.pair.judged_doc for extension in extensions})
    while is_behind and 10 * count_ids(short_docs) > len(short_docs):
        n_parts += 1
    n_long, n_short = count_ids(ids[side]), count_ids(ids[_OTHER_SIDE[side]])
    all_have = 50 * n_long >= 49 * len(ids[side])
    none_has = 50 * n_short <= len(ids[_OTHER_SIDE[side]])
    if n_parts > 1:
        is_certain = none_has and r"\d" in part
    elif (affix[0] if is_behind else affix[-1]).isalnum():
        is_certain = n_short == 0 and n >= (_MIN_PAIRS if all_have else _MIN_LETTER_PAIRS)
    else:
        is_certain = (all_have or none_has) and n >= min(2, len(ids[side]))
    if is_certain:
        pattern = f"^(?:{part})?(.*)$"
        if is_behind and part.endswith(".*"):
            pattern = prefix_pattern(affix[0])
        elif is_behind:
            own_parts = f"(?:{part}){{0,{n_parts - 1}}}" if n_parts > 1 else ""
            pattern = f"^(.*?{own_parts})(?:{part})?$"
        purpose = "make documents" if part.endswith((".*", r"\d+")) else "take it off"
        remedy = _state_remedy(purpose, pattern, maps_qrels=side == "qrels" or n_short > 0)
        position = "behind" if is_behind else "before"
        text = f"ids match except for {affix!r:.40} {position} those of the {side}"
        yield Lookalikes("affix", [extension.pair for extension in extensions], text, remedy)


def _find_cut(
    ids: _Ids, side: str, length: int, extensions: Sequence[_Extension]
) -> Iterator[Lookalikes]:
    """Yield the ids that were cut at a length on the other side, where no id exceeds it.

    Some may, where many have just this length, as where ids are read in two ways.
    """
    short_side, n = _OTHER_SIDE[side], len(extensions)
    affixes = {extension.affix for extension in extensions}
    signs = {affix[0] for affix in affixes}
    is_longest = max(map(len, ids[short_side])) == length
    is_long, is_frequent = length >= _MIN_CUT_LENGTH, n >= _MIN_PAIRS
    if not is_longest or 2 * sum(extension.is_in_number for extension in extensions) > n:
        is_long, is_frequent = length >= _MIN_CUT_NUMBER_LENGTH, n >= _MIN_LETTER_PAIRS
    are_parts = (
        2 * sum(_PART.fullmatch(extension.affix) is not None for extension in extensions) > n
    )
    are_parts |= not is_longest and len(signs) == 1 and not max(signs).isalnum()
    if is_long and is_frequent and len(affixes) > 1 and not are_parts:
        maps_qrels = side == "qrels" or not is_longest
        remedy = _state_remedy("cut all", f"^(.{{1,{length}}})", maps_qrels=maps_qrels)
        text = f"ids match except that those of the {short_side} are cut at {length} characters"
        yield Lookalikes("affix", [extension.pair for extension in extensions], text, remedy)


# ---- texts --------------------------------------------------------------------------------------


def _is_text(doc: str) -> bool:
    n_words = doc.count(" ") + 1
    ends_sentence = doc[-1] in ".!?:;"
    return n_words >= (_MIN_WORDS if ends_sentence else _MIN_LONG_WORDS) or doc[-1] in "。！？"


def _find_texts(sketches: Sequence[QuerySketch], ids: _Ids) -> Iterator[Lookalikes]:
    """Yield the texts of one side where the other one has ids, or texts that hold them."""
    text_sides = [side for side, docs in ids.items() if any(map(_is_text, docs))]
    pairs: list[Pair] = []
    for query_id, missed, _, unjudged in sketches if text_sides else ():
        judged_texts, run_texts = [*filter(_is_text, missed)], [*filter(_is_text, unjudged)]
        docs: Iterable[tuple[str, str]] = zip(missed, run_texts, strict=False)
        if text_sides == ["qrels"]:
            docs = ((text, doc) for text in judged_texts for doc in unjudged[:1])
        elif len(text_sides) == 2:
            docs = ((text, doc) for text in judged_texts for doc in run_texts if text in doc)
        pairs += (Pair(*doc_pair, query_id) for doc_pair in docs)
    difference = "retrieved texts hold the judged ones"
    remedy = "Run.map_docs takes a function, which may return the judged text in a retrieved one."
    if len(text_sides) == 1:
        difference = f"the {text_sides[0]} has texts, the {_OTHER_SIDE[text_sides[0]]} ids"
        option = " --map-qrels" if text_sides == ["qrels"] else ""
        remedy = f"Give ids, or a table of all texts and ids with the id of each: --map-docs FILE{option}."
    yield Lookalikes("affix", pairs, difference, remedy)


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
