"""Finds ids of a run and of the qrels that differ only in part, for errors and notes."""

import re
import shlex
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from string import digits
from typing import TYPE_CHECKING, Any, NamedTuple

from cranfield.arrays.ids import decode
from cranfield.data.chunks import PLAIN, Chunks, prefix_pattern
from cranfield.data.sketch import QuerySketch
from cranfield.errors import InputError, NothingSharedError
from cranfield.formats.block import FaultyRows
from cranfield.formats.identifiers import normalize_ids
from cranfield.notes import Note, Severity
from cranfield.render.numbers import format_count, format_query_count

if TYPE_CHECKING:
    from cranfield.data.qrels import Qrels
    from cranfield.data.run import Run

_MIN_PAIRS = 3  # fewer may be so by chance, unless they are most documents that were missed
_MIN_LETTER_PAIRS = 5  # affixes of letters alone, and cut numbers
_MAX_QUOTED = 80  # characters of an id in a sentence
_MAX_PATTERNS = 200  # to weigh
_MIN_CUT_LENGTH, _MIN_CUT_NUMBER_LENGTH = 6, 12  # characters
_MAX_AFFIX_LENGTH = 200  # characters; without one, what is behind a sign of _PART_SIGNS
_PART_SIGNS = "#?|@"  # what is behind them names a part of a document
_PART = re.compile(r"[\W_]+[^\W\d]*[\W_]*\d*")  # an affix such as `#3`, `-chunk12`, `.txt`
_MIN_WORDS, _MIN_LONG_WORDS = 5, 8  # of a sentence, and of a text without a full stop
_DECIMAL = re.compile(r"\d+\.0")  # beside the whole number, never by chance
_OTHER_SIDE = {"run": "qrels", "qrels": "run"}
_Ids = Mapping[str, Sequence[str]]  # the ids of the sketches of each side
SPELLING = (
    "They differ only in blanks, capitals, Unicode, leading zeros or a decimal point: write them "
    "alike. (A column of numbers with gaps becomes 1.0, 2.0, ... in many tools.)"
)


class Pair(NamedTuple):
    """An id of the qrels that a run lacks, and an unjudged one that it has in its place."""

    judged_id: str
    run_id: str
    query_id: str  # of two documents

    def describe(self, sentence: str = "the run has {}, the qrels {}") -> str:
        """Return both ids in quotes, with escapes where all letters look alike."""
        ids = self.run_id, self.judged_id
        write = ascii if len({unicodedata.normalize("NFKC", text) for text in ids}) == 1 else repr
        return sentence.format(*(_shorten(write(text)) for text in ids))


def _shorten(quoted_id: str) -> str:
    """Return an id in quotes; of a long one, its beginning and its end, where affixes are."""
    if len(quoted_id) <= _MAX_QUOTED:
        return quoted_id
    return f"{quoted_id[: _MAX_QUOTED // 2 - 3]}...{quoted_id[-_MAX_QUOTED // 2 :]}"


class Lookalikes(NamedTuple):
    """Pairs of ids that differ in one way, in words, and what to do about it."""

    code: str  # of the note where no judged document was retrieved
    pairs: Sequence[Pair]
    difference: str
    remedy: str

    def describe(self, n_examples: int) -> str:
        """Return the difference, some examples and the remedy."""
        pairs = list({pair.judged_id: pair for pair in self.pairs}.values())[:n_examples]
        examples = [pairs[0].describe(), *(pair.describe("{} and {}") for pair in pairs[1:])]
        return f"{self.difference}: {'; '.join(examples)}. {self.remedy}"


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
    has_decimals = any(map(_DECIMAL.fullmatch, chain(*ids.values())))
    if not ids["run"] or n_missed < (min_pairs, 1)[has_decimals]:
        return []
    kinds = [*_find_respelled(sketches, ids), *_find_affixes(sketches, ids)]
    kinds.sort(key=lambda kind: -len({pair[::2] for pair in kind.pairs}))
    lookalikes, explained_ids = [], set[tuple[str, str]]()
    for kind in (*kinds, *_find_texts(sketches, ids)):
        pair_of_id = {pair[::2]: pair for pair in kind.pairs if pair[::2] not in explained_ids}
        n_least = 1 if has_decimals and kind.code == "spelling" else min_pairs
        if len(pair_of_id) >= n_least:
            lookalikes.append(kind._replace(pairs=[*pair_of_id.values()]))
            explained_ids.update(pair_of_id)
    return lookalikes


