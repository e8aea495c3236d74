"""pool: what people should label: all, a part by chance, or the most useful, as a file."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, ClassVar, Literal, TypedDict, Unpack

import numpy as np

from cranfield.arrays.ids import encode
from cranfield.comparison.flips import SEED
from cranfield.data.judging import Judging
from cranfield.data.meeting import notes_on_order
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.errors import InputError, OptionError, printable
from cranfield.extensions.fusion.fuse import fuse
from cranfield.extensions.labels.label_files import argilla_records, label_studio_tasks
from cranfield.extensions.labels.pools.deciding import deciding
from cranfield.extensions.labels.pools.draw import Strata, chosen, drawn_of_strata, strata
from cranfield.extensions.labels.pools.move_to_front import next_documents
from cranfield.formats.block import Role
from cranfield.formats.columns import COLUMNS
from cranfield.formats.small.texts import DOC_TEXT, QUERY_TEXT, TextsLike, texts_of
from cranfield.measures import parse
from cranfield.notes import Note, warn_of
from cranfield.options import Options, option, refuse_others, takes, whole
from cranfield.progress import Watching, steps, watched
from cranfield.render.numbers import number_of, signed
from cranfield.render.shown import FORMS, Shown, as_json
from cranfield.render.table import Table
from cranfield.scoring.arguments import Reading, arranged
from cranfield.scoring.evaluate import HowOptions, score_runs
from cranfield.version import __version__

By = Literal["depth", "fusion", "rbp", "chance", "decide", "move-to-front"]
Draw = Literal["documents", "queries"]
Likely = Literal["equal", "rank"]
# These put unjudged documents into an order, of which n are the first.
_IN_ORDER = ("decide", "move-to-front")
NOT_DRAWN = -1  # the grade of a document of the pool that is not drawn, as sample_eval has it


@dataclass(frozen=True, kw_only=True)
class PoolSettings(Options):
    """What is pooled, and what is drawn from it."""

    by: By = option(
        "depth",
        'What to label. "depth": all documents in the first k of any run. "fusion": the first k of '
        'the runs fused by reciprocal ranks; "rbp": those with the greatest weight in all runs by '
        'RBP, with p = 0.8. "chance": of the pool by depth, a part drawn by chance, whose '
        'probabilities are stated. "decide": unjudged documents of two runs, in the order in which '
        'they narrow what their difference may be. "move-to-front": unjudged documents of the '
        "runs that found relevant ones, as far as judgments show it.",
    )
    k: int = option(
        10,
        "How deep the pool is: the first k documents of each run, or of the runs fused. At least "
        "the cutoff of the measures to come.",
        whole(1),
    )
    n: int | None = option(
        None,
        "With chance: how many documents, or queries, to draw. With decide and move-to-front: how "
        "many of the first.",
        whole(1),
    )
    strata: Strata | str | None = option(
        None,
        "With chance, in place of n: the share of documents to draw down to each rank, as in "
        "10=100%,100=10%. The rank is the best in any run; for xinfAP and statAP.",
        strata,
    )
    measure: str | None = option(
        None, "With decide: the measure of the difference. [default: nDCG@10]"
    )
    draw: Draw = option(
        "documents",
        "With chance: what is drawn. Single documents are for measures that add documents up, as "
        "P@10 and DCG; whole queries, all pooled documents of which are to be labelled, for any "
        "measure.",
    )
    likely: Likely = option(
        "equal",
        "Whether all documents are equally likely to be drawn, or those near the top of a run "
        "more. By rank, the probability is proportional to 1 / log2(best rank + 1).",
    )
    unjudged: bool = option(False, "Leave out documents that the judgments judge.")
    seed: int = option(
        SEED,
        "The same seed draws the same. With move-to-front, it says which of several runs comes "
        "first.",
        whole(0),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        by_chance = self.by == "chance"
        if by_chance and self.n is None and self.strata is None:
            raise OptionError(
                "by='chance' draws n documents or queries, or a share of each stratum: state n "
                "(-n 200) or strata"
            )
        if self.n is not None and not by_chance and self.by not in _IN_ORDER:
            ways = ", ".join(("chance", *_IN_ORDER))
            raise OptionError(f"n={self.n} applies to by={ways}, and by={self.by!r} takes all")
        if self.by != "decide" and self.measure is not None:
            raise OptionError(
                f"measure={self.measure!r:.40} says by what two runs differ: state by='decide', too"
            )
        if self.by in _IN_ORDER and self.unjudged:
            raise OptionError(f"by={self.by!r} takes unjudged documents alone: leave unjudged out")
        for name in ("k", "seed"):
            if self.by == "decide" and name in self.unusual():
                raise OptionError(
                    f"by='decide' looks as deep as the measure, and draws nothing: leave {name} out"
                )
        if not by_chance and (
            self.draw != "documents" or self.likely != "equal" or self.strata is not None
        ):
            raise OptionError(
                "draw, likely and strata say what is drawn by chance: state by='chance', too"
            )
        if self.draw == "queries" and self.likely != "equal":
            raise OptionError("likely='rank' applies to documents: queries are equally likely")
        if self.strata is None:
            return
        for name in ("n", "k", "draw", "likely"):
            if name in self.unusual():
                raise OptionError(
                    f"strata say how deep the pool is and how much is drawn: leave {name} out"
                )

    @property
    def depth(self) -> int:
        """How many documents of each run are in the pool."""
        return self.k if self.shares is None else max(self.shares)

    @property
    def shares(self) -> Strata | None:
        """The share of each stratum, as checked."""
        return None if self.strata is None else strata(self.strata)


# ---- made from the families by scripts/make_docs.py


class PoolSettingsOptions(TypedDict, total=False):
    """The options of PoolSettings, as keywords of a function."""

    by: By
    k: int
    n: int | None
    strata: Strata | str | None
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
    `query_probability` that of its query, `stratum` its part of the pool; without chance there is
    none. The rows of a query are in an order by chance, which hides what is ranked high, or, with
    decide and move-to-front, in the order in which to judge. `to_label_studio()` and `to_argilla()`
    are the documents as JSON for these tools; `collect` reads what comes back.

    >>> from cranfield import pool
    >>> runs = {"a": {"q1": ["d1", "d2"], "q2": ["d3"]}, "b": {"q1": ["d2", "d4"], "q2": ["d3"]}}
    >>> found = pool({"q1": {"d1": 1}, "q2": {"d3": 1}}, runs, by="chance", n=2)
    >>> len(found.rows()), found.n_pooled, found.rows()[0]["probability"]
    (2, 4, 0.5)
    """

    forms: ClassVar[Mapping[str, str]] = {
        **FORMS,
        "label-studio": ".label-studio.json",
        "argilla": ".argilla.json",
    }

    query_ids: Sequence[str]  # of each row
    doc_ids: Sequence[str]
    settings: PoolSettings
    n_queries: int  # with a pooled document
    n_pooled: int  # documents
    recipe: Mapping[str, Any]
    notes: tuple[Note, ...] = ()
    drawing: Mapping[Role, Sequence[float]] = field(default_factory=dict)  # how each row was drawn
    grades: Sequence[int | None] | None = None  # of rows that need no label
    texts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # {column: {id: text}}

    @property
    def header(self) -> tuple[str, ...]:
        """The columns of the file for labelling."""
        query, doc, grade = (COLUMNS[role].public for role in ("query", "doc", "grade"))
        drawing = (COLUMNS[role].public for role in self.drawing)
        beside = {query: QUERY_TEXT, doc: DOC_TEXT}
        ids = (name for one, text in beside.items() for name in (one, text))
        return (*(one for one in ids if one in beside or one in self.texts), grade, *drawing)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each document; the grade of one to label is None, to be filled in."""
        columns: list[Iterable[Any]] = [self.query_ids, self.doc_ids]
        beside = {QUERY_TEXT: self.query_ids, DOC_TEXT: self.doc_ids}
        for at, (name, ids) in enumerate(beside.items()):
            if name in self.texts:
                columns.insert(2 * at + 1, [self.texts[name].get(one) for one in ids])
        columns.append(self.grades or [None] * len(self.doc_ids))
        return self._dicts(zip(*columns, *self.drawing.values(), strict=True))

    def _to_label(self) -> list[dict[str, Any]]:
        """Return the rows that need a label."""
        return [row for row in self.rows() if row[COLUMNS["grade"].public] is None]

    def to_label_studio(self) -> str:
        """Return the documents to label as tasks that Label Studio imports: JSON."""
        return as_json(label_studio_tasks(self._to_label()), indent=2) + "\n"

    def to_argilla(self) -> str:
        """Return the documents to label as records that Argilla reads (`records.from_json`)."""
        return as_json(argilla_records(self._to_label()), indent=2) + "\n"

    def tables(self) -> list[Table]:
        """Return a table that counts what is pooled, and what is to be labelled."""
        asked = self._to_label()
        n = len({row["query_id"] for row in asked})
        rows = [
            ["queries", f"{self.n_queries:,}", f"{n:,}"],
            ["documents", f"{self.n_pooled:,}", f"{len(asked):,}"],
            *self._of_strata(),
        ]
        below = [str(one) for one in self.notes]
        how = {
            "fusion": " by their fusion",
            "rbp": " by RBP",
            "move-to-front": " by move-to-front",
        }.get(self.settings.by, "")
        n_runs = number_of(len(self.recipe["runs"]), "run")
        title = [f"Pool of {n_runs}{how}, {self.settings.depth} deep"]
        if self.settings.by == "decide":
            title = ["What decides between two runs: unjudged documents, the weightiest first"]
        pooled = "unjudged" if self.settings.by in _IN_ORDER else "pooled"
        return [Table(["", pooled, "to label"], rows, below, title=title)]

    def _of_strata(self) -> Iterable[list[str]]:
        """Yield for each stratum how many are pooled, and to be labelled."""
        if self.settings.shares is None:
            return
        number, grades = np.array(self.drawing["stratum"]), np.array(self.grades)
        first = 1
        for one, last in enumerate(self.settings.shares, 1):
            mine = number == one
            asked = np.count_nonzero(mine & (grades != NOT_DRAWN))
            yield [f"  best rank {first} to {last}", f"{np.count_nonzero(mine):,}", f"{asked:,}"]
            first = last + 1

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
def pool(
    qrels: Any,
    runs: Any,
    *,
    query_texts: TextsLike | None = None,
    doc_texts: TextsLike | None = None,
    **options: Unpack[PoolOptions],
) -> Pool:
    """Return which documents people should label: a pool, a part of it, or what is most useful.

    A pool is what any of the runs has in its first k, for each query of the judgments; or, with a
    given number of documents for each query, the first k of the runs fused. Drawn by
    chance, labels of a part are enough to estimate means and differences without bias: see
    `prediction_powered`, and `statAP` for judgments that are a sample. Exactly n are drawn, each
    with its stated probability (systematic sampling from an order by chance; Madow, Annals of
    Mathematical Statistics 1949). With `strata`, a share is drawn of each query's documents down to
    each rank, at least one of each stratum; the others are rows, too, with relevance -1, as
    `xinfAP` needs them. What is drawn depends on the seed and on what is pooled, not on the order
    of runs or rows.

    With "decide", the unjudged documents of two runs are in the order in which they narrow the
    bounds of the difference (`joint_bounds`), as deep as the measure looks. The notes say how many
    it takes, if they turn out not relevant, until no other judgment can change which run is better.

    "move-to-front" (Cormack, Palmer & Clarke, SIGIR 1998) takes documents of one run while they are
    relevant, then goes on to the next. It learns from the judgments (relevant: grade 1 or more) and
    finds many relevant documents early: judge some, merge them into the judgments, and ask again.
    Queries take turns.

    Args:
        qrels: the judgments, such as a model's labels: their queries are pooled.
        runs: one run or several, as `evaluate` takes them.
        query_texts: what the queries ask, for the people who label: a file, a table or a dict
            {id: text}, as for `with_texts`.
        doc_texts: the texts of the documents, in the same forms; title and text where there are
            both.
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
    warn_of(notes_on_order(several.values()))
    make = _in_order if settings.by in _IN_ORDER else _drawn
    made = make(judgments, several, settings, judging)
    return _with_texts(made, query_texts, doc_texts)


