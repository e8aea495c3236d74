"""Answers: what a model answered to requests (requests.py), as labels; what is no grade is none.

Read are results of batches of OpenAI (chat completions, responses), servers like it, and Anthropic.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from cranfield.data.judges import Judge
from cranfield.errors import InputError, escape_unprintable
from cranfield.extensions.labels.label_files import Label
from cranfield.extensions.labels.pools.label_checks import QueryDoc, label_word, list_examples
from cranfield.extensions.labels.pools.options import CollectSettings, read_grades
from cranfield.extensions.labels.pools.prompts import GRADES, PROMPT_OF_DIGITS, Prompt
from cranfield.extensions.labels.pools.requests import hash_pair
from cranfield.formats.small.read import Origin, decode_json, parse_number
from cranfield.formats.small.text_lines import read_file_lines
from cranfield.formats.small.texts import clean_text
from cranfield.formats.source import Source
from cranfield.notes import Note
from cranfield.render.numbers import format_count as count_of

_CUSTOM_ID = re.compile(r"([0-9a-f]{24})-([0-9a-f]{8})-[0-9a-f]{6}-([1-9]|1[0-9]|20)")
_FENCE = re.compile(r"```\w*\s(.*)```", re.S)
_REFUSED = ("content_filter", "refusal")
_TRUNCATED = ("length", "max_tokens", "model_context_window_exceeded", "max_output_tokens")
_KINDS = ("failed", "refused", "truncated", "not a grade")


class Answer(NamedTuple):
    """One of the texts that a model answered to a request, or why there is none."""

    origin: Origin
    line: int
    custom_id: Any
    sample: int  # from 1
    model: str
    kind: str  # one of _KINDS; empty: a grade
    grade: Any = None  # as it was written
    detail: str = ""  # the code of a failure, the text that is no grade, or the reason of a grade
    message: str = ""  # of a failure


def holds_answers(source: Any) -> bool:
    """Tell whether a source is a file of answers, by its first line."""
    if not isinstance(source, str) or source == "-":
        return False
    lines = (line for _, line in read_file_lines(Source(source)) if line.strip())
    first_line = next(lines, "")
    return '"custom_id"' in first_line and bool(re.search('"(response|result)"', first_line))


def read_answers(path: str, settings: CollectSettings) -> Iterator[Answer | InputError]:
    """Yield the answers of a file, and an error for each line that is none of a known request."""
    source = Source(path)
    find_line = partial(_find_line, source)
    words = {label_word(word) for word in read_grades(settings.grades_of or {"0": 0})}
    for number, line in read_file_lines(source):
        origin = Origin(source.name, find_line)
        if not line.strip():
            continue
        try:
            record = decode_json(line)
        except (ValueError, RecursionError):
            yield origin.row_error(number, f"line {number} is not valid JSON")
            continue
        custom_id = _look_up(record, "custom_id")
        match = _CUSTOM_ID.fullmatch(custom_id) if isinstance(custom_id, str) else None
        if match is None:
            problem = f"custom_id {custom_id!r:.80} was not written by cranfield pool"
            yield origin.row_error(number, problem)
            continue
        grades = settings.grades or PROMPT_OF_DIGITS.get(match[2], Prompt("", GRADES)).grades
        outcomes = [*_read_record(record)]
        for place, outcome in enumerate(outcomes, 1):
            sample = (int(match[3]) - 1) * len(outcomes) + place
            answer = Answer(origin, number, custom_id, sample, *outcome)
            yield answer if answer.kind else _read_grade(answer, grades, words)


def _find_line(source: Source, number: int) -> tuple[int, str]:
    return next(line for line in read_file_lines(source) if line[0] == number)


def list_answered_ids(paths: Iterable[str], prompt: Prompt) -> frozenset[str]:
    """Return the custom_ids of the requests with this prompt that have a grade in some file."""
    settings = CollectSettings(grades=prompt.grades)
    answers = (answer for path in paths for answer in read_answers(path, settings))
    return frozenset(
        answer.custom_id for answer in answers if isinstance(answer, Answer) and not answer.kind
    )


class _Outcome(NamedTuple):
    """The last fields of an `Answer`: `detail` is the text until its grade is read."""

    model: str
    kind: str
    grade: Any
    detail: str
    message: str = ""


def _read_record(record: Any) -> Iterator[_Outcome]:
    """Yield what a line says: a failure, or each of the choices."""
    result, error = _look_up(record, "result"), _look_up(record, "error")
    status, body = (_look_up(record, "response", name) for name in ("status_code", "body"))
    kind = _look_up(result, "type")
    if result is not None:
        error, body = _look_up(result, "error"), _look_up(result, "message")
    model = _to_text(_look_up(body, "model"), 100) or "model"
    errors = (error, _look_up(body, "error"), _look_up(error, "error"))
    if any(errors) or status not in (None, 200) or kind not in (None, "succeeded") or not body:
        wrong_status = f"status {status}" if status not in (None, 200) else None
        codes = [*(_look_up(place, "code") for place in errors), wrong_status]
        codes += [_look_up(errors[2] or errors[0] or errors[1], "type"), kind, "no body"]
        code = next(code for code in codes if isinstance(code, str) and code)
        messages = (_look_up(place, "message") for place in errors)
        message = next((text for text in messages if isinstance(text, str)), code)
        yield _Outcome(model, "failed", None, _to_text(code, 40), _to_text(message, 300))
        return
    choices = _look_up(body, "choices")
    for choice in choices if isinstance(choices, list) and choices else [body]:
        message = _look_up(choice, "message") or body
        parts = _list_parts(message)
        ending = _look_up(choice, "finish_reason") or _look_up(body, "stop_reason")
        ending = ending or _look_up(body, "incomplete_details", "reason")
        is_refused = bool(_look_up(message, "refusal")) or ending in _REFUSED
        if is_refused or any(_look_up(part, "type") == "refusal" for part in parts):
            yield _Outcome(model, "refused", None, "")
        elif ending in _TRUNCATED:
            yield _Outcome(model, "truncated", None, "")
        else:
            texts = [
                _look_up(part, "text")
                for part in parts
                if _look_up(part, "type") in ("text", "output_text")
            ]
            text = "".join(part_text for part_text in texts if isinstance(part_text, str))
            yield _Outcome(model, "", None, text)


def _list_parts(message: Any) -> list[Any]:
    """Return the parts of a message: its content, or that of the messages of a response."""
    output = _look_up(message, "output")
    if isinstance(output, list):
        return [part for member in output for part in _list_parts(member)]
    content = _look_up(message, "content")
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def _to_text(cell: Any, n_characters: int) -> str:
    """Return the beginning of a text in one line; an empty text for any other cell."""
    return clean_text(cell)[:n_characters] if isinstance(cell, str) else ""


def _look_up(document: Any, *names: str) -> Any:
    """Return the member of a member of a JSON object; None where there is none."""
    for name in names:
        document = document.get(name) if isinstance(document, Mapping) else None
    return document


def _read_grade(answer: Answer, grades: Sequence[float], words: set[str]) -> Answer:
    """Return an answer with the grade in its text, which is one JSON value; or as not a grade."""
    text = answer.detail.rpartition("</think>")[2].strip()
    fence = _FENCE.fullmatch(text)
    try:
        document = decode_json(text if fence is None else fence[1].strip())
    except (ValueError, RecursionError):
        document = None
    is_object = isinstance(document, Mapping)
    grade = document.get("grade") if is_object else document
    is_word = isinstance(grade, str | int | float) and label_word(grade) in words
    if not (is_word or parse_number(grade) in grades):
        return answer._replace(kind="not a grade")
    reason = _to_text(document.get("reason"), 300) if is_object else ""
    return answer._replace(grade=grade, detail=reason)


def read_answer_labels(
    paths: Sequence[str], pairs: Iterable[QueryDoc], settings: CollectSettings
) -> tuple[list[Label], list[Note]]:
    """Return the labels in files of answers to requests for these documents, and notes.

    Of a request's answers, grades count. Raises InputError for an answer to another request, unless
    `errors` is "skip", and if no answer is a grade.
    """
    pair_of_digits = {hash_pair(*pair): pair for pair in pairs}
    answers_of_request: dict[tuple[str, int], list[Answer]] = {}
    refusals: list[InputError] = []
    for answer in (answer for path in paths for answer in read_answers(path, settings)):
        if isinstance(answer, Answer) and answer.custom_id[:24] not in pair_of_digits:
            problem = f"custom_id {answer.custom_id!r} is of a document that is not in the pool"
            answer = answer.origin.row_error(answer.line, problem)
        if isinstance(answer, Answer):
            answers_of_request.setdefault((answer.custom_id, answer.sample), []).append(answer)
        elif settings.errors == "strict":
            hint = "errors='skip' (--errors skip) leaves such lines out and counts them."
            raise answer.replace(hint=hint)
        else:
            refusals.append(answer)
    graded: list[Answer] = []
    others: list[Answer] = []
    for answers in answers_of_request.values():
        grades = [answer for answer in answers if not answer.kind]
        graded += grades
        others += answers[-1:] if not grades else []
    if others and not graded:
        says = next((f"; the first says: {a.message}" for a in others if a.message), "")
        raise InputError(f"no answer is a grade: {_count_kinds(others)}{says}")
    samples = Counter(custom_id[:24] for custom_id, _ in {(a.custom_id, a.sample) for a in graded})
    notes = [*_no_grade_notes(others, len(answers_of_request), {*samples}, paths)]
    if n := sum(count < max(samples.values()) for count in samples.values()):
        text = f"{count_of(n, 'document')} with fewer grades than others, of which some have "
        notes.append(Note("fewer-samples", "warning", f"{text}{max(samples.values())}.", count=n))
    if refusals:
        examples = list_examples(error.problem[:60] for error in refusals)
        text = f"{count_of(len(refusals), 'answer')} left out{examples}."
        notes.append(Note("left-out", "warning", text, count=len(refusals)))
    labels = []
    has_samples = any(answer.sample > 1 for answer in graded)
    for answer in graded:
        digits = answer.custom_id[25:33]
        prompt = PROMPT_OF_DIGITS.get(digits, Prompt("", ()))
        assessor = f"{answer.model} {digits}" + (f" #{answer.sample}" if has_samples else "")
        labels.append(
            Label(
                answer.origin,
                answer.line,
                *pair_of_digits[answer.custom_id[:24]],
                answer.grade,
                assessor,
                judge=Judge(answer.model, f"{prompt.name} {digits}".strip()),
                reason=answer.detail,
            )
        )
    return labels, notes


def _no_grade_notes(
    answers: Sequence[Answer], n_requests: int, graded_pairs: set[str], paths: Sequence[str]
) -> Iterator[Note]:
    """Yield a warning of the answers that are no grade, if there are any."""
    if not answers:
        return
    n_unlabelled = len({answer.custom_id[:24] for answer in answers} - graded_pairs)
    their = count_of(n_unlabelled, "document has", "documents have")
    their = "their documents have" if n_unlabelled == len(answers) else their
    answered = " ".join(f"--answered {escape_unprintable(path)}" for path in paths)
    text = (
        f"{len(answers):,} of {n_requests:,} answers {'is' if len(answers) == 1 else 'are'} no "
        f"grade{f', and {their} no label' * bool(n_unlabelled)}: {_count_kinds(answers)}. Which "
        f"ones is not chance: ask again (cranfield pool ... {answered}), or have people label them."
    )
    yield Note("no-grade", "warning", text, count=len(answers))


def _count_kinds(answers: Sequence[Answer]) -> str:
    """Return how many answers are of each kind, with the codes of failures, and an example."""
    parts = []
    for kind in _KINDS:
        details = [answer.detail for answer in answers if answer.kind == kind]
        extra = ""
        if kind == "failed":
            counts = sorted(Counter(details).items(), key=lambda pair: (-pair[1], pair[0]))
            extra = f" ({', '.join(f'{code} {n:,}' for code, n in counts[:5])})"
        elif kind == "not a grade" and details:
            ellipsis = ", ..." if len(details) > 1 else ""
            extra = f" ({escape_unprintable(repr(_to_text(details[0], 40)))}{ellipsis})"
        parts += [f"{len(details):,} {kind}{extra}"] if details else []
    return ", ".join(parts)
