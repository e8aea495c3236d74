"""Find names that do not say what they hold: python scripts/plain_names.py [FILE or FOLDER ...].

Prints file, line and name of each place in Python files; without arguments, of the whole
repository. A variable is a noun, a function is a verb and its object, a class is a noun, a
docstring's sentence has a subject. plain_names.toml has the words that are none of these, the names
that stay, and how many places for 1,000 lines a folder may have; `--rates` prints how many it has.
"""

import argparse
import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
_WORDS = Path(__file__).with_name("plain_names.toml")
FIGURES = ("vague", "participle", "stopgap")
_PRONOUN = re.compile(
    r"\b(ones|those(?! who)|that of|these of|so many|of it|of which|such(?! as)"
    r"|one(?=\s*[.,;:)]|\s+(is|has|that|which|more|of (them|these|those|its))\b))\b",
    re.IGNORECASE,
)
_Function = (ast.FunctionDef, ast.AsyncFunctionDef)


class Place(NamedTuple):
    """A name or a sentence that says nothing: its figure is "vague", "participle" or "stopgap"."""

    line: int
    figure: str
    text: str


@cache
def words(key: str) -> frozenset[str]:
    """Return the words of a list of plain_names.toml; of "exception", the names that stay."""
    listed = tomllib.loads(_WORDS.read_text("utf-8"))[key]
    if key == "exception":
        return frozenset(exception["name"] for exception in listed)
    return frozenset(listed.split())


def is_participle(name: str) -> bool:
    """Tell whether a name is a participle and nothing else, as `shown` and `aligned` are."""
    word = name.strip("_").lower()
    if word in words("no_participles") | words("vague"):
        return False
    return word in words("participles") or re.fullmatch("[a-z]{2,}ed", word) is not None


def judge_variable(name: str) -> str | None:
    """Return the figure that a name of a variable, parameter or attribute counts in, or None."""
    word = name.strip("_")
    if word in words("exception"):
        return None
    if word in words("stopgaps"):
        return "stopgap"
    if is_participle(word):
        return "participle"
    first, *_, last = word.split("_") if "_" in word else (word, word)
    is_alone = first == last == word
    begins = first in words("vague") and (is_alone or first not in words("may_begin"))
    ends = last in words("vague") and (is_alone or last not in words("may_end"))
    return "vague" if begins or ends else None


def is_vague_definition(name: str, decorators: str) -> bool:
    """Tell whether a function's name is no verb: a vague word, a participle, a preposition first.

    A property may be a participle, and a constructor of a class may begin with a preposition.
    """
    word = name.strip("_")
    if name.startswith("__") or word in words("exception") or "property" in decorators:
        return False
    if word in words("vague") or is_participle(word):
        return True
    is_method_of_class = "classmethod" in decorators or "staticmethod" in decorators
    first = word.partition("_")[0]
    return first != word and first in words("prepositions") and not is_method_of_class


def vague_sentences(docstring: str) -> Iterator[str]:
    """Yield the sentences of a docstring, before its examples, that have two pronouns or more."""
    text = " ".join(docstring.partition(">>>")[0].split())
    for sentence in re.split(r"(?<=[.:;])\s+", text):
        if len(sentence.split()) >= 6 and len(list(_PRONOUN.finditer(sentence))) >= 2:
            yield sentence


def places(source: str) -> Iterator[Place]:
    """Yield the places of a Python file."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name):
                is_foreign = isinstance(node, ast.Attribute) and name in words("foreign")
                figure = None if is_foreign else judge_variable(name)
                if figure is not None:
                    yield Place(node.lineno, figure, name)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                decorators = " ".join(map(ast.unparse, node.decorator_list))
                if is_vague_definition(node.name, decorators):
                    yield Place(node.lineno, "vague", f"def {node.name}")
            case ast.ClassDef() if is_participle(node.name):
                yield Place(node.lineno, "vague", f"class {node.name}")
            case ast.Call(func=function, args=arguments):
                if any(_is_unpacked_tuple(argument) for argument in arguments):
                    yield Place(node.lineno, "vague", f"{ast.unparse(function)}(*(...))")
        if isinstance(node, (ast.Module, ast.ClassDef, *_Function)):
            for sentence in vague_sentences(ast.get_docstring(node) or ""):
                yield Place(node.body[0].lineno, "vague", sentence)


def _is_unpacked_tuple(argument: ast.expr) -> bool:
    """Tell whether an argument of a call is `*(a, b)`."""
    return isinstance(argument, ast.Starred) and isinstance(argument.value, ast.Tuple)


def python_files(path: Path) -> list[Path]:
    """Return the Python files of a folder and of the folders in it, or the file itself."""
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


def level(folder: str) -> dict[str, float]:
    """Return how many places for 1,000 lines a folder may have, of each figure.

    A folder that has no level of its own has that of the folder at the root that it is in.
    """
    levels: dict[str, dict[str, float]] = tomllib.loads(_WORDS.read_text("utf-8"))["level"]
    return levels.get(folder) or levels[folder.partition("/")[0]]


def rates(folder: str | Path) -> dict[str, float]:
    """Return how many places for 1,000 lines the files of a folder have, of each figure."""
    sources = [path.read_text("utf-8") for path in python_files(ROOT / folder)]
    n_lines = sum(source.count("\n") for source in sources)
    n_places = Counter(place.figure for source in sources for place in places(source))
    return {figure: 1000 * n_places[figure] / max(n_lines, 1) for figure in FIGURES}


def folders() -> list[str]:
    """Return the folders that have a level: src, its packages, the folders of tests, others."""
    parents = ["src/cranfield", "src/cranfield/extensions", "tests/core", "tests/extensions"]
    inside = [
        path.relative_to(ROOT).as_posix()
        for parent in parents
        for path in sorted((ROOT / parent).iterdir())
        if path.is_dir() and path.name not in {"extensions", "__pycache__"}
    ]
    others = ["tests/helpers", "tests/oracles", "tests/whole", "scripts", "benchmarks"]
    return ["src", *inside, *others]


def main() -> None:
    """Print the places, or with --rates how many there are for 1,000 lines."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("paths", nargs="*", type=Path, help="files or folders; all by default")
    parser.add_argument("--rates", action="store_true", help="the places for 1,000 lines")
    arguments = parser.parse_args()
    paths = arguments.paths or [ROOT / folder for folder in folders()]
    if arguments.rates:
        for path in paths:
            print(f"{path}: " + ", ".join(f"{n:.1f} {figure}" for figure, n in rates(path).items()))
        return
    n_places = 0
    for path in paths:
        for file in python_files(path):
            for place in sorted(places(file.read_text("utf-8"))):
                print(f"{file}:{place.line}: {place.figure}: {place.text}")
                n_places += 1
    sys.exit(1 if n_places else 0)


if __name__ == "__main__":
    main()
