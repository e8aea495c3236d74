"""Documents: what a run ranks, the documents of its rows or those of its chunks or spans."""

import contextlib
import copy
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Self, TypeVar, get_args

from cranfield.data.judging import Judging
from cranfield.data.order import GroupedBlock, group_rows, register_queries, repeats_error
from cranfield.errors import DuplicateError, InputError, OptionError, check_choice
from cranfield.formats.block import (
    Block,
    Errors,
    FaultyRows,
    Keep,
    ListKind,
    Load,
    Role,
    Rows,
    empty_block,
    join_blocks,
)
from cranfield.formats.columns import Side, sort_roles
from cranfield.formats.objects import DocsOfQuery
from cranfield.formats.source import Source, describe_sources
from cranfield.formats.systems import refuse_mixture, refuse_stated_systems

if TYPE_CHECKING:  # what most runs do not need
    from cranfield.data.chunks import Chunks, DocsOfChunks
    from cranfield.data.spans import JudgedSpans, Spans

_Outcome = TypeVar("_Outcome")


class _SplitQueryError(Exception):
    """The rows of a query are in several places."""


class Documents:
    """The rows of a run, and the documents of the rows: base class of `Run`."""

    name: str
    errors: Errors
    docs_of_query: DocsOfQuery | None  # {query: {doc: score}} of a run that came as a dict
    conversion: "Chunks | Spans | None" = None  # None: each row is a document
    sources: Sequence[Source]  # the files that it is read from, none if it is in memory
    left_out: FaultyRows  # when it was opened; blocks count rows that are left out later
    _rows: Rows

    def map_docs(self, mapping: "DocsOfChunks", keep: Keep = "first") -> Self:
        """Return the run of documents, of a run of their chunks.

        `mapping` says which document a chunk belongs to: a dict {chunk: document}; a regular
        expression, as text or compiled, that is searched for in the chunk's id, and whose group 1
        is the document; "plain", the id without capitals, leading zeros and needless blanks, in one
        form of Unicode; or a function of the chunk's id. A document takes the place of its "first"
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

        check_choice("keep", keep, get_args(Keep))
        self._refuse_second_conversion()
        if keep != "first" and not self.has_scores:
            raise OptionError(f"keep={keep!r} compares scores, and the run {self.name!r} has none")
        return self._replace_rows(self._rows, Chunks.of(mapping, keep))

    def spans(self, pattern: str | re.Pattern[str]) -> Self:
        r"""Return the run of spans, whose ids say which: for judgments by span.

        `pattern` is a regular expression, as text or compiled, that is searched for in an id, with
        the groups `doc`, `start` and `end`: from the position `start` to before `end`, in
        characters or in the unit of the judgments. A table may have columns `start` and `end`
        beside the document's id instead, and needs no pattern. docs/how-to/chunks.md
        says what judgments by span are.

        An id without a span raises InputError when the run is evaluated, or is left out and counted
        with `errors="skip"`. Raises OptionError for a pattern that is no regular
        expression or lacks these groups, and if documents are mapped already.

        >>> from cranfield import Qrels, Run, evaluate
        >>> judged = {"query_id": "q1", "doc_id": "d1", "start": 100, "end": 200, "relevance": 1}
        >>> run = Run({"q1": ["d1:0-80", "d1:80-160", "d1:160-240"]})
        >>> run = run.spans(r"(?P<doc>.*):(?P<start>\d+)-(?P<end>\d+)")
        >>> evaluate(Qrels([judged]), run, "RR")["RR"] == 1 / 2
        True
        """
        from cranfield.data.spans import Spans

        self._refuse_second_conversion()
        return self._replace_rows(self._rows, Spans.of(pattern))

    def _refuse_second_conversion(self) -> None:
        if self.conversion is not None:
            raise OptionError("the documents of this run are mapped already")

    def resolve_spans(self, judged_spans: "JudgedSpans | None", overlap: float) -> Self:
        """Return the run whose documents are judged spans; unchanged if `judged_spans` is None.

        `overlap` is as in Judging. Raises InputError for judged spans beside a run without spans,
        and for ids that are read as spans (not for columns) beside other judgments.
        """
        spans = self.conversion
        if judged_spans is None and spans is None:
            return self
        from cranfield.data.spans import Spans, Texts

        if judged_spans is None:
            if not isinstance(spans, Spans) or isinstance(spans, Texts):
                return self
            raise InputError(
                f"the ids of the run {self.name!r} are read as spans, and the judgments have no "
                "columns start and end",
                source=describe_sources(self.sources),
            )
        if spans is None and {"start", "end"} <= self._rows.extra_roles:
            spans = Spans()
        if not isinstance(spans, Spans):
            raise InputError(
                f"the judgments are of spans, and the run {self.name!r} has none",
                source=describe_sources(self.sources),
                hint="It needs columns start and end, or ids that say both: Run.spans(pattern), "
                "--span-pattern '^(?P<doc>.*):(?P<start>[0-9]+)-(?P<end>[0-9]+)$'.",
            )
        return self._replace_rows(
            self._rows, replace(spans, judged_spans=judged_spans, overlap=overlap)
        )

    @property
    def rows(self) -> Rows:
        """The rows, in a file or in memory."""
        return self._rows

    def replace_rows(self, rows: Rows) -> Self:
        """Return the same run with other rows, such as a part of its rows."""
        return self._replace_rows(rows, self.conversion)

    def _replace_rows(self, rows: Rows, conversion: "Chunks | Spans | None") -> Self:
        """Return the same run with other rows, or with another conversion to documents."""
        copied_run = copy.copy(self)
        copied_run._rows, copied_run.conversion = rows, conversion
        copied_run.sources, copied_run.left_out = rows.sources, rows.left_out
        # A run with a conversion is ranked block by block.
        copied_run.docs_of_query = getattr(rows, "data", None) if conversion is None else None
        return copied_run

    @property
    def list_kind(self) -> ListKind | None:
        """The kind of its lists, if it came as lists alone: "ids" or "grades"."""
        return self._rows.list_kind

    @property
    def has_lists(self) -> bool:
        """Whether it is a table with a list for each query, whose order is plainly the ranking."""
        return bool(self._rows.list_columns) and self._rows.is_ranking

    @property
    def needed_roles(self) -> tuple[Role, ...]:
        """The columns that the conversion to documents needs."""
        return () if self.conversion is None else self.conversion.needed_roles

    def group_block(self, block: Block, judging: Judging = Judging()) -> GroupedBlock:
        """Group a block of its rows by query, and convert rows to the documents that are ranked.

        Raises DuplicateError for a repeated document that `judging` refuses, or whose rows are of
        two systems.
        """
        if self.conversion is None:
            grouped_block = group_rows(block, judging)
        else:
            options = self.conversion.grouping_options(judging)
            grouped_block = group_rows(self.conversion.prepare_block(block, self.errors), options)
            grouped_block = self.conversion.convert(grouped_block, self.errors, judging)
        if grouped_block.repeats.count:
            refuse_mixture(self._rows, grouped_block.repeats.first_error)
        return grouped_block

    @property
    def has_scores(self) -> bool:
        """Whether documents have scores, and not an order alone."""
        return "score" in self._rows.extra_roles and not self._rows.is_ranking

    def read_columns(self, roles: Iterable[Role]) -> Iterator[Load]:
        """Return the rows in blocks, with the columns `roles` as far as the run has them."""
        refuse_stated_systems(self._rows, Side.RUN)
        return self._rows.blocks(tuple(roles), self.errors)

    def read_whole_queries(
        self,
        extra_roles: Iterable[Role],
        judging: Judging,
        use_blocks: Callable[[Callable[[], Iterator[GroupedBlock]]], _Outcome],
    ) -> _Outcome:
        """Return the outcome of `use_blocks` on blocks that each hold whole queries.

        It is given a function that yields them, with the columns `extra_roles`. If a query comes
        back after others, all rows are held, and `use_blocks` is called again.
        """
        roles = tuple(dict.fromkeys((*extra_roles, *self.needed_roles)))

        def group_blocks(loads: Iterable[Load]) -> Iterator[GroupedBlock]:
            earlier_queries: set[bytes] = set()
            for load in loads:
                grouped_block = self.group_block(load(), judging)
                if register_queries(grouped_block.queries.to_list(), earlier_queries):
                    raise _SplitQueryError
                yield grouped_block

        try:
            with contextlib.suppress(_SplitQueryError):
                return use_blocks(lambda: group_blocks(self.read_columns(roles)))
            from cranfield.data.regroup import regroup_queries

            return use_blocks(lambda: group_blocks(regroup_queries(self.read_columns(roles))))
        except DuplicateError as error:
            raise self.first_repeat_error(error, judging) from None

    @property
    def _unranked_judging(self) -> Judging:
        """The options for reading rows: repeated documents are kept, or, if mapped, refused."""
        return Judging(duplicates="each") if self.conversion is None else Judging()

    def _read_all(self, roles: Iterable[Role], judging: Judging | None = None) -> Block:
        """Return all rows, grouped by query; `judging` says which rows of a document are kept."""
        self._refuse_spans()

        def collect_blocks(grouped_blocks: Callable[[], Iterable[GroupedBlock]]) -> list[Block]:
            return [
                replace(grouped_block.block, input_row=None) for grouped_block in grouped_blocks()
            ]

        roles = sort_roles(roles)
        blocks = self.read_whole_queries(roles, judging or self._unranked_judging, collect_blocks)
        return join_blocks(blocks) if blocks else empty_block(roles)

    def _refuse_spans(self) -> None:
        """Raise OptionError for a run of spans, whose ids are documents only beside judgments."""
        from cranfield.data.spans import Spans

        if isinstance(self.conversion, Spans) or {"start", "end"} <= self._rows.extra_roles:
            kind = "spans" if self.conversion is None else self.conversion.description
            raise OptionError(
                f"the run {self.name!r:.80} is one of {kind}: take rows before it is read as {kind}"
            )

    def first_repeat_error(self, error: DuplicateError, judging: Judging) -> InputError:
        """Return the error of the run's first row that repeats a document.

        `error` is the error of any such row: blocks, and regrouped rows, may come in another
        order than the rows. To find the first row, the run is read once more; but `error` is
        returned if `judging` refuses no repeats (then rows of two systems were found).
        """
        if judging.duplicates != "refuse":
            return error
        repeats = self.find_repeats()
        return repeats_error(repeats, self._rows) if repeats.count else error

    def find_repeats(self) -> FaultyRows:
        """Return the count and first error of rows that repeat a document; reads the run again."""
        skipping_run = copy.copy(self)
        skipping_run.errors = "skip"
        ranking_roles = self._rows.extra_roles & {"score", "rank"}  # the hint depends on them
        repeats_of_blocks = skipping_run.read_whole_queries(
            ranking_roles,
            Judging(duplicates="first"),
            lambda grouped_blocks: [grouped_block.repeats for grouped_block in grouped_blocks()],
        )
        return sum(repeats_of_blocks, FaultyRows())
