"""Conventions: other tools' rules, as data."""

import math
import operator
from collections.abc import Mapping

from cranfield.errors import OptionError, nearest_words
from cranfield.extensions.tools.computations import Adjustment, adjust_level
from cranfield.extensions.tools.learning import LEARNING_CONVENTIONS
from cranfield.extensions.tools.rule import Convention, rule

_BINARY = {"gain": "binary"}
_TREC_EVAL = (
    "AP GMAP Rprec Bpref RR IPrec P R infAP GMBpref Utility IAP binG G nDCG nDCG_rel RnDCG RelP "
    "Success SetP SetRelP SetR SetAP SetF YAAP NumQ NumRet NumRel NumRelRet NumNonRelRet RelString"
)
_SHARED_QUERIES = {"queries": "both"}
_JUDGING_9 = {"queries": "both", "scores": "single"}
_RULES_9 = (
    rule(judging=_JUDGING_9, IPrec={"version": 9}, IAP={"version": 9}),
    rule(_TREC_EVAL, judging=_JUDGING_9),
)
_RELEVANT = {"queries": "relevant"}
_GIVEN, _ASCENDING = {"ties": "given"}, {"ties": "ascending"}
_FOUND = adjust_level(0, math.nan, "RR(rel={rel})@{k}", "for a query without a hit in the first k")
_TIMES_TOP = Adjustment("times the query's highest grade", "IDCG@1", operator.mul)
_ANSWERED_QUERIES = {"queries": "relevant-and-retrieved", "duplicates": "each"}
_LLAMAINDEX_RULES = (
    rule("AP RR Success", judging=_ANSWERED_QUERIES, nDCG={"gain": "binary", "ideal": "uncut"}),
    rule("R", judging={**_ANSWERED_QUERIES, "duplicates": "once"}),
    rule(judging={**_ANSWERED_QUERIES, "duplicates": "first"}, P={"over": "returned"}),
)

_CUT_REMARK = "Of a list longer than k, precision counts ids once after the cut; here before it."
_LLAMAINDEX_REMARKS = (
    "A query without expected or without retrieved ids is a ValueError.",
    _CUT_REMARK,
)

