"""The tools that `conventions.py` runs: packages to install, and corresponding measures here."""

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

Collection = dict[str, Any]  # qrels, run, lists, k: see small_collections.py


def expect_raise(is_padded: bool) -> Callable[[Collection, str, int | None], bool]:
    """Return whether scikit-learn raises: for a negative grade, or fewer than two documents."""

    def raises_error(collection: Collection, measure: str, k: int | None) -> bool:
        for query, grades in collection["qrels"].items():
            if not is_padded and query not in collection["run"]:
                continue
            documents = set(collection["run"].get(query, {})) | (
                set(grades) if is_padded else set()
            )
            if len(documents) < 2 or min(grades.get(document, 0) for document in documents) < 0:
                return True
        return False

    return raises_error


def expect_nothing(collection: Collection, measure: str, k: int | None) -> bool:
    """Return whether no rule gives a value: never."""
    return False


def round_to_single(score: float) -> float:
    """Return a score in 32 bits."""
    rounded_score: float = struct.unpack("f", struct.pack("f", score))[0]
    return rounded_score


def expect_torch_ties(is_padded: bool) -> Callable[[Collection, str, int | None], bool]:
    """Return whether torch's order of tied documents, which is arbitrary, matters.

    It matters where relevant and other documents are tied (in 32 bits), and the first of them is
    within k.
    """

    def has_mixed_tie(collection: Collection, measure: str, k: int | None) -> bool:
        if measure == "nDCG":
            return False
        for query, grades in collection["qrels"].items():
            scores = dict(collection["run"].get(query, {}))
            if is_padded:
                lowest_score = min(scores.values(), default=0.0) - 1
                scores |= {document: lowest_score for document in grades if document not in scores}
            ranking = sorted(
                ((round_to_single(score), document) for document, score in scores.items()),
                reverse=True,
            )
            n_above = 0
            for _, rows in groupby(ranking, key=lambda row: row[0]):
                relevances = [grades.get(document, 0) > 0 for _, document in rows]
                if len(set(relevances)) > 1 and (k is None or n_above < k):
                    return True
                n_above += len(relevances)
        return False

    return has_mixed_tie


def has_long_ties(collection: Collection, measure: str, k: int | None) -> bool:
    """Return whether a list of more than 15 documents has ties, which ranx orders arbitrarily."""
    return any(
        len(scores) > 15 and len(set(scores.values())) < len(scores)
        for query, scores in collection["run"].items()
        if query in collection["qrels"]
    )


def has_repeats(collection: Collection, measure: str, k: int | None) -> bool:
    """Return whether a relevant document occurs twice in a list."""
    return any(
        len(
            [
                document
                for document in documents
                if collection["qrels"].get(query, {}).get(document, 0) > 0
            ]
        )
        > len(
            {
                document
                for document in documents
                if collection["qrels"].get(query, {}).get(document, 0) > 0
            }
        )
        for query, documents in collection["lists"].items()
    )


def expect_repeats(*names: str) -> Callable[[Collection, str, int | None], bool]:
    """Return the same for some measures only."""
    return lambda collection, measure, k: measure in names and has_repeats(collection, measure, k)


@dataclass(frozen=True)
class Variant:
    """One way to call a tool, and the corresponding measures of cranfield.

    `measures` maps the driver's name of a measure, without its cutoff, to cranfield's name, or to
    "CONVENTION: MEASURE" for another convention; "" if there is none. `has_no_rule` tells which
    values follow no known rule: they are counted, not compared.
    """

    convention: str | None = None  # None: no convention has these numbers
    takes_lists: bool = False  # the tool gets lists, in which a document may occur twice
    stored_name: str | None = None  # its name among the stored values
    driver_names: dict[str, str] = field(
        default_factory=dict
    )  # stored name of a measure -> the driver's
    measures: dict[str, str] = field(default_factory=dict)
    has_no_rule: Callable[[Collection, str, int | None], bool] = expect_nothing

    def find_counterpart(self, measure: str) -> tuple[str, str] | None:
        """Return the convention and the measure that are compared with a value of the tool."""
        name, _, cutoff = measure.partition("@")
        cranfield_name = self.measures.get(name, CRANFIELD_NAMES.get(name, name))
        convention, _, cranfield_name = cranfield_name.rpartition(": ")
        convention = convention or self.convention or ""
        if not convention or not cranfield_name:
            return None
        return convention, f"{cranfield_name}@{cutoff}" if cutoff else cranfield_name


