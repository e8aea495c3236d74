"""C/W/L: measures of what a user gains, by a model of how that user reads down the ranking.

A user model says with which probability C_i the user goes on from rank i to the next. From it
follow W_i, the share of the user's attention that rank i has, and L_i, the probability that rank i
is the last; and from these five quantities (Moffat, Bailey, Scholer & Thomas, ACM TOIS 2017;
Azzopardi, Thomas & Craswell, SIGIR 2018). A user model is one function under `@user_model`.
"""

import inspect
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any

import numpy as np

from cranfield.arrays.ranked import Floats, Ranked, ratio
from cranfield.data.judged import MAX_DEPTH, Judged
from cranfield.errors import MeasureError
from cranfield.formats.block import LARGEST_GRADE
from cranfield.measures.gain import GAIN_KINDS, gain_of_grades
from cranfield.measures.grammar import read_arguments
from cranfield.measures.parameters import (
    Cutoff,
    Depth,
    Parameter,
    Parameters,
    between,
    choice,
    look_up_numbers,
    optional,
    whole_between,
    word_or_mapping,
    write_parameters,
)
from cranfield.measures.plan import Measure
from cranfield.measures.registry import Names, measure
from cranfield.measures.traits import Linearity, Traits
from cranfield.measures.user_models import USER_MODELS, RankingView, UserModel, query_column


@lru_cache(maxsize=256)
def _read_model(text: str) -> tuple[UserModel, Mapping[str, Any]]:
    """Return the user model that a string names, and its parameters; ValueError for another."""
    call = re.fullmatch(r"\s*([\w-]+)\s*(?:\((.*)\))?\s*", text, re.S)
    model = call and USER_MODELS.get(call[1].lower().replace("-", "_"))
    if call is None or model is None:
        patterns = ", ".join(model.pattern for model in USER_MODELS.values())
        raise ValueError(f"a user model, one of {patterns}")
    values = dict(model.defaults)
    try:
        arguments = read_arguments(text, call[2]) if call[2] else {}
    except MeasureError:
        raise ValueError(f"parameters as in {model.pattern}") from None
    for key, value in arguments.items():
        name = model.find_parameter(key)
        if name is None:
            names = ", ".join(model.parameters) or "nothing"
            raise ValueError(f"{names} as the parameters of {model.name}, not {key!r}")
        parameter = model.parameters[name]
        try:
            values[name] = parameter.check(value)
        except ValueError as error:
            raise ValueError(f"{name} ({parameter.meaning}): {error}") from None
    return model, values


def _check_model(value: Any) -> str:
    """Return the text of a model in its one form: with the parameters that are not the default."""
    if not isinstance(value, str) or len(value) > _MAX_LENGTH:
        raise ValueError("a string as 'INST(T=2)'")
    model, values = _read_model(value)
    defaults = model.defaults
    stated = ((name, value) for name, value in values.items() if value != defaults[name])
    return model.name + write_parameters(stated)


_MAX_LENGTH = 1000  # characters of a model
QUANTITIES = ("EU", "ETU", "EC", "ETC", "ED")

_check_gain = word_or_mapping(
    GAIN_KINDS,
    between(0, 1),
    "'linear', 'exp2', 'binary', ('binary', lowest relevant grade) or a mapping as "
    "{1: 0.5, 2: 1}, of gains from 0 to 1",
    lowest=-LARGEST_GRADE,
)


def _check_cutoff(measure: Measure) -> None:
    """Raise MeasureError unless a cutoff, within the depth, is there just if the model needs it."""
    model, parameters = _read_model(measure.parameters["model"])
    needs_cutoff = model.stops_at_cutoff and parameters.get("K") is None
    if needs_cutoff and measure.cutoff is None:
        raise MeasureError(f"{measure} needs a cutoff: {measure @ 10}")
    if not needs_cutoff and measure.cutoff is not None:
        names = ", ".join(model.name for model in USER_MODELS.values() if model.stops_at_cutoff)
        raise MeasureError(
            f"{measure}: this user does not stop after k documents, as those of {names} do: leave "
            "@ out; depth=... says how many ranks are looked at"
        )
    if isinstance(measure.cutoff, Depth) and not measure.cutoff.at_relevant:
        _check_depth(measure.cutoff.n_ranks or 0, measure.parameters["depth"])


