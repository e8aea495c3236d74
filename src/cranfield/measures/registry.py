"""@measure: the declaration of a measure.

A measure is one function under `@measure`: its name and parameters are the declaration, its
docstring the documentation, its body the computation. Everything else (catalogue, command line,
tests, explanation) reads the registry.
"""

import inspect
import keyword
import math
import os
import pickle
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal

from cranfield.errors import MeasureError
from cranfield.extensions import load_entries
from cranfield.lazy import cached_property
from cranfield.measures.aggregation import AGGREGATIONS, Aggregation
from cranfield.measures.declaration import WITHOUT_DOCSTRINGS, Declaration, is_range
from cranfield.measures.parameters import Parameter, Parameters, RecallPoint, write_parameters
from cranfield.measures.traits import DEFAULT_TRAITS, Traits

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
Kernel = Callable[..., Any]
Reason = str | Callable[[Parameters], str]
# What a measure looks at: the judged documents of each query; the list of each user, judged or
# not; or the lists of all users together, so that it has one number for a run.
Subject = Literal["queries", "lists", "run"]
# A measure's name and parameters as another tool has them -> as they are here.
Translation = Callable[[str, Parameters], tuple[str, Parameters]]


def _keep_names(name: str, parameters: Parameters) -> tuple[str, Parameters]:
    """Return a name and parameters as they are: no translation."""
    return name, parameters


@dataclass(frozen=True, eq=False)
class Names:
    """How a measure is written beside its name, by other tools above all.

    `aliases` are other names; so are `variants`, with the parameters that they stand for, and
    `families`, trec_eval's names for several cutoffs, or for several values of a parameter.
    `parameter` says which parameter the number behind a name is: {"set_f": "x"} for set_F.2.
    `translate` turns another tool's name and parameters into ours. `unnamed` is the parameter that
    may be written without its name, and is always shown: CWL('AP'). `decimals` is the parameter of
    which ranx writes the decimal places behind the name: rbp.95 is p=0.95. Of names that differ
    only in upper and lower case, `-` and `_`, one is enough.

    >>> Names(("rbp",), variants={"rbp95": {"p": 0.95}}).implied("RBP")
    {'RBP': {}, 'rbp': {}, 'rbp95': {'p': 0.95}}
    """

    aliases: Sequence[str] = ()
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    families: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    parameter: Mapping[str, str] = field(default_factory=dict)
    translate: Translation = _keep_names
    unnamed: str | None = None
    decimals: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.aliases, list | tuple):
            raise MeasureError(
                f"names={self.aliases!r:.40}: expected a tuple of texts, as in ('other_name',)"
            )

    def implied(self, name: str) -> dict[str, Mapping[str, Any]]:
        """Return every name and the parameters that it implies; the measure's own comes first."""
        names = (name, *self.aliases, *self.families)
        return {**{alias: {} for alias in names}, **self.variants}