def _list_distinct(id_lists: Iterable[Iterable[str]]) -> list[str]:
    return list(dict.fromkeys(chain.from_iterable(id_lists)))


def lookalike_notes(
    sketches: Sequence[QuerySketch], n_queries: int, n_examples: int = 2
) -> Iterator[Note]:
    """Yield a note for each way in which ids differ; `n_queries` are those with an answer."""
    n_missed = sum(len(sketch.missed) for sketch in sketches)
    subject = f"{format_count(n_missed, 'relevant document')} that the run missed"
    if len(sketches) < n_queries:
        subject += f" in a sample of {len(sketches):,} of {format_query_count(n_queries)}"
    for kind in find_lookalikes(sketches):
        n, queries = len(kind.pairs), {pair.query_id for pair in kind.pairs}
        text = f"{n:,} of {subject} may have other ids there: {kind.describe(n_examples)}"
        query_id = kind.pairs[0].query_id
        yield Note("doc-spelling", "warning", text, len(queries), count=n, query_id=query_id)


def no_judged_doc_note(
    sketches: Sequence[QuerySketch], severity: Severity = "warning", *, all_queries: bool = True
) -> Note:
    """Return the note that no judged document was retrieved.

    `all_queries`: the note is on all queries of a run, not on one query, where it is likely.
    """
    code, text = "nothing-judged", "not one judged document was retrieved"
    for kind in find_lookalikes(sketches):
        return Note(kind.code, severity, f"{text}: {kind.describe(1)}")
    if not all_queries:
        return Note(code, "info", f"{text[0].upper()}{text[1:]}.")
    examples = [
        f"{Pair(missed[0], unjudged[0], query_id).describe()}; "
        for query_id, missed, _, unjudged in sketches
        if missed and unjudged
    ]
    question = "are the ids of the same collection, and of documents, not of their parts?"
    return Note(code, severity, f"{text}: {''.join(examples[:1])}{question}")


