"""C/W/L: measures as models of a user who goes down the ranking, and what that user has of it.

A user model says with which probability C_i the user goes on from rank i to the next. From it
follow W_i, the share of the user's attention that rank i has, and L_i, the probability that rank i
is the last; and from these five quantities (Moffat, Bailey, Scholer & Thomas, ACM TOIS 2017;
Azzopardi, Thomas & Craswell, SIGIR 2018). A user model is one function under `@user_model`.
"""

import inspect
import math
import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Annotated, Any

import numpy as np

from cranfield.errors import MeasureError
from cranfield.judged import Judged
from cranfield.measures.gain import check_gain, gains
from cranfield.measures.grammar import arguments
from cranfield.measures.parameters import (
    Cutoff,
    Depth,
    Gains,
    Parameter,
    Parameters,
    above_zero,
    between,
    is_number,
    whole,
    written,
)
from cranfield.measures.plan import Measure
from cranfield.measures.registry import measure
from cranfield.ranked import Bools, Floats, Ints, Numbers, Ranked, exp, kept, log2, ratio

# ---- what a user model sees -----------------------------------------------------------------


@dataclass(eq=False)
class Seen:
    """A ranking as its user goes down it: every rank down to the depth, (rows,) each."""

    every: Ranked
    gain: Floats  # from 0 to 1
    cost: Numbers
    n_gaining: Ints  # (n_queries, 1): documents of the judgments that gain something
    k: Ints | None  # (n_queries, 1): the cutoff

    @property
    def rank(self) -> Ints:
        """1, 2, ..."""
        return self.every.rank

    @kept
    def gained(self) -> Floats:
        """What was gained down to this rank, this one included."""
        return self.every.running(self.gain)

    @kept
    def spent(self) -> Numbers:
        """What was spent down to this rank, this one included."""
        return self.every.running(self.cost)

    @kept
    def spent_before(self) -> Numbers:
        """What was spent above this rank."""
        return self.every.running(self.every.above(self.cost, 0.0))

    @property
    def above_cutoff(self) -> Bools:
        """Whether rank < k."""
        return self.rank < self.cutoff

    @property
    def cutoff(self) -> Ints:
        """The rank k, for every row."""
        assert self.k is not None  # noqa: S101 - see _fits
        return self.every.spread(self.k)


@dataclass(eq=False)
class UserModel:
    """A user model's declaration: what is known of it, but for the values of its parameters."""

    name: str
    function: Callable[..., Numbers]
    formula: str
    source: str
    cut: bool  # whether it stops at k
    gives_weights: bool  # it returns W_i, not C_i

    @cached_property
    def defaults(self) -> Mapping[str, Any]:
        """The parameters and what they are if nothing is said."""
        arguments = inspect.signature(self.function).parameters.values()
        return {a.name: a.default for a in arguments if a.kind is a.KEYWORD_ONLY}

    @cached_property
    def parameters(self) -> Mapping[str, Parameter]:
        """The parameters and what they mean."""
        hints = typing.get_type_hints(self.function, include_extras=True)
        return {name: hints[name].__metadata__[0] for name in self.defaults}

    @property
    def pattern(self) -> str:
        """How the model is written, with the defaults of its parameters: `INST(T=1)`."""
        return self.name + written(self.defaults.items())

    def named(self, name: str) -> str | None:
        """Return the parameter of that name, in upper or lower case; None if there is none."""
        return {each.lower(): each for each in self.parameters}.get(name.lower())

    @property
    def documentation(self) -> str:
        """All of it, as a paragraph."""
        meanings = [f"{name}: {each.meaning}." for name, each in self.parameters.items()]
        said = " ".join((inspect.getdoc(self.function) or "").split())
        return " ".join([f"{self.pattern}: {self.formula}.", said, *meanings, f"({self.source})"])


_MODELS: dict[str, UserModel] = {}


