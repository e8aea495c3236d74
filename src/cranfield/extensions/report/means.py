"""The means of all systems under all measures, as HTML."""

from cranfield.extensions.report.digits import format_digits
from cranfield.extensions.report.element import Markup, element, name_element
from cranfield.extensions.report.evidence import Evidence
from cranfield.render.typed_names import as_typed


def means_table(evidence: Evidence) -> Markup:
    """Return the table: a row for each system, the best under the first measure first."""
    results = [evidence.comparison[measure] for measure in evidence.measures]
    cells_of_measure = [_measure_cells(evidence, measure) for measure in evidence.measures]
    rows = (
        element(
            "tr",
            element("th", name_element(system.name), scope="row", class_="l"),
            *(column[system.name] for column in cells_of_measure),
            data_s=evidence.systems.index(system.name),
        )
        for system in results[0].ranked_systems
    )
    heads = (
        element(
            "th",
            name if rising else f"{name} (less is better)",
            scope="col",
            class_="n",
            data_key=i,
        )
        for i, (name, rising) in enumerate(
            (as_typed(result.measure), result.higher_is_better) for result in results
        )
    )
    head = element("tr", element("th", "System", scope="col", class_="l", data_key="name"), *heads)
    caption = element("caption", "Means over all queries, of every measure", class_="sr")
    body = element("tbody", *rows)
    return element("table", caption, element("thead", head), body, class_="plain", id="means")


def _measure_cells(evidence: Evidence, measure: str) -> dict[str, Markup]:
    """Return {system: cell} under a measure; if means differ, the best and second are marked."""
    result = evidence.comparison[measure]
    distinct_means = list(dict.fromkeys(system.mean for system in result.ranked_systems))
    marks = ("best", "second") if len(distinct_means) > 1 else ()
    mark_of_mean = dict(zip(distinct_means, marks, strict=False))
    return {
        system.name: element(
            "td",
            format_digits(system.mean),
            class_=f"n {mark_of_mean.get(system.mean, '')}".rstrip(),
            data_v=repr(system.mean),
        )
        for system in result.systems
    }
