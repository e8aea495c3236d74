"""describe: what the lists of runs are like, beyond accuracy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Unpack

import numpy as np

from cranfield.arrays.ids import Ids
from cranfield.arrays.ranked import Bools, Floats, Ints
from cranfield.data.counts import Counts
from cranfield.data.judging import Judging
from cranfield.data.named_ids import read_named_queries
from cranfield.data.qrels import Qrels, make_qrels
from cranfield.data.run import Run, make_run
from cranfield.data.run_names import open_runs
from cranfield.errors import MeasureError, OptionError
from cranfield.extensions import keywords
from cranfield.extensions.lists.described import ListScores
from cranfield.extensions.lists.explained import explain_list
from cranfield.extensions.lists.inputs import Codes, read_catalogue, read_categories, read_vectors
from cranfield.extensions.lists.list_intervals import find_intervals
from cranfield.extensions.lists.lists import Facts, Lists, Pairs
from cranfield.extensions.lists.run_measures import RunValue
from cranfield.formats.block import Errors, check_errors
from cranfield.formats.columns import Side
from cranfield.formats.shapes import plain
from cranfield.formats.small.labels import LabelRows, read_labels
from cranfield.formats.stated_columns import select_columns
from cranfield.measures import Measure
from cranfield.measures.parameters import Depth
from cranfield.measures.plan import CutoffGroup
from cranfield.notes import Note, warn_about
from cranfield.options import refuse_unknown_options, takes
from cranfield.progress import Watching, add_progress
from cranfield.scoring.arguments import Reading
from cranfield.scoring.evaluate import MeasuresLike, list_measures, score_runs
from cranfield.scoring.scores import Scores, Systems
from cranfield.scoring.slices import find_slices
from cranfield.version import __version__

# {input: the measures that need it, by name and, if only then, a value of a parameter; why}
_NEEDS = {
    "train": (
        "ARP APLT Novelty PopLift Seen Calibration Serendipity Coverage:train",
        "counts what users had before",
    ),
    "items": (
        "Categories Calibration ILD:jaccard ILD:hamming",
        "looks at categories of items",
    ),
    "embeddings": ("ILD:cosine Serendipity:features", "looks at vectors of items"),
    "base": ("Unexpectedness", "looks at the lists of another run"),
    "qrels": ("Serendipity", "counts relevant items"),
    "catalogue": ("Coverage:catalogue Gini Serendipity:popularity", "looks at all items there are"),
}
_DEFAULTS = {
    "qrels": "nDCG R",
    "": "Entropy Personalization Filled",
    "catalogue": "Coverage Gini",
    "train": "ARP APLT Novelty PopLift",
    "items": "Categories",
    "embeddings": "ILD",
    "train items": "Calibration",
}
_OMITTED = ("queries", "depth", "judged_only", "identical_ids", "scores_above", "unretrieved")


@dataclass(frozen=True)
class Inputs:
    """What is given beside the runs; None: not given."""

    train: Any = None
    items: Any = None
    embeddings: Any = None
    catalogue: Any = None
    users: Any = None
    base: Any = None
    qrels: Any = None

    @property
    def names(self) -> set[str]:
        """The names of those that are given; items, else train, are the catalogue, too."""
        names = {name for name, data in vars(self).items() if data is not None}
        return names | ({"catalogue"} if names & {"items", "train"} else set())

    def default_measures(self) -> str:
        """Return the measures that these allow."""
        names = [
            measures for needs, measures in _DEFAULTS.items() if {*needs.split()} <= self.names
        ]
        return " ".join(f"{name}@10" for name in " ".join(names).split())

    def check(self, measures: Sequence[Measure]) -> None:
        """Raise MeasureError for a measure that needs an input that is not given."""
        for measure in measures:
            texts = {measure.name, *(f"{measure.name}:{v}" for v in measure.parameters.values())}
            if measure.definition.of == "queries":
                texts = {"Serendipity"}
            for name, (needing, reason) in _NEEDS.items():
                if texts & {*needing.split()} and name not in self.names:
                    raise MeasureError(
                        f"{measure} {reason}: {name}=, --{name} "
                        f"{'NUMBER or FILE' if name == 'catalogue' else 'FILE'}"
                    )


@dataclass(eq=False)
class RunLists:
    """Runs with their lists, and what all of them share."""

    runs: Mapping[str, Run]
    lists: Mapping[str, Lists]
    codes: Codes
    facts: Facts
    qrels: Qrels | None
    judging: Judging
    notes: Sequence[Note]

    @classmethod
    def read(
        cls,
        runs: Mapping[str, Run],
        inputs: Inputs,
        columns: Mapping[str, Any],
        judging: Judging,
        depth: int | None,
    ) -> "RunLists":
        """Read all inputs, those beside the runs first, and number users and items alike."""
        codes = Codes()
        read = partial(codes.read_pairs, name="train", columns=columns.get("train"))
        train = None if inputs.train is None else read(inputs.train)
        qrels = None if inputs.qrels is None else _read_qrels(inputs.qrels, columns, judging)
        relevant = None if qrels is None else codes.read_pairs(qrels, "qrels")
        item_rows = vectors = base = None
        if inputs.items is not None:
            *item_rows, notes = read_categories(inputs.items, columns.get("items", {}))
            codes.notes += notes
            item_code = codes.number_texts(item_rows[0])
        if inputs.embeddings is not None:
            vector_ids, vectors = read_vectors(inputs.embeddings, columns.get("embeddings", {}))
            vector_code = codes.number_texts(vector_ids)
        catalogue = None
        if inputs.catalogue is not None:
            catalogue = read_catalogue(inputs.catalogue, columns.get("catalogue", {}))
            catalogue_code = None if isinstance(catalogue, int) else codes.number_texts(catalogue)
        coded = {name: codes.read_lists(run, judging, depth) for name, run in runs.items()}
        if inputs.base is not None:
            base = codes.read_lists(make_run(inputs.base, columns=columns.get("base")), judging, depth)
        expected = None
        if inputs.users is not None:
            expected = codes.users.number(read_named_queries(inputs.users, make_run).ids)
        elif relevant is not None or train is not None:
            expected = np.unique((relevant or train or ())[0])
        n_users, n_items = codes.users.n_ids, codes.items.n_ids
        is_expected = np.zeros(n_users, np.bool_)
        listed = [user for user, _, _ in coded.values()]
        is_expected[expected if expected is not None else np.concatenate(listed)] = True
        id_order = codes.items.ids.sort_keys().argsort()
        facts = Facts(id_order, is_expected=is_expected)
        if train is not None:
            facts = replace(facts, train=codes.make_pairs(*train))
        if relevant is not None and qrels is not None:
            facts = replace(facts, relevant=codes.make_pairs(*relevant, qrels.grade))
        if base is not None:
            user, starts, item = base
            lengths = np.diff(starts)
            rank = np.arange(len(item)) - np.repeat(starts[:-1], lengths) + 1
            facts = replace(facts, base=codes.make_pairs(np.repeat(user, lengths), item, rank))
        if item_rows is not None:
            facts = replace(facts, categories=_make_categories(item_code, item_rows[1], n_items))
        if vectors is not None:
            matrix = np.zeros((n_items, vectors.shape[1]), vectors.dtype)
            matrix[vector_code] = vectors
            facts = replace(facts, vectors=matrix)
        if isinstance(catalogue, int):
            facts = replace(facts, n_catalogue=catalogue)
        elif catalogue is not None or item_rows is not None or facts.train is not None:
            in_catalogue = np.zeros(n_items, np.bool_)
            if catalogue is not None:
                in_catalogue[catalogue_code] = True
            elif item_rows is not None:
                in_catalogue[item_code] = True
            elif facts.train is not None:
                in_catalogue = facts.train.users > 0
            n = int(np.count_nonzero(in_catalogue))
            facts = replace(facts, in_catalogue=in_catalogue, n_catalogue=n)
        lists = {name: _add_users(Lists(*parts, facts)) for name, parts in coded.items()}
        run_lists = cls(runs, lists, codes, facts, qrels, judging, codes.notes)
        run_lists._check_catalogue()
        return run_lists

    def _check_catalogue(self) -> None:
        """Raise OptionError for a catalogue that is a number smaller than the items seen."""
        facts, n = self.facts, self.facts.n_catalogue
        if facts.in_catalogue is not None or n is None:
            return
        is_seen = np.zeros(len(facts.id_order), np.bool_)
        if facts.train is not None:
            is_seen[facts.train.item] = True
        for lists in self.lists.values():
            is_seen[lists.item] = True
        n_seen = int(np.count_nonzero(is_seen))
        if n < n_seen:
            seen_text = "runs and train have" if facts.train is not None else "runs have"
            raise OptionError(f"the catalogue has {n:,} items, {seen_text} {n_seen:,}")

    def score(
        self, measures: Sequence[Measure], labels: LabelRows | None, inputs: Inputs
    ) -> list[ListScores]:
        """Return the scores of each run; judged measures are those of `evaluate`."""
        judged_measures = [m for m in measures if m.definition.of == "queries"]
        systems: Mapping[str, Scores] = {}
        if judged_measures and self.qrels is not None:
            judging = self.judging
            systems = score_runs(self.qrels, self.runs, judged_measures, judging, slices=labels)
        user_ids = self.codes.users.ids
        scored = []
        for name, lists in self.lists.items():
            order = user_ids.take(lists.user).sort_keys().argsort()
            scores = self._score_lists(name, lists, order, measures, systems.get(name))
            query_ids = user_ids.take(lists.user[order]).to_texts()
            slices, slice_notes = find_slices(labels, query_ids)
            slice_scores = []
            for label in slices:
                has_label = np.zeros(len(order), np.bool_)
                has_label[order] = label.has_label
                part = lists.select_users(has_label)
                part_order = user_ids.take(part.user).sort_keys().argsort()
                judged = None
                if name in systems:
                    judged = systems[name].slice(str(label.name), label.label)
                part_scores = self._score_lists(name, part, part_order, measures, judged)
                slice_scores.append((str(label.label), str(label.name), part_scores))
            notes = (*scores.notes, *slice_notes)
            scored.append(replace(scores, slices=tuple(slice_scores), notes=notes))
        return scored

    def _score_lists(
        self,
        name: str,
        lists: Lists,
        order: Ints,
        measures: Sequence[Measure],
        judged_scores: Scores | None,
    ) -> ListScores:
        """Return the scores of some lists of a run; `order` sorts their users by id."""
        values = np.full((len(order), len(measures)), np.nan)
        run_values: dict[str, RunValue] = {}
        groups = [
            (i, measure, CutoffGroup([measure], of_lists=True))
            for i, measure in enumerate(measures)
            if measure.definition.of != "queries"
        ]
        for users, piece in lists.split_users():
            for i, measure, group in groups:
                if measure.definition.of == "lists":
                    values[users, i] = group.values(piece)[:, 0]
        for _, measure, group in groups:
            if measure.definition.of == "run":
                run_values[str(measure)] = value_of_run(group, lists)
        values = values[order]
        query_ids = self.codes.users.ids.take(lists.user[order]).to_texts()
        if judged_scores is not None:
            query_ids, values = _join_judged(query_ids, values, measures, judged_scores)
        has_list = np.diff(lists.starts) > 0
        n_lists = int(np.count_nonzero(has_list))
        is_kept = ~np.isnan(values).all(axis=1)
        if len(run_values) == len(measures):
            is_kept[: len(order)] = has_list[order]
        recipe = {"cranfield": __version__, **self.judging.to_dict(), "qrels": None}
        recipe |= {"run": self.runs[name].description, "lists": True}
        notes = self._list_notes(lists, measures, values[is_kept], n_lists)
        notes += [] if judged_scores is None else judged_scores.notes
        return ListScores(
            name,
            tuple(measures),
            [query for query, keep in zip(query_ids, is_kept, strict=True) if keep],
            values[is_kept],
            Counts(n_lists, 0, 0, 0),
            recipe,
            tuple(notes),
            decimals=(None,) * len(measures),
            run_values=run_values,
        )

    def _list_notes(
        self, lists: Lists, measures: Sequence[Measure], values: Floats, n_lists: int
    ) -> list[Note]:
        """Return notes on the users and items that count, and on those that do not."""
        facts, notes = self.facts, []
        text = f"{n_lists:,} user{'s' * (n_lists != 1)} with a list averaged."
        catalogue = f" Catalogue: {facts.n_catalogue:,} items." if facts.n_catalogue else ""
        notes.append(Note("queries", "info", text + catalogue, n_lists))
        n_without = int(np.count_nonzero((np.diff(lists.starts) == 0) & lists.is_expected[:, 0]))
        if n_without:
            users = f"{n_without:,} user{'s' * (n_without != 1)} without a list left out"
            text = f"{users}{': in UserCoverage alone' * any(m.name == 'UserCoverage' for m in measures)}."
            notes.append(Note("without-list", "info", text, n_without))
        for i, measure in enumerate(measures):
            if measure.definition.of == "lists" and measure.name != "UserCoverage":
                n = n_lists - int(np.count_nonzero(~np.isnan(values[:, i])))
                if n:
                    text = f"{measure}: no value for {n:,} user{'s' * (n != 1)}, left out."
                    notes.append(Note("no-value", "info", text, n))
            if measure.name == "APLT":
                parameters = measure.parameters
                if facts.tail(parameters["by"], parameters["tail"])[1]:
                    text = f"{measure}: the tail begins among items of equal counts, by their ids."
                    notes.append(Note("tail", "info", text))
        if facts.in_catalogue is not None:
            n = len(np.unique(lists.item[~facts.in_catalogue[lists.item]]))
            names = [name for name in ("Coverage", "Gini") if name in {m.name for m in measures}]
            if n and names:
                text = f"{n:,} listed items are not in the catalogue: left out of {', '.join(names)}."
                notes.append(Note("catalogue", "info", text, count=n))
        return [*notes, *self.notes, *self._note_strangers(lists)]

    def _note_strangers(self, lists: Lists) -> list[Note]:
        """Return a warning for each input that has no item of the lists, with an id of each."""
        facts, item_ids, notes = self.facts, self.codes.items.ids, []
        has_vector = None if facts.vectors is None else facts.vectors.any(axis=1)
        tables = {
            "train": None if facts.train is None else facts.train.users > 0,
            "items": None if facts.categories is None else np.diff(facts.categories.indptr) > 0,
            "embeddings": has_vector,
            "base": None if facts.base is None else facts.base.users > 0,
        }
        for name, is_known in tables.items():
            if is_known is not None and len(lists.item) and not is_known[lists.item].any():
                known = np.flatnonzero(is_known)[:1]
                ids = item_ids.take(np.append(lists.item[:1], known)).to_texts()
                text = f"no listed item is in {name}: the run has {', there '.join(map(repr, ids))}"
                notes.append(Note("strangers", "warning", f"{text}."))
        return notes


def value_of_run(group: CutoffGroup, lists: Lists) -> RunValue:
    """Return the value of a measure of runs."""
    value: Any = group.values(lists)  # type: ignore[arg-type] # in the place of a Judged
    return value if isinstance(value, RunValue) else RunValue(float(value), "")


def _add_users(lists: Lists) -> Lists:
    """Return the lists with an empty one of each expected user who has none."""
    assert lists.facts.is_expected is not None  # noqa: S101
    is_missing = lists.facts.is_expected.copy()
    is_missing[lists.user] = False
    missing = np.flatnonzero(is_missing)
    starts = np.append(lists.starts, np.full(len(missing), lists.starts[-1]))
    return replace(lists, user=np.append(lists.user, missing), starts=starts)


def _make_categories(item: Ints, categories: Sequence[Sequence[str]], n_items: int) -> Any:
    """Return a sparse matrix of ones: (n_items, n_categories)."""
    from scipy.sparse import csr_array

    number_of_name: dict[str, int] = {}
    for names in categories:
        for name in names:
            number_of_name.setdefault(name, len(number_of_name))
    lengths = np.fromiter(map(len, categories), np.int64, len(categories))
    column = [number_of_name[name] for names in categories for name in names]
    parts = (np.ones(len(column)), (np.repeat(item, lengths), np.array(column, np.int64)))
    matrix = csr_array(parts, shape=(n_items, max(len(number_of_name), 1)))
    matrix.data[:] = 1  # of an item that has a category in two rows
    return matrix


def _join_judged(
    query_ids: list[str], values: Floats, measures: Sequence[Measure], scores: Scores
) -> tuple[list[str], Floats]:
    """Return users and values with the columns of judged measures, whose users may be others."""
    row_of_user = {user: row for row, user in enumerate(query_ids)}
    more_ids = [query for query in scores.query_ids if query not in row_of_user]
    row_of_user |= {user: len(query_ids) + i for i, user in enumerate(more_ids)}
    values = np.vstack([values, np.full((len(more_ids), values.shape[1]), np.nan)])
    rows = [row_of_user[query] for query in scores.query_ids]
    for i, measure in enumerate(measures):
        if measure in scores.measures:
            values[rows, i] = scores.columns[str(measure)][1]
    all_ids = [*query_ids, *more_ids]
    order = Ids.of_texts(all_ids).sort_keys().argsort() if more_ids else np.arange(len(all_ids))
    return [all_ids[row] for row in order.tolist()], values[order]


def _read_qrels(qrels: Any, columns: Mapping[str, Any], judging: Judging) -> Qrels:
    return make_qrels(qrels, "strict", columns.get("qrels"), judging.duplicates)


@add_progress
@takes(Reading, Judging, Watching, omit=(*_OMITTED, "overlap", "texts"))
def describe(
    runs: Any,
    measures: MeasuresLike | None = None,
    *,
    train: Any = None,
    items: Any = None,
    embeddings: Any = None,
    catalogue: Any = None,
    users: Any = None,
    base: Any = None,
    qrels: Any = None,
    slices: Any = None,
    intervals: bool = False,
    baseline: str | None = None,
    query: str | int | None = None,
    errors: Errors = "strict",
    **options: "Unpack[keywords.Describe]",
) -> Any:
    """Describe the lists of a run, or several: coverage, popularity, novelty, diversity.

    Means are over the users who have a list, judged or not.

    Args:
        runs: a run, or several, as `evaluate` takes them.
        measures: names or Measure values. [default: what the other inputs allow, @10]
        train: what users had before: any data with a user and an item in a row.
        items: the categories of items: a table of an item and a category column, or a dict {item:
            category or [category, ...]}.
        embeddings: a vector of each item: a table with a column of lists, a dict {item: vector}, or
            (ids, matrix).
        catalogue: all items there are: their ids, or their number. [default: those of `items`, else
            of `train`]
        users: all users there are, for UserCoverage. [default: those of `qrels`, else of `train`]
        base: another run, for Unexpectedness.
        qrels: judgments, for Serendipity and for measures of judged documents.
        slices: labels of users, as `evaluate` takes them.
        intervals: return intervals of the values, and of differences from the baseline.
        baseline: the run that others are compared with. [default: the first]
        query: a user: return how the values of the user's list came about.
        errors: as in `evaluate`.
        **options: each option of `Reading`, `Judging` and `Watching`.

    Returns:
        ListScores, or Systems of them for several runs; ListIntervals with `intervals`;
        ListExplanation with `query`.

    Raises:
        InputError: an input that cannot be read.
        MeasureError: a measure that does not exist, or without the input that it needs.
        OptionError: a catalogue smaller than the items that are seen.

    >>> train = [("ann", "a"), ("bob", "a"), ("bob", "b")]
    >>> describe({"ann": ["b", "c"], "bob": ["a"]}, "ARP@2 Coverage@2", train=train).means()
    {'ARP@2': 1.25, 'Coverage@2': 1.0}

    """
    refuse_unknown_options(describe, options)
    check_errors(errors)
    inputs = Inputs(train, items, embeddings, catalogue, users, base, qrels)
    columns: dict[str, Any] = dict(options.get("columns") or {})
    own_columns = {name: columns.pop(name) for name in vars(inputs) if name in columns}
    reading = Reading.of({**options, "columns": columns or None})
    judging = Judging.of(options)
    measure_list = list_measures(inputs.default_measures() if measures is None else measures)
    inputs.check(measure_list)
    run_or_runs = open_runs(plain(runs, Side.RUN), errors, select_columns(reading.columns, Side.RUN))
    opened = reading.leave_out(run_or_runs)
    named_runs = {opened.name: opened} if isinstance(opened, Run) else opened
    cutoffs = [measure.cutoff for measure in measure_list if measure.definition.of != "queries"]
    depths = [cutoff.n_ranks if isinstance(cutoff, Depth) else None for cutoff in cutoffs]
    depth = None if None in depths else max(filter(None, depths), default=1)
    run_lists = RunLists.read(named_runs, inputs, own_columns, judging, depth)
    if query is not None:
        return explain_list(run_lists, measure_list, str(query))
    labels = None if slices is None else read_labels(slices)
    scores = run_lists.score(measure_list, labels, inputs)
    result = scores[0] if isinstance(opened, Run) else Systems(scores)
    warn_about(result.notes)
    if intervals:
        return find_intervals(run_lists, scores, baseline)
    return result