def user_model(
    name: str, *, formula: str, source: str, cut: bool = False, gives_weights: bool = False
) -> Callable[[Callable[..., Numbers]], Callable[..., Numbers]]:
    """Register a user model: the decorated function is its declaration and its computation.

    It takes a Seen and returns C_i (rows,), the probability of going on from each rank; or, with
    `gives_weights`, the weights W_i, from which C_i = W_(i+1) / W_i follows. Keyword-only
    arguments are the parameters; each is annotated with a Parameter and has a default. `cut`: the
    user stops after k documents.
    """

    def register(function: Callable[..., Numbers]) -> Callable[..., Numbers]:
        _MODELS[name.lower()] = UserModel(name, function, formula, source, cut, gives_weights)
        return function

    return register


# ---- the user models ------------------------------------------------------------------------

Target = Annotated[float, Parameter("the gain that the user looks for", above_zero)]
Persistence = Annotated[
    float, Parameter("the probability of going on to the next document", between(0, 1))
]
Rationality = Annotated[
    float, Parameter("how much that counts; 0: not at all, and C_i is constant", between(0, 1e9))
]


def _half_or_more(value: Any) -> float:
    if not is_number(value, 1e9) or value < 0.5:
        raise ValueError("a number from 0.5 up, else C_i would be above 1")
    return float(value)


def _budget(value: Any) -> float | None:
    return None if value is None else above_zero(value)


def _finite(value: Any) -> float:
    if not is_number(value, 1e9):
        raise ValueError("a number from -1e9 to 1e9")
    return float(value)


Budget = Annotated[
    float | None,
    Parameter("what the user is ready to spend; without it, the cutoff k", _budget),
]


@user_model(
    "P",
    formula="C_i = 1 for i < k, then 0",
    source="van Rijsbergen, Information Retrieval, 1979",
    cut=True,
)
def precision_user(seen: Seen) -> Numbers:
    """Looks at k documents. EU is precision, graded if the gains are."""
    return seen.above_cutoff * 1.0


@user_model(
    "RBP",
    formula="C_i = p",
    source="Moffat & Zobel, ACM TOIS 2008",
)
def rank_biased_user(seen: Seen, *, p: Persistence = 0.9) -> Numbers:
    """Goes on with the same probability from every document.

    The weights add up to 1 over the ranks down to the depth, not over endlessly many as in RBP.
    """
    return np.full(seen.rank.shape, p)


@user_model(
    "RR",
    formula="C_i = 1 until the first gain, then 0",
    source="Kantor & Voorhees, Information Retrieval 2000",
)
def reciprocal_rank_user(seen: Seen) -> Numbers:
    """Looks for one document that gains something and stops there."""
    return (seen.gained == 0) * 1.0


@user_model(
    "AP",
    formula="C_i = S_(i+1) / S_i, S_i = sum of g_j / j over j >= i; W_i = S_i / sum of all S",
    source="Harman, Information Processing & Management 1992; Moffat et al., ACM TOIS 2017",
    gives_weights=True,
)
def average_precision_user(seen: Seen) -> Numbers:
    """Is as likely to stop at each document that gains something.

    EU is average precision divided by what was retrieved of the relevant documents, not by all:
    see TrAP, and AP. Where nothing gains, the user looks at the first document alone.
    """
    ahead = seen.every.remaining(seen.gain / seen.rank)
    total = seen.every.spread(seen.every.total(ahead))
    return np.where(total > 0, ratio(ahead, total), seen.rank == 1)


@user_model(
    "TrAP",
    formula="W_i = G_i / (K_i R), R = documents of the judgments that gain something",
    source="cwl-eval 1.0.12, after Harman, Information Processing & Management 1992",
    gives_weights=True,
)
def recall_average_precision_user(seen: Seen) -> Numbers:
    """Weighs each rank by its precision. EU is average precision if the gains are 0 and 1.

    The weights do not add up to 1. Above the first document that gains something, G_i counts as 1.
    """
    so_far = np.where(seen.gained > 0, seen.gained, 1)
    return so_far / (seen.spent * seen.every.spread(np.maximum(seen.n_gaining, 1)))


