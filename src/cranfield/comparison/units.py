"""Units: whether saved scores are in the unit of their measure, or in percent."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from cranfield.arrays.ranked import Floats
from cranfield.comparison.scale import SLACK, outside, possible
from cranfield.comparison.score_columns import Columns, known_measure
from cranfield.errors import InputError, printable
from cranfield.notes import Note
from cranfield.render.numbers import some


def divide_percentages(columns: Columns, no_shares: Collection[str]) -> tuple[Columns, Note]:
    """Return columns of which those in percent are divided by 100, and a note on which these are.

    A system is in percent if it has scores above 1 of a measure that is 1 at most. Divided are its
    scores of such measures and of unknown ones, and of any system those of an unknown measure with
    scores above 1; but not those of the unknown measures in `no_shares`.
    """
    unknown = {measure for measure, _ in columns if known_measure(measure) is None}
    shares = {measure for measure, _ in columns if possible(known_measure(measure))[1] == 1}
    above_1 = {key for key, (_, values) in columns.items() if values.max() > 1 + SLACK}
    in_percent = {system for measure, system in above_1 if measure in shares}
    fractions = {
        (measure, system): (ids, values / 100)
        for (measure, system), (ids, values) in columns.items()
        if measure in shares | (unknown - {*no_shares})
        and (system in in_percent or (measure, system) in above_1)
    }
    measures, systems = ([key[i] for key in fractions] for i in (0, 1))
    other_systems = [system for _, system in columns if system not in systems]
    text = f"Divided by 100: {_join(measures)} of {_join(systems)}. " if fractions else ""
    text += f"Not in percent, and not divided: {_join(other_systems)}." if other_systems else ""
    return {**columns, **fractions}, Note("percent", "info", text.strip(), count=len(fractions))


def check_ranges(columns: Columns, source_of_system: Mapping[str, str], *, percent: bool) -> None:
    """Raise InputError for a score that its measure cannot have; `percent`: some were divided."""
    for (measure, system), (ids, values) in columns.items():
        low, high = possible(known_measure(measure))
        for row in outside(values, low, high)[:1, 0].tolist():
            source, score = source_of_system[system], float(values[row])
            of_several = [*source_of_system.values()].count(source) > 1
            is_share = score > high == 1 and not percent
            ends = f"of at least {low:g}" if high == math.inf else f"from {low:g} to {high:g}"
            raise InputError(
                f"{f'{system}: ' * of_several}{measure} of query {ids[row]!r:.80} is {score:g}: "
                f"expected a score {ends}",
                source=source,
                hint="Is it a percentage? --percent divides by 100 (percent=True). " * is_share
                + "Scores of another measure need another name.",
                query_id=ids[row],
            )


def note_unit(measure: str, values_of_name: Mapping[str, Floats]) -> Iterator[Note]:
    """Yield a warning if an unknown measure is a share of some systems or collections alone."""
    shares = [name for name, x in values_of_name.items() if x.min() >= 0 and x.max() <= 1]
    above_1 = [name for name, x in values_of_name.items() if x.mean() > 1]
    if shares and above_1 and known_measure(measure) is None:
        text = (
            f"{printable(measure)}: all scores of {_join(shares)} are between 0 and 1, and the "
            f"mean is above 1 of {_join(above_1)}: are they in the same unit? --percent divides "
            "percentages by 100 (percent=True)."
        )
        yield Note("unit", "warning", text)


def note_direction(measures: Sequence[str]) -> Iterator[Note]:
    """Yield a note that of unknown measures, more is taken as better; `score` goes without it."""
    if names := [name for name in measures if name != "score"]:
        text = (
            f"{_join(names)}: no measure of cranfield; more is taken as better. "
            "--less-is-better NAME turns that (less_is_better=)."
        )
        yield Note("direction", "info", text, count=len(names))


def _join(names: Iterable[str]) -> str:
    return some([printable(name) for name in dict.fromkeys(names)])
