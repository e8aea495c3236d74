"""Notes about a run: what makes its numbers misleading, and can be seen while it is read."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from cranfield.arrays.ranked import Floats, Ints
from cranfield.errors import NothingSharedError, printable
from cranfield.formats.block import Duplicates, LeftOut, Role, Rows
from cranfield.notes import Note, Severity
from cranfield.render.numbers import number_of, queries_of

_LIKE_RANKS = 3  # the fewest documents whose scores 1, 2, 3 are taken for ranks
_FEW = 5  # queries, in fewer of which a shape may come by chance
_SHARED_AFFIXES = 3  # how many ids differ by the same letters, where no sign parts them
_LONGEST = 200  # characters of an id that are looked at
_MOST = 1_000  # ids of a side that are looked at


def contradicted(group: Ints, rank: Ints, scores: Floats) -> Ints:
    """Return the rows whose score is above that of a row of the same group with a better rank.

    `group`, `rank` and `scores` are (rows,); compared are neighbours in the order of the ranks.
    """
    order = np.lexsort((rank, group))
    upper, lower = order[:-1], order[1:]
    wrong = (group[upper] == group[lower]) & (rank[upper] < rank[lower])
    wrong &= scores[upper] < scores[lower]
    found: Ints = lower[wrong]
    return found


def are_ranks(scores: Floats) -> bool:
    """Tell whether the scores of a query are 1, 2, 3, ... or 0, 1, 2, ..., in any order.

    A list of one document or none says nothing, and passes.
    """
    n = len(scores)
    if n < 2:
        return True
    first = float(scores.min())
    is_range = first in (0.0, 1.0) and scores.max() == first + n - 1
    return is_range and bool((np.sort(scores) == np.arange(first, first + n)).all())


@dataclass
class Look:
    """How the scores of some queries look beside the rank column; as ranks, or as distances."""

    several: int = 0  # queries of several documents
    like_ranks: int = 0  # of these: whose scores are 1, 2, 3, ..., in any order
    n_falling: int = 0  # of these: whose scores fall from row to row, as n - rank does
    longest: int = 0  # documents of a query
    n_long: int = 0  # queries of three documents or more
    n_rising: int = 0  # of these: whose scores rise, and never fall from row to row
    n_strict: int = 0  # of these: whose scores rise with each row
    has_ranks: bool = False  # whether the rank column distinguishes documents
    against: int = 0  # queries whose ranks contradict their scores
    row: int | None = None  # the first row where they do

    @classmethod
    def at(cls, starts: Ints, scores: Floats, rank: Ints | None) -> "Look":
        """Look at rows of whole queries, which begin at `starts`; there is one more at the end."""
        counts = np.diff(starts)
        group = np.repeat(np.arange(len(counts)), counts)
        is_pair, lower = group[1:] == group[:-1], group[1:]
        n_rises, n_falls = (
            np.bincount(lower[is_pair & steps], minlength=len(counts))
            for steps in (scores[1:] > scores[:-1], scores[1:] < scores[:-1])
        )
        is_long = counts >= _LIKE_RANKS
        bounds = pairwise(starts.tolist())
        like_ranks = [end - begin > 1 and are_ranks(scores[begin:end]) for begin, end in bounds]
        look = cls(
            several=int(np.count_nonzero(counts > 1)),
            like_ranks=sum(like_ranks),
            n_falling=int(np.count_nonzero(np.array(like_ranks, bool) & (n_falls == counts - 1))),
            longest=int(counts.max(initial=0)),
            n_long=int(np.count_nonzero(is_long)),
            n_rising=int(np.count_nonzero(is_long & (n_falls == 0) & (n_rises > 0))),
            n_strict=int(np.count_nonzero(is_long & (n_rises == counts - 1))),
        )
        if rank is not None:
            look.has_ranks = bool((is_pair & (rank[1:] != rank[:-1])).any())
            wrong = contradicted(group, rank, scores)
            look.against = len(set(group[wrong].tolist()))
            look.row = int(wrong[0]) if len(wrong) else None
        return look

    def __add__(self, other: "Look") -> "Look":
        return Look(
            self.several + other.several,
            self.like_ranks + other.like_ranks,
            self.n_falling + other.n_falling,
            max(self.longest, other.longest),
            self.n_long + other.n_long,
            self.n_rising + other.n_rising,
            self.n_strict + other.n_strict,
            self.has_ranks or other.has_ranks,
            self.against + other.against,
        )

    def notes(
        self,
        rows: Rows | None = None,
        *,
        whole: bool = True,
        severity: Severity = "warning",
    ) -> Iterator[Note]:
        """Say in how many queries ranks contradict scores, or that scores seem to be others.

        `rows` are those of the run; None: of a dict. `whole`: whether all of the run was looked at,
        not its beginning. `severity`: of scores that seem to be ranks or distances. Scores that are
        ranks in fewer than most queries, or in lists of two documents or less, tell nothing.
        """
        where = "" if whole else " at the beginning of the run"
        if self.against:
            yield Note(
                "ranks",
                "warning",
                f"in {self.against:,} of {queries_of(self.several)}{where}, the rank column "
                "contradicts the scores: by default scores decide; order='rank' (--order rank) "
                "takes the rank column",
                self.against,
                count=self.against,
            )
        elif not self.has_ranks and self.mostly_ranks:
            remedy = restate_scores(rows, "rank") or "minus the rank as the score"
            if mostly(self.n_rising, self.n_long):
                kind = "rise by 1 from row to row, as ranks do"
                remedy = f"order='given' (--order given) takes the rows in their order, {remedy}"
            else:
                kind = "are whole numbers that count the documents, as ranks do"
            text = (
                f"in {self.like_ranks:,} of {queries_of(self.several)}{where} with several "
                f"documents, the scores {kind}, and the highest score comes first: are they ranks? "
                f"{remedy} takes the lowest first"
            )
            yield Note("ranks-as-scores", severity, text, self.like_ranks, count=self.like_ranks)
        elif not self.has_ranks and self.mostly_rise:
            if rows is None or rows.distance is None:
                kind, meaning, best, role = "scores rise", "distances", "lowest", "distance"
            else:
                kind, meaning, best, role = "distances fall", "similarities", "highest", "score"
            remedy = restate_scores(rows, role) or "minus the distance as the score"
            text = (
                f"in {self.n_rising:,} of {queries_of(self.n_long)}{where} with three documents or "
                f"more, the {kind} from row to row, and what comes last is ranked first: are they "
                f"{meaning}? {remedy} takes the {best} first"
            )
            yield Note("scores-rise", severity, text, self.n_rising, count=self.n_rising)

    @property
    def mostly_ranks(self) -> bool:
        """Whether the scores are 1, 2, 3, ... in most of the queries of several documents.

        Not if they fall from row to row in most of these: then the highest is the best one. In
        another order than that of the rows, one query of three documents may be so by chance.
        """
        if not self.n_long or (self.n_long == 1 and not self.n_rising):
            return False
        return mostly(self.like_ranks, self.several) and not mostly(self.n_falling, self.several)

    @property
    def mostly_rise(self) -> bool:
        """Whether the scores rise in most of the queries of three documents, and in two or more.

        In few of these, equal scores may be in this order by chance, and rise with each row.
        """
        n = self.n_strict if self.n_long < _FEW else self.n_rising
        return self.n_rising > 1 and mostly(n, self.n_long)


def restate_scores(rows: Rows | None, role: Role) -> str | None:
    """Return how to state a run's column of scores, or of distances, as another role.

    None for a run without columns, as a dict is.
    """
    if rows is None:
        return None
    number = "score" if rows.distance is None else "distance"
    if number in rows.taken:
        import shlex

        name = rows.taken[number]
        option = shlex.quote(f"{role}={printable(name)}")
        return f"columns={{{role!r}: {name!r}}} (--columns {option})"
    names = rows.form.partition(": ")[2].split()  # as TREC's form has them
    if number not in names:
        return None
    ids = {name: names.index(name) + 1 for name in ("query_id", "doc_id")}
    places = {**ids, role: names.index(number) + 1}
    option = ",".join(f"{name}={place}" for name, place in places.items())
    return f"columns={{'run': {places!r}}} (--run-columns {option})"


def mostly(n: int, of: int) -> bool:
    """Tell whether something holds in so many of the queries that the others are exceptions."""
    return n > 0 and 10 * n >= 9 * of


def level_scores(n: int, of: int, severity: Severity = "warning") -> Note:
    """Say in how many of the queries with several documents all scores are equal."""
    where = f"{n:,} of {queries_of(of)} with several documents"
    text = f"in {where}, all scores are equal: the ranking is that of the document ids"
    return Note("level-scores", severity, text, n, count=n)


def distance_note(column: str) -> Note:
    """Say that a run is ranked by the distances in a column."""
    text = f"Ranked by distance, the lowest first (column {column!r:.60})."
    return Note("distance", "info", text)


def duplicates_of(name: str, rows: LeftOut, how: Duplicates) -> Note:
    """Say how many rows of `name` have a document that another row has, and what was done."""
    done = {
        "first": "the first of each is kept",
        "best": "the best of each is kept",
        "once": "each has its rank, and the best one counts",
        "each": "each counts at its rank, and values may be above 1",
        "joined": "each counts at its rank, and once more among the relevant",
    }
    example = str(rows.first()).split("\n")[0]
    text = (
        f"Documents occur more than once in {name}, in {number_of(rows.count, 'row')} too many: "
        f"{done[how]} (duplicates={how!r}); the first: {example}"
    )
    return Note("duplicates", "info", text, count=rows.count)


def nothing_judged(
    affix: str | None, severity: Severity = "warning", *, whole: bool = True
) -> Note:
    """Say that not one judged document was retrieved, and why, if that is known: `other_affix`.

    `whole`: for a whole run, which is hardly meant; for one query it may well be so.
    """
    if affix is None and not whole:
        return Note("nothing-judged", "info", "Not one judged document was retrieved.")
    because = affix or "are the ids of the same collection, and of documents, not of their parts?"
    text = f"not one judged document was retrieved: {because}"
    return Note("nothing-judged" if affix is None else "affix", severity, text)


def other_affix(judged: Iterable[str], retrieved: Iterable[str]) -> str | None:
    """Say that ids of two sides are the same, except for what one side has before or behind them.

    Looked at are the first thousand of each; ids that differ in digits alone are different ids.

    >>> print(other_affix(["d22", "d7"], ["d22.md", "d7.md"]))
    ids match except for '.md' behind those of the run: the run has 'd22.md', the qrels 'd22'
    """
    mine, theirs = _first(judged), _first(retrieved)
    for side, inner, outer in (("run", mine, theirs), ("qrels", theirs, mine)):
        found: Counter[tuple[str, str]] = Counter()
        example: dict[tuple[str, str], tuple[str, str, str]] = {}
        for whole in outer:
            for where, part, affix in _parts(whole):
                if part in inner and not affix.isdigit():
                    kind = where, re.sub(r"\d+", "0", affix)  # parts of a document are numbered
                    found[kind] += 1
                    example.setdefault(kind, (whole, part, affix))
        for kind, n in found.most_common():
            where, shape = kind
            joint = shape[0] if where == "behind" else shape[-1]
            by_sign = not joint.isalnum() and (n > 1 or n == len(outer))
            if n >= _SHARED_AFFIXES or by_sign:
                whole, part, affix = example[kind]
                run, judgment = (whole, part) if side == "run" else (part, whole)
                chunks = side == "run" and where == "behind" and affix[-1].isdigit()
                return (
                    f"ids match except for {affix!r} {where} those of the {side}: the run has "
                    f"{run!r}, the qrels {judgment!r}" + (_of_chunks(part, affix) if chunks else "")
                )
    return None


def no_common_query(
    run_name: str,
    run_queries: Sequence[str],
    other: str,
    queries: Sequence[str],
    source: str | None,
) -> NothingSharedError:
    """Return the error of a run and something else, `other`, that have no query in common."""
    hint = "Are they of the same collection, and written in the same way?"
    query_of_plain_id = {plain_id(query): query for query in queries}
    spelt_otherwise = (query for query in run_queries if plain_id(query) in query_of_plain_id)
    run_query, query = next(spelt_otherwise, run_queries[0]), queries[0]
    if plain_id(run_query) in query_of_plain_id:
        query, hint = query_of_plain_id[plain_id(run_query)], SPELLING
    return NothingSharedError(
        f"the run {run_name!r} and {other} share no query: the run has for instance "
        f"{run_query!r}, {other} {query!r}",
        source=source,
        hint=hint,
    )


SPELLING = (
    "They differ only in blanks, capitals, leading zeros or a decimal point: write them "
    "alike. (A column of numbers with gaps becomes 1.0, 2.0, ... in many tools.)"
)


def plain_id(text: str) -> str:
    """Return an id without blanks around it, capitals, leading zeros and a decimal point."""
    text = text.strip().casefold()
    number = re.fullmatch(r"0*(\d+)(?:\.0*)?", text)
    return number[1] if number else text


def _of_chunks(document: str, affix: str) -> str:
    """Return how to make documents of chunks, whose ids have an affix behind the document's."""
    from cranfield.data.chunks import before_sign

    if affix[0].isalnum():
        python, typed = "Run.map_docs", "--map-docs-pattern"
    else:
        sign = affix[0]
        pattern = f"^(.*){re.escape(sign)}" if sign in document else before_sign(sign)
        python, typed = f"Run.map_docs({pattern!r})", f"--map-docs-pattern '{pattern}'"
    return f"; if these are chunks, {python} ({typed}) makes documents of them"


def _first(ids: Iterable[str]) -> dict[str, None]:
    found: dict[str, None] = {}
    for one in ids:
        if len(one) <= _LONGEST:
            found[one] = None
        if len(found) == _MOST:
            break
    return found


def _parts(whole: str) -> Iterator[tuple[str, str, str]]:
    """Yield (where the rest is, a part of the id, the rest) for all ways to cut it in two."""
    for i in range(1, len(whole)):
        yield "behind", whole[:i], whole[i:]
        yield "before", whole[i:], whole[:i]