@dataclass(eq=False, repr=False)
class Definition(Declaration):
    """All that is known of a measure, except the values of its parameters."""

    names: Names
    traits: Traits
    aggregation: Aggregation  # "none": the value of a query is a string
    range: tuple[float, float | None]  # of the value of a query; None: no upper end
    higher_is_better: bool | None  # of two systems, the one with the higher value; None: neither
    perfect: Reason  # of values up to 1, why a perfect ranking may have less; empty: it has 1
    perfect_cut: Reason  # the same where the measure is cut
    of: Subject

    def __copy__(self) -> "Definition":
        return self

    def __deepcopy__(self, _: object) -> "Definition":
        return self

    def __reduce__(self) -> tuple[Callable[[str, str], "Definition"], tuple[str, str]]:
        """Pickle by name; the process that unpickles it imports the module that declares it."""
        if DEFINITIONS.get(self.name) is not self:
            raise pickle.PicklingError(f"{self.name} has been declared again since this definition")
        return _find_definition, (self.name, self.module)

    @property
    def module(self) -> str:
        """The name of the module that declares it."""
        return self.kernel.__module__

    @property
    def aliases(self) -> tuple[str, ...]:
        """Every other name."""
        names = self.names
        return tuple(dict.fromkeys((*names.aliases, *names.variants, *names.families)))

    @cached_property
    def _second_argument(self) -> inspect.Parameter | None:
        """The cutoff among the arguments of the function, if it takes one."""
        positional = [a for a in self.arguments if a.kind is not a.KEYWORD_ONLY]
        return positional[1] if len(positional) > 1 else None

    @cached_property
    def cutoff(self) -> Literal["none", "optional", "required"]:
        """Whether the measure takes a cutoff."""
        if self._second_argument is None:
            return "none"
        has_default = self._second_argument.default is not inspect.Parameter.empty
        return "optional" if has_default else "required"

    @cached_property
    def cutoff_kind(self) -> Literal["depth", "recall"]:
        """What the cutoff is: a recall, else a number of ranks ("depth", also without a cutoff)."""
        hint = self._second_argument and self.hints[self._second_argument.name]
        return "recall" if hint is RecallPoint else "depth"

    def fractions(self, parameters: Parameters) -> str:
        """Return what becomes of grades that are not whole: see `Traits`."""
        fractions = self.traits.fractions
        if fractions is None:
            return "level" if "rel" in self.parameters else _NO_FRACTIONS_REASON
        return fractions(parameters) if callable(fractions) else fractions

    @cached_property
    def is_user_defined(self) -> bool:
        """Whether a user declared the measure."""
        code = getattr(self.kernel, "__code__", None)
        return code is None or not code.co_filename.startswith(_PACKAGE)

    @property
    def is_text(self) -> bool:
        """Whether the value of a query is a string; then there is none over all queries."""
        return self.aggregation == "none"

    @property
    def range_text(self) -> str:
        """The values that a query may have, in words."""
        low, high = self.range
        if self.is_text:
            return "a string"
        if low == -math.inf:
            return "any number" if high is None else f"up to {high:g}"
        return f"from {low:g}" + (" up" if high is None else f" to {high:g}")

    @property
    def aggregation_text(self) -> str:
        """What the value over all queries is, in words."""
        return {"geometric": "geometric mean", "none": "no value"}.get(
            self.aggregation, self.aggregation
        )

    @property
    def summary(self) -> str:
        """The first paragraph of the documentation, on one line."""
        return self.documentation.split("\n\n", 1)[0].replace("\n", " ")

    @property
    def facts(self) -> list[tuple[str, str]]:
        """What to know beside the documentation: (what it is, in words)."""
        return [
            ("Formula", self.formula),
            ("Range", self.range_text),
            ("Over queries", self.aggregation_text),
            ("Source", self.source),
            ("Other names", ", ".join(self.aliases) or "-"),
        ]

    @property
    def meanings(self) -> list[tuple[str, str]]:
        """Each parameter with its default, and what it means."""
        return [
            (f"{name}={self.defaults[name]!r}", parameter.meaning)
            for name, parameter in self.parameters.items()
        ]

    @property
    def page(self) -> str:
        """The measure's page, as `help` shows it: pattern, documentation, facts, parameters."""
        from textwrap import fill  # which little else needs

        texts = (self.pattern, *self.documentation.split("\n\n"))
        paragraphs = [fill(text, PAGE_WIDTH) for text in texts]
        facts = [f"{label}: {text}" for label, text in (*self.facts, *self.meanings)]
        fact_lines = [fill(fact, PAGE_WIDTH, subsequent_indent="    ") for fact in facts]
        return "\n\n".join([*paragraphs, "\n".join(fact_lines)])

    @property
    def pattern(self) -> str:
        """How it is written, with its parameters' defaults and its cutoff: `Success(rel=1)@k`."""
        point = "x" if self.cutoff_kind == "recall" else "k"
        cutoff_text = {"none": "", "optional": f"[@{point}]", "required": f"@{point}"}[self.cutoff]
        return self.name + write_parameters(self.defaults.items(), self.names.unnamed) + cutoff_text