@user_model(
    "SDCG",
    formula="C_i = log2(i + 1) / log2(i + 2) for i < k, then 0",
    source="Järvelin & Kekäläinen, ACM TOIS 2002; scaled: Moffat et al., ACM TOIS 2017",
    cut=True,
)
def scaled_dcg_user(seen: Seen) -> Numbers:
    """Discounts as DCG. EU is DCG as a share of what k documents of gain 1 would have."""
    return np.where(seen.above_cutoff, log2(seen.rank + 1) / log2(seen.rank + 2), 0)


@user_model(
    "INSQ",
    formula="C_i = ((i + 2 T - 1) / (i + 2 T))^2",
    source="Moffat, Scholer & Thomas, ADCS 2012",
)
def insq_user(seen: Seen, *, T: Target = 1.0) -> Numbers:
    """Is the readier to go on the further down it is, and the more it looks for."""
    share = (seen.rank + 2 * T - 1) / (seen.rank + 2 * T)
    return share * share


@user_model(
    "INST",
    formula="C_i = ((i + T + T_i - 1) / (i + T + T_i))^2, T_i = T - G_i",
    source="Bailey, Moffat, Scholer & Thomas, ADCS 2015 and SIGIR 2015",
)
def inst_user(
    seen: Seen,
    *,
    T: Annotated[float, Parameter("the gain that the user looks for", _half_or_more)] = 1.0,
) -> Numbers:
    """Is the readier to stop the more it has found of what it looks for."""
    missing = T - seen.gained
    share = (seen.rank + T + missing - 1) / (seen.rank + T + missing)
    return share * share


@user_model(
    "IFT_C1",
    formula="C_i = 1 - 1 / (1 + b1 e^(R1 (T - G_i)))",
    source="Azzopardi, Thomas & Craswell, SIGIR 2018",
)
def foraging_goal_user(
    seen: Seen,
    *,
    T: Target = 2.0,
    b1: Annotated[float, Parameter("the odds of going on where T is reached", above_zero)] = 0.9,
    R1: Rationality = 1.0,
) -> Numbers:
    """Stops when it has found what it looks for, more or less sharply."""
    return 1 - 1 / (1 + b1 * _exp(R1 * (T - seen.gained)))


@user_model(
    "IFT_C2",
    formula="C_i = 1 / (1 + b2 e^(R2 (A - G_i / K_i)))",
    source="Azzopardi, Thomas & Craswell, SIGIR 2018",
)
def foraging_rate_user(
    seen: Seen,
    *,
    A: Annotated[float, Parameter("the gain for its cost that is expected", between(0, 1e9))] = 0.2,
    b2: Annotated[float, Parameter("the odds of stopping where the rate is A", above_zero)] = 0.9,
    R2: Rationality = 1.0,
) -> Numbers:
    """Stops when it finds less for its cost than it expects, more or less sharply."""
    return 1 / (1 + b2 * _exp(R2 * (A - seen.gained / seen.spent)))


@user_model(
    "IFT",
    formula="C_i = C_i of IFT_C1 times C_i of IFT_C2",
    source="Azzopardi, Thomas & Craswell, SIGIR 2018",
)
def foraging_user(
    seen: Seen,
    *,
    T: Target = 2.0,
    b1: Annotated[float, Parameter("as in IFT_C1", above_zero)] = 0.9,
    R1: Rationality = 1.0,
    A: Annotated[float, Parameter("as in IFT_C2", between(0, 1e9))] = 0.2,
    b2: Annotated[float, Parameter("as in IFT_C2", above_zero)] = 0.9,
    R2: Rationality = 1.0,
) -> Numbers:
    """Stops for either reason, the goal or the rate."""
    by_goal = foraging_goal_user(seen, T=T, b1=b1, R1=R1)
    return by_goal * foraging_rate_user(seen, A=A, b2=b2, R2=R2)


