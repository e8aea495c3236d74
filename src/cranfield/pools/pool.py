"""pool: what people should label, all of it or a part drawn by chance, as a file to fill in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, Unpack

import numpy as np

from cranfield.arrays.ids import encode
from cranfield.arrays.ranked import Bools, Floats
from cranfield.comparison.flips import SEED
from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.errors import InputError, OptionError, printable
from cranfield.formats.columns import COLUMNS
from cranfield.fusion.fuse import fuse
from cranfield.measures import parse
from cranfield.notes import Note
from cranfield.options import Options, option, refuse_others, takes, whole
from cranfield.pools.deciding import deciding
from cranfield.progress import Watching, steps, watched
from cranfield.render.numbers import number_of, signed
from cranfield.render.shown import Shown
from cranfield.render.table import Table
from cranfield.scoring.arguments import Reading, arranged
from cranfield.scoring.evaluate import HowOptions
from cranfield.version import __version__

By = Literal["depth", "fusion", "rbp", "decide", "chance"]
Draw = Literal["documents", "queries"]
Likely = Literal["equal", "rank"]


@dataclass(frozen=True, kw_only=True)
class PoolSettings(Options):
    """What is pooled, and what is drawn from it."""

    by: By = option(
        "depth",
        'What to label. "depth": all documents in the first k of any run. "fusion": the first k of '
        'the runs fused by reciprocal ranks; "rbp": those with the greatest weight in all runs by '
        'RBP, with p = 0.8. "decide": unjudged documents of two runs, in the order in which they '
        'narrow what their difference may be. "chance": of the first, a part drawn by chance, '
        "whose probabilities are stated.",
    )
    k: int = option(
        10,
        "How deep the pool is: the first k documents of each run, or of the runs fused. At least "
        "the cutoff of the measures to come.",
        whole(1),
    )
    n: int | None = option(
        None,
        "With chance: how many documents, or queries, to draw. With decide: how many of the first.",
        whole(1),
    )
    measure: str | None = option(
        None, "With decide: the measure of the difference. [default: nDCG@10]"
    )
    draw: Draw = option(
        "documents",
        'With chance: "documents" draws single ones, for measures that add documents up, as P@10 '
        'and DCG. "queries" draws whole queries, all pooled documents of which are to be labelled, '
        "for any measure.",
    )
    likely: Likely = option(
        "equal",
        'How likely a document is to be drawn: all "equal"; or by "rank", those near the top of a '
        "run more likely (by 1 / log2(best rank + 1)).",
    )
    unjudged: bool = option(False, "Leave out documents that the judgments judge.")
    seed: int = option(SEED, "The same seed draws the same by chance.", whole(0))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.by == "chance" and self.n is None:
            raise OptionError("by='chance' draws n documents or queries: state n (-n 200)")
        if self.by not in ("chance", "decide") and self.n is not None:
            raise OptionError(f"n={self.n} is drawn by chance: state by='chance', too")
        if self.by != "decide" and self.measure is not None:
            raise OptionError(
                f"measure={self.measure!r:.40} says by what two runs differ: state by='decide', too"
            )
        if self.by == "decide" and self.unjudged:
            raise OptionError("by='decide' takes unjudged documents alone: leave unjudged out")
        if self.by != "chance" and (self.draw != "documents" or self.likely != "equal"):
            raise OptionError("draw and likely say what is drawn by chance: state by='chance', too")
        if self.draw == "queries" and self.likely != "equal":
            raise OptionError("likely='rank' applies to documents: queries are equally likely")


# ---- made from the families by scripts/make_docs.py


class PoolSettingsOptions(TypedDict, total=False):
    """The options of PoolSettings, as keywords of a function."""

    by: By
    k: int
    n: int | None
    measure: str | None
    draw: Draw
    likely: Likely
    unjudged: bool
    seed: int


# ---- end


class PoolOptions(PoolSettingsOptions, HowOptions, total=False):
    """The options of `pool`, as keywords."""


@dataclass(frozen=True, eq=False, repr=False)
class Pool(Shown):
    """What people should label: a row for each document, with the place for its grade.

    `to_csv()`, or the command's `-o labels.csv`, is the file for labelling: fill in the column
    `relevance`, and read it as judgments. `probability` is that of a document to be drawn,
    `query_probability` that of its query; without chance there is neither. The rows of a query are
    in an order by chance, which hides what is ranked high.

    >>> from cranfield import pool
    >>> runs = {"a": {"q1": ["d1", "d2"], "q2": ["d3"]}, "b": {"q1": ["d2", "d4"], "q2": ["d3"]}}
    >>> found = pool({"q1": {"d1": 1}, "q2": {"d3": 1}}, runs, by="chance", n=2)
    >>> len(found.rows()), found.n_pooled, found.rows()[0]["probability"]
    (2, 4, 0.5)
    """

    query_ids: Sequence[str]  # of each row
    doc_ids: Sequence[str]
    probability: Sequence[float] | None  # of each row
    settings: PoolSettings
    n_queries: int  # with a pooled document
    n_pooled: int  # documents
    recipe: Mapping[str, Any]
    notes: tuple[Note, ...] = ()

    @property
    def header(self) -> tuple[str, ...]:
        """The columns of the file for labelling."""
        drawn = {"documents": "probability", "queries": "query_probability"}[self.settings.draw]
        roles = ("query", "doc", "grade", *([] if self.probability is None else [drawn]))
        return tuple(COLUMNS[role].public for role in roles)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each document to label; the grade is None, to be filled in."""
        columns: list[Sequence[Any]] = [self.query_ids, self.doc_ids, [None] * len(self.doc_ids)]
        if self.probability is not None:
            columns.append(self.probability)
        return self._dicts(zip(*columns, strict=True))

    def tables(self) -> list[Table]:
        """Return a table that counts what is pooled, and what is to be labelled."""
        n = len(dict.fromkeys(self.query_ids))
        rows = [
            ["queries", f"{self.n_queries:,}", f"{n:,}"],
            ["documents", f"{self.n_pooled:,}", f"{len(self.doc_ids):,}"],
        ]
        below = [str(one) for one in self.notes]
        how = {"fusion": " by their fusion", "rbp": " by RBP"}.get(self.settings.by, "")
        n_runs = number_of(len(self.recipe["runs"]), "run")
        title = [f"Pool of {n_runs}{how}, {self.settings.k} deep"]
        if self.settings.by == "decide":
            title = ["What decides between two runs: unjudged documents, the weightiest first"]
        return [Table(["", "pooled", "to label"], rows, below, title=title)]

    def to_dict(self) -> dict[str, Any]:
        """Return the rows, and what is needed to draw them again."""
        return {
            "settings": vars(self.settings),
            "recipe": dict(self.recipe),
            "queries": self.n_queries,
            "documents": self.n_pooled,
            "rows": self.rows(),
            "notes": [one.to_dict() for one in self.notes],
        }


