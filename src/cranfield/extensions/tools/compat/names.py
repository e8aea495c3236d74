"""trec_eval's measures: their names, in its order, and the measure that each name means here."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from cranfield.errors import CranfieldError, OptionError, nearest_words
from cranfield.measures import Measure
from cranfield.measures.gain import TREC_CUTOFFS
from cranfield.measures.registry import FAMILIES, find_variant

__all__ = ["NICKNAMES", "TrecEvalError", "columns_of", "measure_names", "requested", "usual_values"]

RelInfo = Literal["qrels", "qrels_jg", "qrels_prefs", "prefs"]
RELATIONS = get_args(RelInfo)

# Exit statuses, as trec_eval's.
USAGE, FILE, CALCULATION, NO_TOPICS = 1, 2, 4, 7


class TrecEvalError(CranfieldError):
    """An error for which trec_eval ends, with its exit status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


_OFFICIAL_MEASURES = (
    *("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref"),
    *("recip_rank", "iprec_at_recall", "P"),
)
_PREFERENCE_MEASURES = (
    *("prefs_num_prefs_poss", "prefs_num_prefs_ful", "prefs_num_prefs_ful_ret", "prefs_simp"),
    *("prefs_pair", "prefs_avgjg", "prefs_avgjg_Rnonrel", "prefs_simp_ret", "prefs_pair_ret"),
    *("prefs_avgjg_ret", "prefs_avgjg_Rnonrel_ret", "prefs_simp_imp", "prefs_pair_imp"),
    "prefs_avgjg_imp",
)
_GROUP_MEASURES = ("map_avgjg", "P_avgjg", "Rprec_mult_avgjg")
# In the order in which trec_eval prints them.
_MEASURE_NAMES = (
    *_OFFICIAL_MEASURES,
    *("relstring", "recall", "infAP", "gm_bpref", "Rprec_mult", "utility", "11pt_avg", "binG", "G"),
    *("dcg", "ideal_dcg", "ndcg", "ndcg_rel", "Rndcg", "ndcg_cut", "map_cut", "relative_P"),
    *("success", "set_P", "set_relative_P", "set_recall", "set_map", "set_F"),
    "num_nonrel_judged_ret",
    *_PREFERENCE_MEASURES,
    *_GROUP_MEASURES,
    *("yaap", "rbp", "rbp_resid", "unj"),
)
_VERSION_10_MEASURES = ("dcg", "ideal_dcg", "rbp", "rbp_resid", "unj")