_LARGEST_EXPONENT = 600.0  # 1 / (1 + e^600 b) is 0 to every digit, and no product overflows


def _exp(x: Floats) -> Floats:
    return exp(np.minimum(x, _LARGEST_EXPONENT))


@user_model(
    "BPM",
    formula="C_i = 1 while G_i < T and K_i < K, then 0",
    source="Zhang et al., SIGIR 2017",
    cut=True,
)
def bejeweled_user(seen: Seen, *, T: Target = 1.0, K: Budget = None) -> Numbers:
    """Stops when it has found what it looks for, or spent what it is ready to spend."""
    budget = seen.cutoff if K is None else K
    return ((seen.gained < T) & (seen.spent < budget)) * 1.0


@user_model(
    "BPM_dynamic",
    formula="C_i = 1 while G_i < T_i and K_i < E_i, then 0; T_i = T + hb (sum of g_j - med over "
    "j < i), E_i = K + hc (sum of g_j - med over j < i)",
    source="Zhang et al., SIGIR 2017",
    cut=True,
)
def dynamic_bejeweled_user(
    seen: Seen,
    *,
    T: Target = 1.0,
    K: Budget = None,
    hb: Annotated[float, Parameter("how much the gain looked for changes", _finite)] = 1.0,
    hc: Annotated[float, Parameter("how much the budget changes", _finite)] = 1.0,
    med: Annotated[float, Parameter("the gain that changes neither", between(0, 1))] = 0.5,
) -> Numbers:
    """Looks for more, and is ready to spend more, after documents that gain much.

    The sums are over the documents looked at so far, as each is compared.
    """
    every, surprise = seen.every, seen.gain - med
    budget = every.spread(_column(every, seen.k if K is None else K))
    sought = every.running(np.where(seen.rank == 1, T, every.above(hb * surprise, 0.0)))
    ready = every.running(np.where(seen.rank == 1, budget, every.above(hc * surprise, 0.0)))
    return ((seen.gained < sought) & (seen.spent < ready)) * 1.0


@user_model(
    "NERR8",
    formula="C_i = 1 - g_i for i < k, then 0",
    source="Azzopardi, Mackenzie & Moffat, ICTIR 2021, equation 8",
    cut=True,
)
def nerr8_user(seen: Seen) -> Numbers:
    """Stops at a document as likely as that satisfies, and after k."""
    return seen.above_cutoff * (1 - seen.gain)


@user_model(
    "NERR9",
    formula="C_i = i / (i + 1) (1 - g_i) for i < k, then 0",
    source="Azzopardi, Mackenzie & Moffat, ICTIR 2021, equation 9",
    cut=True,
)
def nerr9_user(seen: Seen) -> Numbers:
    """As NERR8, and gives up the sooner the higher up it is, so that reciprocal ranks result."""
    return seen.above_cutoff * (seen.rank / (seen.rank + 1) * (1 - seen.gain))


@user_model(
    "NERR10",
    formula="C_i = p (1 - g_i)",
    source="Azzopardi, Mackenzie & Moffat, ICTIR 2021, equation 10",
)
def nerr10_user(seen: Seen, *, p: Persistence = 0.9) -> Numbers:
    """Stops at what satisfies, and is as patient otherwise as the user of RBP."""
    return p * (1 - seen.gain)


@user_model(
    "NERR11",
    formula="C_i = ((i + 2 T - 1) / (i + 2 T))^2 (1 - g_i)",
    source="Azzopardi, Mackenzie & Moffat, ICTIR 2021, equation 11",
)
def nerr11_user(seen: Seen, *, T: Target = 1.0) -> Numbers:
    """Stops at what satisfies, and is as patient otherwise as the user of INSQ."""
    return insq_user(seen, T=T) * (1 - seen.gain)