def _check_depth(cutoff: int, depth: int) -> None:
    """Raise MeasureError unless a cutoff is within the ranks that are looked at."""
    if cutoff > depth:
        raise MeasureError(
            f"CWL: cut after {cutoff:,} documents, and {depth:,} ranks are looked at: write "
            f"depth={cutoff}, too"
        )


def _translate(name: str, parameters: Parameters) -> tuple[str, Parameters]:
    """Return the name and the parameters; a user model's, `INST(T=2)`, go into the model's text.

    And ir_measures' own: max_rel is the top grade; min_rel is 0 here, dcg log2.
    """
    own_parameters = dict(parameters)
    if "max_rel" in own_parameters:
        own_parameters["top"] = own_parameters.pop("max_rel")
    if own_parameters.get("dcg") == "log2":
        del own_parameters["dcg"]
    if own_parameters.pop("min_rel", 0) != 0:
        raise MeasureError(
            f"{name}: min_rel is 0 here, and grade 0 gains nothing; for other gains write each, "
            "as in gain={1: 0, 2: 0.5, 3: 1}"
        )
    text = own_parameters.get("model")
    model = USER_MODELS.get(text.lower()) if isinstance(text, str) else None
    if model is not None:
        names = [key for key in parameters if model.find_parameter(key)]
        values = [own_parameters.pop(name) for name in names]
        own_parameters["model"] = model.name + write_parameters(zip(names, values, strict=True))
    return name, own_parameters


def _linearity(parameters: Parameters) -> Linearity:
    """Return "exact" for a user who does not heed what was found: each rank has a fixed weight."""
    model, _ = _read_model(parameters["model"])
    return "exact" if model.ignores_gain and parameters["unjudged"] == 0 else "no"


