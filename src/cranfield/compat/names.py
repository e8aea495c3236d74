"""trec_eval's measures: which names there are, in which order, and what each stands for here."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from cranfield.errors import CranfieldError, OptionError
from cranfield.measures import Measure
from cranfield.measures.gain import CUTOFFS
from cranfield.measures.registry import FAMILIES, variant

RelInfo = Literal["qrels", "qrels_jg", "qrels_prefs", "prefs"]
RELATIONS = get_args(RelInfo)

# Exit statuses, as trec_eval's.
USAGE, FILE, CALCULATION, NO_TOPICS = 1, 2, 4, 7


class TrecEvalError(CranfieldError):
    """What trec_eval would end for, with the status that it exits with."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


# What a measure takes behind its name: several cutoffs, recall points or multiples, each a
# measure of its own; gain pairs; or numbers that belong together.
_Kind = Literal["none", "cutoffs", "points", "multiples", "pairs", "numbers", "length"]


@dataclass(frozen=True)
class _Entry:
    """A line of trec_eval's table of measures."""

    name: str
    kind: _Kind = "none"
    values: tuple[float, ...] = ()  # cutoffs if nothing is said, where the registry does not know
    since: int = 9  # the version that has it first


# In the order in which trec_eval prints them.
_TABLE = (
    _Entry("runid"),
    _Entry("num_q"),
    _Entry("num_ret"),
    _Entry("num_rel"),
    _Entry("num_rel_ret"),
    _Entry("map"),
    _Entry("gm_map"),
    _Entry("Rprec"),
    _Entry("bpref"),
    _Entry("recip_rank"),
    _Entry("iprec_at_recall", "points"),
    _Entry("P", "cutoffs", CUTOFFS),
    _Entry("relstring", "length"),
    _Entry("recall", "cutoffs"),
    _Entry("infAP"),
    _Entry("gm_bpref"),
    _Entry("Rprec_mult", "multiples"),
    _Entry("utility", "numbers"),
    _Entry("11pt_avg", "numbers"),
    _Entry("binG"),
    _Entry("G", "pairs"),
    _Entry("dcg", "pairs", since=10),
    _Entry("ideal_dcg", "pairs", since=10),
    _Entry("ndcg", "pairs"),
    _Entry("ndcg_rel", "pairs"),
    _Entry("Rndcg", "pairs"),
    _Entry("ndcg_cut", "cutoffs"),
    _Entry("map_cut", "cutoffs"),
    _Entry("relative_P", "cutoffs"),
    _Entry("success", "cutoffs", (1, 5, 10)),
    _Entry("set_P"),
    _Entry("set_relative_P"),
    _Entry("set_recall"),
    _Entry("set_map"),
    _Entry("set_F", "numbers"),
    _Entry("num_nonrel_judged_ret"),
    _Entry("prefs_num_prefs_poss"),
    _Entry("prefs_num_prefs_ful"),
    _Entry("prefs_num_prefs_ful_ret"),
    _Entry("prefs_simp"),
    _Entry("prefs_pair"),
    _Entry("prefs_avgjg"),
    _Entry("prefs_avgjg_Rnonrel"),
    _Entry("prefs_simp_ret"),
    _Entry("prefs_pair_ret"),
    _Entry("prefs_avgjg_ret"),
    _Entry("prefs_avgjg_Rnonrel_ret"),
    _Entry("prefs_simp_imp"),
    _Entry("prefs_pair_imp"),
    _Entry("prefs_avgjg_imp"),
    _Entry("map_avgjg"),
    _Entry("P_avgjg", "cutoffs"),
    _Entry("Rprec_mult_avgjg", "multiples"),
    _Entry("yaap"),
    _Entry("rbp", "pairs", since=10),
    _Entry("rbp_resid", "pairs", since=10),
    _Entry("unj", "cutoffs", since=10),
)
_ENTRIES = {entry.name: entry for entry in _TABLE}

