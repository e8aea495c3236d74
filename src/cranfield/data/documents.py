"""What a run ranks: the documents of its rows, or what these are chunks or spans of."""

import contextlib
import copy
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Self, TypeVar, get_args

from cranfield.arrays.ids import Ids
from cranfield.data.judging import Judging
from cranfield.data.order import Grouped, come_back, grouped, refused
from cranfield.errors import DuplicateError, InputError, OptionError, one_of
from cranfield.formats.block import (
    Block,
    Errors,
    Keep,
    LeftOut,
    ListsOf,
    Load,
    Role,
    Rows,
    joined,
    no_rows,
)
from cranfield.formats.columns import in_order
from cranfield.formats.objects import Nested
from cranfield.formats.source import Source, named
from cranfield.formats.systems import refuse_mixture

if TYPE_CHECKING:  # what most runs do not need
    from cranfield.data.chunks import Chunks, DocsOfChunks
    from cranfield.data.spans import JudgedSpans, Spans

_Found = TypeVar("_Found")


class _ApartError(Exception):
    """The rows of a query are apart."""


class Documents:
    """Rows of a run, and the documents that they are: base class of `Run`."""

    name: str
    errors: Errors
    nested: Nested | None  # if it came as a dict, whose documents are ranked as they are
    made_of: "Chunks | Spans | None" = None  # None: of its rows, one by one
    sources: Sequence[Source]  # the files that it is read from, none if it is in memory
    left_out: LeftOut  # already; of what is read later, its blocks say it
    _rows: Rows

    def map_docs(self, mapping: "DocsOfChunks", keep: Keep = "first") -> Self:
        """Return the run of documents, of a run of their chunks.

        `mapping` says which document a chunk belongs to: a dict {chunk: document}; a regular
        expression, as text or compiled, that is searched for in the chunk's id, and whose group 1
        is the document; or a function of the chunk's id. A document takes the place of its "first"
        chunk in the ranking, or of its "best"-scored one, which is the same unless the run is
        ranked by something else than its scores; or has the "sum" of its chunks' scores. The
        others move up. What is cut, as by nDCG@10 or `depth`, is cut after that.

        A file is still read in blocks whenever the run is evaluated. A chunk without a document
        raises InputError then, which names it, or is left out and counted with `errors="skip"`;
        results say how many chunks became how many documents. Raises OptionError for a mapping that
        is not one of these, for scores that the run lacks, and if documents are mapped already.

        Source: the first, the best and the sum of passages (FirstP, MaxP, SumP) are those of Dai &
        Callan, SIGIR 2019.

        >>> from cranfield import Run
        >>> run = Run({"q1": {"d1#0": 3.0, "d1#4": 2.5, "d2#1": 2.0}})
        >>> run.map_docs("(.*)#").to_dict()
        {'q1': {'d1': 3.0, 'd2': 2.0}}
        >>> run.map_docs({"d1#0": "d1", "d1#4": "d1", "d2#1": "d2"}, keep="sum").to_dict()
        {'q1': {'d1': 5.5, 'd2': 2.0}}
        """
        from cranfield.data.chunks import Chunks

        one_of("keep", keep, get_args(Keep))
        self._refuse_twice()
        if keep != "first" and not self.has_scores:
            raise OptionError(f"keep={keep!r} compares scores, and the run {self.name!r} has none")
        return self._with(self._rows, Chunks.of(mapping, keep))

    def spans(self, pattern: str | re.Pattern[str]) -> Self:
        r"""Return the run of spans, whose ids say which: for judgments by span.

        `pattern` is a regular expression, as text or compiled, that is searched for in an id, with
        the groups `doc`, `start` and `end`: from the position `start` to before `end`, in
        characters or in the unit of the judgments. A table may have columns `start` and `end`
        beside the document's id instead, and needs no pattern. docs/how-to/chunks.md
        says what judgments by span are.

        An id without a span raises InputError when the run is evaluated, or is left out and counted
        with `errors="skip"`. Raises OptionError for a pattern without these groups, and if
        documents are mapped already.

        >>> from cranfield import Qrels, Run, evaluate
        >>> judged = {"query_id": "q1", "doc_id": "d1", "start": 100, "end": 200, "relevance": 1}
        >>> run = Run({"q1": ["d1:0-80", "d1:80-160", "d1:160-240"]})
        >>> run = run.spans(r"(?P<doc>.*):(?P<start>\d+)-(?P<end>\d+)")
        >>> evaluate(Qrels([judged]), run, "RR")["RR"] == 1 / 2
        True
        """
        from cranfield.data.spans import Spans

        self._refuse_twice()
        return self._with(self._rows, Spans.of(pattern))

    def _refuse_twice(self) -> None:
        if self.made_of is not None:
            raise OptionError("the documents of this run are mapped already")

    def against(self, judged: "JudgedSpans | None", overlap: float) -> Self:
        """Return the run as it meets judgments: of spans if these are `judged`, not None.

        Raises InputError if only one side has spans.
        """
        spans = self.made_of
        if judged is None and spans is None:
            return self
        from cranfield.data.spans import Spans

        if judged is None:
            if not isinstance(spans, Spans):
                return self
            raise InputError(
                f"the ids of the run {self.name!r} are read as spans, and the judgments have no "
                "columns start and end",
                source=named(self.sources),
            )
        if spans is None and {"start", "end"} <= self._rows.numbers:
            spans = Spans()
        if not isinstance(spans, Spans):
            raise InputError(
                f"the judgments are of spans, and the run {self.name!r} has none",
                source=named(self.sources),
                hint="It needs columns start and end, or ids that say both: Run.spans(pattern), "
                "--span-pattern '^(?P<doc>.*):(?P<start>[0-9]+)-(?P<end>[0-9]+)$'.",
            )
        return self._with(self._rows, replace(spans, judged=judged, overlap=overlap))

    @property
    def rows(self) -> Rows:
        """The rows, wherever they are."""
        return self._rows

    def over(self, rows: Rows) -> Self:
        """Return the same run over other rows, such as a part of its own."""
        return self._with(rows, self.made_of)

    def _with(self, rows: Rows, made_of: "Chunks | Spans | None") -> Self:
        """Return the same run over other rows, or of other documents."""
        found = copy.copy(self)
        found._rows, found.made_of = rows, made_of
        found.sources, found.left_out = rows.sources, rows.left_out
        # What is made of others is ranked block by block.
        found.nested = getattr(rows, "data", None) if made_of is None else None
        return found

    @property
    def lists_of(self) -> ListsOf | None:
        """What its lists hold, if it came as lists alone: "ids" or "grades"."""
        return self._rows.lists_of

    @property
    def has_lists(self) -> bool:
        """Whether it is a table with a list for each query, whose order is plainly the ranking."""
        return bool(self._rows.lists) and self._rows.is_ranking

    @property
    def needed(self) -> tuple[Role, ...]:
        """The columns without which it is not known what the documents are."""
        return () if self.made_of is None else self.made_of.needs

    def grouped(self, block: Block, judging: Judging = Judging()) -> Grouped:
        """Return a block of its rows by query: the documents that are ranked.

        Raises DuplicateError for a document that has rows of two systems.
        """
        if self.made_of is None:
            whole = grouped(block, judging)
        else:
            first = self.made_of.before(judging)
            whole = grouped(self.made_of.prepared(block, self.errors), first)
            whole = self.made_of.merged(whole, self.errors, judging)
        if whole.repeated.count:
            refuse_mixture(self._rows)
        return whole

    def docs_of(self, block: Block) -> Ids:
        """Return the documents of some of its rows, row by row."""
        return block.doc if self.made_of is None else self.made_of.documents(block)

    @property
    def has_scores(self) -> bool:
        """Whether documents have scores, and not an order alone."""
        return "score" in self._rows.numbers and not self._rows.is_ranking

    def in_whole_queries(
        self,
        wanted: Iterable[Role],
        judging: Judging,
        use: Callable[[Callable[[], Iterator[Grouped]]], _Found],
    ) -> _Found:
        """Return what `use` makes of the blocks, of which none begins within a query's rows.

        If a query comes back after others, they are held whole, and `use` is called once more.
        """
        roles = tuple(dict.fromkeys((*wanted, *self.needed)))

        def blocks(loads: Iterable[Load]) -> Iterator[Grouped]:
            seen: set[bytes] = set()
            for load in loads:
                whole = self.grouped(load(), judging)
                if come_back(whole.queries.to_list(), seen):
                    raise _ApartError
                yield whole

        try:
            with contextlib.suppress(_ApartError):
                return use(lambda: blocks(self._rows.blocks(roles, self.errors)))
            from cranfield.data.regroup import regrouped

            return use(lambda: blocks(regrouped(self._rows.blocks(roles, self.errors))))
        except DuplicateError as error:
            raise self.twice(error, judging) from None

    @property
    def _each(self) -> Judging:
        """How rows are taken without ranking them: as they are, repeated ones, too."""
        return Judging(duplicates="each") if self.made_of is None else Judging()

    def _whole(self, roles: Iterable[Role], judging: Judging | None = None) -> Block:
        """Return all rows, those of a query together; `judging` says which of a document count."""
        self._refuse_spans()

        def every(wholes: Callable[[], Iterable[Grouped]]) -> list[Block]:
            return [replace(one.block, given=None) for one in wholes()]

        roles = in_order(roles)
        found = self.in_whole_queries(roles, judging or self._each, every)
        return joined(found) if found else no_rows(roles)

    def _refuse_spans(self) -> None:
        """Raise OptionError for a run of spans, whose ids are documents only beside judgments."""
        from cranfield.data.spans import Spans

        if isinstance(self.made_of, Spans) or {"start", "end"} <= self._rows.numbers:
            raise OptionError(
                f"the run {self.name!r:.80} is one of spans: take rows before it is read as spans"
            )

    def twice(self, error: DuplicateError, judging: Judging) -> InputError:
        """Return the error of the first row of all whose document another row has.

        `error` is that of one of them: blocks, and rows that were brought together, may come in
        another order than the rows. To find it, the run is read once more.
        """
        if judging.duplicates != "refuse":
            return error
        repeated = self.repeated()
        return refused(repeated) if repeated.count else error

    def repeated(self) -> LeftOut:
        """Return the rows whose document another row has; for this, the run is read once more."""
        found = copy.copy(self)
        found.errors = "skip"
        ranking = self._rows.numbers & {"score", "rank"}  # the advice depends on them
        each = found.in_whole_queries(
            ranking, Judging(duplicates="first"), lambda wholes: [one.repeated for one in wholes()]
        )
        return sum(each, LeftOut())