@measure(
    "CWL",
    names=Names(
        variants={
            model.name: {"model": model.name}
            for model in USER_MODELS.values()
            if model.name not in ("P", "RBP", "RR", "AP")  # which are measures of their own
        },
        translate=_translate,
        unnamed="model",
    ),
    traits=Traits(linear=_linearity, takes_cost=True, fits=_check_cutoff, fractions="taken"),
    range=(0, None),
)
def cwl(
    judged: Judged,
    k: Cutoff | None = None,
    *,
    model: Annotated[
        str, Parameter("a user model with its own parameters, as 'INST(T=2)'", _check_model)
    ] = "RBP",
    value: Annotated[
        str, Parameter("'EU', 'ETU', 'EC', 'ETC' or 'ED'", choice(*QUANTITIES))
    ] = "EU",
    gain: Annotated[
        str | tuple[str, float] | Mapping[float, float],
        Parameter(
            "what a grade gains, from 0 to 1: 'linear', grade / top; 'exp2', "
            "(2^grade - 1) / (2^top - 1); 'binary', 1 from grade 1 on, and ('binary', g) from "
            "grade g on, else 0; or a mapping {grade: gain}, where a grade that it does "
            "not name gains grade / top",
            _check_gain,
        ),
    ] = "linear",
    top: Annotated[
        int | None,
        Parameter(
            "the grade that gains 1, with all above; None: the collection's",
            optional(whole_between(1)),
        ),
    ] = None,
    depth: Annotated[
        int, Parameter("how many ranks are looked at", whole_between(1, MAX_DEPTH))
    ] = 1000,
    unjudged: Annotated[
        float,
        Parameter(
            "what a document without judgment gains, and a rank beyond the last document: 0, the "
            "worst case; with 1, the best, the difference is the residual",
            between(0, 1),
        ),
    ] = 0.0,
) -> Floats:
    """What a user gains from the ranking, by a model of how that user reads down it (C/W/L).

    g_i is the gain at rank i, G_i the gain so far; c_i is the cost, 1 for each document, and K_i
    the cost so far; C_i is the probability of going on from rank i. The values: EU, the expected
    gain per document looked at; ETU, the expected gain in all; EC and ETC, the same of the cost,
    which a run may give in a column `cost` (seconds, or characters), 1 beyond the last document;
    ED, the expected number of documents looked at. By default, unjudged documents gain nothing, nor
    do ranks beyond the last document retrieved, which are looked at, too; missed documents count in
    TrAP only. A query without relevant documents has EU and ETU 0. k is the rank where
    the users of P, SDCG, NERR8 and NERR9 stop, and the cost that the users of BPM are ready to
    spend; the others go on.

    A user who never stops within the depth (RR, where nothing is found) has no last rank, and adds
    nothing to ETU and ETC. With gains of 0 and 1, EU of P, RR and TrAP is P, RR and AP. TBG and U
    are normalized here.

    Formula: EU = sum of W_i g_i; ETU = sum of L_i G_i; EC = sum of W_i c_i; ETC = sum of L_i
        K_i; ED = 1 / W_1; W_i = C_1 ... C_(i-1), divided by their sum; L_i = C_1 ... C_(i-1)
        (1 - C_i)
    Source: Moffat, Bailey, Scholer & Thomas, ACM TOIS 2017; Azzopardi, Thomas & Moffat, SIGIR
        2019 (cwl-eval)

    The user models:
    """
    if k is not None:
        _check_depth(int(k.max()), depth)
    ranked = judged.every(np.array([[depth]]), padded=True)
    top_grade = judged.top_grade if top is None else top
    gain_ = np.where(ranked.judged, _scaled_gains(ranked, gain, top_grade), unjudged)
    n_gaining = judged.ideal.where(_scaled_gains(judged.ideal, gain, top_grade) > 0).count()
    if unjudged:
        n_gaining = np.maximum(n_gaining, ranked.where(gain_ > 0).count())
    user, parameters = _read_model(model)
    cutoffs: list[Any] = [None]
    if k is not None:
        cutoffs = [query_column(ranked, cutoff) for cutoff in np.hsplit(k, k.shape[1])]
    views = [RankingView(ranked, gain_, ranked.costs, n_gaining, cutoff) for cutoff in cutoffs]
    return np.hstack([_compute_quantity(value, view, user, parameters) for view in views])


def _compute_quantity(
    value: str, view: RankingView, user: UserModel, parameters: Mapping[str, Any]
) -> Floats:
    """Return a quantity of C/W/L, (n_queries, 1): of one user and one cutoff."""
    ranked = view.ranked
    if user.gives_weights:
        weight = user.kernel(view, **parameters)
        reached = weight / ranked.spread(ranked.first(weight))
        stops = reached - ranked.below(reached)
    else:
        goes_on = user.kernel(view, **parameters)
        reached = ranked.before(goes_on)
        weight = reached / ranked.spread(ranked.total(reached))
        stops = reached * (1 - goes_on)
    match value:
        case "EU":
            return ranked.total(weight * view.gain)
        case "ETU":
            return ranked.total(stops * view.gain_so_far)
        case "EC":
            return ranked.total(weight * view.cost)
        case "ETC":
            return ranked.total(stops * view.cost_so_far)
        case _:
            return 1 / ranked.first(weight)


def _scaled_gains(
    ranked: Ranked, gain: str | tuple[str, float] | Mapping[float, float], top: float
) -> Floats:
    """Return each row's gain, 0 to 1: as stated, binary, or its share of what `top` gains."""
    if not isinstance(gain, str | Mapping) or gain == "binary":
        return gain_of_grades(ranked.grade, gain, top) * 1.0
    stated_gains = gain if isinstance(gain, Mapping) else {}
    kind = "linear" if stated_gains else gain
    most = gain_of_grades(np.full(len(ranked.grade), top), kind, top)
    return look_up_numbers(
        ranked.grade,
        stated_gains,
        ratio(gain_of_grades(np.minimum(ranked.grade, top), kind, top), most),
    )


cwl.__doc__ = "\n\n".join(
    [inspect.getdoc(cwl) or "", *(model.paragraph for model in USER_MODELS.values())]
)
