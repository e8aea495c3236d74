"""Answers: what a model answered to requests (requests.py), as labels; what is no grade is none.

Read are results of batches of OpenAI (chat completions, responses), servers like it, and Anthropic.
"""

import os
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import zip_longest
from typing import Any, NamedTuple

from cranfield.data.judges import Judge
from cranfield.errors import InputError, escape_unprintable
from cranfield.extensions.labels.label_files import Label
from cranfield.extensions.labels.pools.options import CollectSettings, label_word, read_grades
from cranfield.extensions.labels.pools.prompts import PROMPT_OF_DIGITS, Prompt
from cranfield.extensions.labels.pools.requests import hash_pair
from cranfield.formats.small.read import Origin, decode_json, find_line, parse_number
from cranfield.formats.small.text_lines import read_file_lines
from cranfield.formats.small.texts import clean_text
from cranfield.formats.source import Source
from cranfield.notes import Note
from cranfield.render.numbers import format_count as count_of

_CUSTOM_ID = re.compile(r"([0-9a-f]{24})-([0-9a-f]{8})-[0-9a-f]{6}-([1-9]|1[0-9]|20)")
_FENCE = re.compile(r"```\w*\s(.*)```", re.S)
_KIND_OF_ENDING = {
    **dict.fromkeys(("content_filter", "refusal"), "refused"),
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens"), "truncated"),
    "model_context_window_exceeded": "truncated",
}


class Answer(NamedTuple):
    """One of the texts that a model answered to a request, or why there is none."""

    origin: Origin
    line: int
    custom_id: str
    model: str = "model"
    kind: str = "grade"  # or "failed", "refused", "truncated", "not a grade"
    text: str = ""  # that was answered; of a failure its code, of a grade the reason
    message: str = ""  # of a failure
    grade: Any = None  # as it was written
    place: int = 1  # among the choices of the line


def holds_answers(source: Any) -> bool:
    """Tell whether a source is a file of answers, by its first line."""
    if not isinstance(source, str | os.PathLike) or not os.path.isfile(source):
        return False
    with suppress(InputError):  # no text: labels in columns
        lines = (line for _, line in read_file_lines(Source(source)) if line.strip())
        return bool(re.match(r'\s*\{(?=.*"custom_id").*"(response|result)"', next(lines, "")))
    return False


def read_answers(
    paths: Iterable[str], settings: CollectSettings, pairs: Container[str] | None = None
) -> Iterator[list[Answer] | InputError]:
    """Yield the answers in each line of files, or an error if a line answers no request.

    `pairs` are the hashes of queries and documents that were asked about; None: any.
    """
    words = {*map(label_word, read_grades(settings.grades_of) if settings.grades_of else ())}
    for source in map(Source, paths):
        origin = Origin(source.path, partial(find_line, partial(read_file_lines, source)))
        for number, line in read_file_lines(source):
            if not line.strip():
                continue
            try:
                record = decode_json(line)
            except (ValueError, RecursionError):
                yield origin.row_error(number, f"line {number} is not valid JSON")
                continue
            custom_id = _look_up(record, "custom_id")
            match = _CUSTOM_ID.fullmatch(custom_id) if isinstance(custom_id, str) else None
            if match is None or (pairs is not None and match[1] not in pairs):
                problem = "is of a document that is not in the pool"
                problem = "was not written by cranfield pool" if match is None else problem
                yield origin.row_error(number, f"custom_id {custom_id!r:.80} {problem}")
                continue
            grades = settings.grades or PROMPT_OF_DIGITS.get(match[2], Prompt("")).grades
            answers = enumerate(_read_record(Answer(origin, number, match[0]), record), 1)
            yield [_read_grade(a._replace(place=place), grades, words) for place, a in answers]


def list_answered_ids(paths: Iterable[str], prompt: Prompt) -> frozenset[str]:
    """Return the custom_ids of the requests with this prompt that have a grade in some file.

    Raises InputError for a line that is no answer to such a request.
    """
    answered_ids = set[str]()
    paths = [paths] if isinstance(paths, str) else paths
    for answers in read_answers(paths, CollectSettings(grades=prompt.grades)):
        if isinstance(answers, InputError):
            raise answers
        answered_ids |= {answer.custom_id for answer in answers if answer.kind == "grade"}
    return frozenset(answered_ids)


