"""Requests: files of requests that ask a model for grades, to be sent by another program.

Each request has an id by which its answer is recognised (answers.py). No model is called here.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, NamedTuple

from cranfield.arrays.ids import encode
from cranfield.errors import InputError, OptionError, escape_unprintable
from cranfield.extensions.labels.pools.options import RequestSettings
from cranfield.extensions.labels.pools.prompts import Prompt, hash_json
from cranfield.formats.source import open_to_write
from cranfield.lazy import cached_property
from cranfield.notes import Note
from cranfield.render.numbers import format_count

# Form of requests -> the most requests, and the most bytes, that the provider takes in a file.
LIMITS = {"openai": (50_000, 190_000_000), "anthropic": (100_000, 240_000_000)}
REQUEST_FORMS = {form: f".{form}.jsonl" for form in LIMITS}
_INSTRUCTION_MARKS = re.compile(r"<|\[(?=/?INST\])")  # which servers may read as their own tokens
_LINE_ENDS = re.compile("[\x85\u2028\u2029]")  # of some readers of lines


class Question(NamedTuple):
    """A document that a model is asked about: the names are those of a row of a pool."""

    query_id: str
    doc_id: str
    query_text: str  # in full
    document_text: str


def hash_pair(query: str, doc: str) -> str:
    """Return the 24 hexadecimal digits by which requests name a document of a query."""
    return hashlib.sha256(encode(query) + b"\0" + encode(doc)).hexdigest()[:24]


@dataclass(frozen=True, eq=False)
class Requests:
    """Requests that ask a model for grades: `Pool.requests` makes them.

    Raises InputError if no question is left.
    """

    form: str  # a name of REQUEST_FORMS
    settings: RequestSettings
    prompt: Prompt
    questions: Sequence[Question]
    answered_ids: frozenset[str]  # of requests that are left out

    def __post_init__(self) -> None:
        if not self.questions:
            raise InputError("no document to label has a text, and a model needs texts")

    @cached_property
    def request_ids(self) -> Sequence[tuple[Question, str]]:
        """The question and the custom_id of each request that is not answered."""
        settings = self.settings
        call = hash_json([self.form, settings.model, settings.doc_chars, settings.body or {}], 6)
        ids = (
            (question, f"{hash_pair(*question[:2])}-{self.prompt.digits}-{call}-{sample}")
            for question in self.questions
            for sample in range(1, settings.samples + 1)
        )
        return [(question, name) for question, name in ids if name not in self.answered_ids]

    def lines(self) -> Iterator[str]:
        """Yield each request as a line of JSON, with its end."""
        for question, custom_id in self.request_ids:
            request = {"custom_id": custom_id, **self._make_call(self._make_message(question))}
            yield _LINE_ENDS.sub(_escape, json.dumps(request, ensure_ascii=False)) + "\n"

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        """Notes on how large the requests are, and on texts that are cut."""
        questions = [question for question, _ in self.request_ids]
        n, n_all = len(questions), len(self.questions) * self.settings.samples
        if not n:
            text = "every request has a grade in the answers: nothing is left to ask."
            return (Note("answered", "info", text, count=n_all),)
        system = "" if self.prompt.is_template else self.prompt.text
        n_system_bytes = n * len(system.encode())
        messages = map(self._make_message, questions)
        sizes = [(len(message), len(message.encode())) for message in messages]
        n_characters, n_bytes = map(sum, zip(*sizes, strict=True))
        text = (
            f"{format_count(n, 'request')} to {self.settings.model}, "
            f"{n * len(system) + n_characters:,} characters, about "
            f"{_count_tokens(n_system_bytes + n_bytes)} input tokens (bytes / 4, give or take a "
            "third)"
        )
        if system:
            n_tokens = _count_tokens(n_system_bytes)
            text += f", {n_tokens} of them instructions that are the same in each"
        notes = [Note("requests", "info", f"{text}; a short answer to each.", count=n)]
        text = "send this, and collect the answers: cranfield collect OUTPUT --pool pool.csv."
        notes.append(Note("to-send", "info", text))
        if self.answered_ids:
            text = f"{n_all - n:,} of {n_all:,} requests have a grade in the answers: left out."
            notes.append(Note("answered", "info", text, count=n_all - n))
        queries = {question.query_id: len(question.query_text) for question in questions}
        docs = {question.doc_id: len(question.document_text) for question in questions}
        for noun, lengths in (("queries", queries.values()), ("documents", docs.values())):
            if n_cut := sum(length > self.settings.doc_chars for length in lengths):
                text = (
                    f"{n_cut:,} of {len(lengths):,} {noun} {'is' if n_cut == 1 else 'are'} longer "
                    f"than {self.settings.doc_chars:,} characters and cut; the longest has "
                    f"{max(lengths):,}."
                )
                notes.append(Note("cut", "warning", text, count=n_cut))
        return tuple(notes)

    def write(self, path: str | os.PathLike[str]) -> list[str]:
        """Write the requests to a file, or to numbered ones where the provider's limits ask for it.

        Returns the paths. All files are written, or none. Raises OptionError for a name without the
        suffix of the form, and if a numbered file would stay from before; InputError for a request
        that is larger than a file may be.
        """
        (folder, name), suffix = os.path.split(os.fspath(path)), REQUEST_FORMS[self.form]
        if suffix not in name:
            raise OptionError(f"{escape_unprintable(name)}: the name is to end in {suffix}")
        stem, _, compression = name.rpartition(suffix)
        paths: list[str] = []
        with ExitStack() as files:
            for part in self._split_lines():
                number = "" if len(part) == len(self.request_ids) else f"-{len(paths) + 1}"
                paths.append(os.path.join(folder, f"{stem}{number}{suffix}{compression}"))
                files.enter_context(open_to_write(paths[-1])).writelines(part)
            old_name = re.compile(rf"{re.escape(stem)}(-\d+)?{re.escape(suffix)}(\.\w+)?")
            old_names = filter(old_name.fullmatch, os.listdir(folder or "."))
            for old_path in sorted({os.path.join(folder, name) for name in old_names} - {*paths}):
                raise OptionError(f"{escape_unprintable(old_path)} is there from before: remove it")
        return paths

    def _split_lines(self) -> Iterator[list[bytes]]:
        """Yield the lines of each file."""
        most_lines, most_bytes = LIMITS[self.form]
        part: list[bytes] = []
        n_bytes = 0
        for (question, _), text in zip(self.request_ids, self.lines(), strict=True):
            line = text.encode()
            if len(line) > most_bytes:
                ids = f"query {question.query_id!r:.80}, document {question.doc_id!r:.80}"
                problem = f"{ids}: its request has {len(line):,} bytes, and a file {most_bytes:,}"
                raise InputError(problem, hint="--doc-chars N (doc_chars=N) cuts texts.")
            if len(part) == most_lines or n_bytes + len(line) > most_bytes:
                yield part
                part, n_bytes = [], 0
            part.append(line)
            n_bytes += len(line)
        yield part

    def _make_message(self, question: Question) -> str:
        """Return the message of the user: the texts, cut, as JSON."""
        query, doc = (_shorten_text(text, self.settings.doc_chars) for text in question[2:])
        if self.prompt.is_template:
            return self.prompt.fill({"query": _quote(query), "document": _quote(doc)})
        n_cut = len(question.document_text) - len(doc)
        cut_field = {"characters_cut": n_cut} if n_cut else {}
        return _quote({"query": query, "document": doc, **cut_field})

    def _make_call(self, message: str) -> dict[str, Any]:
        """Return the call that asks with a message, in the form of the provider."""
        schema = {
            "type": "object",
            "properties": {
                "reason": {"type": "string"},
                "grade": {"type": "integer", "enum": list(self.prompt.grades)},
            },
            "required": ["reason", "grade"],
            "additionalProperties": False,
        }
        body: dict[str, Any] = {"model": self.settings.model}
        changes = self.settings.body or {}
        system = {} if self.prompt.is_template else {"system": self.prompt.text}
        messages = [{"role": "user", "content": message}]
        if self.form == "anthropic":
            form: dict[str, Any] = {"format": {"type": "json_schema", "schema": schema}}
            body |= {"max_tokens": 1024, **system, "messages": messages, "output_config": form}
            return {"params": _patch(body, changes)}
        messages = [{"role": role, "content": text} for role, text in system.items()] + messages
        json_schema = {"name": "judgment", "strict": True, "schema": schema}
        form = {"type": "json_schema", "json_schema": json_schema}
        body = _patch({**body, "messages": messages, "response_format": form}, changes)
        return {"method": "POST", "url": "/v1/chat/completions", "body": body}


def _count_tokens(n_bytes: int) -> str:
    """Return about how many tokens so many bytes are, with two digits that are not 0."""
    return f"{int(float(f'{n_bytes / 4:.2g}')):,}"


def _shorten_text(text: str, n_characters: int) -> str:
    """Return the beginning of a long text, to the last blank in its second half if there is one."""
    if len(text) <= n_characters:
        return text
    blank = text.rfind(" ", n_characters // 2, n_characters)
    return text[: blank if blank > 0 else n_characters]


def _quote(document: Any) -> str:
    """Return texts as JSON, without what servers may take for tokens of their own."""
    return _INSTRUCTION_MARKS.sub(_escape, json.dumps(document, ensure_ascii=False))


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def _patch(document: Any, change: Any) -> Any:
    """Return a document changed as RFC 7396 says: null removes a member."""
    if not isinstance(change, Mapping):
        return change
    members = dict(document) if isinstance(document, Mapping) else {}
    members |= {name: _patch(members.get(name), member) for name, member in change.items()}
    return {name: member for name, member in members.items() if change.get(name, 0) is not None}