@dataclass(frozen=True)
class Tool:
    """A tool: what to install, how exact its numbers are, and its variants."""

    requirements: tuple[str, ...]
    variants: dict[str, Variant]
    tolerance: float = 1e-9


CRANFIELD_NAMES = {
    "Hit": "Success",
    "R_cap": "RelP",
    "bpref": "Bpref",
    "Hole": "",
    "LRAP": "",
    "RocAuc": "",
}
TORCH = "torch"
SINGLE_PRECISION = 2e-7
FIVE_DIGITS = 1e-5
TOOLS = {
    "pytrec_eval": Tool(
        ("pytrec_eval-terrier==0.5.11",),
        {
            "pytrec_eval": Variant(
                "pytrec_eval",
                stored_name="pytrec_eval_mean_of_returned (RR uncut)",
                driver_names={"RR@5": "RR"},
            )
        },
    ),
    "ir_measures": Tool(
        ("ir_measures==0.4.3",), {"ir_measures": Variant("ir_measures", stored_name="ir_measures")}
    ),
    "gdeval": Tool(("ir_measures==0.4.3",), {"gdeval": Variant("gdeval")}, FIVE_DIGITS),
    "ranx": Tool(
        ("ranx==0.3.21",),
        {
            "ranx": Variant(
                "ranx",
                stored_name="ranx make_comparable",
                measures={"nDCG_burges": "nDCG(gain='exp2')", "Rprec": "", "bpref": ""},
                has_no_rule=has_long_ties,
            )
        },
    ),
    "trectools": Tool(
        ("trectools==0.0.50",),
        {
            "trectools": Variant(
                "trectools",
                stored_name="trectools",
                driver_names={
                    "nDCG_te@5": "nDCG_plain@5",
                    "AP_notte@5": "AP_plain@5",
                    "P_notte@5": "P_plain@5",
                    "RR_notte": "RR_plain@5",
                },
                measures={"Rprec": "", "bpref": ""}
                | {
                    f"{measure}_plain": f"trectools-rank: {measure}"
                    for measure in ("nDCG", "AP", "P", "R", "RR")
                },
            ),
            "file": Variant(),
        },
    ),
    "beir": Tool(
        (TORCH, "beir==2.2.0"),
        {"beir": Variant("beir", stored_name="beir"), "in turn": Variant()},
        FIVE_DIGITS,
    ),
    "mteb": Tool(
        (TORCH, "mteb==2.26.24"),
        {
            "mteb": Variant(
                "mteb",
                stored_name="mteb",
                driver_names={
                    "ndcg:NDCG@5": "nDCG@5",
                    "map:MAP@5": "AP@5",
                    "precision:P@5": "P@5",
                    "recall:Recall@5": "R@5",
                    "mrr:MRR@5": "RR@5",
                    "hit_rate:HitRate@5": "Hit@5",
                },
                measures={"R_cap": ""},
            ),
            "identical dropped": Variant(),
        },
        FIVE_DIGITS,
    ),
    "sentence_transformers": Tool(
        (TORCH, "sentence-transformers==6.2.0"),
        {
            "sentence-transformers": Variant(
                "sentence-transformers", stored_name="sentence-transformers"
            )
        },
    ),
    "llamaindex": Tool(
        ("llama-index-core==0.14.25",),
        {
            "llamaindex": Variant(
                "llamaindex", takes_lists=True, stored_name="llamaindex (top5, mean of non-errors)"
            ),
            "granular": Variant(
                "llamaindex-granular",
                takes_lists=True,
                stored_name="llamaindex granular",
                measures=dict.fromkeys(("nDCG", "AP", "P", "R"), ""),
            ),
        },
    ),
    "haystack": Tool(
        ("haystack-ai==3.4.0",),
        {
            "haystack": Variant(
                "haystack",
                takes_lists=True,
                stored_name="haystack (top5)",
                measures={"nDCG_binary": "nDCG(gain='binary')"},
            )
        },
    ),
    "ragas": Tool(
        ("ragas==0.4.3", "langchain-community<0.4"),
        {
            "ragas": Variant(takes_lists=True, stored_name="ragas id-based"),
            "evaluate": Variant("ragas", takes_lists=True),
        },
    ),
    "ir_evaluation": Tool(
        ("ir-evaluation==1.1.0",),
        {
            "ir_evaluation": Variant(
                "ir_eval", takes_lists=True, measures={"F1": ""}, has_no_rule=expect_repeats("AP")
            ),
            "defined": Variant(takes_lists=True),
        },
    ),
    "rectools": Tool(
        ("rectools==0.19.0",),
        {
            "rectools": Variant(
                "rectools",
                takes_lists=True,
                stored_name="rectools",
                measures={
                    "nDCG_achievable": "nDCG(ideal='judged')",
                    "AP_div_k": "AP(over='cutoff')",
                },
            )
        },
    ),
    "replay": Tool(
        ("replay-rec==0.22.0",),
        {
            "replay": Variant("replay", takes_lists=True, stored_name="replay"),
            "scores": Variant("replay"),
            "dict": Variant(),
        },
    ),
    "lenskit": Tool(
        (TORCH, "lenskit==2025.8.1"),
        {
            "lenskit": Variant(
                "lenskit",
                takes_lists=True,
                stored_name="lenskit",
                measures={"nDCG_gain": "nDCG(gain='linear')", "RBP": ""},
            ),
            "all lists": Variant(),
        },
    ),
    "recommenders": Tool(
        ("recommenders==1.2.1",),
        {
            name: Variant(
                "recommenders",
                takes_lists=name == "recommenders",
                stored_name="recommenders" if name == "recommenders" else None,
                driver_names={"Rprec": "Rprec@5"},
                measures={
                    "AP_at_k": "AP(over='reachable')",
                    "nDCG_raw": "nDCG(gain='linear')",
                    "nDCG_exp": "nDCG(gain='exp2')",
                    "Rprec": "",
                },
                has_no_rule=expect_repeats("nDCG", "nDCG_raw", "nDCG_exp")
                if name == "recommenders"
                else expect_nothing,
            )
            for name in ("recommenders", "scores")
        },
    ),
    "scikit_learn": Tool(
        ("scikit-learn==1.9.1",),
        {
            "all judged": Variant(
                "scikit-learn",
                stored_name="sklearn_dense_all_judged",
                measures={"AP": ""},
                has_no_rule=expect_raise(True),
            ),
            "returned": Variant(
                "scikit-learn-retrieved", measures={"AP": ""}, has_no_rule=expect_raise(False)
            ),
        },
    ),
    "torchmetrics": Tool(
        (TORCH, "torchmetrics==1.9.0"),
        {
            "all judged, neg": Variant(
                "torchmetrics",
                stored_name="torchmetrics all_judged neg",
                measures={"P_adaptive": ""},
                has_no_rule=expect_torch_ties(True),
            ),
            "all judged, skip": Variant(stored_name="torchmetrics all_judged skip"),
            "returned, neg": Variant(
                "torchmetrics-retrieved",
                stored_name="torchmetrics returned neg",
                measures={"P_adaptive": "P(over='returned')"},
                has_no_rule=expect_torch_ties(False),
            ),
        },
        SINGLE_PRECISION,
    ),
}