# What does not change which documents a run has on top: without it, a pool is made.
NOT_POOLED = ("queries", "judged_only", "unretrieved", "depth", "overlap")


@watched
@takes(PoolSettings, Reading, Judging, Watching, without=NOT_POOLED)
def pool(qrels: Any, runs: Any, **options: Unpack[PoolOptions]) -> Pool:
    """Return which documents people should label: a pool, or a part of it drawn by chance.

    A pool is what any of the runs has in its first k, for each query of the judgments; or, with a
    given number of documents for each query, the first k of the runs fused. Drawn by
    chance, labels of a part are enough to estimate means and differences without bias: see
    `prediction_powered`, and `statAP` for judgments that are a sample. Exactly n are drawn, each
    with its stated probability (systematic sampling from an order by chance; Madow, Annals of
    Mathematical Statistics 1949). What is drawn depends on the seed and on what is pooled, not on
    the order of runs or rows.

    With "decide", the unjudged documents of two runs are in the order in which they narrow the
    bounds of the difference (`joint_bounds`), as deep as the measure looks. The notes say how many
    it takes, if they turn out not relevant, until no other judgment can change which run is better.

    Args:
        qrels: the judgments, such as a model's labels: their queries are pooled.
        runs: one run or several, as `evaluate` takes them.
        **options: each option of `PoolSettings`, of `Reading`, and of `Judging` that says how a run
            is ranked.

    Returns:
        A Pool: its rows are the file to be labelled.

    Raises:
        InputError: nothing is pooled, or what `evaluate` refuses.
        OptionError: an option with an impossible value, or without effect.

    >>> runs = [{"q1": ["d1", "d2", "d3"]}, {"q1": ["d2", "d4", "d1"]}]
    >>> sorted(row["doc_id"] for row in pool({"q1": {"d1": 1}}, runs, k=2, unjudged=True).rows())
    ['d2', 'd4']

    """
    refuse_others(pool, options)
    settings, judging = PoolSettings.of(options), Judging.of(options)
    judgments, named, _ = arranged(
        *(qrels, runs, None, None),
        columns=Reading.of(options).columns,
        duplicates=judging.duplicates,
        verb=pool,
    )
    several = {named.name: named} if isinstance(named, Run) else named
    if settings.by == "decide":
        return _deciding(judgments, several, settings, judging)
    pooled = _pooled(judgments, _sources(several, settings.by, judging), settings, judging)
    query_ids = sorted((one for one in pooled if pooled[one]), key=encode)
    every = [
        (query, doc, rank)
        for query in query_ids
        for doc, rank in sorted(pooled[query].items(), key=lambda one: encode(one[0]))
    ]
    if not every:
        raise InputError(
            f"nothing is left to label: no run has an unjudged document in its first {settings.k}"
            if settings.unjudged
            else "the runs and the judgments share no query"
        )
    generator = np.random.default_rng(settings.seed)
    shuffled = generator.random(len(every))
    chosen, chance = _chosen(every, query_ids, settings, generator)
    rows = sorted(np.flatnonzero(chosen).tolist(), key=lambda i: (encode(every[i][0]), shuffled[i]))
    return Pool(
        [every[i][0] for i in rows],
        [every[i][1] for i in rows],
        None if chance is None else chance[rows].tolist(),
        settings,
        len(query_ids),
        len(every),
        {"cranfield": __version__, "runs": list(several), **judging.unusual()},
        tuple(_notes(settings, len(every), len(query_ids), len(judgments.query_ids))),
    )