def _with_texts(made: Pool, query_texts: TextsLike | None, doc_texts: TextsLike | None) -> Pool:
    """Return a pool with texts beside the ids, and a note on ids that have none."""
    texts, notes = {}, [*made.notes]
    given = (
        (QUERY_TEXT, query_texts, made.query_ids, "queries"),
        (DOC_TEXT, doc_texts, made.doc_ids, "documents"),
    )
    for name, data, row_ids, word in given:
        if data is None:
            continue
        ids = {*row_ids}
        of_docs = name == DOC_TEXT
        texts[name] = texts_of(data, ids, of="doc" if of_docs else "query", whole=of_docs)
        if n := len(ids) - len(texts[name]):
            text = f"{n:,} of {len(ids):,} {word} have no text."
            notes.append(Note("no-text", "warning", text, count=n))
    return replace(made, texts=texts, notes=tuple(notes))


def _refuse_nothing(rows: Sequence[Any], settings: PoolSettings) -> None:
    """Raise InputError if there is no row."""
    if not rows:
        raise InputError(
            "nothing is left to label: no run has an unjudged document in its first "
            f"{settings.depth}"
        )


# ---- all of the pool, or a part by chance -------------------------------------------------------


def _drawn(
    judgments: Qrels, runs: Mapping[str, Run], settings: PoolSettings, judging: Judging
) -> Pool:
    """Return all documents of the pool, or those that are drawn by chance."""
    sources = _sources(runs, settings.by, judging)
    pooled = _pooled(
        judgments, sources, settings, judging if sources is runs else Judging(ties=judging.ties)
    )
    query_ids = sorted((one for one in pooled if pooled[one]), key=encode)
    every = [
        (query, doc, rank)
        for query in query_ids
        for doc, rank in sorted(pooled[query].items(), key=lambda one: encode(one[0]))
    ]
    _refuse_nothing(every, settings)
    place = {query: i for i, query in enumerate(query_ids)}
    at = np.array([place[query] for query, _, _ in every])
    rank = np.array([rank for _, _, rank in every])
    generator = np.random.default_rng(settings.seed)
    shuffled = generator.random(len(every))
    drawing: dict[Role, Any] = {}
    taken = np.ones(len(every), np.bool_)
    if settings.shares is not None:
        taken, chance, stratum = drawn_of_strata(at, rank, settings.shares, generator)
        drawing = {"stratum": stratum, "probability": chance}
    elif settings.n is not None:
        whole_queries = settings.draw == "queries"
        by_rank = settings.likely == "rank"
        taken, chance = chosen(
            at, rank, settings.n, generator, whole=whole_queries, by_rank=by_rank
        )
        drawing = {"query_probability" if whole_queries else "probability": chance}
    # Of strata, the rest of the pool is there, too, behind what is to be labelled.
    kept = np.arange(len(every)) if settings.strata is not None else np.flatnonzero(taken)
    rows = kept[np.lexsort((shuffled[kept], at[kept], ~taken[kept]))].tolist()
    grades = [None if taken[i] else NOT_DRAWN for i in rows]
    return Pool(
        [every[i][0] for i in rows],
        [every[i][1] for i in rows],
        settings,
        len(query_ids),
        len(every),
        {"cranfield": __version__, "runs": list(runs), **judging.unusual()},
        tuple(_notes(settings, len(every), len(query_ids), len(judgments.query_ids))),
        {role: column[rows].tolist() for role, column in drawing.items()},
        grades,
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
    stated = judging.unusual()
    if others := [name for name in stated if name not in _OF_FUSION]:
        raise OptionError(f"{others[0]} applies to single runs, and by={by!r} ranks them fused")
    made = fuse(runs, "rrf" if by == "fusion" else "rbc", **stated)
    return {made.name: made}


_OF_FUSION = ("order", "ties", "duplicates")


def _pooled(
    judgments: Qrels, runs: Mapping[str, Run], settings: PoolSettings, judging: Judging
) -> dict[str, dict[str, int]]:
    """Return {query: {document: its best rank in any run}}."""
    found: dict[str, dict[str, int]] = {}
    for query, lists in _rankings(judgments, runs, settings.depth, judging).items():
        its = found[query] = {}
        for one in lists:
            for rank, doc in enumerate(one, 1):
                its[doc] = min(rank, its.get(doc, rank))
    if settings.unjudged:
        for query, docs in zip(judgments.query_ids, judgments.doc_lists, strict=True):
            for doc in docs:
                found[query].pop(doc, None)
    return found


def _rankings(
    judgments: Qrels, runs: Mapping[str, Run], depth: int, judging: Judging
) -> dict[str, list[Sequence[str]]]:
    """Return the first documents of each run, for each query of the judgments."""
    query_ids = list(judgments.query_ids)
    found: dict[str, list[Sequence[str]]] = {query: [] for query in query_ids}
    for run in steps(runs.values(), "pooling"):
        rankings = run.rankings(query_ids, judging)
        tops = [rankings[query].of(query).docs[:depth] for query in query_ids]
        if not any(tops):
            score_runs(judgments, {run.name: run}, [parse("P@1")], judging)  # says what is wrong
            raise InputError(f"the run {run.name!r:.80} has no document", source=run.source)
        for query, top in zip(query_ids, tops, strict=True):
            found[query].append(top)
    return found


# ---- unjudged documents in an order -------------------------------------------------------------


def _in_order(
    judgments: Qrels, runs: Mapping[str, Run], settings: PoolSettings, judging: Judging
) -> Pool:
    """Return unjudged documents in the order in which to judge them."""
    more: dict[str, Any] = {}
    if settings.by == "decide":
        documents, measure, notes = _deciding(judgments, runs, settings, judging)
        unjudged = Counter(query for query, _ in documents)
        more = {"measure": measure}
    else:
        documents, unjudged, notes = _learned(judgments, runs, settings, judging)
    first = documents[: settings.n]
    if settings.n is not None and settings.n > unjudged.total():
        notes.append(_all_there(unjudged.total(), "documents"))
    return Pool(
        [query for query, _ in first],
        [doc for _, doc in first],
        settings,
        len(unjudged),
        unjudged.total(),
        {"cranfield": __version__, "runs": list(runs), **more, **judging.unusual()},
        tuple(notes),
    )


_Documents = Sequence[tuple[str, str]]  # (query, document)


def _deciding(
    judgments: Qrels, runs: Mapping[str, Run], settings: PoolSettings, judging: Judging
) -> tuple[_Documents, str, list[Note]]:
    """Return the unjudged documents that decide between two runs, the measure and notes."""
    if len(runs) != 2:
        raise InputError(f"by='decide' takes two runs, and there are {len(runs):,}")
    measure = parse(settings.measure or "nDCG@10")
    found = deciding(judgments, runs, measure, judging)
    n = len(found.documents)
    left, right = map(printable, runs)
    first, second = (left, right) if found.difference > 0 else (right, left)
    falls = measure.definition.higher_is_better is False
    better = "higher" if falls else "better"
    text = (
        f"{measure} of {left} minus {right}: {signed(found.difference)}; from "
        f"{signed(found.low)} to {signed(found.high)} for all ways to grade the {n:,} unjudged."
    )
    notes = [Note("bounds", "info", text, count=n)]
    if found.is_certain:
        text = (
            f"No judgment can change which is {better} on these queries: you need no labels for "
            "it. Whether other queries would say so, compare tells."
        )
    elif not n:
        text = "No judgment can change this difference."
    elif found.enough is None:
        text = "Even if all of them turn out not relevant, the sign may stay open."
    else:
        text = (
            f"If the first {number_of(found.enough, 'turns', 'turn')} out not relevant, no other "
            f"judgment can change that {first} is {better} than {second}. Judge some, merge them "
            "(Qrels.merge, convert --merge), and ask again."
        )
    notes.append(Note("decided", "info", text, count=found.enough))
    if n and not found.is_certain:
        notes.append(_TO_LABEL)
    return found.documents, str(measure), notes


def _learned(
    judgments: Qrels, runs: Mapping[str, Run], settings: PoolSettings, judging: Judging
) -> tuple[_Documents, Counter[str], list[Note]]:
    """Return the first unjudged documents in the order of move-to-front.

    And how many unjudged ones there are for each query, and notes.
    """
    if judgments.groups is not None:
        raise OptionError(f"by={settings.by!r} learns from documents' grades, not from groups")
    named = {name: runs[name] for name in sorted(runs, key=encode)}
    rankings = _rankings(judgments, named, settings.depth, judging)
    generator = np.random.default_rng(settings.seed)
    for query in sorted(rankings, key=encode):  # no run is always the first of its value
        rankings[query] = [rankings[query][i] for i in generator.permutation(len(named)).tolist()]
    relevant = {
        query: {doc: grade >= 1 for doc, grade in judged.items()}
        for query, judged in judgments.to_dict().items()
    }
    unjudged = Counter[str]()
    for query, lists in rankings.items():
        if n := len({*chain.from_iterable(lists)} - relevant.get(query, {}).keys()):
            unjudged[query] = n
    found = next_documents(rankings, relevant, settings.n)
    _refuse_nothing(found, settings)
    text = (
        "Judge some, merge them (Qrels.merge, convert --merge), and ask again: the order changes "
        "with each judgment. Until then, these count as not relevant."
    )
    notes = [Note("ask-again", "info", text), _TO_LABEL]
    n_missing = sum(not any(lists) for lists in rankings.values())
    return found, unjudged, [*_nothing_pooled(n_missing, len(rankings)), *notes]


# ---- notes ------------------------------------------------------------------------------------


def _nothing_pooled(n: int, n_judged: int) -> list[Note]:
    """Say how many queries of the judgments no run has a document for."""
    text = (
        f"{n:,} of {n_judged:,} queries of the judgments have no document in any run: do all name "
        "queries in the same way?"
    )
    return [Note("nothing-pooled", "warning", text, n)] if n else []


def _all_there(n: int, of: str) -> Note:
    """Say that as many were asked for as there are, or more."""
    text = f"All {n:,} {of} are to be labelled: there are no more."
    return Note("all-drawn", "info", text, count=n)


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
    elif not settings.unjudged:
        found += _nothing_pooled(n_judged - n_queries, n_judged)
    n_all = n_pooled if settings.draw == "documents" else n_queries
    if settings.n is not None and settings.n >= n_all:
        found.append(_all_there(n_all, settings.draw))
    note = _TO_LABEL
    if settings.strata is not None:
        how = (
            "Fill in the column relevance where it is empty, leave -1 (not drawn), and read the "
            "file as judgments: for xinfAP and statAP. Labels of other tools need this file, too: "
            "cranfield collect --pool."
        )
        note = Note(note.code, note.severity, how)
    elif settings.by == "chance" and not settings.unjudged:
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
