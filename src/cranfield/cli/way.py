"""Way: options of an extension which, when given, take the place of what a command does."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from cranfield.cli import flags
from cranfield.options import Options

if TYPE_CHECKING:
    from cranfield.cli.evaluate import Inputs
    from cranfield.cli.several import ComparisonOptions
    from cranfield.comparison.level import Level
    from cranfield.render.shown import Shown


class Way(Options):
    """Another way of a command. The first option is what asks for it."""

    refusal: ClassVar[str]  # why an option is refused that does not go with it
    in_place_of_files: ClassVar[str] = ""  # what is typed in place of QRELS and RUN, if anything

    def is_asked(self) -> bool:
        """Tell whether the first option was given."""
        return next(iter(vars(self).values())) is not None

    def compare(
        self, qrels: str | None, runs: tuple[str, ...], comparing: "ComparisonOptions"
    ) -> "Shown":
        """Return what `cranfield compare` shows."""
        raise NotImplementedError

    def evaluate(self, inputs: "Inputs", level: "Level") -> "Shown":
        """Return what `cranfield evaluate` shows."""
        raise NotImplementedError


def choose_alternative(alternatives: Sequence[Way]) -> Way | None:
    """Return the way that was asked for, else None; OptionError for options of another."""
    for alternative in alternatives:
        if alternative.is_asked():
            rivals = [other for other in alternatives if other is not alternative]
            flags.refuse_options(flags.option_names(rivals), alternative.refusal)
            return alternative
    return None