CONVENTIONS: Mapping[str, Convention] = {
    convention.name: convention
    for convention in (
        Convention(
            "trec_eval",
            "trec_eval 10, without -c",
            "m_*.c, form_res_rels.c",
            (rule(f"{_TREC_EVAL} DCG IDCG RBP RBPResidual Unjudged", judging=_SHARED_QUERIES),),
            ("With -c, all queries of the judgments are averaged: that is the default here.",),
        ),
        Convention(
            "trec_eval-9",
            "trec_eval 9, without -c",
            "m_*.c, form_res_rels.c",
            _RULES_9,
            was_run=False,
        ),
        Convention(
            "pytrec_eval",
            "pytrec_eval-terrier 0.5.11, the mean over what RelevanceEvaluator.evaluate returns",
            "pytrec_eval/__init__.py, trec_eval 9",
            _RULES_9,
        ),
        Convention(
            "ir_measures",
            "ir_measures 0.4.3, calc_aggregate",
            "ir_measures/providers/pytrec_eval_provider.py, msmarco_provider.py",
            (
                rule("RR", has_cutoff=True, judging=_ASCENDING),
                rule("NumQ NumRel", judging=_SHARED_QUERIES),
                rule(
                    "nDCG AP P R RR Rprec Bpref infAP Success SetP SetRelP SetR SetF SetAP NumRet "
                    "NumRelRet",
                    judging={"scores": "single"},
                    parameter_renames={"SetF": {"beta": "x"}},
                    IPrec={"version": 9},
                ),
                rule(has_cutoff=True, ERR={"top": 4}),
                rule(
                    "Judged alpha_nDCG alpha_DCG ERR_IA nERR_IA NRBP nNRBP AP_IA P_IA StRecall",
                    judging=_ASCENDING,
                ),
                rule("RBP CWL", judging=_GIVEN),
                rule("AUC", judging=_GIVEN, adjustments=[_FOUND]),
            ),
            (
                "SetF(beta=b) means that beta^2 is b: SetF(x=b) here.",
                "RR@k, Judged and the measures of subtopics rank equal scores by document id, "
                "ascending; RR and the others of trec_eval, descending; Accuracy (AUC here) and "
                "those of cwl_eval as given.",
                "ERR and nDCG(dcg='exp-log2') are gdeval's: each query's value has five decimals.",
                "Accuracy is a ZeroDivisionError where all documents are relevant. RBP without rel "
                "is graded there, and Compat cut at another depth: no rule.",
            ),
        ),
        Convention(
            "ranx",
            "ranx 0.3.21, evaluate(..., make_comparable=True)",
            "ranx/meta/evaluate.py, ranx/metrics",
            (
                rule("nDCG AP P R RR Success F SetP SetR SetF Rprec Bpref DCG", judging=_GIVEN),
                rule(judging=_GIVEN, adjustments=[_TIMES_TOP], RBP={"gain": "linear"}),
            ),
            (
                "Without make_comparable it refuses runs with other queries than the judgments'.",
                "From 16 documents on, its order of tied documents is that of an unstable sort: no "
                "rule, not imitated.",
                "rbp adds up the grades themselves; bpref is NaN for a query without relevant, or "
                "without other judgments.",
            ),
        ),
        Convention(
            "beir",
            "beir 2.2.0, EvaluateRetrieval.evaluate and evaluate_custom",
            "beir/retrieval/evaluation.py, custom_metrics.py",
            (
                rule("nDCG AP P R", judging={**_JUDGING_9, "identical_ids": "drop"}, decimals=5),
                rule("RR RelP Success", judging={"ties": "given"}, decimals=5),
            ),
            (
                "MRR, R_cap and accuracy are divided by all queries of the judgments, rank equal "
                "scores in the order given, and keep documents whose id is the query's, unless "
                "evaluate was called on the same results before: it takes them out of these.",
                "A query of the run without judgments is a KeyError in these; one without relevant "
                "documents a ZeroDivisionError in R_cap.",
                "Its Hole@k counts documents that are judged for no query at all: there is no such "
                "measure here.",
            ),
        ),
        Convention(
            "mteb",
            "mteb 2.26.24",
            "mteb/_evaluators/retrieval_metrics.py",
            (
                rule("nDCG AP P R Success", judging=_JUDGING_9, decimals=5),
                rule("RR", judging=_SHARED_QUERIES),
            ),
            (
                "A query of the run without judgments is a KeyError for the whole task.",
                "Some tasks (ArguAna, Quora, ...) drop documents whose id is the query's, for all "
                "measures: add identical_ids='drop'.",
            ),
        ),
        Convention(
            "sentence-transformers",
            "sentence-transformers 6.2.0, InformationRetrievalEvaluator",
            "sentence_transformers/sentence_transformer/evaluation/information_retrieval.py",
            (
                rule(
                    "P R RR Success",
                    judging={**_RELEVANT, "ties": "ascending"},
                    nDCG=_BINARY,
                    AP={"over": "reachable"},
                ),
            ),
            (
                "Before version 6, equal scores had the order of a heap: no rule, not imitated.",
                "A document whose id is the query's is kept: BEIR drops it.",
            ),
        ),
        Convention(
            "trectools",
            "trectools 0.0.50, TrecEval(..., trec_eval=True)",
            "trectools/trec_eval.py",
            (
                rule("nDCG", judging={"queries": "run", "order": "given"}),
                rule("AP P R RR", judging={"queries": "run"}),
            ),
            (
                "nDCG has the order of the rows; TrecRun(file) sorts them by score, then id "
                "ascending.",
                "A query without a relevant document is NaN alone, and 0 in the mean.",
            ),
        ),
        Convention(
            "trectools-rank",
            "trectools 0.0.50, TrecEval(..., trec_eval=False)",
            "trectools/trec_eval.py",
            (
                rule(
                    "AP P R RR", judging={"queries": "run", "order": "given"}, nDCG={"gain": "exp2"}
                ),
            ),
        ),
        Convention(
            "llamaindex",
            "llama-index-core 0.14.25, the mean over queries that do not raise",
            "llama_index/core/evaluation/retrieval/metrics.py",
            _LLAMAINDEX_RULES,
            _LLAMAINDEX_REMARKS,
        ),
        Convention(
            "llamaindex-granular",
            "llama-index-core 0.14.25, MRR and HitRate with use_granular_*=True",
            "llama_index/core/evaluation/retrieval/metrics.py",
            (rule(judging=_ANSWERED_QUERIES, RR={"over": "hits"}, Success="R"), *_LLAMAINDEX_RULES),
            _LLAMAINDEX_REMARKS,
        ),
        Convention(
            "haystack",
            "haystack-ai 3.4.0, DocumentNDCGEvaluator and its siblings",
            "haystack/components/evaluators",
            (rule("AP RR R Success", judging={"duplicates": "once"}, nDCG={"ideal": "uncut"}),),
        ),
        Convention(
            "ragas",
            "ragas 0.4.3, IDBasedContextPrecision and IDBasedContextRecall",
            "ragas/metrics, dataset_schema.py",
            (
                rule(
                    judging={"queries": "retrieved", "duplicates": "first"}, P={"over": "returned"}
                ),
                rule("R", judging={**_RELEVANT, "duplicates": "once"}),
            ),
            (
                "Precision is NaN where nothing was retrieved, recall where nothing is relevant; "
                "evaluate leaves these out of the mean.",
                _CUT_REMARK,
            ),
        ),
        Convention(
            "rectools",
            "rectools 0.19.0",
            "rectools/metrics/ranking.py, classification.py",
            (
                rule(
                    "AP P R RR Success",
                    judging={**_RELEVANT, "duplicates": "joined"},
                    nDCG={"gain": "binary", "ideal": "top"},
                ),
            ),
            (
                "nDCG with divide_by_achievable=True is nDCG(ideal='judged'), MAP with "
                "divide_by_k=True is AP(over='cutoff').",
            ),
        ),
        Convention(
            "replay",
            "replay-rec 0.22.0, on pandas or polars",
            "replay/metrics",
            (
                rule(
                    "RR Success",
                    judging={**_RELEVANT, "duplicates": "each"},
                    nDCG=_BINARY,
                    AP={"over": "reachable"},
                ),
                rule("P R", judging={**_RELEVANT, "duplicates": "once"}),
            ),
            ("On dicts, equal scores keep their order, and a query with an empty truth counts 0.",),
        ),
        Convention(
            "lenskit",
            "lenskit 2025.8.1, lists of users with test items",
            "lenskit/metrics/ranking",
            (
                rule(
                    "RR Success",
                    judging={"queries": "relevant-and-both", "duplicates": "each"},
                    nDCG={"gain": "binary", "discount": "jk"},
                    AP={"over": "returned"},
                    P={"over": "returned"},
                    R={"over": "reachable"},
                ),
            ),
            (
                "An empty list is NaN alone, and 0 in the summary.",
                "A list without test items counts 0 if it is there, and is a ZeroDivisionError in "
                "average precision.",
            ),
        ),
        Convention(
            "recommenders",
            "recommenders 1.2.1, python_evaluation",
            "recommenders/evaluation/python_evaluation.py",
            (
                rule(
                    "AP P R",
                    judging={
                        "queries": "relevant-and-retrieved",
                        "duplicates": "each",
                        "ties": "given",
                    },
                ),
                rule(judging={**_RELEVANT, "duplicates": "each", "ties": "given"}, nDCG=_BINARY),
            ),
            (
                "map_at_k is AP(over='reachable'); ndcg_at_k with relevancy 'raw' or 'exp' is "
                "nDCG(gain='linear') or nDCG(gain='exp2').",
                "In nDCG an item that is returned m times weighs m at each occurrence, in the "
                "ideal, too: not imitated.",
            ),
        ),
        *LEARNING_CONVENTIONS,
        Convention(
            "ir_eval",
            "ir-evaluation 1.1.0, plurch's pure-Python library, of lists of ids",
            "ir_evaluation/metrics.py",
            (
                rule("P R", judging={"duplicates": "once"}),
                rule("RR", judging={"duplicates": "each"}, nDCG=_BINARY, AP={"over": "retrieved"}),
            ),
            (
                "AP of one hit at rank 5 is 0.2, no matter what else is relevant.",
                "A relevant document that a list repeats adds to AP, at each of its ranks, a "
                "precision that counts it once: not imitated.",
                "A list shorter than k is an IndexError, one without a hit a ZeroDivisionError in "
                "AP, one without a relevant document in nDCG and recall.",
            ),
        ),
        Convention(
            "recbole",
            "RecBole 1.2.1",
            "recbole/evaluator/metrics.py",
            (
                rule(
                    "P R RR Success",
                    judging=_RELEVANT,
                    decimals=4,
                    nDCG=_BINARY,
                    AP={"over": "reachable"},
                ),
            ),
            was_run=False,
        ),
        Convention(
            "elliot",
            "Elliot fc27efed",
            "elliot/evaluation/metrics/accuracy",
            (rule("P R RR Success", judging=_ANSWERED_QUERIES, AP="MeanP", nDCG={"gain": "exp2"}),),
            ("What it calls MAP is the mean of P@1 to P@k: MeanP.",),
            was_run=False,
        ),
        Convention(
            "spark",
            "Spark, mllib RankingMetrics",
            "mllib/src/main/scala/org/apache/spark/mllib/evaluation/RankingMetrics.scala",
            (rule("P R", judging={"duplicates": "each"}, AP={"over": "reachable"}, nDCG=_BINARY),),
            (
                "A query without relevant documents counts 0.",
                "With grades, the ideal ranking is in the order in which they are given, not "
                "sorted: not imitated.",
            ),
            was_run=False,
        ),
        Convention(
            "quepid",
            "Quepid, the scorers of 2024",
            "db/scorers/*.js",
            (
                rule(
                    "AP RR",
                    nDCG={"gain": "exp2", "ideal": "uncut"},
                    DCG={"gain": "exp2"},
                    P={"over": "returned"},
                    ERR={"top": 3},
                ),
            ),
            ("Its nDCG has had several texts; of the latest, the ideal is not cut.",),
            was_run=False,
        ),
        Convention(
            "elasticsearch",
            "Elasticsearch and OpenSearch, _rank_eval; dcg with normalize",
            "the documentation of the Ranking evaluation API",
            (
                rule(
                    "R RR ERR",
                    nDCG={"gain": "exp2", "ideal": "returned"},
                    DCG={"gain": "exp2"},
                    P={"over": "returned"},
                ),
            ),
            ("ERR(top=3) is maximum_relevance 3; ignore_unlabeled is judged_only=True.",),
            was_run=False,
        ),
        Convention(
            "gdeval",
            "gdeval.pl 1.2, as ir_measures 0.4.3 has it",
            "bin/gdeval.pl",
            (
                rule(
                    judging={"queries": "relevant-and-retrieved"},
                    ERR={"top": 4},
                    nDCG={"gain": "exp2"},
                ),
            ),
            ("Each query's value is printed with five decimals, and the mean is that of these.",),
        ),
    )
}

