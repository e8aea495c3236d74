"""Write the types of keywords: a TypedDict for each family of options, and for each function.

Functions take options as `**options: "Unpack[keywords.Compare]"`. Type checkers read what these are
in two generated modules, `cranfield.keywords`, and `cranfield.extensions.keywords` for functions of
extensions; nothing imports them when it runs. The attributes that pairs and explanations take from
their parts are there, too.
"""

import ast
import builtins
import inspect
from collections import Counter
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from cranfield.comparison.result import Pair
from cranfield.extensions import load_entries
from cranfield.options import Options, list_options

PACKAGE = Path(__file__).parent.parent / "src" / "cranfield"
CORE, EXTENSIONS = "cranfield.keywords", "cranfield.extensions.keywords"
MODULE_DOCSTRING = '''\
"""Keywords of {of}, for type checkers: scripts/make_docs.py writes this."""
'''


@dataclass(frozen=True)
class Verb:
    """A function that takes options: its families, those of extensions among them."""

    name: str
    module: str
    families: tuple[type[Options], ...]
    omitted_options: frozenset[str]
    form_types: dict[str, ast.expr]  # options that only its forms for type checkers take by keyword

    @property
    def keywords_module(self) -> str:
        """The module that holds the types of its keywords."""
        return EXTENSIONS if self.module.startswith("cranfield.extensions.") else CORE

    @property
    def base_families(self) -> list[type[Options]]:
        """The families of which it takes most options."""
        return [
            family
            for family in self.families
            if 2 * len(self.omitted_options & _option_names(family)) < len(_option_names(family))
        ]

    @property
    def has_single_family(self) -> bool:
        """Whether its keywords are those of one family."""
        return len(self.families) == 1 and not self.form_types


def make_keyword_types() -> dict[Path, str]:
    """Return the text of both modules, by their paths.

    A family that only one function takes has no type of its own: its options are that function's.
    """
    verbs = sorted(_find_verbs(), key=lambda verb: verb.name)
    takers = Counter(family for verb in verbs for family in verb.base_families)
    shared = {family for family, n_takers in takers.items() if n_takers > 1}
    shared |= {family for verb in verbs if verb.has_single_family for family in verb.families}
    shared |= {base for family in takers for base in _parent_families(family)}
    core_families = {
        family for verb in verbs if verb.keywords_module == CORE for family in verb.families
    }
    core_families |= {family for family in shared if "extensions" not in family.__module__}
    text_of_path = {}
    for home, families in ((CORE, shared & core_families), (EXTENSIONS, shared - core_families)):
        types = _KeywordModule(home, shared, core_families)
        for family in sorted(families, key=lambda family: family.__name__):
            types.add_family(family)
        for verb in verbs:
            if verb.keywords_module == home and not verb.has_single_family:
                types.add_verb(verb)
        if home == CORE:
            pair_fields = Pair.__dataclass_fields__
            types.add_attributes(
                "PairValues", [name for name in Pair.names() if name not in pair_fields]
            )
            kinds = load_entries("remark of explain")
            remarks = [name for kind in kinds for name in kind.__dataclass_fields__]
            types.add_attributes("RemarkValues", remarks)
        path = PACKAGE.parent.joinpath(*home.split(".")).with_suffix(".py")
        text_of_path[path] = types.write_module()
    return text_of_path


def _find_verbs() -> Iterator[Verb]:
    """Yield every function of the package that `takes` decorates."""
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text("utf-8")
        if "@takes(" not in text:
            continue
        name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        functions = [
            node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)
        ]
        names = Counter(function.name for function in functions)
        for function in functions:
            for call in function.decorator_list:
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "takes":
                    yield _make_verb(name, function, call, has_forms=names[function.name] > 1)


def _make_verb(module: str, function: ast.FunctionDef, call: ast.Call, *, has_forms: bool) -> Verb:
    """Return what a function takes by a call of `takes`."""

    def evaluate(expression: ast.expr) -> Any:
        return eval(ast.unparse(expression), vars(import_module(module)))  # noqa: S307 - our code

    families = evaluate(ast.Tuple(call.args, ast.Load()))
    omitted_options = {name for word in call.keywords for name in evaluate(word.value)}
    form_types = {}
    if has_forms:
        form_types = {
            word.arg: word.annotation for word in function.args.kwonlyargs if word.annotation
        }
    return Verb(function.name, module, families, frozenset(omitted_options), form_types)


def _option_names(family: type[Options]) -> set[str]:
    """Return the names of all options of a family."""
    return {option.name for option in list_options(family)}


def _parent_families(family: type[Options]) -> list[type[Options]]:
    """Return the families that a family inherits from directly."""
    return [base for base in family.__bases__ if hasattr(base, "__dataclass_fields__")]


