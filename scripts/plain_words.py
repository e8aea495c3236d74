"""Find words of the house's old dialect: python scripts/plain_words.py [FILE or FOLDER ...].

Prints file, line, the words found and what to say instead; without arguments, of the whole
repository. Reads the comments and strings of Python files, which are docstrings, help and messages;
Markdown pages and the parts of the report are read whole. plain_words.toml has the words.
"""

import argparse
import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
WORDS = Path(__file__).with_name("plain_words.toml")
_CHECKED_PATHS = (
    *("README.md", "CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md"),
    *("benchmarks", "changelog.d", "conftest.py", "docs", "scripts", "src", "tests"),
)
_SUFFIXES = (".md", ".py", ".js", ".html", ".css")
_CODE = "\0"  # what a character of code becomes, so that no words are found across it
_QUOTES = re.compile(r"^[rbfuRBFU]*(\"\"\"|'''|\"|')|(\"\"\"|'''|\"|')$")


@dataclass(frozen=True)
class Pattern:
    """Words to avoid, and what to say instead, with examples of what it finds and does not."""

    find: str
    say: str
    bad: list[str]
    good: list[str]

    def search(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the places in the text; a blank of the pattern matches any white space."""
        return re.finditer(self.find.replace(" ", r"\s+"), text, re.IGNORECASE)


@cache
def read_patterns() -> list[Pattern]:
    """Return all patterns of plain_words.toml."""
    return [Pattern(**fields) for fields in tomllib.loads(WORDS.read_text("utf-8"))["pattern"]]


def find_files(*names: Path) -> list[Path]:
    """Return the files to check in the repository, or in the files and folders that are named."""
    paths: list[Path] = []
    for path in names or [ROOT / name for name in _CHECKED_PATHS]:
        paths += sorted(path.rglob("*")) if path.is_dir() else [path]
    return [path for path in paths if path.suffix in _SUFFIXES]


def extract_prose(source: str) -> str:
    """Return the comments and strings of Python code, each character in its old line and column.

    Quotation marks and the signs of comments become blanks, so that words are also found across
    lines and across strings that are written one after another.

    >>> extract_prose('n = f("it is " "so")  # a').replace(_CODE, ".")
    '. . .. it is    so .    a'
    """
    lines = [re.sub(r"\S", _CODE, line) for line in source.splitlines(keepends=True)]
    text_tokens = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", None)}
    mark_tokens = {getattr(tokenize, "FSTRING_START", None), getattr(tokenize, "FSTRING_END", None)}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in text_tokens | mark_tokens:
            continue
        text = "" if token.type in mark_tokens else token.string
        if token.type == tokenize.STRING:
            text = _QUOTES.sub(lambda mark: " " * len(mark[0]), text)
        elif token.type == tokenize.COMMENT:
            text = re.sub(r"^#+:?", lambda sign: " " * len(sign[0]), text)
        (first_row, column), (last_row, end_column) = token.start, token.end
        parts = text.split("\n") + [""] * (last_row - first_row + 1)
        for i in range(first_row, last_row + 1):
            line = lines[i - 1]
            begin = column if i == first_row else 0
            stop = end_column if i == last_row else len(line.rstrip("\n"))
            cell_text = parts[i - first_row][: stop - begin].ljust(stop - begin)
            lines[i - 1] = line[:begin] + cell_text + line[stop:]
    return "".join(lines)


def find_words(path: Path) -> list[str]:
    """Return a line for each of the words found in a file: where, which, and what to say."""
    text = path.read_text("utf-8")
    text = extract_prose(text) if path.suffix == ".py" else text
    name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    matches = [
        (text.count("\n", 0, match.start()) + 1, " ".join(match[0].split()), pattern.say)
        for pattern in read_patterns()
        for match in pattern.search(text)
    ]
    return [f"{name}:{line}: {words!r}: say: {say}" for line, words, say in sorted(matches)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("paths", nargs="*", type=Path, help="files or folders; all by default")
    paths: list[Path] = parser.parse_args().paths
    for path in (path for path in paths if not path.exists()):
        parser.error(f"{path}: no such file")
    lines = [line for path in find_files(*paths) for line in find_words(path.resolve())]
    print("\n".join(lines))
    sys.exit(1 if lines else 0)