_ALIASES = {
    "trec_eval-10": "trec_eval",
    "sklearn": "scikit-learn",
    "sbert": "sentence-transformers",
    "llama-index": "llamaindex",
    "microsoft-recommenders": "recommenders",
    "replay-rec": "replay",
    "opensearch": "elasticsearch",
}


def _normalize_name(name: str) -> str:
    return name.strip().lower().replace(" ", "-").replace("_", "-")


_NAME_OF_SPELLING = {_normalize_name(name): name for name in CONVENTIONS} | {
    _normalize_name(alias): name for alias, name in _ALIASES.items()
}


def find_convention(name: str) -> Convention:
    """Return the convention of a name; raise OptionError, with the nearest name, if none has it."""
    canonical_name = _NAME_OF_SPELLING.get(_normalize_name(name)) if isinstance(name, str) else None
    if canonical_name is None:
        spellings = [
            *_NAME_OF_SPELLING,
            *(spelling.partition("-")[0] for spelling in _NAME_OF_SPELLING),
        ]
        matches = list[str]()
        prefix = _normalize_name(str(name))[:20]
        for start in filter(None, (prefix, *nearest_words(prefix, spellings, 1, 0.5))):
            matches += [
                _NAME_OF_SPELLING[spelling]
                for spelling in _NAME_OF_SPELLING
                if spelling.startswith(start)
            ]
        guess = f" Did you mean {matches[0]!r}?" if matches else ""
        raise OptionError(f"convention={name!r:.80}: there are {', '.join(CONVENTIONS)}.{guess}")
    return CONVENTIONS[canonical_name]
