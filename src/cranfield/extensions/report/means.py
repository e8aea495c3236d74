"""The means of all systems under all measures, as HTML."""

from cranfield.extensions.report.digits import format_digits
from cranfield.extensions.report.element import Markup, element, name_element
from cranfield.extensions.report.evidence import Evidence


def means_table(evidence: Evidence) -> Markup:
    """Return the table: a row for each system, the best under the first measure first."""
    results = [evidence.comparison[measure] for measure in evidence.measures]
    cells = [_measure_cells(evidence, measure) for measure in evidence.measures]
    rows = (
        element(
            "tr",
            element("th", name_element(one.name), scope="row", class_="l"),
            *(column[one.name] for column in cells),
            data_s=evidence.systems.index(one.name),
        )
        for one in results[0].ranked_systems
    )
    heads = (
        element(
            "th",
            name if rising else f"{name} (less is better)",
            scope="col",
            class_="n",
            data_key=i,
        )
        for i, (name, rising) in enumerate((one.measure, one.higher_is_better) for one in results)
    )
    head = element("tr", element("th", "System", scope="col", class_="l", data_key="name"), *heads)
    caption = element("caption", "Means over all queries, of every measure", class_="sr")
    body = element("tbody", *rows)
    return element("table", caption, element("thead", head), body, class_="plain", id="means")


def _measure_cells(evidence: Evidence, measure: str) -> dict[str, Markup]:
    """Return the cell of each system under a measure; the best and the second are marked."""
    result = evidence.comparison[measure]
    places = list(dict.fromkeys(one.mean for one in result.ranked_systems))
    of_place = dict(zip(places, ("best", "second"), strict=False)) if len(places) > 1 else {}
    return {
        one.name: element(
            "td",
            format_digits(one.mean),
            class_=f"n {of_place.get(one.mean, '')}".rstrip(),
            data_v=repr(one.mean),
        )
        for one in result.systems
    }