def _read_record(answer: Answer, record: Any) -> Iterator[Answer]:
    """Yield what a line says, each in the place of `answer`: a failure, or the choices."""
    result, error = _look_up(record, "result"), _look_up(record, "error")
    status, body = (_look_up(record, "response", name) for name in ("status_code", "body"))
    kind = _look_up(result, "type")
    if result is not None:
        error, body = _look_up(result, "error"), _look_up(result, "message")
    answer = answer._replace(model=_to_text(_look_up(body, "model"), 100) or answer.model)
    errors = [error, _look_up(body, "error"), _look_up(error, "error")]
    if any(errors) or status not in (None, 200) or kind not in (None, "succeeded") or not body:
        codes = [*(_look_up(part, "code") for part in errors)]
        codes += [f"status {status}"] if status not in (None, 200) else []
        codes += [*(_look_up(part, "type") for part in reversed(errors)), kind, "no body"]
        code = next(filter(None, (_to_text(code, 40) for code in codes)))
        messages = (_to_text(_look_up(part, "message"), 300) for part in errors)
        yield answer._replace(kind="failed", text=code, message=next(filter(None, messages), code))
        return
    choices = _look_up(body, "choices")
    for choice in choices if isinstance(choices, list) and choices else [body]:
        message = _look_up(choice, "message") or body
        parts = _list_parts(message)
        text_parts = (part for part in parts if _look_up(part, "type") in ("text", "output_text"))
        texts = [text for text in (_look_up(p, "text") for p in text_parts) if type(text) is str]
        endings = [_look_up(choice, "finish_reason"), _look_up(body, "stop_reason")]
        endings += [_look_up(body, "incomplete_details", "reason")]
        endings += ["refusal"] if _look_up(message, "refusal") else []
        endings += [_look_up(part, "type") for part in parts]
        kinds = {_KIND_OF_ENDING.get(ending) for ending in endings if isinstance(ending, str)}
        kind = next((kind for kind in ("refused", "truncated") if kind in kinds), "grade")
        yield answer._replace(kind=kind, text="".join(texts))


def _list_parts(message: Any) -> list[Any]:
    """Return the parts of a message: its content, or that of the messages of a response."""
    output, content = _look_up(message, "output"), _look_up(message, "content")
    if isinstance(output, list):
        return [part for member in output for part in _list_parts(member)]
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def _look_up(document: Any, *names: str) -> Any:
    """Return the member of a member of a JSON object; None where there is none."""
    for name in names:
        document = document.get(name) if isinstance(document, Mapping) else None
    return document


def _to_text(cell: Any, n_characters: int) -> str:
    """Return the beginning of a text in one line; an empty text for any other cell."""
    return clean_text(cell)[:n_characters] if isinstance(cell, str) else ""


def _read_grade(answer: Answer, grades: Sequence[float], words: set[str]) -> Answer:
    """Return an answer with the grade in its text, one JSON value; or as "not a grade"."""
    if answer.kind != "grade":
        return answer
    text = answer.text.rpartition("</think>")[2].strip()
    fence = _FENCE.fullmatch(text)
    try:
        document = decode_json(text if fence is None else fence[1].strip())
    except (ValueError, RecursionError):
        document = None
    grade = document.get("grade") if isinstance(document, Mapping) else document
    is_word = isinstance(grade, str | int | float) and label_word(grade) in words
    if is_word or parse_number(grade) in grades:
        return answer._replace(grade=grade, text=_to_text(_look_up(document, "reason"), 300))
    return answer._replace(kind="not a grade", text=_to_text(answer.text, 40))


