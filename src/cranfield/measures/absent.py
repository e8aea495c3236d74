"""Absent measures: what a name means that is no measure here, and what comes nearest to it."""

import re
from dataclasses import dataclass

from cranfield.errors import MeasureError, nearest_words
from cranfield.measures.registry import DEFINITIONS, VARIANTS, find_variant, strip_library_words


@dataclass(frozen=True)
class Absent:
    """Measures of one kind that are not here: their names, what they are, and what to do.

    `pattern` is a regular expression over a name in lower case without `-` and `_`.
    """

    pattern: str
    meaning: str
    advice: str


def describe_absent(name: str) -> str | None:
    """Return the meaning of a measure that is not here, and what to do; None for an unknown name.

    The name is one that `registry.strip_library_words` returns.

    >>> describe_absent("bleu")
    'it compares the text of an answer with a reference. cranfield scores rankings. Judged nuggets \
of answers: `cranfield nuggets`.'
    """
    for kind in _ABSENT_MEASURES:
        if re.fullmatch(kind.pattern, name):
            return f"{kind.meaning}. {kind.advice}"
    return None


def unknown_measure_error(name: str, text: str) -> MeasureError:
    """Return the error of a name that is no measure: what it is elsewhere, or the nearest names.

    >>> str(unknown_measure_error("NDGC", "NDGC@10"))
    "unknown measure 'NDGC@10'. Did you mean nDCG@10 or RnDCG? `cranfield measures` lists them all."
    """
    bare_text = text.removesuffix("@")
    variant = find_variant(bare_text)
    if bare_text != text and variant is not None:
        definition = DEFINITIONS[variant[0]]
        if definition.cutoff == "none":
            return MeasureError(f"{text!r}: {bare_text} takes no cutoff: leave out @")
        point = "0.1" if definition.cutoff_kind == "recall" else "10"
        return MeasureError(f"{text!r}: there is no number behind @, as in {bare_text}@{point}")
    first, at, second = text.rpartition("@")
    if at and "@" in first and find_variant(first.partition("@")[0]) is not None:
        return MeasureError(
            f"{text!r} has two cutoffs: write {first}, or {first.partition('@')[0]}@{second}"
        )
    description = describe_absent(strip_library_words(name))
    if description is not None:
        return MeasureError(f"{text!r} is no measure here: {description}")
    spellings = nearest_words(strip_library_words(name), VARIANTS)
    near_names = dict.fromkeys(VARIANTS[spelling][0] for spelling in spellings)
    cutoff = text.removeprefix(name)
    cutoff_text = cutoff if cutoff.startswith("@") and cutoff[1:].isdecimal() else ""
    suggestions = (
        candidate if DEFINITIONS[candidate].cutoff == "none" else candidate + cutoff_text
        for candidate in near_names
    )
    guess = f" Did you mean {' or '.join(suggestions)}?" if near_names else ""
    return MeasureError(f"unknown measure {text!r}.{guess} `cranfield measures` lists them all.")


_JUDGED_BY_MODEL = "a language model judges the text of an answer or of what was retrieved"
_NEAREST = "Nearest, by `cranfield describe`, are"