PAGE_WIDTH = 75  # characters of a page's lines, which `help` indents

_NO_FRACTIONS_REASON = (
    "its declaration does not say what becomes of them; if its function has a meaning for them, "
    "say so: @measure(..., traits=Traits(fractions='taken'))"
)
DEFINITIONS: dict[str, Definition] = {}  # by name, in the order of the catalogue
USER_DEFINITIONS: dict[str, Definition] = {}  # which may be declared again


def _find_definition(name: str, module: str) -> Definition:
    """Return a definition that was pickled by name, importing its module; MeasureError if none."""
    if look_up_definition(name) is None:
        with suppress(ImportError):
            import_module(module)
    if name not in DEFINITIONS:
        raise MeasureError(
            f"{name}: the module {module} that declares it is not known to this process: declare "
            "measures for other processes in a module that they can import"
        )
    return DEFINITIONS[name]


_ADDED_DEFINITIONS: list[Definition] = []  # of extensions

# Every name as `bare_name` has it -> the canonical name, and the parameters that it implies.
VARIANTS: dict[str, tuple[str, Mapping[str, Any]]] = {}
# Every name as it is declared, which wins over these: `rbp` is trec_eval's, `RBP` is ours.
EXACT_NAMES: dict[str, tuple[str, Mapping[str, Any]]] = {}
# trec_eval's names of several cutoffs or values, in lower case -> the canonical name, these.
FAMILIES: dict[str, tuple[str, tuple[Any, ...]]] = {}


def measure(
    name: str,
    *,
    names: Names | Sequence[str] = (),
    traits: Traits = DEFAULT_TRAITS,
    aggregation: Aggregation = "mean",
    range: tuple[float, float | None] = (0, 1),  # noqa: A002 - the word for it
    higher_is_better: bool | None = True,
    perfect: Reason = "",
    perfect_cut: Reason = "",
    of: Subject = "queries",
) -> Callable[[Kernel], Kernel]:
    """Register a measure: the decorated function is its declaration and its computation.

    `parse` knows it by `name`.

    The function takes a Judged and returns a column (n_queries, 1). A second positional argument
    annotated `Cutoff` (or `Cutoff | None`, with the default None) makes `@k` required (or
    optional); one annotated `RecallPoint` makes `@x` a recall point. Keyword-only arguments are
    the parameters; each is annotated with a Parameter and has a default. With cutoffs, use
    `Ranked.top` and return (n_queries, n_cutoffs), as its methods do. The docstring says what is
    measured, and ends in two lines that are shown beside it: `Formula:`, in plain text, and
    `Source:`, the paper or the tool that defines the measure.

    `names` are other names: some, or `Names`. `traits` tell what is known of the measure beside
    its value: see `Traits`. `aggregation` makes one value of all queries' ("none": the value is a
    text), `range` is that of a query's value, `higher_is_better` says which of two systems wins
    (None: neither). Of a measure that has no value above 1, `perfect` says why a perfect ranking
    may have less, `perfect_cut` why one that is cut may; each a string, or a function of the
    parameters that returns one.

    A measure declared so is one like all others: `parse`, `evaluate`, `definitions` know it. One's
    own may be declared again, with another function. Raises MeasureError for a name that is taken
    or cannot be parsed, and for a declaration that is wrong or lacks something.

    Args:
        name: what it is called.
        names: other names.
        traits: what is known of it beside its value.
        aggregation: how one value of all queries is made.
        range: the least and the greatest value of a query; None: there is no greatest one.
        higher_is_better: which of two systems wins; None: neither.
        perfect: why a perfect ranking may have less than 1.
        perfect_cut: why a perfect ranking that is cut may have less than 1.
        of: "queries"; measures of "lists" and of a "run" are those of `cranfield describe`.

    >>> import numpy as np
    >>> from cranfield import Measure, ratio
    >>> @measure("TopHit")
    ... def top_hit(judged):
    ...     '''The grade of the first document, as a share of the highest.
    ...
    ...     Formula: grade at rank 1 / top grade
    ...     Source: this page
    ...     '''
    ...     first = judged.hits.where(judged.hits.rank == 1)
    ...     return ratio(first.total(first.grade), np.array([[judged.top_grade]]))
    >>> Measure("TopHit")({"d1": 3, "d2": 2}, ["d2", "d1"])
    0.6666666666666666

    """
    measure_names = names if isinstance(names, Names) else Names(names)

    def register(kernel: Kernel) -> Kernel:
        definition = Definition(
            name=name,
            kernel=kernel,
            names=measure_names,
            traits=traits,
            aggregation=aggregation,
            range=range,
            higher_is_better=higher_is_better,
            perfect=perfect,
            perfect_cut=perfect_cut,
            of=of,
        )
        if definition.is_user_defined:
            _check_user_definition(definition)
            for name_table in (VARIANTS, EXACT_NAMES, FAMILIES):  # of an earlier declaration
                for alias in [alias for alias, (owner, _) in name_table.items() if owner == name]:
                    del name_table[alias]
            USER_DEFINITIONS[name] = definition
        if of == "queries":
            _enter_definition(definition)
        else:
            _ADDED_DEFINITIONS.append(definition)
        return kernel

    return register


