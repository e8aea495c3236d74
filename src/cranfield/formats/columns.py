"""Columns: which ones a run and judgments may have, and their names in other tools."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from cranfield.formats.block import Role


@dataclass(frozen=True)
class What:
    """Whether data are a run, judgments or exclusions: What.RUN, What.QRELS or What.EXCLUDED."""

    word: str  # in options and errors
    role: Role  # of the main number of a document
    called: str  # in errors, for data in memory

    RUN: ClassVar["What"]  # not an Enum, which is slow to look up
    QRELS: ClassVar["What"]
    EXCLUDED: ClassVar["What"]

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (What, self.word.upper())  # there is only one instance of each

    @property
    def number(self) -> str:
        """The name of that number's column for users."""
        return COLUMNS[self.role].public

    @property
    def other(self) -> "What":
        """The other side."""
        return What.QRELS if self is What.RUN else What.RUN

    @property
    def expected(self) -> str:
        """What that number should be, in errors."""
        return f"{COLUMNS[self.role].kind} as the {self.role}"


What.RUN = What("run", "score", "the run")
What.QRELS = What("qrels", "grade", "the qrels")
What.EXCLUDED = What("excluded", "score", "the exclusions")  # a score, as in a run, is not read


@dataclass(frozen=True)
class Column:
    """A column that a run or judgments may have.

    `names` are its names in various tools: the first one present is used. `lists` are names that
    only a run, or only judgments, give to a column whose cells may hold several values: so one
    table can have both; `if_lists` are names that mean this column only where cells hold lists.
    `several` is the name of its values in errors, if the files of one table must either all have it
    or all lack it. `beside` is the role of the column that it needs.
    `stated_as` is its name for users, if that is not the first of `names`. `or_whole`: its numbers
    are kept as whole numbers if all of them are.
    """

    of: tuple[What, ...]
    kind: Literal["id", "number", "whole number"]
    names: Sequence[str]
    lists: Mapping[What, Sequence[str]] = field(default_factory=dict)
    if_lists: Mapping[What, str] = field(default_factory=dict)
    needed: bool = False
    several: str | None = None
    beside: Role | None = None
    stated_as: str | None = None
    or_whole: bool = False
    meaning: str = ""  # for the documentation

    @property
    def public(self) -> str:
        """Its name for users."""
        return self.stated_as or self.names[0]

    def known(self, what: What) -> list[str]:
        """Return its names in a run, or in judgments, in the order in which they are searched for.

        `expected_ids` can only be a column of documents, and comes first; `relevant` may be a
        column of grades, and comes last. What is excluded comes before other documents.
        """
        lists = self.lists.get(what, ())
        sure = [name for name in lists if what is What.EXCLUDED or name.endswith(("ids", "_id"))]
        return [*sure, *self.names, *(name for name in lists if name not in sure)]


_BOTH, _RUN, _QRELS = (What.RUN, What.QRELS), (What.RUN,), (What.QRELS,)
_ANY = (*_BOTH, What.EXCLUDED)

_QUERY = (
    "query_id qid q_id queryid user_id userid topic_id query user topic question_id questionid "
    "question uid user_input session_id"
)
_DOC = (
    "doc_id docno docid corpus_id document_id item_id itemid passage_id pid doc document item iid "
    "sku product_id productid article_id movie_id movieid chunk_id node_id context_id product "
    "article passage chunk"
)
_GRADE = (
    "relevance label rel grade score rating clicks click clicked purchases purchased relevant "
    "is_relevant judgment judgement gain r_ui"
)
_SCORE = (
    "score similarity similarity_score relevance_score retrieval_score cosine_similarity "
    "prediction predicted_score est"
)
_GROUP = "subtopic subtopic_id intent intent_id aspect group"
_WEIGHT = "weight subtopic_weight intent_weight"
_CHANCE = "inclusion_probability probability inclusion_prob iprob"
_SPANS = "for judgments by span: the first position, and the one after the last; both or neither"
_COSTS = "what it costs to look at the document (seconds, or characters); optional, for CWL"
_DISTANCES = "the lowest first, read where there is no score; in lists only where it is stated"
_STRATA = "for judgments that are a sample; whole numbers"
_ENDS = "ids doc_ids docids document_ids item_ids passage_ids chunk_ids context_ids node_ids id"


def _lists(before: str, others: str) -> list[str]:
    """Return names of columns with several ids: each word with each ending, and others."""
    return [*(f"{word}_{end}" for word in before.split() for end in _ENDS.split()), *others.split()]


_EXPECTED = _lists(
    "expected relevant gold golden positive correct target reference ground_truth",
    "expected relevant gold ground_truth relevant_docs relevant_documents relevant_items",
)
_RETRIEVED = _lists(
    "retrieved predicted returned ranked reranked recommended result",
    "context_ids retrieved results predictions recommendations ranking retrieved_docs "
    "retrieved_documents recommended_items",
)
_EXCLUDED = ["excluded_ids", "excluded", "seen_ids", "seen", "seen_items", "history", "train_ids"]
_DISTANCE = ["distance", "dist", "_distance"]
_SCORES = ["scores", "similarities", "retrieved_scores", "similarity_scores", "retrieval_scores"]
_GRADES = ["grades", "relevances", "expected_grades", "relevant_grades", "ratings", "gains"]