@user_model(
    "TBG",
    formula="W_i = 2^(-(cost above i) / h), divided by their sum",
    source="Smucker & Clarke, SIGIR 2012, as in cwl-eval",
    gives_weights=True,
)
def time_biased_user(
    seen: Seen,
    *,
    h: Annotated[
        float, Parameter("the cost after which half of the users are gone", above_zero)
    ] = 224.0,
) -> Numbers:
    """Gives up as time goes by; the costs are the seconds that each document takes.

    Time-biased gain itself is not divided by that sum.
    """
    decay = exp(seen.spent_before * -(math.log(2) / h))
    return decay / seen.every.spread(seen.every.total(decay))


@user_model(
    "U",
    formula="W_i = max(0, 1 - (cost above i) / L), divided by their sum",
    source="Sakai & Dou, SIGIR 2013, as in cwl-eval",
    gives_weights=True,
)
def u_measure_user(
    seen: Seen,
    *,
    L: Annotated[float, Parameter("the cost after which no user is left", above_zero)] = 1000.0,
) -> Numbers:
    """Reads on to the length L at most; the costs are the characters that each document takes.

    The U-measure itself is not divided by that sum.
    """
    left = np.maximum(0, 1 - seen.spent_before / L)
    return left / seen.every.spread(seen.every.total(left))


# ---- the measure ----------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _understood(text: str) -> tuple[UserModel, Mapping[str, Any]]:
    """Return the user model that a text names, and its parameters; ValueError if it names none."""
    call = re.fullmatch(r"\s*([\w-]+)\s*(?:\((.*)\))?\s*", text, re.S)
    model = call and _MODELS.get(call[1].lower().replace("-", "_"))
    if call is None or model is None:
        known = ", ".join(each.pattern for each in _MODELS.values())
        raise ValueError(f"a user model, one of {known}")
    values = dict(model.defaults)
    try:
        given = arguments(text, call[2]) if call[2] else {}
    except MeasureError:
        raise ValueError(f"parameters as in {model.pattern}") from None
    for key, value in given.items():
        name = model.named(key)
        if name is None:
            takes = ", ".join(model.parameters) or "nothing"
            raise ValueError(f"{takes} as the parameters of {model.name}, not {key!r}")
        parameter = model.parameters[name]
        try:
            values[name] = parameter.check(value)
        except ValueError as error:
            raise ValueError(f"{name} ({parameter.meaning}): {error}") from None
    return model, values


def _check_model(value: Any) -> str:
    """Return the model's text in its one form: with the parameters that are not the default."""
    if not isinstance(value, str) or len(value) > _LONGEST:
        raise ValueError("a text as 'INST(T=2)'")
    model, values = _understood(value)
    given = [(name, value) for name, value in values.items() if value != model.defaults[name]]
    return model.name + written(given)


_LONGEST = 1000
QUANTITIES = ("EU", "ETU", "EC", "ETC", "ED")


def _check_quantity(value: Any) -> str:
    if isinstance(value, str) and value.upper() in QUANTITIES:
        return value.upper()
    raise ValueError("'EU', 'ETU', 'EC', 'ETC' or 'ED'")


def _check_gain(value: Any) -> str | Gains:
    checked = check_gain(value)
    if isinstance(checked, Gains) and not all(0 <= gain <= 1 for _, gain in checked):
        raise ValueError("gains from 0 to 1")
    return checked


def _check_top(value: Any) -> int | None:
    return None if value is None else whole(1)(value)


def _check_depth(value: Any) -> int:
    if not is_number(value, _MOST_RANKS) or whole(1)(value) > _MOST_RANKS:
        raise ValueError(f"a whole number from 1 to {_MOST_RANKS:,}")
    return whole(1)(value)


_MOST_RANKS = 1_000_000  # each query has so many rows


