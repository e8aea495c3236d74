"""Notes on a run: faults of its ids or scores that make numbers misleading, found as it is read."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from itertools import islice, pairwise
from operator import add

import numpy as np

from cranfield.arrays.ranked import Floats, Ints
from cranfield.errors import NothingSharedError, escape_unprintable
from cranfield.formats.block import Duplicates, FaultyRows, Rows
from cranfield.notes import Note, Severity
from cranfield.render.numbers import format_count, format_query_count

_MIN_RANKED_DOCS = 3  # the fewest documents whose scores 1, 2, 3 are taken for ranks
_MIN_SHARED_AFFIXES = 3  # ids that differ by the same letters, where no sign parts them
_MAX_ID_LENGTH = 200  # characters of an id that is compared
_MAX_IDS = 1_000  # ids of a side that are compared


def find_contradictions(group: Ints, rank: Ints, scores: Floats) -> Ints:
    """Return the rows with a higher score than a row of the same group with a better rank.

    `group`, `rank` and `scores` are (rows,); compared are neighbours in the order of the ranks.
    """
    order = np.lexsort((rank, group))
    upper, lower = order[:-1], order[1:]
    contradicts = (group[upper] == group[lower]) & (rank[upper] < rank[lower])
    contradicts &= scores[upper] < scores[lower]
    lower_rows: Ints = lower[contradicts]
    return lower_rows


def are_ranks(scores: Floats) -> bool:
    """Tell whether the scores of a query are 1, 2, 3, ... or 0, 1, 2, ..., in any order."""
    first, n = float(scores.min()), len(scores)
    return first in (0.0, 1.0) and bool((np.sort(scores) == np.arange(first, first + n)).all())


@dataclass
class ScoreOrder:
    """Counts of queries whose scores contradict the ranks, or look like ranks or distances."""

    n_multi_doc: int = 0  # queries of several documents
    n_like_ranks: int = 0  # of these: whose scores are 1, 2, 3, ..., in any order
    n_falling: int = 0  # of these: whose scores fall from row to row, as n - rank does
    n_long: int = 0  # queries of three documents or more
    n_rising: int = 0  # of these: whose scores rise, and never fall from row to row
    n_ranked: int = 0  # in how many blocks the rank column distinguishes documents
    n_contradicting: int = 0  # queries whose ranks contradict their scores
    first_row: int | None = None  # the first row where they do

    @classmethod
    def of_rows(cls, starts: Ints, scores: Floats, rank: Ints | None) -> "ScoreOrder":
        """Return the counts for rows of whole queries; `starts` is (n_queries + 1,)."""
        counts, bounds = np.diff(starts), pairwise(starts.tolist())
        group = np.repeat(np.arange(len(counts)), counts)
        is_pair, lower_group, n = group[1:] == group[:-1], group[1:], len(counts)
        rises = np.bincount(lower_group[is_pair & (scores[1:] > scores[:-1])], minlength=n) > 0
        falls = np.bincount(lower_group[is_pair & (scores[1:] < scores[:-1])], minlength=n) > 0
        is_long = counts >= _MIN_RANKED_DOCS
        look = cls(
            int(np.count_nonzero(counts > 1)),
            sum(end - begin > 1 and are_ranks(scores[begin:end]) for begin, end in bounds),
            int(np.count_nonzero(falls & ~rises)),
            int(np.count_nonzero(is_long)),
            int(np.count_nonzero(is_long & rises & ~falls)),
        )
        if rank is not None:
            look.n_ranked = int((is_pair & (rank[1:] != rank[:-1])).any())
            contradicting_rows = find_contradictions(group, rank, scores)
            look.n_contradicting = len(set(group[contradicting_rows].tolist()))
            look.first_row = int(contradicting_rows[0]) if len(contradicting_rows) else None
        return look

    def __add__(self, addend: "ScoreOrder") -> "ScoreOrder":
        counts, addend_counts = astuple(self)[:-1], astuple(addend)[:-1]
        return ScoreOrder(*map(add, counts, addend_counts))

    def notes(
        self, rows: Rows, *, is_whole_run: bool = True, severity: Severity = "warning"
    ) -> Iterator[Note]:
        """Yield notes on ranks that contradict scores, and on scores that seem ranks or distances.

        `rows` are the rows of the run. `is_whole_run`: whether all of the run was read, not only
        its beginning. `severity`: of the notes on scores that seem ranks or distances. Scores that
        are ranks in few queries, or in lists of two documents or less, tell nothing.
        """
        extent = "" if is_whole_run else " at the beginning of the run"
        if self.n_contradicting:
            text = f"{extent}, the rank column contradicts the scores: by default scores decide; "
            text += "order='rank' (--order rank) takes the rank column"
            n, n_queries = self.n_contradicting, self.n_multi_doc
            yield _query_share_note("ranks", "warning", n, n_queries, text)
        elif not self.n_ranked and self.are_mostly_ranks:
            text = f"{extent} with several documents, the scores count the documents, as ranks do, "
            text += "and the highest score comes first: are they ranks? "
            text += self._remedy(rows, "rank")
            n, n_queries = self.n_like_ranks, self.n_multi_doc
            yield _query_share_note("ranks-as-scores", severity, n, n_queries, text)
        elif not self.n_ranked and self.n_rising > 1 and holds_mostly(self.n_rising, self.n_long):
            order, meaning, role = "scores rise", "distances", "distance"
            if rows.distance_column is not None:
                order, meaning, role = "distances fall", "similarities", "score"
            text = f"{extent} with three documents or more, the {order} from row to row, and what "
            text += f"comes last is ranked first: are they {meaning}? {self._remedy(rows, role)}"
            yield _query_share_note("scores-rise", severity, self.n_rising, self.n_long, text)

    @property
    def are_mostly_ranks(self) -> bool:
        """Whether the scores are 1, 2, 3, ... in most queries of several documents.

        Not if they fall from row to row in most queries: then the highest score is the best. In
        another order than that of the rows, one query of three documents may be so by chance.
        """
        may_be_chance = self.n_long < 2 and not self.n_rising
        is_best_first = holds_mostly(self.n_falling, self.n_multi_doc)
        is_frequent = holds_mostly(self.n_like_ranks, self.n_multi_doc)
        return is_frequent and not (may_be_chance or is_best_first)

    def _remedy(self, rows: Rows, role: str) -> str:
        """Return a hint how to rank the documents if their scores are numbers of another role."""
        from shlex import quote

        remedies, column_name = [], rows.distance_column or rows.name_of_role.get("score")
        if column_name is not None and column_name in rows.column_names:
            option = quote(f"{role}={escape_unprintable(column_name)}")
            remedies.append(f"columns={{{role!r}: {column_name!r}}} (--columns {option}) says so")
        if holds_mostly(self.n_rising, self.n_long):
            remedies.append("order='given' (--order given) takes the rows in their order")
        return "; ".join(remedies) or "give minus the rank as the score"


def holds_mostly(n: int, n_queries: int) -> bool:
    """Tell whether a fact that holds in n queries holds in nearly all of them."""
    return n > 0 and 10 * n >= 9 * n_queries


def equal_scores_note(n: int, n_queries: int, severity: Severity = "warning") -> Note:
    """Return the note on queries with several documents whose scores are all equal."""
    text = " with several documents, all scores are equal: the ranking is that of the document ids"
    return _query_share_note("level-scores", severity, n, n_queries, text)


def _query_share_note(code: str, severity: Severity, n: int, of: int, text: str) -> Note:
    """Return a note on n of some queries: `text` begins with which they are."""
    return Note(code, severity, f"in {n:,} of {format_query_count(of)}{text}", n, count=n)


def select_list_notes(notes: Iterable[Note]) -> Iterator[Note]:
    """Yield the notes that cells of lists became several documents."""
    yield from (note for note in notes if note.code == "list-cells")


def distance_note(column: str) -> Note:
    """Return the note that a run is ranked by the distances in a column."""
    text = f"Ranked by distance, the lowest first (column {column!r:.60})."
    return Note("distance", "info", text)


def duplicates_note(side: str, repeats: FaultyRows, duplicates: Duplicates) -> Note:
    """Return the note on rows of a side that repeat a document, and on the rule for them."""
    action = {
        "first": "the first of each is kept",
        "best": "the best of each is kept",
        "once": "each has its rank, and the best one counts",
        "each": "each counts at its rank, and values may be above 1",
        "joined": "each counts at its rank, and once more among the relevant",
    }
    example = str(repeats.first_error()).split("\n")[0]
    n_rows = format_count(repeats.count, "row")
    text = (
        f"Documents occur more than once in {side}, in {n_rows} too many: "
        f"{action[duplicates]} (duplicates={duplicates!r}); the first: {example}"
    )
    return Note("duplicates", "info", text, count=repeats.count)


def no_judged_doc_note(
    affix: str | None, severity: Severity = "warning", *, all_queries: bool = True
) -> Note:
    """Return the note that no judged document was retrieved; `affix` is from `describe_affix`.

    `all_queries`: the note is on all queries of a run, not on one query, where it is likely.
    """
    if affix is None and not all_queries:
        return Note("nothing-judged", "info", "Not one judged document was retrieved.")
    because = affix or "are the ids of the same collection, and of documents, not of their parts?"
    text = f"not one judged document was retrieved: {because}"
    return Note("nothing-judged" if affix is None else "affix", severity, text)


def describe_affix(judged_ids: Iterable[str], run_ids: Iterable[str]) -> str | None:
    """Return a sentence on a prefix or suffix by which the ids of two sides differ, or None.

    Compared are the first thousand of each; ids that differ in digits alone are different ids.

    >>> print(describe_affix(["d22", "d7"], ["d22.md", "d7.md"]))
    ids match except for '.md' behind those of the run: the run has 'd22.md', the qrels 'd22'
    """
    judged, run_id_list = _first_ids(judged_ids), _first_ids(run_ids)
    for side, short_ids, long_ids in (("run", judged, run_id_list), ("qrels", run_id_list, judged)):
        cuts_of_affix = defaultdict[tuple[str, str], list[tuple[str, str, str]]](list)
        for long_id in long_ids:
            for position, short_id, affix in _cut_id(long_id):
                if short_id in short_ids and not affix.isdigit():
                    shape = re.sub(r"\d+", "0", affix)  # parts of a document are numbered
                    cuts_of_affix[position, shape].append((long_id, short_id, affix))
        affixes = sorted(cuts_of_affix.items(), key=lambda pair: -len(pair[1]))
        for (position, shape), examples in affixes:
            sign, n = shape[0] if position == "behind" else shape[-1], len(examples)
            has_sign = not sign.isalnum() and (n > 1 or n == len(long_ids))
            if n >= _MIN_SHARED_AFFIXES or has_sign:
                long_id, short_id, affix = examples[0]
                run, judgment = (long_id, short_id) if side == "run" else (short_id, long_id)
                are_chunks = side == "run" and position == "behind" and affix[-1].isdigit()
                return (
                    f"ids match except for {affix!r} {position} those of the {side}: the run has "
                    f"{run!r}, the qrels {judgment!r}"
                    + (_chunks_hint(short_id, affix) if are_chunks else "")
                )
    return None


def no_common_query_error(
    run_name: str,
    run_queries: Sequence[str],
    source_name: str,
    source_queries: Sequence[str],
    source: str | None,
) -> NothingSharedError:
    """Return the error that a run and another collection, `source_name`, share no query."""
    hint = "Are they of the same collection, and written in the same way?"
    query_of_plain_id = {normalize_id(query): query for query in source_queries}
    respelt_queries = (query for query in run_queries if normalize_id(query) in query_of_plain_id)
    run_query, query = next(respelt_queries, run_queries[0]), source_queries[0]
    if normalize_id(run_query) in query_of_plain_id:
        query, hint = query_of_plain_id[normalize_id(run_query)], SPELLING
    return NothingSharedError(
        f"the run {run_name!r} and {source_name} share no query: the run has for instance "
        f"{run_query!r}, {source_name} {query!r}",
        source=source,
        hint=hint,
    )


SPELLING = (
    "They differ only in blanks, capitals, leading zeros or a decimal point: write them "
    "alike. (A column of numbers with gaps becomes 1.0, 2.0, ... in many tools.)"
)


def normalize_id(text: str) -> str:
    """Return an id without blanks around it, capitals, leading zeros and a decimal point."""
    text = text.strip().casefold()
    number = re.fullmatch(r"0*(\d+)(?:\.0*)?", text)
    return number[1] if number else text


def _chunks_hint(document: str, affix: str) -> str:
    """Return a hint how to map chunks to documents, if chunk ids are document ids with a suffix."""
    from cranfield.data.chunks import prefix_pattern

    if affix[0].isalnum():
        python_call, command_option = "Run.map_docs", "--map-docs-pattern"
    else:
        sign = affix[0]
        pattern = f"^(.*){re.escape(sign)}" if sign in document else prefix_pattern(sign)
        python_call = f"Run.map_docs({pattern!r})"
        command_option = f"--map-docs-pattern '{pattern}'"
    return f"; if these are chunks, {python_call} ({command_option}) makes documents of them"


def _first_ids(ids: Iterable[str]) -> dict[str, None]:
    short_ids = (identifier for identifier in ids if len(identifier) <= _MAX_ID_LENGTH)
    return dict.fromkeys(islice(short_ids, _MAX_IDS))


def _cut_id(identifier: str) -> Iterator[tuple[str, str, str]]:
    """Yield ("behind" or "before", the id without affix, the affix) for all ways to cut an id."""
    for i in range(1, len(identifier)):
        yield "behind", identifier[:i], identifier[i:]
        yield "before", identifier[i:], identifier[:i]
