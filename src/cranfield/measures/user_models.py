"""User models, for `cwl`: the probability that a user goes on from each rank, or looks at it."""

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
    """A ranking as a user goes down it: columns (rows,) of every rank down to the depth."""

    ranked: Ranked
    gain: Floats  # from 0 to 1
    cost: Numbers  # what each document costs the user, in the unit of the run's costs
    n_with_gain: Ints  # (n_queries, 1): documents of the judgments that gain something
    k: Ints | None  # (n_queries, 1): the cutoff, None if the measure has none

    @property
    def rank(self) -> Ints:
        """The ranks 1, 2, ..., (rows,)."""
        return self.ranked.rank

    @cached_property
    def gain_so_far(self) -> Floats:
        """The sum of the gains down to each rank, (rows,)."""
        return self.ranked.running(self.gain)

    @cached_property
    def cost_so_far(self) -> Numbers:
        """The sum of the costs down to each rank, (rows,)."""
        return self.ranked.running(self.cost)

    @cached_property
    def cost_above(self) -> Numbers:
        """The sum of the costs above each rank, (rows,)."""
        cost_above = self.ranked.running(self.ranked.above(self.cost, 0.0))
        return cost_above

    @property
    def is_above_cutoff(self) -> Bools:
        """Whether a rank is less than k, (rows,)."""
        return self.rank < self.cutoff

    @property
    def cutoff(self) -> Ints:
        """The rank k, for every row."""
        assert self.k is not None  # noqa: S101 - see cwl._check_cutoff
        return self.ranked.spread(self.k)


@dataclass(eq=False, repr=False)
class UserModel(Declaration):
    """All that is known of a user model, except the values of its parameters."""

    stops_at_cutoff: bool  # after k documents, unless a parameter K is stated
    gives_weights: bool  # it returns W_i, not C_i
    ignores_gain: bool  # what was found changes nothing

    @property
    def pattern(self) -> str:
        """How the model is written, with the defaults of its parameters: `INST(T=1)`."""
        return self.name + write_parameters(self.defaults.items())

    def find_parameter(self, name: str) -> str | None:
        """Return a parameter's declared name for a name in any case; None if there is none."""
        return {parameter.lower(): parameter for parameter in self.parameters}.get(name.lower())

    @property
    def paragraph(self) -> str:
        """Its pattern, formula, documentation, parameters and source, in one paragraph."""
        meanings = [f"{name}: {parameter.meaning}." for name, parameter in self.parameters.items()]
        text = " ".join(self.documentation.split())
        if not self.formula:  # python -OO has taken it away
            return " ".join([f"{self.pattern}.", *meanings])
        return " ".join([f"{self.pattern}: {self.formula}.", text, *meanings, f"({self.source})"])


USER_MODELS: dict[str, UserModel] = {}  # by name in lower case
_Kernel = Callable[..., Numbers]