_OFFICIAL = (
    *("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref"),
    *("recip_rank", "iprec_at_recall", "P"),
)
_ALL_PREFS = ("runid", "num_q", *(name for name in _ENTRIES if name.startswith("prefs_")))
NICKNAMES: Mapping[str, Sequence[str]] = {
    "official": _OFFICIAL,
    "all_trec": (
        *_OFFICIAL,
        *("relstring", "recall", "unj", "rbp", "rbp_resid", "infAP", "gm_bpref", "utility"),
        *("11pt_avg", "ndcg", "relative_P", "Rprec_mult", "success", "map_cut", "ndcg_cut"),
        *("ndcg_rel", "Rndcg", "binG", "G", "set_P", "set_recall", "set_relative_P", "set_map"),
        *("set_F", "num_nonrel_judged_ret"),
    ),
    "set": (
        *("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "utility", "set_P"),
        *("set_recall", "set_relative_P", "set_map", "set_F"),
    ),
    "prefs": _ALL_PREFS[:8],
    "all_prefs": _ALL_PREFS,
    "qrels_jg": ("runid", "num_q", "map_avgjg", "P_avgjg", "Rprec_mult_avgjg"),
}

# The judgments that a measure needs, where it is not -R qrels.
PREFERENCES = ("prefs", "qrels_prefs")
FORMATS: Mapping[str, tuple[str, ...]] = {
    "runid": RELATIONS,
    "num_q": RELATIONS,
    **dict.fromkeys(_ALL_PREFS[2:], PREFERENCES),
    **dict.fromkeys(("map_avgjg", "P_avgjg", "Rprec_mult_avgjg"), ("qrels_jg",)),
}


def measure_names(version: int = 10) -> list[str]:
    """Return trec_eval's names of measures, in the order in which it prints them.

    >>> measure_names()[5:8]
    ['map', 'gm_map', 'Rprec']
    """
    return [entry.name for entry in _TABLE if entry.since <= version]


def requested(wanted: Sequence[str], version: int = 10) -> dict[str, str | None]:
    """Return the measures that `-m` options ask for, and their parameters, None for the usual.

    Where a name comes twice, the parameters given first hold. Raises TrecEvalError for a name that
    trec_eval does not know.
    """
    known = measure_names(version)
    found: dict[str, str | None] = {}
    for text in wanted:
        name, dot, parameters = text.partition(".")
        names = NICKNAMES.get(name, [name])
        if name not in NICKNAMES and name not in known:
            raise TrecEvalError(USAGE, _unknown(name or text, known))
        if dot and not parameters:
            raise TrecEvalError(USAGE, f"-m {text}: parameters should follow the point")
        for one in names:
            if one in known:
                given = parameters if dot and name not in NICKNAMES else None
                found[one] = given if found.get(one) is None else found[one]
    return found


def _unknown(name: str, known: Sequence[str]) -> str:
    import difflib

    near = difflib.get_close_matches(name, [*known, *NICKNAMES], 3, 0.6)
    guess = f" Did you mean {' or '.join(near)}?" if near else ""
    return f"-m {name or repr('')}: trec_eval has no such measure.{guess}"


def kind_of(name: str) -> _Kind:
    """Return what a measure takes behind its name."""
    return _ENTRIES[name].kind


@dataclass(frozen=True)
class Column:
    """A measure as trec_eval prints it."""

    name: str
    measure: Measure
    root: str  # the name without parameters


def columns_of(name: str, given: str | None, settings: Mapping[str, Any]) -> list[Column]:
    """Return what a name with parameters stands for; `settings` go to the measures that know them.

    Raises TrecEvalError for parameters that trec_eval would not take.
    """
    canonical, implied = variant(name) or (name, {})
    base = Measure(canonical)
    takes = base.definition.parameters
    own = {key: value for key, value in settings.items() if key in takes}
    try:
        measures = _measures(_ENTRIES[name], given, base.with_parameters({**implied, **own}))
    except CranfieldError as error:
        status = CALCULATION if name == "utility" else FILE
        raise TrecEvalError(status, f"{name}.{given}: {error}") from None
    return [Column(name + suffix, measure, name) for suffix, measure in measures]


def _measures(entry: _Entry, given: str | None, base: Measure) -> list[tuple[str, Measure]]:
    """Return the measures that parameters stand for, each with what it adds to the printed name."""
    if entry.kind in ("cutoffs", "points", "multiples"):
        number = _leading_whole if entry.kind == "cutoffs" else _leading_number
        values = sorted(map(number, given.split(","))) if given else _usual(entry)
        if len(set(values)) < len(values):
            raise OptionError("a value stands twice")
        if entry.kind == "cutoffs":
            return [(f"_{value}", base @ int(value)) for value in values]
        if entry.kind == "points":
            return [(f"_{value:3.2f}", base @ value) for value in values]
        return [(f"_{value:3.2f}", base.with_parameters({"multiple": value})) for value in values]
    if given is None or entry.kind == "none":
        return [("", base @ _USUAL_LENGTH if entry.kind == "length" else base)]
    if entry.kind == "length":
        one = base @ int(max(1, min(_leading_number(given), 1e9)))
    elif entry.kind == "pairs":
        one = base.with_parameters(_pairs(given, base.definition.parameters))
    else:
        numbers = tuple(map(_leading_number, given.split(",")))
        parameter = base.definition.names.parameter[entry.name.lower()]
        one = base.with_parameters({parameter: numbers[0] if parameter == "x" else numbers})
    return [(f"_{given}", one)]


_USUAL_LENGTH = 10  # of relstring


def _usual(entry: _Entry) -> Sequence[float]:
    """Return the cutoffs, points or multiples if nothing is said."""
    family = FAMILIES.get(entry.name.lower())
    return entry.values if family is None else family[1]


def _leading_number(text: str) -> float:
    """Return the number that the text begins with, 0 if with none: C's atof.

    What C reads as infinite or as no number (`inf`, `nan`) is refused.
    """
    if re.match(r"\s*[+-]?(?:inf|nan)", text, re.IGNORECASE):
        raise OptionError(f"expected a number, got {text!r:.40}")
    found = re.match(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", text, re.ASCII)
    return float(found[0]) if found else 0.0


def _leading_whole(text: str) -> int:
    found = re.match(r"\s*[+-]?\d+", text, re.ASCII)
    if found and len(found[0]) > 18:
        raise OptionError(f"{text:.40}... is too large")
    return int(found[0]) if found else 0


def _pairs(given: str, takes: Mapping[str, Any]) -> dict[str, Any]:
    """Return gains, and the parameter p; other names have no effect."""
    gains: dict[int, float] = {}
    values: dict[str, Any] = {}
    for pair in given.split(","):
        level, equals, value = pair.partition("=")
        if not equals or "=" in value:
            raise OptionError("expected level=gain, as in 1=2,2=4")
        if level == "p" and "p" in takes:
            values["p"] = _leading_number(value)
        elif re.fullmatch("[0-9]{1,18}", level) and "gain" in takes:
            if int(level) in gains:
                raise OptionError(f"the level {level} stands twice")
            gains[int(level)] = _leading_number(value)
    return {**values, "gain": gains} if gains else values