def read_answer_labels(
    paths: Sequence[str], pairs: Iterable[tuple[str, str]], settings: CollectSettings
) -> tuple[list[Label], list[Note]]:
    """Return the labels in files of answers to requests for these documents, and notes.

    Of a request's answers, grades count. Raises InputError for an answer to another request, unless
    `errors` is "skip", and if no answer is a grade.
    """
    pair_of_digits = {hash_pair(*pair): pair for pair in pairs}
    answer_lists: dict[str, list[list[Answer]]] = {}  # {custom_id: the answers of each line}
    refusals: list[str] = []
    for answers in read_answers(paths, settings, pair_of_digits):
        if isinstance(answers, list):
            answer_lists.setdefault(answers[0].custom_id, []).append(answers)
            continue
        if settings.errors == "strict":
            reason = "errors='skip' (--errors skip) leaves out and counts such lines"
            raise answers.add_reason(reason)
        refusals.append(f"{answers.problem:.80}")
    grade_answers: list[Answer] = []
    misses: list[Answer] = []
    for lists in answer_lists.values():
        graded_lists = [answers for answers in lists if any(a.kind == "grade" for a in answers)]
        for choice in zip_longest(*(graded_lists or lists[-1:])):
            grades = [answer for answer in choice if answer and answer.kind == "grade"]
            grade_answers += grades
            misses += [] if grades else [*filter(None, choice)][-1:]
    if misses and not grade_answers:
        says = next((f"; the first says: {a.message}" for a in misses if a.message), "")
        raise InputError(f"no answer is a grade: {_count_kinds(misses)}{says}")
    n_choices = max((answer.place for answer in grade_answers), default=1)
    has_samples = n_choices > 1 or any(not a.custom_id.endswith("-1") for a in grade_answers)
    labels = []
    for answer in grade_answers:
        pair_digits, digits, _, sample = answer.custom_id.split("-")
        suffix = f" #{(int(sample) - 1) * n_choices + answer.place}" * has_samples
        prompt = f"{PROMPT_OF_DIGITS.get(digits, Prompt('')).name} {digits}".strip()
        pair, assessor = pair_of_digits[pair_digits], f"{answer.model} {digits}{suffix}"
        label = Label(answer.origin, answer.line, *pair, answer.grade, assessor, reason=answer.text)
        labels.append(label._replace(judge=Judge(answer.model, prompt)))
    notes = [*_list_notes(misses, grade_answers, paths)]
    if refusals:
        text = f"{count_of(len(refusals), 'answer')} left out: {refusals[0]}."
        notes.append(Note("left-out", "warning", text, count=len(refusals)))
    return labels, notes


def _list_notes(
    misses: Sequence[Answer], grade_answers: Sequence[Answer], paths: Sequence[str]
) -> Iterator[Note]:
    """Yield warnings of answers that are no grade, and of documents with fewer than most."""
    distinct_answers = {(answer.custom_id, answer.place) for answer in grade_answers}
    n_samples_of_pair = Counter(custom_id[:24] for custom_id, _ in distinct_answers)
    if misses:
        missed_pairs = {answer.custom_id[:24] for answer in misses}
        n_unlabelled = len(missed_pairs - n_samples_of_pair.keys())
        documents = count_of(n_unlabelled, "document has", "documents have")
        documents = "their documents have" if n_unlabelled == len(misses) else documents
        options = " ".join(f"--answered {escape_unprintable(path)}" for path in paths)
        text = (
            f"{len(misses):,} of {len(misses) + len(distinct_answers):,} answers "
            f"{'is' if len(misses) == 1 else 'are'} no grade"
            f"{f', and {documents} no label' * bool(n_unlabelled)}: {_count_kinds(misses)}. "
            f"Which ones is not chance: ask again (cranfield pool ... {options}), or have people "
            "label them."
        )
        yield Note("no-grade", "warning", text, count=len(misses))
    n_samples = max(n_samples_of_pair.values(), default=0)
    if n := sum(count < n_samples for count in n_samples_of_pair.values()):
        text = f"{count_of(n, 'document')} with fewer than {n_samples} grades, which others have."
        yield Note("fewer-samples", "warning", text, count=n)


def _count_kinds(answers: Sequence[Answer]) -> str:
    """Return how many answers are of each kind, with the codes of failures, and an example."""
    parts = []
    for kind in ("failed", "refused", "truncated", "not a grade"):
        texts = [answer.text for answer in answers if answer.kind == kind]
        details = ""
        if kind == "failed":
            counts = sorted(Counter(texts).items(), key=lambda pair: (-pair[1], pair[0]))
            details = f" ({', '.join(f'{code} {n:,}' for code, n in counts[:5])})"
        elif kind == "not a grade" and texts:
            details = f" ({escape_unprintable(repr(texts[0]))}{', ...' * (len(texts) > 1)})"
        parts += [f"{len(texts):,} {kind}{details}"] if texts else []
    return ", ".join(parts)
