"""The house's old dialect does not come back: scripts/plain_words.toml lists it."""

import doctest
from pathlib import Path

import plain_words
import pytest
from helpers.changed import changed_files
from helpers.profile import is_full

PATTERNS = plain_words.read_patterns()


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.say)
def test_a_pattern_finds_what_it_should(pattern: plain_words.Pattern) -> None:
    assert pattern.bad
    assert pattern.good
    assert all(any(pattern.search(text)) for text in pattern.bad)
    assert not [text for text in pattern.good if any(pattern.search(text))]


def test_the_repository_has_no_dialect() -> None:
    """In the quick profile, in the files that a branch has changed."""
    files = plain_words.find_files()
    assert Path(plain_words.__file__) in files
    changed_paths = None if is_full() else changed_files(plain_words.ROOT)
    files_read = (
        files if changed_paths is None else [path for path in files if path in changed_paths]
    )
    assert not [line for path in files_read for line in plain_words.find_words(path)]


def test_the_example_of_the_script_holds() -> None:
    assert doctest.testmod(plain_words).failed == 0


def test_words_are_found_in_comments_and_strings_only(tmp_path: Path) -> None:
    path = tmp_path / "some.py"
    source = (
        'X = on = lambda: 0\nx = ("it X "\n     "on")\n# which X\n# on that\n'
        'y = f"X {x} on" f"{x} X on"\nz = """a\nX\non"""\nw = ["X", "on"]\n'
    )
    path.write_text(source.replace("X", "hangs"))
    lines = [line.split(": ")[0] for line in plain_words.find_words(path)]
    assert lines == [f"{path}:{n}" for n in (2, 4, 6, 8)]
