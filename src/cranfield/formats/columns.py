"""Columns: the columns that runs and judgments may have, and their names in other tools."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from cranfield.errors import InputError
from cranfield.formats.block import Role


@dataclass(frozen=True)
class Side:
    """Whether data are a run, judgments or exclusions: Side.RUN, Side.QRELS or Side.EXCLUDED."""

    word: str  # in options and errors
    role: Role  # of a document's main number
    name_in_errors: str  # of data in memory

    RUN: ClassVar["Side"]  # not an Enum, which is slow to look up
    QRELS: ClassVar["Side"]
    EXCLUDED: ClassVar["Side"]

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (Side, self.word.upper())  # each side has one instance only

    @property
    def number_name(self) -> str:
        """The name for users of the column of scores, or of grades."""
        return COLUMNS[self.role].public

    @property
    def other_side(self) -> "Side":
        """The judgments for a run, the run for anything else."""
        return Side.QRELS if self is Side.RUN else Side.RUN

    @property
    def expected_number(self) -> str:
        """What a score, or a grade, should be, in errors: "number as the score"."""
        return f"{COLUMNS[self.role].kind} as the {self.role}"

    def error(self, problem: str, hint: str | None = None, kind: str | None = None) -> InputError:
        """Return the error that data in memory of this side have a problem."""
        return InputError(problem, source=self.name_in_errors, hint=hint, kind=kind)


Side.RUN = Side("run", "score", "the run")
Side.QRELS = Side("qrels", "grade", "the qrels")
Side.EXCLUDED = Side("excluded", "score", "the exclusions")  # a score, as in a run, is not read


@dataclass(frozen=True)
class Column:
    """A column that a run or judgments may have.

    `names` are its names in various tools: the first name that a table has is used. `list_names`
    are names that only a run, or only judgments, give to a column whose cells may hold several
    documents: so one table can have both; `name_if_lists` means this column only where cells hold
    lists; `text_names`, lists of texts, only where a table has both sides so.
    `is_required`: a table has to have it (grades apart, see `header.may_lack_grades`).
    `plural` is the name of its values in errors, if the files of one table must either all have the
    column or all lack it. `partner` is the role of the column that it needs. `stated_name` is its
    name for users, if that is not the first of `names`. `whole_if_possible`: its numbers are kept
    as whole numbers if all of them are whole.
    """

    sides: tuple[Side, ...]
    kind: Literal["id", "text", "number", "whole number"]  # a text may be empty
    names: Sequence[str]
    list_names: Mapping[Side, Sequence[str]] = field(default_factory=dict)
    name_if_lists: Mapping[Side, str] = field(default_factory=dict)
    text_names: Mapping[Side, Sequence[str]] = field(default_factory=dict)
    is_required: bool = False
    plural: str | None = None
    partner: Role | None = None
    stated_name: str | None = None
    whole_if_possible: bool = False
    meaning: str = ""  # for the documentation

    @property
    def public(self) -> str:
        """The column's name for users."""
        return self.stated_name or self.names[0]

    def names_for(self, side: Side) -> list[str]:
        """Return the column's names on one side, in the order in which they are searched for.

        `expected_ids` can only be a column of documents, and comes first; `relevant` may be a
        column of grades, and comes last. In exclusions, names of lists come before other names.
        """
        list_names = self.list_names.get(side, ())
        certain_names = [
            name for name in list_names if side is Side.EXCLUDED or name.endswith(("ids", "_id"))
        ]
        return [
            *certain_names,
            *self.names,
            *(name for name in list_names if name not in certain_names),
            *self.text_names.get(side, ()),
        ]


_BOTH_SIDES, _RUN, _QRELS = (Side.RUN, Side.QRELS), (Side.RUN,), (Side.QRELS,)
_ALL_SIDES = (*_BOTH_SIDES, Side.EXCLUDED)

