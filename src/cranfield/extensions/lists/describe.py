"""describe: what the lists of runs are like, beyond accuracy."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any, Unpack

import numpy as np

from cranfield.arrays.ids import encode
from cranfield.arrays.ranked import Floats
from cranfield.data.counts import Counts
from cranfield.data.judging import Judging
from cranfield.data.run import Run
from cranfield.data.run_names import open_runs
from cranfield.data.run_notes import find_order_notes
from cranfield.errors import MeasureError, OptionError
from cranfield.extensions import keywords
from cranfield.extensions.lists.described import ListScores, values_of_run
from cranfield.extensions.lists.explained import explain_list
from cranfield.extensions.lists.inputs import Inputs
from cranfield.extensions.lists.list_intervals import find_intervals
from cranfield.extensions.lists.user_lists import Lists
from cranfield.formats.block import Errors, check_errors
from cranfield.formats.columns import Side
from cranfield.formats.rewrite import plain
from cranfield.formats.small.labels import LabelRows, read_labels
from cranfield.formats.stated_columns import refuse_unread, select_columns
from cranfield.measures import Measure
from cranfield.measures.parameters import Depth
from cranfield.measures.plan import CutoffGroup
from cranfield.notes import Note, warn_about
from cranfield.options import refuse_unknown_options, takes
from cranfield.progress import Watching, add_progress
from cranfield.render.numbers import format_count
from cranfield.scoring.arguments import Reading
from cranfield.scoring.evaluate import MeasuresLike, list_measures, score_runs
from cranfield.scoring.scores import Scores, Systems
from cranfield.scoring.slices import find_slices
from cranfield.version import __version__

# {input: (why a measure needs it, the measures, some with a value of a parameter alone)}
_NEEDS = {
    "train": (
        "counts what users had before",
        "ARP APLT Novelty PopLift Seen Calibration Serendipity Coverage:train",
    ),
    "items": ("counts categories of items", "Categories Calibration ILD:jaccard ILD:hamming"),
    "embeddings": ("compares vectors of items", "ILD:cosine Serendipity:features"),
    "base": ("compares with another run", "Unexpectedness"),
    "qrels": ("counts relevant items", "Serendipity"),
    "catalogue": ("counts all items there are", "Coverage:catalogue Gini Serendipity:popularity"),
}
# {inputs: the measures that they allow, by default}, in the order of the table.
_DEFAULTS = {
    "qrels": "nDCG R",
    "": "Entropy Personalization Filled",
    "catalogue": "Coverage Gini",
    "train": "ARP APLT Novelty PopLift",
    "items": "Categories",
    "embeddings": "ILD",
    "train items": "Calibration",
}
NO_OPTIONS = (
    *("queries", "depth", "judged_only", "identical_ids", "scores_above", "unretrieved"),
    *("overlap", "texts"),
)


def check_inputs(measures: Sequence[Measure], names: set[str]) -> None:
    """Raise MeasureError for a measure that needs an input whose name is not among `names`."""
    for measure in measures:
        keys = {measure.name, *(f"{measure.name}:{v}" for v in measure.parameters.values())}
        is_judged = measure.definition.of == "queries"
        for name, (reason, needing) in _NEEDS.items():
            if name not in names and (keys & {*needing.split()} or (is_judged and name == "qrels")):
                argument = "NUMBER or FILE" if name == "catalogue" else "FILE"
                raise MeasureError(f"{measure} {reason}: {name}=, --{name} {argument}")


class RunLists:
    """Runs with their lists, and what they share."""

    def __init__(
        self, runs: Mapping[str, Run], inputs: Inputs, judging: Judging, depth: int | None
    ) -> None:
        """Read runs, of each list the first `depth` items, None: all."""
        self.runs, self.inputs, self.judging = runs, inputs, judging
        coded_runs = [inputs.codes.read_lists(run, judging, depth) for run in runs.values()]
        self.facts = facts = inputs.make_facts(coded_runs)
        self.user_ids, self.lists = inputs.codes.users.ids, dict[str, Lists]()
        for name, (users, starts, items) in zip(runs, coded_runs, strict=True):
            missing = np.setdiff1d(np.flatnonzero(facts.is_expected), users)
            ends = np.full(len(missing), starts[-1])
            all_users, all_starts = np.append(users, missing), np.append(starts, ends)
            order = self.user_ids.take(all_users).sort_keys().argsort()
            self.lists[name] = Lists(all_users, all_starts, items, facts).take_users(order)

    def score(self, measures: Sequence[Measure], labels: LabelRows | None) -> list[ListScores]:
        """Return the scores of each run; judged measures are those of `evaluate`."""
        judged_measures = [m for m in measures if m.definition.of == "queries"]
        systems: Mapping[str, Scores] = {}
        if judged_measures and self.inputs.qrels is not None:
            systems = score_runs(self.inputs.qrels, self.runs, judged_measures, self.judging)
        return [self._score_run(name, measures, labels, systems.get(name)) for name in self.runs]

    def _score_run(
        self,
        name: str,
        measures: Sequence[Measure],
        labels: LabelRows | None,
        judged_scores: Scores | None,
    ) -> ListScores:
        lists = self.lists[name]
        values = np.full((len(lists.user), len(measures)), np.nan)
        groups = {
            i: CutoffGroup([measure], of_lists=True)
            for i, measure in enumerate(measures)
            if measure.definition.of == "lists"
        }
        for users, piece in lists.split_users():
            for i, group in groups.items():
                values[users, i] = group.values(piece)[:, 0]  # type: ignore[arg-type] # Lists
        query_ids = user_ids = self.user_ids.take(lists.user).to_texts()
        run = self.runs[name]
        notes = [*self._list_notes(lists, measures, values), *run.notes, *run.rows.notes]
        notes += find_order_notes(None, run) if run.has_scores else ()
        if judged_scores is not None:
            query_ids, values = _join_judged(query_ids, values, measures, judged_scores)
            notes += judged_scores.notes
        recipe = {"cranfield": __version__, **self.judging.to_dict(), "lists": True}
        counts = Counts(int(np.count_nonzero(lists.lengths)), 0, 0, 0)
        scores = ListScores(
            name,
            tuple(measures),
            query_ids,
            values,
            counts,
            {**recipe, "run": run.description},
            (),
            decimals=(None,) * len(measures),
            run_values=values_of_run(measures, lists),
        )
        slices, slice_notes = find_slices(labels, query_ids)
        parts = []
        for label in slices:
            label_ids = {*compress(query_ids, label.has_label.tolist())}
            part_lists = lists.take_users(np.array([user in label_ids for user in user_ids]))
            counts = Counts(int(np.count_nonzero(part_lists.lengths)), 0, 0, 0)
            part: Any = scores.select_queries(label.has_label, counts)
            part = replace(part, run_values=values_of_run(measures, part_lists))
            parts.append((str(label.label), str(label.name), part))
        all_notes = tuple(dict.fromkeys([*notes, *slice_notes]))
        return replace(scores, notes=all_notes, slices=tuple(parts))

    def _list_notes(self, lists: Lists, measures: Sequence[Measure], values: Floats) -> list[Note]:
        """Return notes on the users and items that count, and on those that do not."""
        facts, has_list, notes = self.facts, lists.lengths > 0, list[Note]()

        def add(code: str, text: str, count: int | None = None) -> None:
            notes.append(Note(code, "info", text, count))

        n_lists, n_without = int(has_list.sum()), int((~has_list).sum())
        catalogue = f" Catalogue: {facts.n_catalogue:,} items." if facts.n_catalogue else ""
        users = format_count(n_lists, "user")
        add("queries", f"{users} with a list averaged.{catalogue}", n_lists)
        if n_without:
            add("without-list", f"{format_count(n_without, 'user')} without a list left out.")
        for measure, column in zip(measures, values.T, strict=True):
            n = int(np.isnan(column[has_list]).sum())
            if measure.definition.of == "lists" and measure.name != "UserCoverage" and n:
                add(
                    "no-value", f"{measure}: {format_count(n, 'user')} without a value left out.", n
                )
            tail_options = [measure.parameters.get(name) for name in ("by", "tail")]
            if measure.name == "APLT" and (facts.table("tail", *tail_options) > 1).any():
                add("tail", f"{measure}: items of equal counts are on both sides of its border.")
        if facts.in_catalogue is not None and facts.n_catalogue:
            n = int(np.count_nonzero(lists.counts(None)[~facts.in_catalogue]))
            if n and {"Coverage", "Gini"} & {measure.name for measure in measures}:
                items = format_count(n, "listed item")
                add("outside", f"{items} outside the catalogue left out of Coverage and Gini.", n)
        return [*notes, *self.inputs.notes, *self._note_strangers(lists)]

    def _note_strangers(self, lists: Lists) -> Iterator[Note]:
        """Yield a warning for each input without any listed item, with an id of each side."""
        facts = self.facts
        items_of_input = {
            name: pairs.item_code for name, pairs in facts.pairs.items() if name != "qrels"
        }
        if facts.categories is not None:
            items_of_input["items"] = np.flatnonzero(facts.table("n_categories"))
        if facts.vectors is not None:
            items_of_input["embeddings"] = np.flatnonzero(facts.table("has_vector"))
        for name, items in items_of_input.items():
            if len(items) and len(lists.item_code) and not lists.counts(None)[items].any():
                ids = facts.items.take(np.append(lists.item_code[:1], items[:1])).to_texts()
                first, second = (f"{text:.80}" for text in map(repr, ids))
                text = f"No listed item is in {name}: lists have {first}, it has {second}."
                yield Note("strangers", "warning", text)


def _join_judged(
    query_ids: list[str], values: Floats, measures: Sequence[Measure], scores: Scores
) -> tuple[list[str], Floats]:
    """Return users and values with the columns of judged measures, whose users may be others."""
    all_ids = sorted({*query_ids, *scores.query_ids}, key=encode)
    row_of_user = {user: row for row, user in enumerate(all_ids)}
    all_values = np.full((len(all_ids), len(measures)), np.nan)
    all_values[[row_of_user[user] for user in query_ids]] = values
    rows = [row_of_user[user] for user in scores.query_ids]
    for i, measure in enumerate(measures):
        if measure in scores.measures:
            all_values[rows, i] = scores.columns[str(measure)][1]
    return all_ids, all_values


@add_progress
@takes(Reading, Judging, Watching, omit=NO_OPTIONS)
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
        train: what users had before: data with a user and an item in a row, as `evaluate` takes.
        items: the categories of items: a table of an item and a category column, or a dict {item:
            category or [category, ...]}.
        embeddings: a vector of each item: a table with a column of lists, a dict {item: vector}, or
            (ids, matrix).
        catalogue: all items there are, ids or their number. [default: those of `items`, else train]
        users: all users there are, for UserCoverage. [default: those of `qrels`, else of `train`]
        base: another run, for Unexpectedness.
        qrels: judgments, for Serendipity and for measures of judged documents.
        slices: labels of users, as `evaluate` takes them.
        intervals: return intervals of the values, and of differences from the baseline.
        baseline: the run that others are compared with. [default: the first]
        query: a user: return how the values of the user's list in the first run came about.
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
    if baseline is not None and not intervals:
        raise OptionError("baseline= applies to intervals: add intervals=True")
    named_inputs = {
        "train": train,
        "items": items,
        "embeddings": embeddings,
        "catalogue": catalogue,
        "users": users,
        "base": base,
        "qrels": qrels,
    }
    columns: dict[str, Any] = dict(options.pop("columns", None) or {})
    own_columns = {name: columns.pop(name) for name in named_inputs if name in columns}
    named_inputs = {name: data for name, data in named_inputs.items() if data is not None}
    names = {*named_inputs, *(["catalogue"] if {*named_inputs} & {"items", "train"} else [])}
    reading, judging = Reading.of({**options, "columns": columns or None}), Judging.of(options)
    for name, side in (("train", Side.EXCLUDED), ("qrels", Side.QRELS), ("base", Side.RUN)):
        own_columns.setdefault(name, select_columns(reading.columns, side))
    if not judging.has_one_tie_order:
        raise OptionError(f"ties={judging.ties!r}: expected an order that needs no grades")
    if measures is None:
        defaults = [_DEFAULTS[needs] for needs in _DEFAULTS if {*needs.split()} <= names]
        measures = [f"{name}@10" for name in " ".join(defaults).split()]
    measure_list = list_measures(measures)
    check_inputs(measure_list, names)
    run_columns = select_columns(reading.columns, Side.RUN)
    opened_runs = open_runs(plain(runs, Side.RUN), errors, run_columns)
    opened_runs = reading.leave_out(opened_runs, more_follow=True)
    cutoffs = [measure.cutoff for measure in measure_list if measure.definition.of != "queries"]
    depths = [cutoff.n_ranks if isinstance(cutoff, Depth) else None for cutoff in cutoffs]
    depth = None if None in depths else max(filter(None, depths), default=1)
    is_single = isinstance(opened_runs, Run)
    run_of_name = {opened_runs.name: opened_runs} if is_single else opened_runs
    inputs = Inputs(named_inputs, own_columns, judging)
    refuse_unread(reading.columns)
    run_lists = RunLists(run_of_name, inputs, judging, depth)
    if query is not None:
        if intervals or slices is not None:
            raise OptionError("query= shows one list: leave intervals and slices out")
        return explain_list(run_lists, measure_list, str(query))
    scores = run_lists.score(measure_list, None if slices is None else read_labels(slices))
    result = scores[0] if is_single else Systems(scores)
    warn_about(result.notes)
    if intervals:
        return find_intervals(scores, run_lists.lists, run_lists.user_ids, baseline)
    return result
