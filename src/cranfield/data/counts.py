"""Counts: the numbers of queries that a result averages or leaves out, and of rows and ties."""

from dataclasses import dataclass

from cranfield.data.averaged import LEFT_OUT_REASONS
from cranfield.notes import Note
from cranfield.render.numbers import format_query_count

_INCOMPARABLE_MEAN = (
    "Each would score 0: do not compare this mean with that of a run that has them."
)
# (count, its note's text behind the number), in the order of the notes.
_COUNT_TEXTS = (
    ("without_results", "without results: counted as retrieving nothing."),
    (
        "without_relevant",
        "without a relevant document (no grade above 0): as a rule they count 0; "
        "queries='relevant' (--queries relevant) leaves them out.",
    ),
    ("without_judgments", "of the run left out: not in the qrels."),
    ("without_run", f"of the qrels left out: {LEFT_OUT_REASONS['both']}. {_INCOMPARABLE_MEAN}"),
    (
        "none_retrieved",
        f"of the qrels left out: {LEFT_OUT_REASONS['retrieved']}. {_INCOMPARABLE_MEAN}",
    ),
    ("none_relevant", f"of the qrels left out: {LEFT_OUT_REASONS['relevant']}."),
    ("unjudged_queries", "of the run not in the qrels: counted as 0."),
)


@dataclass(unsafe_hash=True)
class Counts:
    """How many queries a result averages and leaves out; rows left out; ties. Never changed.

    (A frozen dataclass takes 1 us more to make: small evaluations would notice.)
    """

    queries: int  # averaged
    without_results: int  # of these: the run retrieved nothing for them, they score 0
    without_relevant: int  # of these: no judged document has a grade above 0
    without_judgments: int  # in the run, but not in the qrels: not scored
    without_run: int = 0  # in the qrels, but left out because the run has none (queries="both")
    none_retrieved: int = 0  # left out because nothing was retrieved ("retrieved", "run")
    none_relevant: int = 0  # left out because no grade is above 0 ("relevant")
    unjudged_queries: int = 0  # of `queries`: not in the qrels, counted as 0 (queries="run")
    rows_left_out: int = 0  # of the run and the qrels: they could not be read (errors="skip")
    tied: int = 0  # documents of the run with the same score as another of the same query

    def notes(self) -> list[Note]:
        """Return a note on the averaged queries, and for every other count of queries above 0."""
        notes = [
            Note("queries", "info", f"{format_query_count(self.queries)} averaged.", self.queries)
        ]
        for count_name, text in _COUNT_TEXTS:
            count = getattr(self, count_name)
            if count:
                if count_name == "without_judgments" and self.rows_left_out:
                    all_queries = format_query_count(self.queries + count)
                    text = f"{text[:-1]}, where rows were left out; so the mean is over "
                    text += f"{self.queries:,} of {all_queries}."
                text = f"{format_query_count(count)} {text}"
                notes.append(Note(count_name.replace("_", "-"), "info", text, count))
        return notes

    def __add__(self, addend: "Counts") -> "Counts":
        return Counts(
            **{
                count_name: count + getattr(addend, count_name)
                for count_name, count in vars(self).items()
            }
        )