def spelling_mismatch_error(
    sketches: Sequence[QuerySketch], run: "Run"
) -> NothingSharedError | None:
    """Return the error if the run has the judged documents, but spelt otherwise; else None."""
    kinds = find_lookalikes(sketches)
    if not kinds or kinds[0].code != "spelling":
        return None
    pair = kinds[0].pairs[0]
    return NothingSharedError(
        f"the run {run.name!r} and the qrels share no document as they are written: "
        f"for query {pair.query_id!r} {pair.describe()}",
        source=run.source,
        hint=f"{SPELLING} {kinds[0].remedy}",
        query_id=pair.query_id,
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
    all_ids = [*ids["qrels"], *ids["run"]]
    plain_ids = normalize_ids(all_ids)
    if plain_ids == all_ids:
        return
    plain_id, pairs = dict(zip(all_ids, plain_ids, strict=True)), []
    counts = (Counter(map(plain_id.__getitem__, side_ids)) for side_ids in ids.values())
    repeated_ids = {text for count in counts for text, n in count.items() if n > 1}
    for query_id, missed, _, unjudged in sketches:
        run_ids = {plain_id[text]: text for text in unjudged if plain_id[text] not in repeated_ids}
        pairs += [
            Pair(text, run_ids[plain_id[text]], query_id)
            for text in missed
            if plain_id[text] in run_ids
        ]
    if len(pairs) > len(repeated_ids):
        remedy = _state_remedy("write blanks, capitals, zeros and Unicode alike", PLAIN)
        yield Lookalikes("spelling", pairs, "ids match except for how they are written", remedy)


def _list_extensions(sketches: Iterable[QuerySketch], step: int) -> Iterator[Pair]:
    """Yield all pairs of a query in which one id begins (step 1), or ends (-1), with the other."""
    ids = chain.from_iterable((*sketch.missed, *sketch.unjudged) for sketch in sketches)
    texts = sorted({text[::step] for text in ids})
    if not any(map(str.startswith, texts[1:], texts)):
        return
    for query_id, missed, _, unjudged in sketches:
        beginnings: list[tuple[str, bool]] = []  # of the next text
        texts_of_sides = chain(zip(missed, repeat(False)), zip(unjudged, repeat(True)))
        for text, is_run_id in sorted((text[::step], side) for text, side in texts_of_sides):
            while beginnings and not text.startswith(beginnings[-1][0]):
                beginnings.pop()
            for short_text, is_short_run_id in beginnings:
                if is_short_run_id and not is_run_id:
                    yield Pair(text[::step], short_text[::step], query_id)
                elif is_run_id and not is_short_run_id:
                    yield Pair(short_text[::step], text[::step], query_id)
            beginnings.append((text, is_run_id))


def _split_pair(pair: Pair) -> tuple[str, str, bool, bool]:
    """Return the shorter id, what the other has beside it, whether behind it, and in a number."""
    short_id, long_id = sorted(pair[:2], key=len)
    n, is_behind = len(short_id), long_id.startswith(short_id)
    affix, joint = long_id[n:], long_id[n - 1 : n + 1]
    if not is_behind:
        affix, joint = long_id[:-n], long_id[-n - 1 :][:2]
    return short_id, affix, is_behind, joint.isdigit() or affix.isdigit()


def _list_patterns(pair: Pair) -> Iterator[str]:
    """Yield patterns that make the ids of a pair alike: they cut them, or take off an affix."""
    short_id, affix, is_behind, is_in_number = _split_pair(pair)
    if is_behind and len(short_id) >= _MIN_CUT_LENGTH:
        yield f"^(.{{1,{len(short_id)}}})"
    if is_in_number:
        return
    if is_behind and affix[0] in _PART_SIGNS and affix[0] not in short_id:
        yield prefix_pattern(affix[0])
        return
    if len(affix) > _MAX_AFFIX_LENGTH:
        return
    part = re.sub(r"\\([#\-/:&~ ])", r"\1", re.escape(affix))
    if not is_behind:
        yield f"^(?:{part})?(.*)$"
        return
    # Parts are numbered, as in `d_1_7`, which may be a part of `d_1`.
    is_literal = affix == ".0" or not any(map(str.isdigit, affix))
    part = part if is_literal else re.sub(r"\d+", r"\\d+", part)
    n_parts = 0
    while (
        short_id.endswith(affix * (n_parts + 1))
        if is_literal
        else re.search(f"(?:{part}){{{n_parts + 1}}}$", short_id)
    ):
        n_parts += 1
    own_parts = f"(?:{part}){{0,{n_parts}}}" if n_parts else ""
    yield f"^(.*?{own_parts})(?:{part})?$"


def _find_affixes(sketches: Sequence[QuerySketch], ids: _Ids) -> Iterator[Lookalikes]:
    """Yield the ids that have affixes of one pattern on one side, or were cut at one length."""
    beginnings = {text.rstrip(digits) for text in chain.from_iterable(ids.values())}
    if len(beginnings) == 1 and len({max(map(len, side_ids)) for side_ids in ids.values()}) == 1:
        return  # numbers, which begin others by chance
    pairs_of_pattern: dict[tuple[str, str], list[Pair]] = defaultdict(list)
    for pair in chain(_list_extensions(sketches, 1), _list_extensions(sketches, -1)):
        side = "run" if len(pair.run_id) > len(pair.judged_id) else "qrels"
        for pattern in _list_patterns(pair):
            pairs_of_pattern[pattern, side].append(pair)
    if len(pairs_of_pattern) > _MAX_PATTERNS:  # of ids that begin with many others
        counts = Counter({key: len(pairs) for key, pairs in pairs_of_pattern.items()})
        frequent_keys = {key for key, _ in counts.most_common(_MAX_PATTERNS)}
        pairs_of_pattern = {
            key: pairs_of_pattern[key] for key in pairs_of_pattern if key in frequent_keys
        }
    for (pattern, side), pairs in pairs_of_pattern.items():
        if len(pairs) >= min(2, len(ids[side])):
            yield from _weigh_pattern(sketches, ids, side, pattern, pairs)


def _weigh_pattern(
    sketches: Sequence[QuerySketch], ids: _Ids, side: str, pattern: str, pairs: Sequence[Pair]
) -> Iterator[Lookalikes]:
    """Yield the pairs that a pattern makes alike, if ids of one side lack what it leaves out.

    Not if some ids of both sides have it: then it is a part of them. Nor if other documents, a
    quarter as many, are retrieved under both ids, as `Dune` and `Dune_(film)`: these are two.
    Affixes that begin with a letter must be frequent, and cuts within numbers or of some ids only.
    """
    document_of, short_side = Chunks.of(pattern).document_of, _OTHER_SIDE[side]
    pairs = [pair for pair in pairs if document_of(pair.judged_id) == document_of(pair.run_id)]
    n, n_least = len({pair.judged_id for pair in pairs}), min(2, len(ids[side]))
    if n < n_least:
        return
    n_long, n_short = (
        sum(document_of(text) not in (text, None) for text in ids[name])
        for name in (side, short_side)
    )
    all_have, none_has = (50 * n_long >= 49 * len(ids[side]), 50 * n_short <= len(ids[short_side]))
    short_ids, affixes, are_behind, are_in_number = zip(*map(_split_pair, pairs), strict=True)
    affix, is_behind, is_certain = affixes[0], are_behind[0], all_have or none_has
    difference = f"for {affix!r:.40} {'behind' if is_behind else 'before'} those of the {side}"
    is_numbered = is_behind and affix[-1].isdigit() and affix != ".0"
    purpose = "make documents" if is_numbered else "take it off"
    if pattern.startswith("^(.{1,"):
        length, purpose = len(short_ids[0]), "cut all"
        difference = f"that those of the {short_side} are cut at {length} characters"
        is_weak = n_short > 0 or 2 * sum(are_in_number) > len(pairs)
        n_least = _MIN_LETTER_PAIRS if is_weak else _MIN_PAIRS
        is_certain &= length >= _MIN_CUT_NUMBER_LENGTH or not is_weak
        is_certain &= 2 * sum(map(bool, map(_PART.fullmatch, affixes))) <= len(pairs)
        is_certain &= len(set(affixes)) > 1
    elif affix[0 if is_behind else -1].isalnum():
        n_least = _MIN_PAIRS if all_have else _MIN_LETTER_PAIRS
        is_certain = n_short == 0 and "{0," not in pattern
    elif "{0," in pattern:
        is_certain = is_numbered and none_has
    is_certain &= is_numbered or 4 * _count_twins(sketches, side, document_of) <= n
    if is_certain and n >= n_least:
        remedy = _state_remedy(purpose, pattern, maps_qrels=side == "qrels" or n_short > 0)
        yield Lookalikes("affix", pairs, f"ids match except {difference}", remedy)


def _count_twins(
    sketches: Sequence[QuerySketch], side: str, document_of: Callable[[str], str | None]
) -> int:
    """Count documents that a query retrieves both judged and, unjudged, under their other id.

    `side` has the long ids; `document_of` returns the short id of a long id.
    """
    n = 0
    for _, _, hits, unjudged in sketches:
        long_ids, short_ids = (unjudged, hits) if side == "run" else (hits, unjudged)
        n += len({document_of(text) for text in long_ids}.intersection(short_ids) - {*long_ids})
    return n


def _is_text(text: str) -> bool:
    if " " not in text:
        return text[-1] == "。"
    return text.count(" ") + 1 >= (_MIN_WORDS if text[-1] in ".!?:;" else _MIN_LONG_WORDS)


def _find_texts(sketches: Sequence[QuerySketch], ids: _Ids) -> Iterator[Lookalikes]:
    """Yield the texts of one side where the other one has ids, or texts that hold them."""
    pairs = list[Pair]()
    has_texts = {
        side: not {" ", "。"}.isdisjoint("".join(ids[side])) and any(map(_is_text, ids[side]))
        for side in ids
    }
    for query_id, missed, _, unjudged in sketches if any(has_texts.values()) else ():
        judged_texts, run_texts = [*filter(_is_text, missed)], [*filter(_is_text, unjudged)]
        id_pairs = [(text, doc) for text in judged_texts for doc in run_texts if text in doc]
        if not has_texts["run"]:
            id_pairs = [(text, doc) for text in judged_texts for doc in unjudged[:1]]
        elif not has_texts["qrels"]:
            id_pairs = [*zip(missed, run_texts, strict=False)]
        pairs += [Pair(*id_pair, query_id) for id_pair in id_pairs]
    difference = "retrieved texts hold the judged ones"
    remedy = "Run.map_docs takes a function, which may return the judged text in a retrieved one."
    if not all(has_texts.values()):
        difference, option = "the run has texts, the qrels ids", "--map-docs FILE"
        if has_texts["qrels"]:
            difference, option = "the qrels have texts, the run ids", "--map-docs FILE --map-qrels"
        remedy = f"Give ids; or a table of all ids and texts, and the id of each ({option})."
    yield Lookalikes("affix", pairs, difference, remedy)


def to_texts(queries: Iterable[Any]) -> list[str]:
    """Return ids that may be bytes as texts, sorted."""
    return sorted(query if isinstance(query, str) else decode(query) for query in queries)


def query_spelling_notes(
    missing_queries: Sequence[str], unjudged_queries: Collection[Any]
) -> Iterator[Note]:
    """Yield a note if queries that the run lacks are in it, but spelt otherwise.

    `unjudged_queries` are in the run and not in the qrels, as text or bytes.
    """
    if missing_queries and unjudged_queries:
        sketch = QuerySketch("", missing_queries, [], to_texts(unjudged_queries))
        for kind in find_lookalikes([sketch]):
            n, missing = len(kind.pairs), format_query_count(len(missing_queries))
            kind = kind._replace(remedy="Such rows count for nothing: write them alike.")
            text = f"{n:,} of {missing} that the run lacks may have other ids: {kind.describe(2)}"
            query_id = kind.pairs[0].judged_id
            yield Note("query-spelling", "warning", text, n, count=n, query_id=query_id)


def no_shared_query_error(
    qrels: "Qrels", run: "Run", unjudged_queries: Iterable[Any], left_out: FaultyRows
) -> InputError:
    """Return the error of a run whose queries, `unjudged_queries`, are all unjudged.

    `left_out` counts the rows of the run that could not be used.
    """
    run_queries, source = to_texts(unjudged_queries), run.source or qrels.source
    if run_queries:
        return no_common_query_error(run.name, run_queries, "the qrels", qrels.query_ids, source)
    hint = f"{left_out.describe('the run')}." if left_out.count else None
    return InputError(f"the run {run.name!r} holds no query", source=run.source, hint=hint)


def no_common_query_error(
    run_name: str,
    run_queries: Sequence[str],
    source_name: str,
    source_queries: Sequence[str],
    source: str | None,
) -> NothingSharedError:
    """Return the error that a run and another collection, `source_name`, share no query."""
    hint = "Are they of the same collection, and written in the same way?"
    query, run_query = source_queries[0], run_queries[0]
    for kind in find_lookalikes([QuerySketch("", source_queries, [], run_queries)])[:1]:
        query, run_query, _ = kind.pairs[0]
        hint = SPELLING if kind.code == "spelling" else f"{kind.difference}: write them alike."
    if run_name in source_queries:
        hint = (
            f"{run_name!r:.60} is a query there: {{query: response[KEY] ...}} takes the documents."
        )
    return NothingSharedError(
        f"the run {run_name!r} and {source_name} share no query: the run has for instance "
        f"{run_query!r}, {source_name} {query!r}",
        source=source,
        hint=hint,
    )