def user_model(
    name: str,
    *,
    stops_at_cutoff: bool = False,
    gives_weights: bool = False,
    ignores_gain: bool = False,
) -> Callable[[_Kernel], _Kernel]:
    """Register a user model: the decorated function is its declaration and its computation.

    It takes a RankingView and returns C_i (rows,), the probability of going on from each rank; or,
    with `gives_weights`, the weights W_i, from which C_i = W_(i+1) / W_i follows. Its parameters
    and its docstring are as those of a measure. `stops_at_cutoff`: the user stops after k
    documents, unless its parameter K is stated. `ignores_gain`: what was found does not change
    whether it goes on.
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
    """Return a number from 0.5 to 1e9; ValueError for any other value."""
    number = finite_number(value)
    if number is None or not 0.5 <= number <= 1e9:
        raise ValueError("a number from 0.5 up, else C_i would be above 1")
    return float(number)


Budget = Annotated[
    float | None,
    Parameter(
        "what the user is ready to spend; without it, the cutoff k", optional(positive_number)
    ),
]


@user_model("P", stops_at_cutoff=True, ignores_gain=True)
def precision_user(view: RankingView) -> Numbers:
    """Looks at k documents. EU is precision, graded if the gains are.

    Formula: C_i = 1 for i < k, then 0
    Source: van Rijsbergen, Information Retrieval, 1979
    """
    return view.is_above_cutoff * 1.0


@user_model("RBP", ignores_gain=True)
def rank_biased_user(view: RankingView, *, p: Persistence = 0.9) -> Numbers:
    """Goes on with the same probability from every document.

    The weights add up to 1 over the ranks down to the depth, not over endlessly many as in RBP.

    Formula: C_i = p
    Source: Moffat & Zobel, ACM TOIS 2008
    """
    return np.full(view.rank.shape, p)


@user_model("RR")
def reciprocal_rank_user(view: RankingView) -> Numbers:
    """Looks for one document that gains something and stops there.

    Formula: C_i = 1 until the first gain, then 0
    Source: Kantor & Voorhees, Information Retrieval 2000
    """
    return (view.gain_so_far == 0) * 1.0


@user_model("AP", gives_weights=True)
def average_precision_user(view: RankingView) -> Numbers:
    """Stops only at documents that gain something, as likely as their gain over their rank.

    EU is average precision divided by what was retrieved of the relevant documents, not by all:
    see TrAP, and AP. Where nothing gains, the user looks at the first document alone.

    Formula: C_i = S_(i+1) / S_i, S_i = sum of g_j / j over j >= i; W_i = S_i / sum of all S
    Source: Harman, Information Processing & Management 1992; Moffat et al., ACM TOIS 2017
    """
    ahead = view.ranked.remaining(view.gain / view.rank)
    total = view.ranked.spread(view.ranked.total(ahead))
    return np.where(total > 0, ratio(ahead, total), view.rank == 1)


@user_model("TrAP", gives_weights=True)
def recall_average_precision_user(view: RankingView) -> Numbers:
    """Weighs each rank by its precision. EU is average precision if the gains are 0 and 1.

    The weights do not add up to 1. Above the first document that gains something, G_i counts as 1.

    Formula: W_i = G_i / (K_i R), R = documents of the judgments that gain something
    Source: cwl-eval 1.0.12, after Harman, Information Processing & Management 1992
    """
    gained_or_1 = np.where(view.gain_so_far > 0, view.gain_so_far, 1)
    return gained_or_1 / (view.cost_so_far * view.ranked.spread(np.maximum(view.n_with_gain, 1)))


@user_model("SDCG", stops_at_cutoff=True, ignores_gain=True)
def scaled_dcg_user(view: RankingView) -> Numbers:
    """Discounts as DCG. EU is DCG as a share of what k documents of gain 1 would have.

    Formula: C_i = log2(i + 1) / log2(i + 2) for i < k, then 0
    Source: Järvelin & Kekäläinen, ACM TOIS 2002; scaled: Moffat et al., ACM TOIS 2017
    """
    return np.where(view.is_above_cutoff, log2(view.rank + 1) / log2(view.rank + 2), 0)


@user_model("INSQ", ignores_gain=True)
def insq_user(view: RankingView, *, T: Target = 1.0) -> Numbers:
    """Is the readier to go on the further down it is, and the more it looks for.

    Formula: C_i = ((i + 2 T - 1) / (i + 2 T))^2
    Source: Moffat, Scholer & Thomas, ADCS 2012
    """
    share = (view.rank + 2 * T - 1) / (view.rank + 2 * T)
    return share * share


@user_model("INST")
def inst_user(
    view: RankingView,
    *,
    T: Annotated[float, Parameter("the gain that the user looks for", _check_half_or_more)] = 1.0,
) -> Numbers:
    """Is the readier to stop the more it has found of what it looks for.

    Formula: C_i = ((i + T + T_i - 1) / (i + T + T_i))^2, T_i = T - G_i
    Source: Bailey, Moffat, Scholer & Thomas, ADCS 2015 and SIGIR 2015
    """
    missing = T - view.gain_so_far
    share = (view.rank + T + missing - 1) / (view.rank + T + missing)
    return share * share


@user_model("IFT_C1")
def foraging_goal_user(
    view: RankingView,
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
    return 1 - 1 / (1 + b1 * _exp(R1 * (T - view.gain_so_far)))


@user_model("IFT_C2")
def foraging_rate_user(
    view: RankingView,
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
    return 1 / (1 + b2 * _exp(R2 * (A - view.gain_so_far / view.cost_so_far)))


@user_model("IFT")
def foraging_user(
    view: RankingView,
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
    by_goal = foraging_goal_user(view, T=T, b1=b1, R1=R1)
    by_rate = foraging_rate_user(view, A=A, b2=b2, R2=R2)
    return by_goal * by_rate


_MAX_EXPONENT = 600.0  # 1 / (1 + e^600 b) is 0 to every digit, and no product overflows


def _exp(x: Floats) -> Floats:
    """Return e^x of each number, of at most e^600."""
    return exp(np.minimum(x, _MAX_EXPONENT))


@user_model("BPM", stops_at_cutoff=True)
def bejeweled_user(view: RankingView, *, T: Target = 1.0, K: Budget = None) -> Numbers:
    """Stops when it has found what it looks for, or spent what it is ready to spend.

    Formula: C_i = 1 while G_i < T and K_i < K, then 0
    Source: Zhang et al., SIGIR 2017
    """
    budget = view.cutoff if K is None else K
    return ((view.gain_so_far < T) & (view.cost_so_far < budget)) * 1.0


@user_model("BPM_dynamic", stops_at_cutoff=True)
def dynamic_bejeweled_user(
    view: RankingView,
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

    What is looked for and the budget change with the documents above rank i.

    Formula: C_i = 1 while G_i < T_i and K_i < E_i, then 0; T_i = T + hb (sum of g_j - med over j <
        i), E_i = K + hc (sum of g_j - med over j < i)
    Source: Zhang et al., SIGIR 2017
    """
    ranked, surprise = view.ranked, view.gain - med
    budget = ranked.spread(query_column(ranked, view.k if K is None else K))
    sought = ranked.running(np.where(view.rank == 1, T, ranked.above(hb * surprise, 0.0)))
    to_spend = ranked.running(np.where(view.rank == 1, budget, ranked.above(hc * surprise, 0.0)))
    return ((view.gain_so_far < sought) & (view.cost_so_far < to_spend)) * 1.0