_QUERY = (
    "query_id qid q_id queryid user_id userid topic_id query.query_id query.qid query.id query._id "
    "query user topic question_id questionid question uid user_input session_id"
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
_SYSTEMS = "a run for each value; read where it is stated, or a document occurs under two values"
_STRATA = "for judgments that are a sample; whole numbers"
_ID_ENDS = "ids doc_ids docids document_ids item_ids passage_ids chunk_ids context_ids node_ids id"


def _list_names(words: str, extra_names: str) -> list[str]:
    """Return names of columns with several ids: each word with each ending, and extra names."""
    return [
        *(f"{word}_{end}" for word in words.split() for end in _ID_ENDS.split()),
        *extra_names.split(),
    ]


_EXPECTED_NAMES = _list_names(
    "expected relevant gold golden positive correct target reference ground_truth",
    "expected relevant gold ground_truth relevant_docs relevant_documents relevant_items",
)
_RETRIEVED_NAMES = _list_names(
    "retrieved predicted returned ranked reranked recommended result",
    "context_ids retrieved results predictions recommendations ranking retrieved_docs "
    "retrieved_documents recommended_items",
)
_EXCLUSIONS = "excluded_ids excluded seen_ids seen seen_items history train_ids"
_TEXTS = {Side.QRELS: ["reference_contexts"], Side.RUN: ["retrieved_contexts", "contexts"]}
_DISTANCE_NAMES = ["distance", "dist", "_distance"]
_SCORE_LISTS = "scores similarities retrieved_scores similarity_scores retrieval_scores"
_GRADE_LISTS = "grades relevances expected_grades relevant_grades ratings gains"
_STARTS, _ENDS = (f"{word} {word}_char {word}_index".split() for word in ("start", "end"))

#: Every column, in the order in which columns are searched for and written.
COLUMNS: Mapping[Role, Column] = {
    "query": Column(_ALL_SIDES, "id", _QUERY.split(), is_required=True),
    "doc": Column(
        _ALL_SIDES,
        "id",
        _DOC.split(),
        list_names={
            Side.QRELS: _EXPECTED_NAMES,
            Side.RUN: _RETRIEVED_NAMES,
            Side.EXCLUDED: _EXCLUSIONS.split(),
        },
        name_if_lists={Side.QRELS: "label", Side.RUN: "prediction"},  # of Spark's RankingEvaluator
        text_names=_TEXTS,
        is_required=True,
    ),
    "score": Column(
        _RUN, "number", _SCORE.split(), {Side.RUN: _SCORE_LISTS.split()}, plural="scores"
    ),
    "distance": Column(_RUN, "number", _DISTANCE_NAMES, plural="distances", meaning=_DISTANCES),
    "rank": Column(_RUN, "whole number", ["rank", "position"]),
    "cost": Column(_RUN, "number", ["cost"], plural="costs", meaning=_COSTS),
    "grade": Column(
        _QRELS,
        "number",
        _GRADE.split(),
        {Side.QRELS: _GRADE_LISTS.split()},
        is_required=True,
        whole_if_possible=True,
    ),
    "group": Column(
        _QRELS, "id", _GROUP.split(), plural="subtopics", meaning="for judgments by subtopic"
    ),
    "weight": Column(
        _QRELS,
        "number",
        _WEIGHT.split(),
        plural="weights",
        partner="group",
        meaning="of a subtopic",
    ),
    "stratum": Column(
        _QRELS, "whole number", ["stratum", "stratum_id"], plural="strata", meaning=_STRATA
    ),
    "probability": Column(
        _QRELS,
        "number",
        _CHANCE.split(),
        plural="probabilities",
        stated_name="probability",
        meaning="of being judged, for judgments that are a sample",
    ),
    "query_probability": Column(
        _QRELS,
        "number",
        ["query_probability"],
        plural="probabilities of queries",
        meaning="of the query being labelled, for human labels of some queries",
    ),
    "start": Column(
        _BOTH_SIDES, "whole number", _STARTS, plural="spans", partner="end", meaning=_SPANS
    ),
    "end": Column(
        _BOTH_SIDES, "whole number", _ENDS, plural="spans", partner="start", meaning=_SPANS
    ),
    "judge_model": Column(
        _QRELS, "text", ["judge_model"], plural="judges", meaning="that gave the grade; else empty"
    ),
    "judge_prompt": Column(_QRELS, "text", ["judge_prompt"], meaning="of that model"),
    "system": Column(_BOTH_SIDES, "id", (), stated_name="system", meaning=_SYSTEMS),
    # Only for trec_eval's files of preferences, not for tables.
    "subgroup": Column((), "id", ["subgroup"]),
    "level": Column((), "number", ["level"]),
}
NAMES: Mapping[Role, Sequence[str]] = {  # in runs and judgments
    role: [
        *column.names,
        *(name for side in _BOTH_SIDES for name in column.list_names.get(side, ())),
    ]
    for role, column in COLUMNS.items()
}
TEXTS = frozenset(role for role, column in COLUMNS.items() if column.kind == "text")
IDS = tuple(role for role, column in COLUMNS.items() if column.kind in ("id", "text"))
FRACTIONS = frozenset(  # the roles whose numbers are always doubles
    role
    for role, column in COLUMNS.items()
    if column.kind == "number" and not column.whole_if_possible
)
NO_COLUMN = None  # stated for a role that has no column; without grades, all rows are relevant

# {any name of a role: name of the table's column, its number from 1, or NO_COLUMN}; of several
# columns, a file takes the one that it has.
StatedColumn = str | int | Sequence[str | int] | None
ColumnsLike = Mapping[str, StatedColumn]


TextMatching = Literal["same", "contain"]  # which texts are one document
# The columns of all data as the user states them; "run.score", or {"run": {...}}, of one side.
ColumnsOfBoth = Mapping[str, StatedColumn | ColumnsLike]


def roles_of(side: Side) -> list[Role]:
    """Return the roles of the columns that one side may have."""
    return [role for role, column in COLUMNS.items() if side in column.sides]


def sort_roles(roles: Iterable[Role]) -> list[Role]:
    """Return the roles in the order in which columns are written."""
    role_set = set(roles)
    return [role for role in COLUMNS if role in role_set]


def plain_name(name: str) -> str:
    """Return a column's name in the form in which names are compared."""
    return name.strip().lower().replace("-", "_").replace(" ", "_")


def may_be_distance(name: str) -> bool:
    """Tell whether a column's name says that it holds distances, the lowest of which is best."""
    return "dist" in plain_name(name)


def select_extra_roles(roles: Iterable[Role]) -> frozenset[Role]:
    """Return the roles without those of the ids of query, document and system."""
    return frozenset(roles) - {"query", "doc", "system"}


def describe_columns(names: Sequence[str], positions: Mapping[Role, int]) -> str:
    """Return the names of the columns at {role: position}, in words."""
    return ", ".join(names[position] for position in positions.values())


INDEX_PREFIX = "__index_level_"  # Arrow's name of a column for a pandas index without a name
_MOST_NAMES = 100  # of columns, in an error


def describe_names(names: Sequence[str]) -> str:
    """Return a clause of an error that lists the names of a table's columns."""
    own_names = [name for name in names if not name.startswith(INDEX_PREFIX)]
    name_list = ", ".join(f"{name!r:.60}" for name in own_names[:_MOST_NAMES])
    ellipsis = f", ... ({len(own_names):,} in all)" if len(own_names) > _MOST_NAMES else ""
    return f"its columns {'are' if own_names else 'have no names'} {name_list}{ellipsis}".rstrip()
