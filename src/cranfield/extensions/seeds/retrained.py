"""Gates of systems of several runs: about these models, or about training them again."""

from dataclasses import replace

from cranfield.comparison.alignment import Aligned
from cranfield.errors import OptionError
from cranfield.extensions.seeds.columns import Seeds
from cranfield.extensions.seeds.seeds import spread_of
from cranfield.notes import Note


def retrain(aligned: Aligned, *, has_limits: bool) -> Aligned:
    """Return aligned scores with what other seeds add to the variances of the systems' means.

    Raises OptionError if no system has several runs, if one does not tell about other seeds, and
    if there are no limits for which this matters.
    """
    blocks = (block for block in aligned.extra_columns if isinstance(block, Seeds))
    groups = [group for block in blocks for group in block.groups]
    if all(len(group.runs) == 1 for group in groups):
        raise OptionError(
            "trained_again=True needs systems of several runs with different seeds: name these "
            "(groups=, --group)"
        )
    for group in groups:
        if not group.tells:
            raise OptionError(
                f"trained_again=True: {group.name} has one run, which cannot tell what other seeds "
                "would change: add runs to it, or say that it has no seeds (deterministic=, "
                "--deterministic)"
            )
    if not has_limits:
        raise OptionError(
            "trained_again=True applies to limits: state a baseline and a margin, or limit=True "
            "(--limit)"
        )
    added = {
        measure: spread_of(groups, aligned.known(measure), i, aligned.units)
        for i, measure in enumerate(aligned.measures)
    }
    return replace(aligned, added=added)


def note_models(aligned: Aligned) -> Aligned:
    """Return aligned scores with a note, if some are of several runs, that seeds do not count."""
    if all(note.code != "runs" for note in aligned.notes):
        return aligned
    text = (
        "The verdicts are about these trained models: trained_again=True (--trained-again) "
        "judges the systems as trained again."
    )
    return replace(aligned, notes=(*aligned.notes, Note("these-models", "info", text)))