@user_model("NERR8", stops_at_cutoff=True)
def nerr8_user(view: RankingView) -> Numbers:
    """Stops at a document as likely as that satisfies, and after k.

    Formula: C_i = 1 - g_i for i < k, then 0
    Source: Azzopardi, Mackenzie & Moffat, ICTIR 2021, equation 8
    """
    return view.is_above_cutoff * (1 - view.gain)


@user_model("NERR9", stops_at_cutoff=True)
def nerr9_user(view: RankingView) -> Numbers:
    """As NERR8, and gives up the sooner the higher up it is, so that reciprocal ranks result.

    Formula: C_i = i / (i + 1) (1 - g_i) for i < k, then 0
    Source: Azzopardi, Mackenzie & Moffat, ICTIR 2021, equation 9
    """
    return view.is_above_cutoff * (view.rank / (view.rank + 1) * (1 - view.gain))


@user_model("NERR10")
def nerr10_user(view: RankingView, *, p: Persistence = 0.9) -> Numbers:
    """Stops at what satisfies, and is as patient otherwise as the user of RBP.

    Formula: C_i = p (1 - g_i)
    Source: Azzopardi, Mackenzie & Moffat, ICTIR 2021, equation 10
    """
    return p * (1 - view.gain)


@user_model("NERR11")
def nerr11_user(view: RankingView, *, T: Target = 1.0) -> Numbers:
    """Stops at what satisfies, and is as patient otherwise as the user of INSQ.

    Formula: C_i = ((i + 2 T - 1) / (i + 2 T))^2 (1 - g_i)
    Source: Azzopardi, Mackenzie & Moffat, ICTIR 2021, equation 11
    """
    return insq_user(view, T=T) * (1 - view.gain)


@user_model("TBG", gives_weights=True, ignores_gain=True)
def time_biased_user(
    view: RankingView,
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
    still_there = exp(view.cost_above * -(math.log(2) / h))
    return still_there / view.ranked.spread(view.ranked.total(still_there))


@user_model("U", gives_weights=True, ignores_gain=True)
def u_measure_user(
    view: RankingView,
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
    still_there = np.maximum(0, 1 - view.cost_above / L)
    return still_there / view.ranked.spread(view.ranked.total(still_there))


def query_column(ranked: Ranked, query_value: Any) -> Numbers:
    """Return a column (n_queries, 1) of one number, or of one number for each query."""
    return np.broadcast_to(query_value, (ranked.n_queries, 1))