_ABSENT_MEASURES = (
    Absent(
        "(llm|nonllm)?context(ual)?precision(withoutreference|withreference)?",
        "in RAG tools, a language model judges which retrieved contexts are relevant, and the "
        "average precision of its verdicts is taken, divided by what was found",
        "With judged ids that is AP(over='retrieved'); ragas' IDBasedContextPrecision is SetP.",
    ),
    Absent(
        "(llm|nonllm)?context(ual|entity|entities)?recall",
        "in RAG tools, a language model judges which statements of the reference answer the "
        "retrieved texts support",
        "With judged ids the nearest is R@k, or SetR over everything retrieved (ragas' "
        "IDBasedContextRecall); with judged nuggets, `cranfield nuggets`.",
    ),
    Absent(
        "m?apk",
        "in ml_metrics, it is the average precision of the first k, divided by min(R, k) of R "
        "relevant documents",
        "Here it is AP(over='reachable')@k: (AP(over='reachable')@10)(actual, predicted) of one "
        "list, evaluate(actual, predicted, \"AP(over='reachable')@10\") of lists of lists.",
    ),
    Absent(
        "idbasedcontextprecision",
        "ragas' share of the retrieved ids that are relevant",
        "It is SetP, or P@k for the first k.",
    ),
    Absent(
        "idbasedcontextrecall",
        "ragas' share of the relevant ids that were retrieved",
        "It is SetR, or R@k for the first k.",
    ),
    Absent(
        "context(ual)?(relevance|relevancy|utilization)|noisesensitivity",
        f"in RAG tools, {_JUDGED_BY_MODEL}",
        "With judged ids the nearest is SetP, or P@k for the first k.",
    ),
    Absent(
        "faithfulness|groundedness|hallucination|factualcorrectness|answercorrectness|correctness"
        "|answer(semantic)?similarity|answer(relevancy|relevance|accuracy)|response(relevancy|"
        "relevance|groundedness)|relevancy|toxicity|helpfulness|coherence|summarization",
        f"{_JUDGED_BY_MODEL}, and the value changes with the model",
        "cranfield scores rankings by judgments from a file. Judged nuggets of answers: "
        "`cranfield nuggets`; the retrieval before them: R@k, nDCG@k.",
    ),
    Absent(
        "bleu|rouge[12l]?|meteor|bert|exactmatch|em",
        "it compares the text of an answer with a reference",
        "cranfield scores rankings. Judged nuggets of answers: `cranfield nuggets`.",
    ),
    Absent(
        "userspacecoverage|(prediction|distinct)(space)?coverage|icov|ucov|space?coverage|mad|aclt|"
        "historicalitemnovelty|selfinformation|ils|popularity(bias)?|"
        "(aggregate)?diversity|(intralist|categorical|aggregate)?similarity|shannonentropy|"
        "intersection",
        "of lists, without judgments, there are Coverage, UserCoverage, Gini, Entropy, ARP, APLT, "
        "Novelty, ILD, Categories, Unexpectedness and others",
        "`cranfield describe` computes them. RecBole's ShannonEntropy is Entropy ln 2 / distinct "
        "items, Evidently's Diversity ILD (n - 1) / 2, RecTools' Intersection 1 - Unexpectedness.",
    ),
    Absent(
        "(pop)?(rsp|reo)",
        "RSP and REO compare groups of items, popular and not: the spread of the shares that are "
        "recommended, or of the relevant ones that are (population sd / mean)",
        f"They are not computed. {_NEAREST} APLT and PopLift.",
    ),
    Absent(
        "epc|efd",
        "the discounted popularity complement, 1 - users / U, or self-information of relevant "
        "items (Vargas & Castells)",
        f"They are not computed. {_NEAREST} Novelty, and Serendipity for relevant items.",
    ),
    Absent(
        "(expected)?exposure|ee[dr]|expectedexposure(disparity|relevance)",
        "EE-D, the disparity, and EE-R, the relevance, are parts of the expected exposure",
        "They are not computed; EEL, the loss, is EE-D - 2 EE-R + R target^2.",
    ),
    Absent(
        "(un)?fairness.*|biasdisparity.*|disparity|awrf|attentionweightedrankfairness|"
        "demographicparity|equalopportunity",
        "how a list shares its places among groups of items or users; AWRF is 1 - the "
        "Jensen-Shannon divergence of a target and the list",
        "It is not computed: EEL is the unfairness among relevant documents; Calibration compares "
        "categories with the history; of groups of users, `compare(..., slices=...)`.",
    ),
    Absent(
        "kl(divergence)?|(jensenshannon|js)d?(divergence)?",
        "how far the shares of categories in a list are from those in what the user liked",
        "It is Calibration, or Calibration(distance='js').",
    ),
    Absent(
        "accuracy|acc",
        "the name has two meanings",
        "The share of queries with a relevant document in the first k (BEIR, sentence-transformers)"
        " is Success@k; the probability that a relevant document is above one that is not "
        "(ir_measures) is AUC.",
    ),
    Absent(
        "hits",
        "the name has two meanings",
        "The share of queries with a relevant document in the first k (Hits@10) is Success@k; the "
        "number of relevant documents retrieved (ranx) is NumRelRet, and k * P@k in the first k.",
    ),
    Absent(
        "f1?beta",
        "the name does not tell how much more recall counts than precision",
        "F(beta=2)@k says it; F@k is F1.",
    ),
    Absent(
        "hole",
        "BEIR's share of the first k documents that are judged for no query at all",
        "Nearest is Unjudged@k: the share that is not judged for the query.",
    ),
    Absent(
        "umeasure", "it is a user model of C/W/L here, which reads costs from the run", "Write U."
    ),
    Absent(
        "coverageerror",
        "scikit-learn's mean rank of the last relevant label",
        "With everything ranked that is LastRel.",
    ),
    Absent(
        "labelrankingloss",
        "scikit-learn's share of pairs in the wrong order",
        "With everything ranked and judged, and no equal scores, that is 1 - AUC.",
    ),
    Absent(
        "(precisionrecallcurve|recallatfixedprecision)(at.*)?",
        "it is a curve, or a point of one, and no number for each query",
        "`P@1..100 R@1..100` is the curve by rank, IPrec@0.1 precision at a recall, and "
        "`cranfield figure precision-recall` draws it.",
    ),
    Absent(
        "prauc|aucpr|auprc",
        "the area under the curve of precision and recall",
        "AP is that area, as a sum over the relevant documents (scikit-learn's "
        "average_precision_score).",
    ),
    Absent(
        "gauc",
        "it is RecBole's mean of the AUC of each user, weighted by how many items the user likes",
        "It is not computed: AUC is the same for each query, and its mean is not weighted.",
    ),
    Absent(
        "nauc.*|pmrr|robustness|main",
        "MTEB computes it of several evaluations, or names one of its measures by it",
        "The main score of its retrieval tasks is nDCG@10, of robustness the lowest of groups of "
        "queries: `compare(..., slices=...)`.",
    ),
    Absent(
        "all(trec|prefs)?|official|set|qrelsjg",
        "it is trec_eval's name for a list of measures",
        "`cranfield trec-eval` prints them (-m official, -m all_trec); `cranfield measures` lists "
        "all there are.",
    ),
    Absent(
        "mse|rmse|mae|rsquared|r2|explainedvariance|mcc|logloss|loss",
        "it compares predicted numbers with true ones, not rankings",
        "Of rankings by these numbers: nDCG@k, AP, AUC.",
    ),
)