def _fits(one: Measure) -> None:
    """Raise MeasureError unless there is a cutoff, within the depth, where the model needs one."""
    model, parameters = _understood(one.parameters["model"])
    needed = model.cut and parameters.get("K") is None
    if needed and one.cutoff is None:
        raise MeasureError(f"{one} needs a cutoff: {one @ 10}")
    if not needed and one.cutoff is not None:
        theirs = ", ".join(each.name for each in _MODELS.values() if each.cut)
        raise MeasureError(
            f"{one}: this user does not stop after k documents, as those of {theirs} do: leave @ "
            "out; depth=... says how many ranks are looked at"
        )
    if isinstance(one.cutoff, Depth) and not one.cutoff.at_relevant:
        _check_within(one.cutoff.ranks or 0, one.parameters["depth"])


def _check_within(cutoff: int, depth: int) -> None:
    if cutoff > depth:
        raise MeasureError(
            f"CWL: cut after {cutoff:,} documents, and {depth:,} ranks are looked at: write "
            f"depth={cutoff}, too"
        )


def _translate(name: str, parameters: Parameters) -> tuple[str, Parameters]:
    """`INST(T=2, max_rel=3)`: the user model's parameters go into its text.

    And ir_measures' own: max_rel is the top grade; min_rel is 0 here, dcg log2.
    """
    translated = dict(parameters)
    if "max_rel" in translated:
        translated["top"] = translated.pop("max_rel")
    if translated.get("dcg") == "log2":
        del translated["dcg"]
    if translated.pop("min_rel", 0) != 0:
        raise MeasureError(
            f"{name}: min_rel is 0 here, and grade 0 gains nothing; for other gains write each, "
            "as in gain={1: 0, 2: 0.5, 3: 1}"
        )
    text = translated.get("model")
    model = _MODELS.get(text.lower()) if isinstance(text, str) else None
    if model is not None:
        theirs = [(key, translated.pop(key)) for key in parameters if model.named(key)]
        translated["model"] = model.name + written(theirs)
    return name, translated


_OTHERS = "ETU, EC, ETC and ED depend on what is looked at, not on relevance alone"