def _enter_definition(definition: Definition) -> None:
    """Make a measure known by all its names."""
    name, names = definition.name, definition.names
    DEFINITIONS[name] = definition
    for alias, parameters in names.implied(name).items():
        EXACT_NAMES[alias] = name, parameters
        VARIANTS.setdefault(bare_name(alias), (name, parameters))
    for family, cutoffs in names.families.items():
        FAMILIES[family.lower()] = name, cutoffs


def load_measures() -> None:
    """Make the measures of extensions known, once a name is none of the core's or the user's."""
    load_entries("measures")
    for definition in _ADDED_DEFINITIONS:
        if definition.name not in DEFINITIONS:
            _enter_definition(definition)


# How a name may be written, for the grammar to read it: without blanks, brackets, quotes, `@`, `,`,
# `;` and `=`, and without an end such as -l2, which is a relevance level.
_NAME_PATTERN = re.compile(r"""(?!.*-[lL][0-9]+$)[^\s()\[\]{}@,;='"]+""")


def _check_values(definition: Definition) -> None:
    """Raise MeasureError if an argument of @measure has a value that it does not take."""
    checks = {
        "aggregation": (
            definition.aggregation in (*AGGREGATIONS, "none"),
            f"one of {', '.join(map(repr, (*AGGREGATIONS, 'none')))}",
        ),
        "range": (
            is_range(definition.range),
            "the lowest and the highest value, as in (0, 1) or (0, None)",
        ),
        "higher_is_better": (
            any(definition.higher_is_better is flag for flag in (True, False, None)),
            "True, False or None",
        ),
        **{
            name: (
                isinstance(reason, str) or callable(reason),
                "a string or a function of the parameters",
            )
            for name in ("perfect", "perfect_cut")
            for reason in (getattr(definition, name),)
        },
        "traits": (isinstance(definition.traits, Traits), "a Traits, as in Traits(by_grade=True)"),
    }
    for argument, (holds, expected) in checks.items():
        if not holds:
            value = getattr(definition, argument)
            raise MeasureError(
                f"@measure({definition.name!r}): {argument}={value!r:.40}: expected {expected}"
            )