def _own_types(family: type[Options]) -> dict[str, ast.expr]:
    """Return {option: its type as written} of the options that a family itself declares."""
    (body,) = [
        node.body
        for node in _parse_module(family.__module__).body
        if isinstance(node, ast.ClassDef) and node.name == family.__name__
    ]
    return {
        line.target.id: line.annotation
        for line in body
        if isinstance(line, ast.AnnAssign)
        and isinstance(line.target, ast.Name)
        and line.target.id in _option_names(family)
    }


class _KeywordModule:
    """The text of a module of TypedDicts, as it grows."""

    def __init__(self, module: str, shared_families: set[Any], core_families: set[Any]) -> None:
        self.module = module
        self.shared_families = shared_families
        self.core_families = core_families
        self.imported_names = {"typing": {"TypedDict"}}  # {module: names}
        self.classes: list[str] = []

    def add_family(self, family: type[Options]) -> None:
        """Add the type of a family that several functions take."""
        bases = [self._import_family(base) for base in _parent_families(family)]
        self._add_class(family.__name__, bases, self._option_types(family))

    def add_verb(self, verb: Verb) -> None:
        """Add the type of all keywords of a function."""
        bases: list[str] = []
        option_types: dict[str, ast.expr] = {}
        for family in verb.families:
            if family in verb.base_families and family in self.shared_families:
                bases.append(self._import_family(family))
            else:
                bases += [self._import_family(base) for base in _parent_families(family)]
                option_types |= self._option_types(
                    family, frozenset() if family in verb.base_families else verb.omitted_options
                )
        self._import_names(verb.module, verb.form_types.values())
        title = "".join(part.title() for part in verb.name.split("_"))
        self._add_class(title, bases, option_types | verb.form_types)

    def add_attributes(self, name: str, attributes: Iterable[str]) -> None:
        """Add a class of the attributes that an object takes from its parts."""
        self.imported_names["typing"] |= {"Any", "ClassVar"}
        lines = "".join(f"\n    {attribute}: ClassVar[Any]" for attribute in attributes)
        self.classes.append(f"\nclass {name}:{lines}\n")

    def _option_types(
        self, family: type[Options], without: Set[str] = frozenset()
    ) -> dict[str, ast.expr]:
        """Return the types of the options that a family declares, which are imported."""
        types = {
            name: annotation
            for name, annotation in _own_types(family).items()
            if name not in without
        }
        self._import_names(family.__module__, types.values())
        return types

    def _import_family(self, family: type[Options]) -> str:
        if self.module == EXTENSIONS and family in self.core_families:
            self.imported_names.setdefault(CORE, set()).add(family.__name__)
        return family.__name__

    def _import_names(self, module: str, annotations: Iterable[ast.expr]) -> None:
        """Import the names in some annotations of a module from where that has them."""
        sources = {
            alias.asname or alias.name: node.module or ""
            for node in ast.walk(_parse_module(module))
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        for annotation in annotations:
            for node in ast.walk(annotation):
                if isinstance(node, ast.Name) and not hasattr(builtins, node.id):
                    self.imported_names.setdefault(sources.get(node.id, module), set()).add(node.id)

    def _add_class(self, name: str, bases: list[str], option_types: dict[str, ast.expr]) -> None:
        """Add a TypedDict with its own keys, which inherits the others."""
        class_arguments = ", ".join(
            [*(bases or ["TypedDict"]), *(["total=False"] if option_types else [])]
        )
        line = f"class {name}({class_arguments}):"
        if len(line) > (100 if option_types else 96):
            line = f"class {name}(\n    {class_arguments}\n):"
        keys = (
            "".join(
                f"\n    {option_name}: {ast.unparse(annotation)}"
                for option_name, annotation in option_types.items()
            )
            or " ..."
        )
        self.classes.append(f"\n{line}{keys}\n")

    def write_module(self) -> str:
        """Return the module: a docstring, imports, classes."""
        assert self.module == EXTENSIONS or not any(
            "extensions" in name for name in self.imported_names
        )
        is_core = self.module == CORE
        subject = "functions, fields of results" if is_core else "functions of extensions"
        return "\n".join(
            [MODULE_DOCSTRING.format(of=subject), self._write_imports(), *self.classes]
        )

    def _write_imports(self) -> str:
        """Return the imports as the formatter has them."""
        lines: dict[bool, str] = {}
        for module, names_of_module in sorted(self.imported_names.items()):
            names = sorted(names_of_module)
            line = f"from {module} import {', '.join(names)}\n"
            if len(line) > 101:
                lines_of_names = "".join(f"    {name},\n" for name in names)
                line = f"from {module} import (\n{lines_of_names})\n"
            is_of_package = module.startswith("cranfield")
            lines[is_of_package] = lines.get(is_of_package, "") + line
        return "\n".join(lines.values())


@cache
def _parse_module(module: str) -> ast.Module:
    return ast.parse(inspect.getsource(import_module(module)))
