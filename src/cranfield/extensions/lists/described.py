"""ListScores: what `describe` returns of a run: a number for each user, and those of the run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cranfield.extensions.lists.run_measures import RunValue
from cranfield.extensions.lists.user_lists import Lists
from cranfield.measures import Measure, parse
from cranfield.measures.plan import CutoffGroup
from cranfield.measures.refusals import no_user_error
from cranfield.scoring.scores import Scores


class Means(dict[str, float]):
    """{measure: value}; a measure may also be written in another way."""

    def __missing__(self, measure: str | Measure) -> float:
        name = str(parse(measure) if isinstance(measure, str) else measure)
        if name not in self:
            raise KeyError(measure)
        return self[name]

    def get(self, measure: Any, default: Any = None) -> Any:
        """Return the value of a measure, however it is written, else the default."""
        return self[measure] if str(parse(str(measure))) in self else default


def values_of_run(measures: Iterable[Measure], lists: Lists) -> dict[str, RunValue]:
    """Return {measure: value} of the measures of a run, among some."""
    plans: dict[str, Any] = {
        str(measure): CutoffGroup([measure], of_lists=True)
        for measure in measures
        if measure.definition.of == "run"
    }
    return {name: plan.values(lists) for name, plan in plans.items()}


@dataclass(frozen=True, eq=False, repr=False)
class ListScores(Scores):
    """One run's lists in numbers: users x measures, and the measures of the run as a whole.

    A user without a value is NaN in `values`, and is left out of the mean.

    >>> from cranfield import describe
    >>> found = describe({"ann": ["a", "b"], "bob": ["a"]}, "Filled@2 Coverage@2", catalogue=4)
    >>> found.means(), found.per_query("Filled@2")
    ({'Filled@2': 0.75, 'Coverage@2': 0.5}, {'ann': 1.0, 'bob': 0.5})
    """

    run_values: Mapping[str, RunValue] = field(default_factory=dict)

    def _aggregate(self, name: str, *, exact: bool = False) -> float:
        if name in self.run_values:
            return self.run_values[name].value
        return super()._aggregate(name, exact=exact)

    def means(self, *, exact: bool = False) -> dict[str, float]:
        """Return {measure: value}: the means over users, and the values of the run."""
        return Means(super().means(exact=exact))

    def per_query(self, measure: Measure | str) -> dict[str, Any]:
        """Return {user: value} of the users who have a value; MeasureError of the run's."""
        if self._find_column(measure) in self.run_values:
            raise no_user_error(measure if isinstance(measure, Measure) else parse(measure))
        return super().per_query(measure)

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return {user: {measure: value}}, without what a user has no value of."""
        return {
            user: {name: value for name, value in values.items() if value is not None}
            for user, values in super().to_dict().items()
        }
