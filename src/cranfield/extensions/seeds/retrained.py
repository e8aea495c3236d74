"""Gates of systems of several runs: about these models, or about training them again."""

from dataclasses import replace

from cranfield.comparison.aligned_scores import AlignedScores
from cranfield.errors import OptionError
from cranfield.extensions.seeds.columns import SeedColumns
from cranfield.extensions.seeds.seeds import seed_variance
from cranfield.notes import Note


def retrain(aligned_scores: AlignedScores, *, has_limits: bool) -> AlignedScores:
    """Return aligned scores with what other seeds add to the variances of the systems' means.

    Raises OptionError if no system has several runs, if one does not tell about other seeds, and
    if there are no limits for which this matters.
    """
    blocks = (block for block in aligned_scores.extra_columns if isinstance(block, SeedColumns))
    groups = [group for block in blocks for group in block.groups]
    if all(len(group.runs) == 1 for group in groups):
        raise OptionError(
            "trained_again=True needs systems of several runs with different seeds: name these "
            "(groups=, --group)"
        )
    for group in groups:
        if not group.shows_seed_effect:
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
    seed_variances = {
        measure: seed_variance(
            groups, aligned_scores.find_measure(measure), measure_index, aligned_scores.units
        )
        for measure_index, measure in enumerate(aligned_scores.measures)
    }
    return replace(aligned_scores, added_variances=seed_variances)


def note_models(aligned_scores: AlignedScores) -> AlignedScores:
    """Return aligned scores with a note that seeds do not count, if a system has several runs."""
    if all(note.code != "runs" for note in aligned_scores.notes):
        return aligned_scores
    text = (
        "The verdicts are about these trained models: trained_again=True (--trained-again) "
        "judges the systems as trained again."
    )
    return replace(
        aligned_scores, notes=(*aligned_scores.notes, Note("these-models", "info", text))
    )
