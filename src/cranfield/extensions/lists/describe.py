"""describe: what the lists of runs are like, beyond accuracy."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from cranfield.arrays.ids import Ids
from cranfield.arrays.ranked import Floats, Ints
from cranfield.data.judging import Judging
from cranfield.data.run import Run, make_run
from cranfield.data.run_names import open_runs
from cranfield.data.run_notes import find_order_notes
from cranfield.data.sketch import QuerySketch
from cranfield.data.spelling import SPELLING, find_lookalikes
from cranfield.errors import InputError, MeasureError, OptionError
from cranfield.extensions import keywords
from cranfield.extensions.lists.described import ListScores, explain_list, values_of_run
from cranfield.extensions.lists.facts import Facts, ListInputs
from cranfield.extensions.lists.item_tables import PAIR_SIDE
from cranfield.extensions.lists.list_intervals import find_intervals
from cranfield.extensions.lists.user_lists import Lists
from cranfield.formats.block import Errors, check_errors
from cranfield.formats.columns import Side
from cranfield.formats.rewrite import plain
from cranfield.formats.small.labels import LabelRows, read_labels
from cranfield.formats.stated_columns import Statements, refuse_unread, select_columns
from cranfield.measures import Measure
from cranfield.measures.parameters import Depth
from cranfield.measures.plan import CutoffGroup
from cranfield.notes import Note, warn_about
from cranfield.options import refuse_unknown_options, takes
from cranfield.progress import Watching, add_progress
from cranfield.render.numbers import format_count
from cranfield.render.typed_names import as_typed
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
_DISTANCES = "; of items=: ILD(distance='jaccard') or 'hamming', of embeddings=: 'cosine'"
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
_N_SAMPLE = 1000  # ids of each side among which another spelling is looked for
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
                hint = _DISTANCES if "ILD" in keys and names & {"items", "embeddings"} else ""
                text = f"{as_typed(str(measure))} {reason}: {name}=, --{name} {argument}{hint}"
                raise MeasureError(text)


def score_lists(
    name: str,
    run: Run,
    lists: Lists,
    measures: Sequence[Measure],
    labels: LabelRows | None,
    judged_scores: Scores | None,
    judging: Judging,
) -> ListScores:
    """Return the scores of a run; those of judged documents are given."""
    values = np.full((len(lists.user), len(measures)), np.nan)
    groups = {
        i: CutoffGroup([measure], of_lists=True)
        for i, measure in enumerate(measures)
        if measure.definition.of == "lists"
    }
    for rows, part in lists.split_users():
        for i, group in groups.items():
            values[rows, i] = group.values(part)[:, 0]  # type: ignore[arg-type] # Lists
    query_ids = lists.facts.user_ids.take(lists.user).to_texts()
    notes = [*_list_notes(run, lists, measures, values), *lists.facts.notes_of_run[name]]
    notes += [*run.notes, *run.rows.statement_notes, *run.rows.notes]
    notes += find_order_notes(None, run) if run.has_scores else ()
    if judged_scores is not None:
        row_of_user = {user: row for row, user in enumerate(query_ids)}
        rows = np.array([row_of_user[user] for user in judged_scores.query_ids])
        for measure, column in judged_scores.columns.values():
            values[rows, measures.index(measure)] = column
        notes += judged_scores.notes
    recipe = {"cranfield": __version__, **judging.to_dict(), "lists": True, "run": run.description}
    scores = ListScores(
        name,
        tuple(measures),
        query_ids,
        values,
        lists.count_users(),
        recipe,
        decimals=(None,) * len(measures),
        run_values=values_of_run(measures, lists),
    )
    slices, slice_notes = find_slices(labels, query_ids)
    parts = []
    for label in slices:
        part = lists.take_users(label.has_label)
        part_scores: Any = scores.select_queries(label.has_label, part.count_users())
        part_scores = replace(part_scores, run_values=values_of_run(measures, part))
        parts.append((str(label.label), str(label.name), part_scores))
    all_notes = tuple(dict.fromkeys([*notes, *slice_notes]))
    return replace(scores, notes=all_notes, slices=tuple(parts))


def _list_notes(
    run: Run, lists: Lists, measures: Sequence[Measure], values: Floats
) -> Iterator[Note]:
    """Yield notes on the users and items that count, and on those that do not."""
    facts, has_list = lists.facts, lists.lengths > 0
    n_lists, n_without = int(has_list.sum()), int((~has_list).sum())
    catalogue = (
        f" Catalogue: {format_count(facts.n_catalogue, 'item')}." if facts.n_catalogue else ""
    )
    text = f"{format_count(n_lists, 'user')} with a list averaged.{catalogue}"
    yield Note("queries", "info", text, count=n_lists)
    if n_without:
        text = f"{format_count(n_without, 'user')} without a list left out."
        yield Note("without-list", "info", text, count=n_without)
    for measure, column in zip(measures, values.T, strict=True):
        n = int(np.isnan(column[has_list]).sum())
        if n and measure.definition.of == "lists" and measure.name != "UserCoverage":
            text = f"{measure}: {format_count(n, 'user')} without a value left out."
            yield Note("no-value", "info", text, count=n)
        tail_options = [measure.parameters.get(name) for name in ("by", "tail")]
        if measure.name == "APLT" and (facts.table("tail", *tail_options) > 1).any():
            text = f"{measure}: items of equal counts are on both sides of its border."
            yield Note("tail", "info", text)
    if facts.in_catalogue is not None and facts.n_catalogue:
        n = int(np.count_nonzero(lists.counts()[~facts.in_catalogue]))
        if n and {"Coverage", "Gini"} & {measure.name for measure in measures}:
            items = format_count(n, "listed item")
            text = f"{items} outside the catalogue left out of Coverage and Gini."
            yield Note("outside", "info", text, count=n)
    yield from facts.notes
    for name, pairs in facts.pairs.items():
        if name != "qrels" and not (name == "train" and run.exclusions):  # none may be left
            yield from _note_strangers(
                name, "item", lists.item_code, pairs.item_code, facts.item_ids
            )
        yield from _note_strangers(name, "user", lists.user[has_list], pairs.user, facts.user_ids)
    for name in ("items", "embeddings"):
        if name in facts.codes:
            codes = facts.codes[name]
            yield from _note_strangers(name, "item", lists.item_code, codes, facts.item_ids)


def _note_strangers(
    name: str, kind: str, list_codes: Ints, input_codes: Ints, ids: Ids
) -> Iterator[Note]:
    """Yield a warning if an input shares no user, or item, with the lists: with an id of each.

    The codes are the numbers of those of the lists, and of the input.
    """
    is_listed = np.zeros(len(ids), np.bool_)
    is_listed[list_codes] = True
    if len(list_codes) and len(input_codes) and not is_listed[input_codes].any():
        input_ids, list_ids = (
            ids.take(np.unique(codes)[:_N_SAMPLE]).to_texts() for codes in (input_codes, list_codes)
        )
        pair, hint = (input_ids[0], list_ids[0]), ""
        for lookalikes in find_lookalikes([QuerySketch("", input_ids, [], list_ids)])[:1]:
            pair = lookalikes.pairs[0][:2]
            hint = f" {SPELLING}" if lookalikes.code == "spelling" else ""
        text = f"No listed {kind} is in {name}: lists have {pair[1]!r:.80}, it has {pair[0]!r:.80}."
        yield Note("strangers", "warning", f"{text}{hint}")


@add_progress
@takes(ListInputs, Reading, Judging, Watching, omit=NO_OPTIONS)
def describe(
    runs: Any,
    measures: MeasuresLike | None = None,
    *,
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
        measures: names or Measure values. [default: what the inputs allow, @10]
        slices: labels of users, as `evaluate` takes them.
        intervals: return intervals of the values, and of differences from the baseline.
        baseline: the run that others are compared with. [default: the first]
        query: a user: return how the values of the user's list in the first run came about.
        errors: as in `evaluate`, for the runs, `train`, `qrels` and `base`.
        **options: each option of `ListInputs`, `Reading`, `Judging` and `Watching`. `columns` may
            have those of one input: {"items": {"doc_id": "movie", "category": "genres"}}.

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
    if query is not None and (intervals or slices is not None):
        raise OptionError("query= shows one list: leave intervals and slices out")
    inputs, judging = ListInputs.of(options), Judging.of(options)
    reading, columns = _read_columns(options, inputs)
    if not judging.has_one_tie_order:
        raise OptionError(f"ties={judging.ties!r}: expected an order that needs no grades")
    names = {name for name, data in vars(inputs).items() if data is not None}
    names |= {"catalogue"} if names & {"items", "train"} else set()
    if measures is None:
        defaults = [_DEFAULTS[needs] for needs in _DEFAULTS if {*needs.split()} <= names]
        measures = [f"{name}@10" for name in " ".join(defaults).split()]
    measure_list = list_measures(measures)
    check_inputs(measure_list, names)
    opened_runs = open_runs(plain(runs, Side.RUN), errors, columns["runs"])
    opened_runs = reading.leave_out(opened_runs, more_follow=True)
    is_single = isinstance(opened_runs, Run)
    run_of_name = {opened_runs.name: opened_runs} if is_single else opened_runs
    if not run_of_name:
        raise InputError("no run is given")
    cutoffs = [measure.cutoff for measure in measure_list if measure.definition.of != "queries"]
    depths = [cutoff.n_ranks if isinstance(cutoff, Depth) else None for cutoff in cutoffs]
    depth = None if None in depths else max(filter(None, depths), default=1)
    if inputs.base is not None:
        base = make_run(inputs.base, errors, columns["base"])
        inputs = replace(inputs, base=reading.leave_out(base, more_follow=True))
    facts = Facts(run_of_name, inputs, columns, judging, depth, errors)
    refuse_unread(reading.columns)
    if query is not None:
        return explain_list(*next(iter(facts.lists.items())), measure_list, str(query))
    judged_measures = [m for m in measure_list if m.definition.of == "queries"]
    judged_scores: Mapping[str, Scores] = {}
    if judged_measures and facts.qrels is not None:
        judged_scores = score_runs(facts.qrels, run_of_name, judged_measures, judging)
    labels = None if slices is None else read_labels(slices)
    scores = [
        score_lists(
            name, run, facts.lists[name], measure_list, labels, judged_scores.get(name), judging
        )
        for name, run in run_of_name.items()
    ]
    result = scores[0] if is_single else Systems(scores)
    warn_about(result.notes)
    return find_intervals(scores, facts.lists, baseline) if intervals else result


def _read_columns(options: Mapping[str, Any], inputs: ListInputs) -> tuple[Reading, dict[str, Any]]:
    """Return how runs are read, and {input: the columns stated for it}; of "runs", too.

    Each file takes the statements that it has, unless some are for its input alone.
    """
    statements = options.get("columns") or {}
    columns = {name: statements[name] for name in vars(inputs) if name in statements}
    shared_columns = {name: column for name, column in statements.items() if name not in columns}
    shared_columns = Statements(shared_columns, getattr(statements, "files", None))
    reading = Reading.of({**options, "columns": shared_columns or None})
    sides = dict.fromkeys(vars(inputs), PAIR_SIDE)
    sides |= {"qrels": Side.QRELS, "base": Side.RUN, "runs": Side.RUN}
    for name, side in sides.items():
        columns.setdefault(name, select_columns(reading.columns, side))
    return reading, columns
