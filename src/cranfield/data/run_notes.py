"""Notes about a run: what makes its numbers misleading, and can be seen while it is read."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from cranfield.arrays.ranked import Floats, Ints
from cranfield.formats.block import Duplicates, LeftOut
from cranfield.notes import Note, Severity
from cranfield.render.numbers import number_of, queries_of

_LIKE_RANKS = 3  # the fewest documents whose scores 1, 2, 3 are taken for ranks
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
    """Tell whether the scores of a query, in the order of its rows, are 1, 2, 3 or 0, 1, 2, ....

    A list of one document or none says nothing, and passes.
    """
    n = len(scores)
    if n < 2:
        return True
    first = float(scores[0])
    if first not in (0.0, 1.0) or scores[-1] != first + n - 1:
        return False
    return bool((scores[1:] - scores[:-1] == 1).all())


@dataclass
class Look:
    """How the scores of some queries look beside the rank column, or as if they were ranks."""

    several: int = 0  # queries of several documents
    like_ranks: int = 0  # of these: whose scores are 1, 2, 3, ...
    longest: int = 0  # documents of a query
    has_ranks: bool = False  # whether the rank column distinguishes documents
    against: int = 0  # queries whose ranks contradict their scores
    row: int | None = None  # the first row where they do

    @classmethod
    def at(cls, starts: Ints, scores: Floats, rank: Ints | None) -> "Look":
        """Look at rows of whole queries, which begin at `starts`; there is one more at the end."""
        counts, bounds = np.diff(starts), pairwise(starts.tolist())
        look = cls(
            int(np.count_nonzero(counts > 1)),
            sum(end - begin > 1 and are_ranks(scores[begin:end]) for begin, end in bounds),
            int(counts.max(initial=0)),
        )
        if rank is not None:
            group = np.repeat(np.arange(len(counts)), counts)
            look.has_ranks = bool(((group[1:] == group[:-1]) & (rank[1:] != rank[:-1])).any())
            wrong = contradicted(group, rank, scores)
            look.against = len(set(group[wrong].tolist()))
            look.row = int(wrong[0]) if len(wrong) else None
        return look

    def __add__(self, other: "Look") -> "Look":
        return Look(
            self.several + other.several,
            self.like_ranks + other.like_ranks,
            max(self.longest, other.longest),
            self.has_ranks or other.has_ranks,
            self.against + other.against,
        )

    def notes(self, *, whole: bool = True) -> Iterator[Note]:
        """Say in how many queries ranks contradict scores, or that scores seem to be ranks.

        `whole`: whether all of the run was looked at, not its beginning. Scores that are ranks in
        fewer than most queries, or in lists of two documents or less, tell nothing.
        """
        if self.against:
            where = "" if whole else " at the beginning of the run"
            yield Note(
                "ranks",
                "warning",
                f"in {self.against:,} of {queries_of(self.several)}{where}, the rank column "
                "contradicts the scores: by default scores decide; order='rank' (--order rank) "
                "takes the rank column",
                self.against,
                count=self.against,
            )
        elif not self.has_ranks and self.longest >= _LIKE_RANKS and self.mostly_ranks:
            yield Note(
                "ranks-as-scores",
                "warning",
                f"in {self.like_ranks:,} of {queries_of(self.several)} with several documents, the "
                "scores rise by 1 from row to row, as ranks do, and the highest score comes first: "
                "are they ranks? order='given' (--order given) takes the rows in their order, "
                "columns={'rank': ...} (--run-columns rank=...) names a column of ranks",
                self.like_ranks,
                count=self.like_ranks,
            )

    @property
    def mostly_ranks(self) -> bool:
        """Whether the scores are 1, 2, 3, ... in most of the queries of several documents."""
        return mostly(self.like_ranks, self.several)


def mostly(n: int, of: int) -> bool:
    """Tell whether something holds in so many of the queries that the others are exceptions."""
    return n > 0 and 10 * n >= 9 * of


def level_scores(n: int, of: int, severity: Severity = "warning") -> Note:
    """Say in how many of the queries with several documents all scores are equal."""
    where = f"{n:,} of {queries_of(of)} with several documents"
    text = f"in {where}, all scores are equal: the ranking is that of the document ids"
    return Note("level-scores", severity, text, n, count=n)


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