def _deciding(
    judgments: Qrels, runs: Mapping[str, Run], settings: PoolSettings, judging: Judging
) -> Pool:
    """Return the unjudged documents that decide between two runs, in their order."""
    if len(runs) != 2:
        raise InputError(f"by='decide' takes two runs, and there are {len(runs):,}")
    measure = parse(settings.measure or "nDCG@10")
    found = deciding(judgments, runs, measure, judging)
    n = len(found.documents)
    first = found.documents[: settings.n]
    left, right = map(printable, runs)
    better, worse = (left, right) if found.difference > 0 else (right, left)
    text = (
        f"{measure} of {left} minus {right}: {signed(found.difference)}; from "
        f"{signed(found.low)} to {signed(found.high)} for all ways to grade the {n:,} unjudged."
    )
    notes = [Note("bounds", "info", text, count=n)]
    if found.is_certain:
        text = "No judgment can change which is better."
    elif found.enough is None:
        text = "Even if all of them turn out not relevant, the sign may stay open."
    else:
        text = (
            f"If the first {found.enough:,} turn out not relevant, no other judgment can change "
            f"that {better} is better than {worse}. Judge some, merge them (Qrels.merge, convert "
            "--merge), and ask again."
        )
    notes.append(Note("decided", "info", text, count=found.enough))
    notes.append(_TO_LABEL)
    recipe = {"cranfield": __version__, "runs": list(runs), "measure": str(measure)}
    return Pool(
        [query for query, _ in first],
        [doc for _, doc in first],
        None,
        settings,
        len({query for query, _ in found.documents}),
        n,
        {**recipe, **judging.unusual()},
        tuple(notes),
    )


_TO_LABEL = Note(
    "to-label",
    "info",
    "Fill in the column relevance of the file (-o labels.csv), and read it as judgments.",
)


def _sources(runs: Mapping[str, Run], by: By, judging: Judging) -> Mapping[str, Run]:
    """Return the runs of which the first documents are pooled: these, or one made of them.

    The weight of a document by RBP is that of rank-biased centroids, `rbc` (Moffat, Webber & Zobel,
    SIGIR 2007: their method of summing, by which a pool of a given size is the best of its kind).
    """
    if by not in ("fusion", "rbp"):
        return runs
    kept = {name: value for name, value in judging.unusual().items() if name in _OF_FUSION}
    made = fuse(runs, "rrf" if by == "fusion" else "rbc", **kept)
    return {made.name: made}


_OF_FUSION = ("order", "ties", "duplicates")


def _pooled(
    judgments: Qrels, runs: Mapping[str, Run], settings: PoolSettings, judging: Judging
) -> dict[str, dict[str, int]]:
    """Return {query: {document: its best rank in any run}}."""
    query_ids = list(judgments.query_ids)
    found: dict[str, dict[str, int]] = {query: {} for query in query_ids}
    for run in steps(runs.values(), "pooling"):
        rankings = run.rankings(query_ids, judging)
        for query in query_ids:
            its = found[query]
            for rank, doc in enumerate(rankings[query].of(query).docs[: settings.k], 1):
                its[doc] = min(rank, its.get(doc, rank))
    if settings.unjudged:
        for query, docs in zip(query_ids, judgments.doc_lists, strict=True):
            for doc in docs:
                found[query].pop(doc, None)
    return found