NICKNAMES: Mapping[str, Sequence[str]] = {
    "official": _OFFICIAL_MEASURES,
    "all_trec": (
        *_OFFICIAL_MEASURES,
        *("relstring", "recall", "unj", "rbp", "rbp_resid", "infAP", "gm_bpref", "utility"),
        *("11pt_avg", "ndcg", "relative_P", "Rprec_mult", "success", "map_cut", "ndcg_cut"),
        *("ndcg_rel", "Rndcg", "binG", "G", "set_P", "set_recall", "set_relative_P", "set_map"),
        *("set_F", "num_nonrel_judged_ret"),
    ),
    "set": (
        *("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "utility", "set_P"),
        *("set_recall", "set_relative_P", "set_map", "set_F"),
    ),
    "prefs": ("runid", "num_q", *_PREFERENCE_MEASURES[:6]),
    "all_prefs": ("runid", "num_q", *_PREFERENCE_MEASURES),
    "qrels_jg": ("runid", "num_q", *_GROUP_MEASURES),
}

# The judgments that a measure needs, where it is not -R qrels.
PREFERENCES = ("prefs", "qrels_prefs")
FORMATS: Mapping[str, tuple[str, ...]] = {
    "runid": RELATIONS,
    "num_q": RELATIONS,
    **dict.fromkeys(_PREFERENCE_MEASURES, PREFERENCES),
    **dict.fromkeys(_GROUP_MEASURES, ("qrels_jg",)),
}


def measure_names(version: int = 10) -> list[str]:
    """Return trec_eval's names of measures, in the order in which it prints them.

    >>> measure_names()[5:8]
    ['map', 'gm_map', 'Rprec']
    """
    return [name for name in _MEASURE_NAMES if version >= 10 or name not in _VERSION_10_MEASURES]


def requested(requests: Sequence[str], version: int = 10) -> dict[str, str | None]:
    """Return {name of a measure: its parameters, None for the usual ones} for `-m` options.

    If a name occurs twice, its first parameters apply. Raises TrecEvalError for a name that
    trec_eval does not know.
    """
    valid_names = measure_names(version)
    parameters_of_name: dict[str, str | None] = {}
    for text in requests:
        name, dot, parameters = text.partition(".")
        names = NICKNAMES.get(name, [name])
        if name not in NICKNAMES and name not in valid_names:
            raise TrecEvalError(USAGE, _unknown_message(name or text, valid_names))
        if dot and not parameters:
            raise TrecEvalError(USAGE, f"-m {text}: parameters should follow the point")
        has_parameters = dot and name not in NICKNAMES
        for measure_name in names:
            if measure_name in valid_names and parameters_of_name.get(measure_name) is None:
                parameters_of_name[measure_name] = parameters if has_parameters else None
    return parameters_of_name


def _unknown_message(name: str, valid_names: Sequence[str]) -> str:
    nearest_names = nearest_words(name, [*valid_names, *NICKNAMES])
    guess = f" Did you mean {' or '.join(nearest_names)}?" if nearest_names else ""
    return f"-m {name or repr('')}: trec_eval has no such measure.{guess}"


# For names that mean one measure in `evaluate`.
_CUTOFFS = {"P": TREC_CUTOFFS, "success": (1, 5, 10)}
_DEFAULT_LENGTH = 10  # of relstring


def usual_values(name: str) -> Sequence[float]:
    """Return the cutoffs, recall points or multiples that a name without parameters means.

    Each is a separate measure. Empty: the name means one measure, with any parameters.

    >>> usual_values("success"), usual_values("map")
    ((1, 5, 10), ())
    """
    if name == "relstring":
        return ()
    return _CUTOFFS.get(name) or FAMILIES.get(name.lower(), ("", ()))[1]


@dataclass(frozen=True)
class Column:
    """A measure as trec_eval prints it."""

    name: str
    measure: Measure
    root: str  # the name without parameters


def columns_of(name: str, parameters: str | None, settings: Mapping[str, Any]) -> list[Column]:
    """Return the columns of a name with parameters; measures take the `settings` that they have.

    Raises TrecEvalError for parameters that trec_eval would not take.
    """
    canonical, implied_parameters = find_variant(name) or (name, {})
    base = Measure(canonical)
    base_settings = {
        key: value for key, value in settings.items() if key in base.definition.parameters
    }
    list_measures = _value_measures if usual_values(name) else _single_measure
    try:
        suffix_measures = list_measures(
            name, parameters, base.with_parameters({**implied_parameters, **base_settings})
        )
    except CranfieldError as error:
        status = CALCULATION if name == "utility" else FILE
        raise TrecEvalError(status, f"{name}.{parameters}: {error}") from None
    return [Column(name + suffix, measure, name) for suffix, measure in suffix_measures]


def _value_measures(name: str, parameters: str | None, base: Measure) -> list[tuple[str, Measure]]:
    """Return the suffix and measure of each cutoff, recall point or multiple."""
    parameter = base.definition.names.parameter.get(name.lower())
    has_depth = parameter is None and base.definition.cutoff_kind == "depth"
    parse_number = _leading_integer if has_depth else _leading_number
    values = sorted(map(parse_number, parameters.split(","))) if parameters else usual_values(name)
    if len(set(values)) < len(values):
        raise OptionError("a value occurs twice")
    return [
        (
            f"_{value}" if has_depth else f"_{value:3.2f}",
            base @ value if parameter is None else base.with_parameters({parameter: value}),
        )
        for value in values
    ]


def _single_measure(name: str, parameters: str | None, base: Measure) -> list[tuple[str, Measure]]:
    """Return the suffix and the only measure: with a length, several parameters, or gains."""
    definition_parameters = base.definition.parameters
    parameter = base.definition.names.parameter.get(name.lower())
    if parameters is None:
        return [("", base @ _DEFAULT_LENGTH if name == "relstring" else base)]
    if name == "relstring":
        measure = base @ int(max(1, min(_leading_number(parameters), 1e9)))
    elif parameter is not None:
        numbers = tuple(map(_leading_number, parameters.split(",")))
        measure = base.with_parameters({parameter: numbers[0] if parameter == "x" else numbers})
    elif "gain" in definition_parameters or "p" in definition_parameters:
        measure = base.with_parameters(_parse_gains(parameters, definition_parameters))
    else:
        return [("", base)]
    return [(f"_{parameters}", measure)]


def _leading_number(text: str) -> float:
    """Return the number that a text begins with, 0 if it begins with none: C's atof.

    What C reads as infinite or not-a-number (`inf`, `nan`) is an error.
    """
    if re.match(r"\s*[+-]?(?:inf|nan)", text, re.IGNORECASE):
        raise OptionError(f"expected a number, got {text!r:.40}")
    match = re.match(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", text, re.ASCII)
    return float(match[0]) if match else 0.0


def _leading_integer(text: str) -> int:
    match = re.match(r"\s*[+-]?\d+", text, re.ASCII)
    if match and len(match[0]) > 18:
        raise OptionError(f"{text:.40}... is too large")
    return int(match[0]) if match else 0


def _parse_gains(parameters: str, definition_parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the gains of levels, and p, from `1=2,2=4,p=0.8`; other names have no effect."""
    gains: dict[int, float] = {}
    other_parameters: dict[str, Any] = {}
    for pair in parameters.split(","):
        level, equals, value = pair.partition("=")
        if not equals or "=" in value:
            raise OptionError("expected level=gain, as in 1=2,2=4")
        if level == "p" and "p" in definition_parameters:
            other_parameters["p"] = _leading_number(value)
        elif re.fullmatch("[0-9]{1,18}", level) and "gain" in definition_parameters:
            if int(level) in gains:
                raise OptionError(f"the level {level} occurs twice")
            gains[int(level)] = _leading_number(value)
    return {**other_parameters, "gain": gains} if gains else other_parameters