def _check_user_definition(definition: Definition) -> None:
    """Raise MeasureError unless a user's own measure is declared as it has to be."""
    name, arguments = definition.name, definition.arguments

    def error(problem: str) -> MeasureError:
        return MeasureError(f"@measure({name!r}): {problem}")

    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise error("the name has to be a Python identifier, such as nDCG or alpha_nDCG")
    _check_values(definition)
    for alias in definition.names.implied(name):
        if not isinstance(alias, str) or not _NAME_PATTERN.fullmatch(alias):
            raise error(
                f"the name {alias!r:.40} could not be parsed: a name is a string without blanks, "
                "brackets, quotes, '@', ',', ';' and '=', and without an end such as -l2"
            )
        owner = VARIANTS.get(bare_name(alias), (name,))[0]
        if owner != name:
            raise error(f"the name {alias!r} is one of {owner}'s")
    if name in DEFINITIONS and not DEFINITIONS[name].is_user_defined:
        raise error("a measure of cranfield has this name")
    for attribute, requirement in (
        ("documentation", "a docstring that says what it measures"),
        ("formula", "a docstring that ends in the lines `Formula: ...` and `Source: ...`"),
        ("source", "a source: a line `Source: ...` after that of the formula in its docstring"),
    ):
        if not getattr(definition, attribute) and not WITHOUT_DOCSTRINGS:
            raise error(f"it needs {requirement}; every number has to tell how it was made")
    positional = [a for a in arguments if a.kind is a.POSITIONAL_OR_KEYWORD]
    options = [a for a in arguments if a.kind is a.KEYWORD_ONLY]
    if not 1 <= len(positional) <= 2 or len(positional) + len(options) < len(arguments):
        raise error(
            "the function takes the Judged, then a cutoff if there is one, then parameters by "
            "keyword only: def f(judged, k: Cutoff | None = None, *, rel: Rel = 1)"
        )
    for option in options:
        hint = definition.hints.get(option.name)
        metadata = getattr(hint, "__metadata__", ())
        if option.default is option.empty or not (metadata and isinstance(metadata[0], Parameter)):
            raise error(
                f"the parameter {option.name!r} needs a default and a meaning: "
                f"{option.name}: Annotated[int, Parameter('what it means', check)] = 1"
            )


# What libraries put around the name of a measure: RetrievalMAP, cosine_ndcg, DocumentMRREvaluator.
_LIBRARY_WORDS = re.compile(
    "^(eval)?(retrieval|document|cosine|cossim|dot(score)?|euclidean|manhattan)?|(score|evaluator)$"
)


def bare_name(name: str) -> str:
    """Return a name in lower case without `-` and `_`, which do not matter.

    >>> bare_name("Hit-Rate") == bare_name("hit_rate") == bare_name("HitRate")
    True
    """
    return name.lower().replace("-", "").replace("_", "")


def strip_library_words(name: str) -> str:
    """Return a bare name without what libraries put around those of their measures.

    Torchmetrics, scikit-learn, sentence-transformers and Haystack do.

    >>> strip_library_words("RetrievalMAP"), strip_library_words("ndcg_score")
    ('map', 'ndcg')
    """
    return _LIBRARY_WORDS.sub("", bare_name(name))


def find_variant(name: str) -> tuple[str, Mapping[str, Any]] | None:
    """Return the canonical name and the parameters that a name stands for, None if for nothing.

    A name as it is declared comes first, then one that is the same except for case, `-` and `_`,
    then one with a library's words around it.
    """
    variant = _look_up_name(name)
    if variant is None:
        load_measures()
        variant = _look_up_name(name)
    return variant


def _look_up_name(name: str) -> tuple[str, Mapping[str, Any]] | None:
    variant = EXACT_NAMES.get(name) or VARIANTS.get(bare_name(name))
    return variant or VARIANTS.get(strip_library_words(name))


def look_up_definition(name: str) -> Definition | None:
    """Return the definition of the measure of this very name; None if there is none."""
    if name not in DEFINITIONS:
        load_measures()
    return DEFINITIONS.get(name)


def definitions(of: Subject = "queries") -> list[Definition]:
    """Return every measure of queries, in the order of the catalogue; or of lists, or of a run.

    Args:
        of: what the measures look at: "queries", the "lists" of users, or a "run" as a whole.

    >>> definitions()[0].name, definitions()[0].formula
    ('nDCG', 'DCG@k / DCG@k of the ideal ranking')
    >>> [definition.name for definition in definitions("run")]
    ['Coverage', 'Gini', 'Entropy', 'Personalization', 'PopLift']

    """
    if of != "queries":
        load_measures()
    return [definition for definition in DEFINITIONS.values() if definition.of == of]
