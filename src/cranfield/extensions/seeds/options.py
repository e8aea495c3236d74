"""groups=: repetitions of one system, such as other seeds; trained_again= of a gate."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from cranfield.comparison.comparing import ComparingOptions
from cranfield.comparison.settings import read_names
from cranfield.errors import OptionError
from cranfield.extensions.seeds.seeds import TEMPLATE
from cranfield.options import option

if TYPE_CHECKING:
    from cranfield.comparison.aligned_scores import AlignedScores
    from cranfield.comparison.settings import GateSettings


def read_groups(groups: Any) -> dict[str, tuple[str, ...]] | None:
    """Return {system: runs}; templates, which stand for several systems, have the key "{}".

    Texts are taken as NAME=RUN,RUN, or as a template; None without any. Raises ValueError for
    anything else.

    >>> read_groups({"new": ["new-s1", "new-s2"]}), read_groups(["old=a,b", "{}-s*"])
    ({'new': ('new-s1', 'new-s2')}, {'old': ('a', 'b'), '{}': ('{}-s*',)})
    """
    if groups is None:
        return None
    runs_of_group: dict[str, tuple[str, ...]] = {}
    expected = "runs by the system, as in {'new': ['new-s1', 'new-s2']}, NAME=RUN,RUN or '{}-s*'"
    try:
        if isinstance(groups, Mapping):
            pairs = [(str(name), read_names(runs)) for name, runs in groups.items()]
        else:
            pairs = [_read_group(text) for text in read_names(groups)]
    except ValueError:
        raise ValueError(expected) from None
    for name, runs in pairs:
        if (
            not name.strip()
            or not all(runs)
            or (name == TEMPLATE) != all(run.count(TEMPLATE) == 1 for run in runs)
        ):
            raise ValueError(expected)
        runs_of_group[name] = (*runs_of_group.get(name, ()), *runs)
    return runs_of_group or None


def _read_group(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the system and the runs of NAME=RUN,RUN or of a template; "" without a name."""
    name, separator, runs = text.partition("=")
    if TEMPLATE in text and not separator:
        return TEMPLATE, (text,)
    return name.strip() if separator else "", tuple(run.strip() for run in runs.split(","))


@dataclass(frozen=True, kw_only=True)
class Grouping(ComparingOptions):
    """Which runs are repetitions of one system, with other seeds, answers or judges."""

    heading: ClassVar = "Seeds"
    flags: ClassVar = {
        "groups": {
            "names": ("--group",),
            "multiple": True,
            "metavar": "NAME=RUN,RUN",
            "help": "Repetitions of one system, by seed, answer or judge: files, names or "
            "patterns, as in --group 'dense=dense-s*'; --group '{}-s*' is for all systems at once. "
            "A system is then the mean of its runs. May be repeated.  [default: each run is a "
            "system]",
        },
        "deterministic": {
            "multiple": True,
            "metavar": "NAME",
            "help": "A system that is the same each time, such as BM25: its one run is all there "
            "is. May be repeated.",
        },
    }

    groups: Any | None = option(
        None,
        "Repetitions of one system, by seed, answer or judge, as {'dense': ['dense-s1', "
        "'dense-s2']}: names, files, or patterns such as 'dense-s*'. A text with {} is for all "
        "systems: '{}-s*'. A system is then the mean of its runs. [default: each run is a system]",
        read_groups,
    )
    deterministic: Sequence[str] = option(
        (),
        "Systems that are the same each time, such as BM25: their one run is all there is.",
        read_names,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.deterministic and self.groups is None:
            raise OptionError(
                f"deterministic={self.deterministic!r:.80} applies beside systems of several runs: "
                "name these, too (groups=, --group)"
            )

    def run_names(self) -> list[str]:
        """Return the names, files and patterns of the runs in groups."""
        return [name for names in (self.groups or {}).values() for name in names]

    def rename_runs(self, rename: Callable[[str, str], list[str]]) -> "Grouping":
        """Return the groups with the names of runs that `rename` returns for (name, option)."""
        groups = {
            group: [run_name for run in runs for run_name in rename(run, "--group")]
            for group, runs in (self.groups or {}).items()
        }
        return replace(self, groups=groups or None)

    def join_runs(self, aligned_scores: "AlignedScores") -> "AlignedScores":
        """Return the scores of systems, each the mean of its runs; unchanged without groups."""
        if self.groups is None:
            return aligned_scores
        from cranfield.extensions.seeds.grouped import average_groups

        return average_groups(aligned_scores, self.groups, self.deterministic)


@dataclass(frozen=True, kw_only=True)
class Retraining(ComparingOptions):
    """Whether a gate judges systems as trained again, with other seeds."""

    heading: ClassVar = "Seeds"

    trained_again: bool = option(
        False,
        "Require it of systems that are repeated (trained, answering or judged) again, too, by a t "
        "test; needs groups of runs. [default: these runs alone]",
    )

    def gate_settings(self, settings: "GateSettings") -> "GateSettings":
        """Return the settings, with the t test if `trained_again`; OptionError if it cannot be."""
        if not self.trained_again:
            return settings
        if settings.gate_test.holds_always:
            raise OptionError(
                f"test={settings.test!r} is about single models; training them again is tested by "
                "t: leave one of the two out"
            )
        return replace(settings, test="t")

    def prepare_gate(self, aligned_scores: "AlignedScores", *, has_limits: bool) -> "AlignedScores":
        """Add what other seeds add to the variances of means, or a note that it is left out.

        `has_limits`: whether the gate has limits, for which alone the variances matter.
        """
        from cranfield.extensions.seeds.retrained import note_models, retrain

        if self.trained_again:
            return retrain(aligned_scores, has_limits=has_limits)
        return note_models(aligned_scores)

    def gate_recipe(self) -> dict[str, Any]:
        """Return the recipe's part: whether systems were judged as trained again."""
        return self.to_dict()
