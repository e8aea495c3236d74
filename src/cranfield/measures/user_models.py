"""User models of C/W/L: how likely a user is to go on from each rank, or to look at it."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from cranfield.arrays.elementary import exp, log2
from cranfield.arrays.ranked import Bools, Floats, Ints, Numbers, Ranked, ratio
from cranfield.lazy import cached_property
from cranfield.measures.declaration import Declaration
from cranfield.measures.parameters import (
    Parameter,
    Persistence,
    between,
    optional,
    positive_number,
    write_parameters,
)
from cranfield.options import finite_number

# ---- what a user model sees -----------------------------------------------------------------


@dataclass(eq=False)
class RankingView:
    """A ranking as its user goes down it: every rank down to the depth, (rows,) each."""

    ranked: Ranked
    gain: Floats  # from 0 to 1
    cost: Numbers
    n_with_gain: Ints  # (n_queries, 1): documents of the judgments that gain something
    k: Ints | None  # (n_queries, 1): the cutoff

    @property
    def rank(self) -> Ints:
        """1, 2, ..."""
        return self.ranked.rank

    @cached_property
    def gain_so_far(self) -> Floats:
        """What was gained down to this rank, this one included."""
        return self.ranked.running(self.gain)

    @cached_property
    def cost_so_far(self) -> Numbers:
        """What was spent down to this rank, this one included."""
        return self.ranked.running(self.cost)

    @cached_property
    def cost_above(self) -> Numbers:
        """What was spent above this rank."""
        cost_above = self.ranked.running(self.ranked.above(self.cost, 0.0))
        return cost_above

    @property
    def is_above_cutoff(self) -> Bools:
        """Whether rank < k."""
        return self.rank < self.cutoff

    @property
    def cutoff(self) -> Ints:
        """The rank k, for every row."""
        assert self.k is not None  # noqa: S101 - see _fits
        return self.ranked.spread(self.k)


@dataclass(eq=False, repr=False)
class UserModel(Declaration):
    """All that is known of a user model, except the values of its parameters."""

    stops_at_cutoff: bool  # whether it stops at k
    gives_weights: bool  # it returns W_i, not C_i
    ignores_gain: bool  # what was found changes nothing

    @property
    def pattern(self) -> str:
        """How the model is written, with the defaults of its parameters: `INST(T=1)`."""
        return self.name + write_parameters(self.defaults.items())

    def find_parameter(self, name: str) -> str | None:
        """Return the parameter of that name, in upper or lower case; None if there is none."""
        return {parameter.lower(): parameter for parameter in self.parameters}.get(name.lower())

    @property
    def paragraph(self) -> str:
        """Its documentation, in one paragraph."""
        meanings = [f"{name}: {parameter.meaning}." for name, parameter in self.parameters.items()]
        text = " ".join(self.documentation.split())
        if not self.formula:  # python -OO has taken it away
            return " ".join([f"{self.pattern}.", *meanings])
        return " ".join([f"{self.pattern}: {self.formula}.", text, *meanings, f"({self.source})"])


USER_MODELS: dict[str, UserModel] = {}
_Kernel = Callable[..., Numbers]


def user_model(
    name: str,
    *,
    stops_at_cutoff: bool = False,
    gives_weights: bool = False,
    ignores_gain: bool = False,
) -> Callable[[_Kernel], _Kernel]:
    """Register a user model: the decorated function is its declaration and its computation.

    It takes a Seen and returns C_i (rows,), the probability of going on from each rank; or, with
    `gives_weights`, the weights W_i, from which C_i = W_(i+1) / W_i follows. Its parameters and
    its docstring are as those of a measure. `cut`: the user stops after k documents. `fixed`:
    what was found does not change whether it goes on.
    """

    def register(kernel: _Kernel) -> _Kernel:
        USER_MODELS[name.lower()] = UserModel(
            name, kernel, stops_at_cutoff, gives_weights, ignores_gain
        )
        return kernel

    return register


# ---- the user models ------------------------------------------------------------------------

Target = Annotated[float, Parameter("the gain that the user looks for", positive_number)]
Rationality = Annotated[
    float, Parameter("how much that counts; 0: not at all, and C_i is constant", between(0, 1e9))
]


def _check_half_or_more(value: Any) -> float:
    number = finite_number(value)
    if number is None or not 0.5 <= number <= 1e9:
        raise ValueError("a number from 0.5 up, else C_i would be above 1")
    return float(number)


_ANY_NUMBER = between(-1e9, 1e9)
Budget = Annotated[
    float | None,
    Parameter(
        "what the user is ready to spend; without it, the cutoff k", optional(positive_number)
    ),
]


@user_model("P", stops_at_cutoff=True, ignores_gain=True)
def precision_user(seen: RankingView) -> Numbers:
    """Looks at k documents. EU is precision, graded if the gains are.

    Formula: C_i = 1 for i < k, then 0
    Source: van Rijsbergen, Information Retrieval, 1979
    """
    return seen.is_above_cutoff * 1.0


@user_model("RBP", ignores_gain=True)
def rank_biased_user(seen: RankingView, *, p: Persistence = 0.9) -> Numbers:
    """Goes on with the same probability from every document.

    The weights add up to 1 over the ranks down to the depth, not over endlessly many as in RBP.

    Formula: C_i = p
    Source: Moffat & Zobel, ACM TOIS 2008
    """
    return np.full(seen.rank.shape, p)


@user_model("RR")
def reciprocal_rank_user(seen: RankingView) -> Numbers:
    """Looks for one document that gains something and stops there.

    Formula: C_i = 1 until the first gain, then 0
    Source: Kantor & Voorhees, Information Retrieval 2000
    """
    return (seen.gain_so_far == 0) * 1.0


@user_model("AP", gives_weights=True)
def average_precision_user(seen: RankingView) -> Numbers:
    """Is as likely to stop at each document that gains something.

    EU is average precision divided by what was retrieved of the relevant documents, not by all:
    see TrAP, and AP. Where nothing gains, the user looks at the first document alone.

    Formula: C_i = S_(i+1) / S_i, S_i = sum of g_j / j over j >= i; W_i = S_i / sum of all S
    Source: Harman, Information Processing & Management 1992; Moffat et al., ACM TOIS 2017
    """
    ahead = seen.ranked.remaining(seen.gain / seen.rank)
    total = seen.ranked.spread(seen.ranked.total(ahead))
    return np.where(total > 0, ratio(ahead, total), seen.rank == 1)


@user_model("TrAP", gives_weights=True)
def recall_average_precision_user(seen: RankingView) -> Numbers:
    """Weighs each rank by its precision. EU is average precision if the gains are 0 and 1.

    The weights do not add up to 1. Above the first document that gains something, G_i counts as 1.

    Formula: W_i = G_i / (K_i R), R = documents of the judgments that gain something
    Source: cwl-eval 1.0.12, after Harman, Information Processing & Management 1992
    """
    gained_or_1 = np.where(seen.gain_so_far > 0, seen.gain_so_far, 1)
    return gained_or_1 / (seen.cost_so_far * seen.ranked.spread(np.maximum(seen.n_with_gain, 1)))


@user_model("SDCG", stops_at_cutoff=True, ignores_gain=True)
def scaled_dcg_user(seen: RankingView) -> Numbers:
    """Discounts as DCG. EU is DCG as a share of what k documents of gain 1 would have.

    Formula: C_i = log2(i + 1) / log2(i + 2) for i < k, then 0
    Source: Järvelin & Kekäläinen, ACM TOIS 2002; scaled: Moffat et al., ACM TOIS 2017
    """
    return np.where(seen.is_above_cutoff, log2(seen.rank + 1) / log2(seen.rank + 2), 0)


@user_model("INSQ", ignores_gain=True)
def insq_user(seen: RankingView, *, T: Target = 1.0) -> Numbers:
    """Is the readier to go on the further down it is, and the more it looks for.

    Formula: C_i = ((i + 2 T - 1) / (i + 2 T))^2
    Source: Moffat, Scholer & Thomas, ADCS 2012
    """
    share = (seen.rank + 2 * T - 1) / (seen.rank + 2 * T)
    return share * share


@user_model("INST")
def inst_user(
    seen: RankingView,
    *,
    T: Annotated[float, Parameter("the gain that the user looks for", _check_half_or_more)] = 1.0,
) -> Numbers:
    """Is the readier to stop the more it has found of what it looks for.

    Formula: C_i = ((i + T + T_i - 1) / (i + T + T_i))^2, T_i = T - G_i
    Source: Bailey, Moffat, Scholer & Thomas, ADCS 2015 and SIGIR 2015
    """
    missing = T - seen.gain_so_far
    share = (seen.rank + T + missing - 1) / (seen.rank + T + missing)
    return share * share


@user_model("IFT_C1")
def foraging_goal_user(
    seen: RankingView,
    *,
    T: Target = 2.0,
    b1: Annotated[
        float, Parameter("the odds of going on where T is reached", positive_number)
    ] = 0.9,
    R1: Rationality = 1.0,
) -> Numbers:
    """Stops when it has found what it looks for, more or less sharply.

    Formula: C_i = 1 - 1 / (1 + b1 e^(R1 (T - G_i)))
    Source: Azzopardi, Thomas & Craswell, SIGIR 2018
    """
    return 1 - 1 / (1 + b1 * _exp(R1 * (T - seen.gain_so_far)))


@user_model("IFT_C2")
def foraging_rate_user(
    seen: RankingView,
    *,
    A: Annotated[float, Parameter("the gain for its cost that is expected", between(0, 1e9))] = 0.2,
    b2: Annotated[
        float, Parameter("the odds of stopping where the rate is A", positive_number)
    ] = 0.9,
    R2: Rationality = 1.0,
) -> Numbers:
    """Stops when it finds less for its cost than it expects, more or less sharply.

    Formula: C_i = 1 / (1 + b2 e^(R2 (A - G_i / K_i)))
    Source: Azzopardi, Thomas & Craswell, SIGIR 2018
    """
    return 1 / (1 + b2 * _exp(R2 * (A - seen.gain_so_far / seen.cost_so_far)))


@user_model("IFT")
def foraging_user(
    seen: RankingView,
    *,
    T: Target = 2.0,
    b1: Annotated[float, Parameter("as in IFT_C1", positive_number)] = 0.9,
    R1: Rationality = 1.0,
    A: Annotated[float, Parameter("as in IFT_C2", between(0, 1e9))] = 0.2,
    b2: Annotated[float, Parameter("as in IFT_C2", positive_number)] = 0.9,
    R2: Rationality = 1.0,
) -> Numbers:
    """Stops for either reason, the goal or the rate.

    Formula: C_i = C_i of IFT_C1 times C_i of IFT_C2
    Source: Azzopardi, Thomas & Craswell, SIGIR 2018
    """
    by_goal = foraging_goal_user(seen, T=T, b1=b1, R1=R1)
    by_rate = foraging_rate_user(seen, A=A, b2=b2, R2=R2)
    return by_goal * by_rate


_MAX_EXPONENT = 600.0  # 1 / (1 + e^600 b) is 0 to every digit, and no product overflows


def _exp(x: Floats) -> Floats:
    return exp(np.minimum(x, _MAX_EXPONENT))


@user_model("BPM", stops_at_cutoff=True)
def bejeweled_user(seen: RankingView, *, T: Target = 1.0, K: Budget = None) -> Numbers:
    """Stops when it has found what it looks for, or spent what it is ready to spend.

    Formula: C_i = 1 while G_i < T and K_i < K, then 0
    Source: Zhang et al., SIGIR 2017
    """
    budget = seen.cutoff if K is None else K
    return ((seen.gain_so_far < T) & (seen.cost_so_far < budget)) * 1.0


@user_model("BPM_dynamic", stops_at_cutoff=True)
def dynamic_bejeweled_user(
    seen: RankingView,
    *,
    T: Target = 1.0,
    K: Budget = None,
    hb: Annotated[
        float, Parameter("how much the gain looked for changes", between(-1e9, 1e9))
    ] = 1.0,
    hc: Annotated[float, Parameter("how much the budget changes", between(-1e9, 1e9))] = 1.0,
    med: Annotated[float, Parameter("the gain that changes neither", between(0, 1))] = 0.5,
) -> Numbers:
    """Looks for more, and is ready to spend more, after documents that gain much.

    The sums are over the documents looked at so far, as each is compared.

    Formula: C_i = 1 while G_i < T_i and K_i < E_i, then 0; T_i = T + hb (sum of g_j - med over j <
        i), E_i = K + hc (sum of g_j - med over j < i)
    Source: Zhang et al., SIGIR 2017
    """
    ranked, surprise = seen.ranked, seen.gain - med
    budget = ranked.spread(query_column(ranked, seen.k if K is None else K))
    sought = ranked.running(np.where(seen.rank == 1, T, ranked.above(hb * surprise, 0.0)))
    to_spend = ranked.running(np.where(seen.rank == 1, budget, ranked.above(hc * surprise, 0.0)))
    return ((seen.gain_so_far < sought) & (seen.cost_so_far < to_spend)) * 1.0


@user_model("NERR8", stops_at_cutoff=True)
def nerr8_user(seen: RankingView) -> Numbers:
    """Stops at a document as likely as that satisfies, and after k.

    Formula: C_i = 1 - g_i for i < k, then 0
    Source: Azzopardi, Mackenzie & Moffat, ICTIR 2021, equation 8
    """
    return seen.is_above_cutoff * (1 - seen.gain)


@user_model("NERR9", stops_at_cutoff=True)
def nerr9_user(seen: RankingView) -> Numbers:
    """As NERR8, and gives up the sooner the higher up it is, so that reciprocal ranks result.

    Formula: C_i = i / (i + 1) (1 - g_i) for i < k, then 0
    Source: Azzopardi, Mackenzie & Moffat, ICTIR 2021, equation 9
    """
    return seen.is_above_cutoff * (seen.rank / (seen.rank + 1) * (1 - seen.gain))


@user_model("NERR10")
def nerr10_user(seen: RankingView, *, p: Persistence = 0.9) -> Numbers:
    """Stops at what satisfies, and is as patient otherwise as the user of RBP.

    Formula: C_i = p (1 - g_i)
    Source: Azzopardi, Mackenzie & Moffat, ICTIR 2021, equation 10
    """
    return p * (1 - seen.gain)


@user_model("NERR11")
def nerr11_user(seen: RankingView, *, T: Target = 1.0) -> Numbers:
    """Stops at what satisfies, and is as patient otherwise as the user of INSQ.

    Formula: C_i = ((i + 2 T - 1) / (i + 2 T))^2 (1 - g_i)
    Source: Azzopardi, Mackenzie & Moffat, ICTIR 2021, equation 11
    """
    return insq_user(seen, T=T) * (1 - seen.gain)


@user_model("TBG", gives_weights=True, ignores_gain=True)
def time_biased_user(
    seen: RankingView,
    *,
    h: Annotated[
        float, Parameter("the cost after which half of the users are gone", positive_number)
    ] = 224.0,
) -> Numbers:
    """Gives up as time goes by; the costs are the seconds that each document takes.

    Time-biased gain itself is not divided by that sum.

    Formula: W_i = 2^(-(cost above i) / h), divided by their sum
    Source: Smucker & Clarke, SIGIR 2012, as in cwl-eval
    """
    still_there = exp(seen.cost_above * -(math.log(2) / h))
    return still_there / seen.ranked.spread(seen.ranked.total(still_there))


@user_model("U", gives_weights=True, ignores_gain=True)
def u_measure_user(
    seen: RankingView,
    *,
    L: Annotated[
        float, Parameter("the cost after which no user is left", positive_number)
    ] = 1000.0,
) -> Numbers:
    """Reads on to the length L at most; the costs are the characters that each document takes.

    The U-measure itself is not divided by that sum.

    Formula: W_i = max(0, 1 - (cost above i) / L), divided by their sum
    Source: Sakai & Dou, SIGIR 2013, as in cwl-eval
    """
    still_there = np.maximum(0, 1 - seen.cost_above / L)
    return still_there / seen.ranked.spread(seen.ranked.total(still_there))


def query_column(ranked: Ranked, query_value: Any) -> Numbers:
    """Give every query its value: a number, or (1 or n_queries, 1) -> (n_queries, 1)."""
    return np.broadcast_to(query_value, (ranked.n_queries, 1))
