"""The file of trec_eval's option -Z: means and standard deviations of measures per topic."""

import math

from cranfield.errors import DuplicateError
from cranfield.formats.small.read import parse_number, read_text_table, white_space_form
from cranfield.formats.small.text_lines import read_text
from cranfield.formats.source import Source

_FORM = white_space_form("the z-scores", "query_id", "measure", "mean", "standard_deviation")


def read_zscores(source: Source) -> dict[tuple[str, str], tuple[float, float]]:
    """Return {(query, measure): (mean, standard deviation)}.

    Raises InputError for the first wrong line, DuplicateError for a query and measure twice.
    """
    table = read_text_table(source.name, read_text(source), _FORM)
    zscores: dict[tuple[str, str], tuple[float, float]] = {}
    for row, (query, measure, *numbers) in enumerate(table.rows()):
        mean, deviation = (
            math.nan if number is None else number for number in map(parse_number, numbers)
        )
        if not (math.isfinite(mean) and 0 <= deviation < math.inf):
            raise table.row_error(
                row, "expected a mean and a standard deviation in columns 3 and 4"
            )
        if (query, measure) in zscores:
            problem = f"the measure {measure!r} occurs twice for query {query!r}"
            raise table.row_error(row, problem, kind=DuplicateError)
        zscores[query, measure] = mean, deviation
    if not zscores:
        raise table.row_error(None, "holds no mean and standard deviation")
    return zscores