def _chosen(
    every: Sequence[tuple[str, str, int]],
    query_ids: Sequence[str],
    settings: PoolSettings,
    generator: np.random.Generator,
) -> tuple[Bools, Floats | None]:
    """Return which documents are to be labelled, and with which probability each was drawn."""
    if settings.by != "chance" or settings.n is None:
        return np.ones(len(every), np.bool_), None
    if settings.draw == "queries":
        place = {query: i for i, query in enumerate(query_ids)}
        at = np.array([place[query] for query, _, _ in every])
        chance = chances(np.ones(len(query_ids)), settings.n)
        return drawn(chance, generator)[at], chance[at]
    ranks = np.array([rank for _, _, rank in every])
    size = np.ones(len(every)) if settings.likely == "equal" else 1 / np.log2(ranks + 1)
    chance = chances(size, settings.n)
    return drawn(chance, generator), chance


def chances(size: Floats, n: int) -> Floats:
    """Return probabilities proportional to sizes that add up to n, and are 1 at most.

    >>> chances(np.array([1.0, 1.0, 2.0, 16.0]), 2).tolist()
    [0.25, 0.25, 0.5, 1.0]
    """
    found = np.ones(len(size))
    open_, left = np.ones(len(size), np.bool_), min(n, len(size))
    while left > 0 and open_.any():
        found[open_] = size[open_] * (left / size[open_].sum())
        above = open_ & (found >= 1)
        if not above.any():
            break
        found[above] = 1.0
        open_ &= ~above
        left -= int(np.count_nonzero(above))
    return found


def drawn(chance: Floats, generator: np.random.Generator) -> Bools:
    """Draw each with its probability, as many as these add up to: (n,).

    With equal probabilities, every part of that size is as likely as any other.

    >>> int(drawn(np.array([0.5, 0.5, 1.0]), np.random.default_rng(1)).sum())
    2
    """
    order = np.argsort(generator.random(len(chance)), kind="stable")
    ends = np.cumsum(chance[order])
    if len(ends):
        ends *= round(float(ends[-1])) / ends[-1]  # rounding is to add none, and to lose none
    passed = np.floor(ends + generator.random())
    found = np.zeros(len(chance), np.bool_)
    found[order] = np.diff(passed, prepend=0) > 0
    return found


def _notes(settings: PoolSettings, n_pooled: int, n_queries: int, n_judged: int) -> list[Note]:
    """Say what to do with the rows, what they are not enough for, and where all are drawn."""
    found = []
    draws_queries = settings.by == "chance" and settings.draw == "queries"
    if draws_queries and n_queries < n_judged and not settings.unjudged:
        text = (
            f"{n_judged - n_queries:,} of {n_judged:,} queries of the judgments have no pooled "
            "document, and cannot be drawn: a mean estimated from the labels is that of the "
            "others. Leave these queries out of the judgments for it."
        )
        found.append(Note("nothing-pooled", "warning", text, n_judged - n_queries))
    elif n_queries < n_judged and not settings.unjudged:
        text = (
            f"{n_judged - n_queries:,} of {n_judged:,} queries of the judgments have no document "
            "in any run: do all name queries in the same way?"
        )
        found.append(Note("nothing-pooled", "warning", text, n_judged - n_queries))
    n_all = n_pooled if settings.draw == "documents" else n_queries
    if settings.n is not None and settings.n >= n_all:
        text = f"All {n_all:,} {settings.draw} are to be labelled: there are no more."
        found.append(Note("all-drawn", "info", text, count=n_all))
    note = _TO_LABEL
    if settings.by == "chance" and not settings.unjudged:
        how = f"{note.text[:-1]}: --human labels.csv, beside those of a model."
        note = Note(note.code, note.severity, how)
    found.append(note)
    if draws_queries and not settings.unjudged:
        text = (
            "Enough for measures of retrieved documents, such as P@10. nDCG, AP and R depend on "
            "relevant documents that no run found, too: these need labels, or such measures are "
            "estimated too high."
        )
        found.append(Note("retrieved-alone", "info", text))
    return found