#: Every column, in the order in which they are searched for and written.
COLUMNS: Mapping[Role, Column] = {
    "query": Column(_ANY, "id", _QUERY.split(), needed=True),
    "doc": Column(
        *(_ANY, "id", _DOC.split()),
        lists={What.QRELS: _EXPECTED, What.RUN: _RETRIEVED, What.EXCLUDED: _EXCLUDED},
        if_lists={What.QRELS: "label", What.RUN: "prediction"},  # of Spark's RankingEvaluator
        needed=True,
    ),
    "score": Column(_RUN, "number", _SCORE.split(), {What.RUN: _SCORES}, several="scores"),
    "distance": Column(_RUN, "number", _DISTANCE, several="distances", meaning=_DISTANCES),
    "rank": Column(_RUN, "whole number", ["rank", "position"]),
    "cost": Column(_RUN, "number", ["cost"], several="costs", meaning=_COSTS),
    "grade": Column(
        _QRELS, "number", _GRADE.split(), {What.QRELS: _GRADES}, needed=True, or_whole=True
    ),
    "group": Column(
        _QRELS, "id", _GROUP.split(), several="subtopics", meaning="for judgments by subtopic"
    ),
    "weight": Column(
        *(_QRELS, "number", _WEIGHT.split()),
        several="weights",
        beside="group",
        meaning="of a subtopic",
    ),
    "stratum": Column(
        _QRELS, "whole number", ["stratum", "stratum_id"], several="strata", meaning=_STRATA
    ),
    "probability": Column(
        *(_QRELS, "number", _CHANCE.split()),
        several="probabilities",
        stated_as="probability",
        meaning="of being judged, for judgments that are a sample",
    ),
    "query_probability": Column(
        *(_QRELS, "number", ["query_probability"]),
        several="probabilities of queries",
        meaning="of the query being labelled, for human labels of some queries",
    ),
    "start": Column(
        *(_BOTH, "whole number", ["start", "start_char", "start_index"]),
        several="spans",
        beside="end",
        meaning=_SPANS,
    ),
    "end": Column(
        *(_BOTH, "whole number", ["end", "end_char", "end_index"]),
        several="spans",
        beside="start",
        meaning=_SPANS,
    ),
    # Only for trec_eval's files of preferences, not for tables.
    "subgroup": Column((), "id", ["subgroup"]),
    "level": Column((), "number", ["level"]),
}
NAMES: Mapping[Role, Sequence[str]] = {  # in runs and judgments
    role: [*column.names, *(name for what in _BOTH for name in column.lists.get(what, ()))]
    for role, column in COLUMNS.items()
}
IDS = tuple(role for role, column in COLUMNS.items() if column.kind == "id")
FRACTIONS = frozenset(
    role for role, column in COLUMNS.items() if column.kind == "number" and not column.or_whole
)
NO_COLUMN = None  # stated for what has no column; without grades, all rows are relevant

ColumnsLike = Mapping[str, str | int | None]


class SideColumns(dict[str, "str | int | None"]):
    """The columns stated for one side of a table that holds both, and for its `other_side`."""

    def __init__(self, columns: ColumnsLike, other_side: ColumnsLike) -> None:
        super().__init__(columns)
        self.other_side = other_side


# The names of the columns for judgments and run: in one mapping, or one for each.
ColumnsOfBoth = Mapping[str, str | int | ColumnsLike | None]


def roles_of(what: What) -> list[Role]:
    """Return the columns that such data may have."""
    return [role for role, column in COLUMNS.items() if what in column.of]


def in_order(roles: Iterable[Role]) -> list[Role]:
    """Return some roles in the order in which columns are written."""
    some = set(roles)
    return [role for role in COLUMNS if role in some]


def plain_name(name: str) -> str:
    """Return a column's name in the form in which names are compared."""
    return name.strip().lower().replace("-", "_").replace(" ", "_")


def may_be_distance(name: str) -> bool:
    """Tell whether a column's name says that it holds distances, the lowest of which is best."""
    return "dist" in plain_name(name)


def numbers_in(found: Iterable[Role]) -> frozenset[Role]:
    """Return the roles among these that are not the ids of query and document."""
    return frozenset(found) - {"query", "doc"}


def understood(names: Sequence[str], found: Mapping[Role, int]) -> str:
    """Return which columns are used, in words."""
    return ", ".join(names[at] for at in found.values())


INDEX = "__index_level_"  # Arrow's name of a column for a pandas index without a name
_MOST_NAMED = 100


def listed_names(names: Sequence[str]) -> str:
    """Return the names of a table's columns, in words."""
    own = [name for name in names if not name.startswith(INDEX)]
    shown = ", ".join(f"{name!r:.60}" for name in own[:_MOST_NAMED])
    more = f", ... ({len(own):,} in all)" if len(own) > _MOST_NAMED else ""
    return f"its columns are {shown}{more}"
