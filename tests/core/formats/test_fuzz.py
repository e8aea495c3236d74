"""Files of any content: a result or a CranfieldError, never anything else.

The same as scripts/fuzz.py, which looks further, for those who have no Atheris.
"""

import random
import signal
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any, get_args

import fuzz
import pytest
from fuzz import limit_time
from helpers.profile import examples, sample_cases
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cranfield.errors import InputError, NothingSharedError
from cranfield.formats.block import Order

GOOD = fuzz.make_good_cases()
CASES = GOOD | fuzz.make_odd_cases()
READ_IN = settings(
    max_examples=examples(300),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@READ_IN
@given(head=st.binary(min_size=6, max_size=6), content=st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(head: bytes, content: bytes, tmp_path: Path) -> None:
    with limit_time():
        fuzz.check_case(fuzz.Case.decode(head + content), tmp_path)


def spoilt(content: bytes, draw: random.Random) -> bytes:
    """Change some of the content."""
    for _ in range(draw.randint(1, 4)):
        lines = content.splitlines(keepends=True)
        at = draw.randint(0, len(content))
        to = min(len(content), at + draw.randint(0, 12))
        line = draw.randrange(len(lines)) if lines else 0
        other = draw.choice(list(CASES.values())).content
        start = draw.randint(0, len(other))
        match draw.randrange(8):
            case 0 if content:  # flip a bit
                i = draw.randrange(len(content))
                flipped = content[i] ^ 1 << draw.randrange(8)
                content = content[:i] + bytes([flipped]) + content[i + 1 :]
            case 1:  # delete some
                content = content[:at] + content[to:]
            case 2:  # repeat some
                content = content[:to] + content[at:]
            case 3:  # put in a token
                content = content[:at] + draw.choice(fuzz.TOKENS) + content[at:]
            case 4:  # take the end from another file
                content = content[:at] + other[start:]
            case 5:  # without a line
                content = b"".join(lines[:line] + lines[line + 1 :])
            case 6:  # a line twice
                content = b"".join(lines[: line + 1] + lines[line:])
            case 7:  # lines in another order
                draw.shuffle(lines)
                content = b"".join(lines)
    return content


@settings(READ_IN, max_examples=examples(600))
@given(
    name=st.sampled_from(sorted(CASES)),
    options=st.binary(min_size=4, max_size=4),
    as_before=st.booleans(),
    draw=st.randoms(use_true_random=False),
)
def test_spoilt_files_are_read_or_refused(
    name: str, options: bytes, as_before: bool, draw: random.Random, tmp_path: Path
) -> None:
    seed = CASES[name].encode()
    content = spoilt(seed[6:], draw)
    # Its own reader, format and packing, or others with it.
    head = seed[:2] + options[:2] + seed[4:6] if as_before else seed[:1] + options + seed[5:6]
    with limit_time():
        fuzz.check_case(fuzz.Case.decode(head + content), tmp_path)


def known(case: fuzz.Case) -> bool:
    """Whether the library reads the format of the case."""
    formats = fuzz.list_choices(case.reader, "format") or (None,)
    if case.format is not None:
        return case.format in formats
    return None in formats or case.suffix in {"", ".run", ".qrels", ".txt", ".gz"}


@pytest.mark.parametrize("name", [name for name, case in GOOD.items() if known(case)])
def test_the_good_files_are_good(name: str, tmp_path: Path) -> None:
    assert fuzz.check_case(GOOD[name], tmp_path) is None


def test_there_is_a_good_file_of_every_format() -> None:
    for reader in fuzz.READERS:
        named = {case.format for case in GOOD.values() if case.reader == reader}
        for form in fuzz.list_choices(reader, "format")[1:]:  # the default is what all others have
            assert form in named, (reader, form)


def test_all_orders_are_tried() -> None:
    assert get_args(Order) == fuzz.ORDERS


@pytest.mark.parametrize("name", sorted(CASES))
def test_an_input_stands_for_its_case(name: str) -> None:
    case = fuzz.Case.decode(CASES[name].encode())
    assert (case.reader, case.content) == (CASES[name].reader, CASES[name].content)
    assert (case.suffix, case.packing) == (CASES[name].suffix, CASES[name].packing)
    assert fuzz.Case.decode(case.encode()) == case


@pytest.mark.parametrize("problem", [ValueError("odd"), MemoryError(), RuntimeWarning("odd")])
def test_what_is_no_error_of_cranfield_is_a_fault(
    problem: Exception, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def reader(path: Path, **options: str) -> Any:
        raise problem

    monkeypatch.setitem(fuzz.READERS, "run", reader)
    with pytest.raises(type(problem)):
        fuzz.check_case(GOOD["trec run"], tmp_path)


def test_an_error_that_cannot_be_printed_is_a_fault(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class LoudError(InputError):
        def __str__(self) -> str:
            return "\x1b[31m"

    def reader(path: Path, **options: str) -> Any:
        raise LoudError("An InputError of the library escapes what it says.")

    monkeypatch.setitem(fuzz.READERS, "run", reader)
    with pytest.raises(fuzz.BrokenPromiseError):
        fuzz.check_case(GOOD["trec run"], tmp_path)


def test_an_error_that_does_not_name_the_file_is_a_fault(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def reader(path: Path, **options: str) -> Any:
        raise InputError("something is wrong somewhere")

    monkeypatch.setitem(fuzz.READERS, "run", reader)
    with pytest.raises(fuzz.BrokenPromiseError, match="does not name the file"):
        fuzz.check_case(GOOD["trec run"], tmp_path)


@pytest.mark.parametrize("kind", ["run", "qrels"])
def test_another_result_the_second_time_is_a_fault(
    kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    read, contents = fuzz.READERS[kind], [b"q1 0 d1 1\n", b"q1 0 d1 2\n"]
    if kind == "run":
        contents = [b"q1 d1\n", b"q1 d2\nq1 d1\n"]

    def reader(path: Path, **options: str) -> Any:
        path.write_bytes(contents.pop(0))
        return read(path, **options)

    monkeypatch.setitem(fuzz.READERS, kind, reader)
    with pytest.raises(fuzz.BrokenPromiseError):
        fuzz.check_case(fuzz.Case(kind, b""), tmp_path)


def test_an_input_is_read_once_more(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    finding = tmp_path / "finding"
    finding.write_bytes(GOOD["trec run"].encode())
    monkeypatch.setattr(sys, "argv", ["fuzz.py", "--replay", str(finding)])
    assert fuzz.main() == 0
    assert "read without an error" in capsys.readouterr().out
    finding.write_bytes(fuzz.Case("run", b"q1").encode())
    assert fuzz.main() == 0
    assert "expected 6 columns" in capsys.readouterr().out


def test_without_atheris_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fuzz, "find_spec", lambda name: None)
    monkeypatch.setattr(sys, "argv", ["fuzz.py"])
    with pytest.raises(SystemExit):
        fuzz.main()
    assert "pip install '.[fuzz]'" in capsys.readouterr().err


def work_for_ever(*_: Any, **__: Any) -> None:
    """Take time of the processor, which ends only by a signal."""
    while True:
        pass


def test_what_takes_too_long_is_a_fault() -> None:
    with pytest.raises(TimeoutError, match=r"took longer than 0\.05 seconds"), limit_time(0.05):
        work_for_ever()


def test_what_waits_for_ever_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "MAX_SECONDS_WAITING", 0.05)
    with pytest.raises(TimeoutError, match=r"did not end within 0\.05 seconds"), limit_time(60):
        signal.pause()


def test_the_time_of_other_programs_is_no_fault() -> None:
    code = "import time\nwhile time.process_time() < 1: pass"
    with limit_time(0.5):
        subprocess.run([sys.executable, "-c", code], check=True)


LARGE = list(islice(fuzz.make_large_cases(1), 3 + 8 * len(fuzz.STRETCHES)))


# Some, as each takes a fifth of a second: every way to stretch a file, of which there are nine.
@pytest.mark.parametrize(
    ("name", "case"), [pytest.param(*one, id=one[0]) for one in sample_cases(LARGE, step=5)]
)
def test_inputs_of_megabytes_are_read_or_refused_in_time(
    name: str, case: fuzz.Case, tmp_path: Path
) -> None:
    with limit_time():
        problem = fuzz.check_case(case, tmp_path)
    if "a long query" in name and isinstance(problem, NothingSharedError):
        problem = None  # the long one is none of the judged
    if "a long id" in name or "a long query" in name:
        assert problem is None, "an id of a megabyte is an id like any other"
    assert len(str(problem or "")) < 8000


def test_every_kind_of_input_of_megabytes_is_made() -> None:
    assert max(len(case.content) for _, case in LARGE) > 1_000_000
    for how in fuzz.STRETCHES:
        assert any(name.endswith(how) for name, _ in LARGE), how
    assert len({case.content for _, case in LARGE}) == len(LARGE)


def test_a_large_input_that_takes_too_long_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(fuzz.READERS, "run", work_for_ever)
    assert fuzz.check_large(0, 1, tmp_path, limit=0.05, n_least=1) == 1
    assert "took longer than 0.05 seconds" in capsys.readouterr().out
    kept = fuzz.Case.decode((tmp_path / "large-0").read_bytes())
    assert (kept.reader, kept.content) == ("run", LARGE[0][1].content)
