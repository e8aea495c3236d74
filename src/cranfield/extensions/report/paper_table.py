"""paper_table: systems by measures, as a paper prints them; the test says which differ."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Unpack

from cranfield.comparison.compare import compare_all_pairs, compare_scores
from cranfield.comparison.comparison import Comparison
from cranfield.errors import InputError
from cranfield.extensions import keywords
from cranfield.extensions.collections.macro import CollectionComparison, compare_aligned
from cranfield.extensions.report.paper_result import Marks, Paper, PaperTable
from cranfield.options import refuse_unknown_options, takes


@takes(Paper)
def paper_table(
    comparison: Comparison | Mapping[str, Comparison] | CollectionComparison,
    **options: "Unpack[keywords.Paper]",
) -> PaperTable:
    r"""Return the table that a paper prints: systems by measures, with marks of significance.

    The best value of each column is bold, the second underlined, by the digits that are shown.
    Superscripts say which systems a value is significantly better than, daggers that it differs
    from the baseline; the caption names the test, the correction and its family, alpha and the
    number of queries.

    Args:
        comparison: what `compare` returned, with a baseline or for all pairs. Or several
            comparisons, by collection, `{"DL 2019": ..., "DL 2020": ...}`: each has a group of
            columns. Or what `compare_collections` returned: then their average has columns, too.
        **options: each option of `Paper`.

    Returns:
        The table, which prints as text. `to_latex` needs \usepackage{booktabs}; `to_markdown`,
        `to_html`, `to_csv` and `to_json` have the same.

    Raises:
        InputError: not what `compare` returns; collections compared in different ways.
        OptionError: an option with an unknown value.

    >>> from cranfield import compare
    >>> runs = ["demo/bm25.run", "demo/dense.run"]
    >>> comparison = compare("demo/qrels.txt", runs, "nDCG@10 AP", all_pairs=True)
    >>> for line in paper_table(comparison).to_latex().splitlines()[10:12]:
    ...     print(line)
    a & bm25 & 0.452 & 0.339 \\
    b & dense & \textbf{0.665}\textsuperscript{a} & \textbf{0.613}\textsuperscript{a} \\

    """
    refuse_unknown_options(paper_table, options)
    style = Paper.of(options)
    if isinstance(comparison, CollectionComparison):
        marks = style.marks or ("letters" if comparison.settings.all_pairs else "daggers")
        averages = _average_for_marks(comparison, marks)
        comparisons: dict[str | None, Comparison] = dict(averages.comparisons.items())
        return PaperTable(comparisons, style, marks, averages)
    named_comparisons: dict[str | None, Comparison] = (
        {None: comparison} if isinstance(comparison, Comparison) else {}
    )
    if isinstance(comparison, Mapping):
        named_comparisons = {str(name): member for name, member in comparison.items()}
    if not named_comparisons or not all(
        isinstance(member, Comparison) for member in named_comparisons.values()
    ):
        raise InputError(
            f"expected what compare(...) returns, or that by collection, got {comparison!r:.60}",
            hint="As in paper_table({'DL 2019': compare(...), 'DL 2020': compare(...)}).",
        )
    first_settings = next(iter(named_comparisons.values())).settings
    marks = style.marks or ("letters" if first_settings.baseline is None else "daggers")
    marked_comparisons = {
        name: _compare_for_marks(member, marks) for name, member in named_comparisons.items()
    }
    _refuse_mixed_settings(marked_comparisons, marks)
    return PaperTable(marked_comparisons, style, marks)


def _compare_for_marks(comparison: Comparison, marks: Marks) -> Comparison:
    """Return a comparison with the pairs that the marks need: all pairs, or with a baseline."""
    if marks == "letters":
        return compare_all_pairs(comparison)
    if marks == "daggers" and comparison.settings.baseline is None:
        return compare_scores(comparison.aligned, replace(comparison.settings, all_pairs=False))
    return comparison


def _average_for_marks(comparison: CollectionComparison, marks: Marks) -> CollectionComparison:
    """Return a comparison over collections with the pairs that the marks need, if any."""
    all_pairs = marks == "letters"
    if marks == "none" or comparison.settings.all_pairs == all_pairs:
        return comparison
    settings = replace(comparison.settings, all_pairs=all_pairs, baseline=None)
    aligned_scores = {name: member.aligned for name, member in comparison.comparisons.items()}
    return compare_aligned(aligned_scores, settings, comparison.data_notes)


_CAPTION_SETTINGS = ("baseline", "test", "correction", "family", "alpha", "rope")


def _refuse_mixed_settings(comparisons: Mapping[str | None, Comparison], marks: Marks) -> None:
    """Raise InputError for collections compared in different ways, unless there are no marks."""
    (first_name, first_comparison), *other_comparisons = comparisons.items()
    for name, comparison in other_comparisons if marks != "none" else ():
        for setting in _CAPTION_SETTINGS:
            first_value = getattr(first_comparison.settings, setting)
            value = getattr(comparison.settings, setting)
            if first_value != value:
                raise InputError(
                    f"the collections were compared in different ways: {setting} is "
                    f"{first_value!r} on {first_name}, {value!r} on {name}",
                    hint="Compare with the same options on each, or choose marks='none'.",
                )