@measure(
    "CWL",
    formula="EU = sum of W_i g_i; ETU = sum of L_i G_i; EC = sum of W_i c_i; ETC = sum of L_i K_i; "
    "ED = 1 / W_1; W_i = C_1 ... C_(i-1), divided by their sum; L_i = C_1 ... C_(i-1) (1 - C_i)",
    source="Moffat, Bailey, Scholer & Thomas, ACM TOIS 2017; Azzopardi, Thomas & Moffat, SIGIR "
    "2019 (cwl-eval)",
    variants={
        name: {"model": name}
        for name in (
            *("TrAP", "SDCG", "INSQ", "INST", "IFT_C1", "IFT_C2", "IFT", "BPM", "BPM_dynamic"),
            *("NERR8", "NERR9", "NERR10", "NERR11", "TBG", "U"),
        )
    },
    translate=_translate,
    range=(0, None),
    exempt={
        "perfect is 1": "users also look at ranks where the judgments have nothing more to gain",
        "best first is best": "a user who stops at what it finds may gain more, and spends less",
        "cutoff beyond the depth": "it is divided by k, whatever was retrieved; and the parameter "
        "depth says how many ranks there are",
        "0 without relevant documents with value given": _OTHERS,
        "0 without results with value given": _OTHERS,
        "0 without relevant documents with unjudged given": "what is not judged may gain",
        "0 without results with unjudged given": "what is not judged may gain",
    },
    unnamed="model",
    takes_cost=True,
    fits=_fits,
)
def cwl(
    judged: Judged,
    k: Cutoff | None = None,
    *,
    model: Annotated[
        str,
        Parameter("a user model with its own parameters, as 'INST(T=2)'", _check_model),
    ] = "RBP",
    value: Annotated[str, Parameter("'EU', 'ETU', 'EC', 'ETC' or 'ED'", _check_quantity)] = "EU",
    gain: Annotated[
        str | Mapping[int, float],
        Parameter(
            "what a grade gains, from 0 to 1: 'linear', grade / top; 'exp2', "
            "(2^grade - 1) / (2^top - 1); or a mapping {grade: gain}, where a grade that it does "
            "not name gains grade / top",
            _check_gain,
        ),
    ] = "linear",
    top: Annotated[
        int | None,
        Parameter("the grade that gains 1, with all above; None: the collection's", _check_top),
    ] = None,
    depth: Annotated[int, Parameter("how many ranks are looked at", _check_depth)] = 1000,
    unjudged: Annotated[
        float,
        Parameter(
            "what a document without judgment gains, and a rank beyond the last document: 0, the "
            "worst case; with 1, the best, the difference is the residual",
            between(0, 1),
        ),
    ] = 0.0,
) -> Floats:
    """What a user has of the ranking, by a model of how that user goes down it (C/W/L).

    g_i is the gain at rank i, G_i the gain so far; c_i is the cost, 1 for each document, and K_i
    the cost so far; C_i is the probability of going on from rank i. The values: EU, the expected
    gain per document looked at; ETU, the expected gain in all; EC and ETC, the same of the cost,
    which a run may give in a column `cost` (seconds, or characters), 1 beyond the last document;
    ED, the expected number of documents looked at. Unjudged documents gain nothing, nor do the
    ranks beyond the last document retrieved, which are looked at, too; documents that were missed
    count in TrAP only. A query without relevant documents has EU and ETU 0. k is the rank where
    the users of P, SDCG, NERR8 and NERR9 stop, and the cost that the users of BPM are ready to
    spend; the others go on.

    With gains of 0 and 1, EU of P, RR and TrAP is P, RR and AP. TBG and U are normalized here.

    The user models:
    """
    if k is not None:
        _check_within(int(k.max()), depth)
    every = judged.every(np.array([[depth]]), padded=True)
    top = judged.top_grade if top is None else top
    gained = np.where(every.judged, _gains(every, gain, top), unjudged)
    n_gaining = judged.ideal.where(_gains(judged.ideal, gain, top) > 0).count()
    if unjudged:
        n_gaining = np.maximum(n_gaining, every.where(gained > 0).count())
    user, parameters = _understood(model)
    cuts = [None] if k is None else [_column(every, cut) for cut in np.hsplit(k, k.shape[1])]
    seen = [Seen(every, gained, every.costs, n_gaining, cut) for cut in cuts]
    return np.hstack([_quantity(value, one, user, parameters) for one in seen])


def _quantity(value: str, seen: Seen, user: UserModel, parameters: Mapping[str, Any]) -> Floats:
    every = seen.every
    if user.gives_weights:
        weight = user.function(seen, **parameters)
        reached = weight / every.spread(every.first(weight))
        last = reached - every.below(reached)
    else:
        going_on = user.function(seen, **parameters)
        reached = every.before(going_on)
        weight = reached / every.spread(every.total(reached))
        last = reached * (1 - going_on)
    match value:
        case "EU":
            return every.total(weight * seen.gain)
        case "ETU":
            return every.total(last * seen.gained)
        case "EC":
            return every.total(weight * seen.cost)
        case "ETC":
            return every.total(last * seen.spent)
        case _:
            return 1 / every.first(weight)


def _gains(ranked: Ranked, gain: str | Mapping[int, float], top: int) -> Floats:
    """Return each row's gain, from 0 to 1: (rows,)."""
    own = gain if isinstance(gain, Mapping) else {}
    kind = "linear" if own else gain
    clipped = replace(ranked, grade=np.minimum(ranked.grade, top))
    most = replace(ranked, grade=np.full(len(ranked.grade), top))
    result = ratio(gains(clipped, kind, top), gains(most, kind, top))
    for grade, worth in own.items():
        result = np.where(ranked.grade == grade, worth, result)
    return result


def _column(ranked: Ranked, value: Any) -> Numbers:
    """Give every query its value: a number, or (1 or n_queries, 1) -> (n_queries, 1)."""
    return np.broadcast_to(value, (ranked.n_queries, 1))


cwl.__doc__ = "\n\n".join(
    [inspect.getdoc(cwl) or "", *(each.documentation for each in _MODELS.values())]
)
