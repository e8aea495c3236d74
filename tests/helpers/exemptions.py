"""Which of the properties in test_properties do not hold of which measures, and why.

`... at k`: of the measure where it is cut; `... with own gains`: where grades have gains of one's
own; `... with p given`: with another value of the parameter p; `... with p='x'`: with 'x'. Why a
perfect ranking may have less than 1 is explained by the measures themselves, as `explain` shows it;
only the cases that have parameters are here.
"""

from cranfield import Measure

ZERO_GAINS = "grade 0 may be worth something"
COSTS = "a grade may cost something, and then a ranking may be below 0"
BY_N = "it is divided by what was retrieved, unjudged or not"
BY_K = "it is divided by k, no matter what was retrieved"
ENDLESS = "retrieving anything more lowers precision: unjudged counts as not relevant"
OTHERS = "ETU, EC, ETC and ED depend on what is looked at, not on relevance alone"
BY_BEST_K = "it is divided by what k documents could be worth"
DISCOUNTS = {
    "unjudged documents at the end with discount='linear'": "it knows the end of the ranking",
    "cutoff beyond the depth with discount='linear'": "it knows the cutoff",
    "best first is best with discount='ln'": "rank 2 counts more than rank 1: 1 / ln 2 is above 1",
}

EXEMPT: dict[str, dict[str, str]] = {
    "Compat": {
        "perfect is 1 with normalize given": "then only an endless ideal could reach 1",
    },
    "GAP": {
        "perfect is 1 with share given": "nobody may take the highest grade there is for relevant",
    },
    "Judged": {
        "unjudged documents at the end": "they are what it counts",
        "0 without relevant documents": "it counts judgments of any grade",
    },
    "Unjudged": {
        "cutoff beyond the depth": BY_K,
        "unjudged documents at the end": "they are what it counts",
        "0 without relevant documents": "it counts what has no judgment",
    },
    "RelString": {
        "range": "it is a string",
        "unjudged documents at the end": "it shows them",
        "0 without relevant documents": "it is a string",
        "0 without results": "it is a string, and empty",
    },
    "CWL": {
        "perfect is 1": "users also look at ranks where the judgments have nothing more to gain",
        "best first is best": "a user who stops at what it finds may gain more, and spends less",
        "cutoff beyond the depth": "it is divided by k, no matter what was retrieved; "
        "and the parameter depth says how many ranks there are",
        "0 without relevant documents with value given": OTHERS,
        "0 without results with value given": OTHERS,
        "0 without relevant documents with unjudged given": "what is not judged may gain",
        "0 without results with unjudged given": "what is not judged may gain",
    },
    "alpha_DCG": {
        "cutoff beyond the depth": BY_BEST_K,
    },
    "ERR_IA": {
        "cutoff beyond the depth": BY_BEST_K,
    },
    "P_IA": {
        "cutoff beyond the depth": BY_K,
    },
    "D_nDCG": {
        "range": "the ideal is added up in another order, and the value may end an ulp above 1",
    },
    "Dsharp_nDCG": {
        "range": "D_nDCG is rounded: the value may end an ulp above 1",
    },
    "nDCG": {
        **DISCOUNTS,
        "range with own gains": COSTS,
        "0 without relevant documents with own gains": ZERO_GAINS,
        "range with discount='ln'": "the ideal has the best at rank 1, where rank 2 counts more",
        "unjudged documents at the end with ideal='top'": "it goes on to the last retrieved",
        "unjudged documents at the end with ideal='returned'": BY_N,
        "cutoff beyond the depth with ideal='top'": "it goes on to the cutoff",
        "perfect is 1 with ideal='top'": "there are fewer documents of the top grade",
    },
    "DCG": {
        "perfect is 1": "it is not normalized: its maximum depends on the judgments",
        **DISCOUNTS,
        "range with own gains": "a grade may cost something, and then the sum may be below 0",
        "0 without relevant documents with own gains": ZERO_GAINS,
    },
    "IDCG": {
        **DISCOUNTS,
        "0 without relevant documents with own gains": ZERO_GAINS,
        "0 without results": "it looks at the judgments, retrieved or not",
        "0 without relevant documents with ideal='top'": "the top grade is the collection's",
        "unjudged documents at the end with ideal='top'": "it goes on to the last retrieved",
        "unjudged documents at the end with ideal='returned'": BY_N,
        "cutoff beyond the depth with ideal='top'": "it goes on to the cutoff",
    },
    "nDCG_rel": {
        "range with own gains": COSTS,
        "0 without relevant documents with own gains": ZERO_GAINS,
    },
    "RnDCG": {
        "range with own gains": COSTS,
        "unjudged documents at the end": "trec_eval looks at the end of the ranking, too, "
        "if it is long enough",
    },
    "G": {
        "range with own gains": COSTS,
        "perfect is 1 with own gains": "a rank costs 1 where the ideal gains less",
        "0 without relevant documents with own gains": ZERO_GAINS,
    },
    "GroupP": {
        "cutoff beyond the depth": BY_K,
    },
    "GroupRprec": {
        "perfect is 1 with multiple given": "fewer or more ranks than relevant documents",
    },
    "NumPrefs": {
        "0 without results": "it counts judgments, retrieved or not",
    },
    "Q": {
        "0 without relevant documents with own gains": ZERO_GAINS,
    },
    "O_measure": {
        "0 without relevant documents with own gains": ZERO_GAINS,
    },
    "P_measure": {
        "0 without relevant documents with own gains": ZERO_GAINS,
    },
    "Pplus": {
        "0 without relevant documents with own gains": ZERO_GAINS,
    },
    "NCU": {
        "0 without relevant documents with own gains": ZERO_GAINS,
        "perfect is 1 with own gains": "what gains something may have a weight of 0 in `stops`",
    },
    "P": {
        "cutoff beyond the depth": BY_K,
        "unjudged documents at the end with over='returned'": BY_N,
    },
    "MeanP": {
        "cutoff beyond the depth": BY_K,
    },
    "RR": {
        "best first is best with over='hits'": "one more that is found may lower the mean",
    },
    "AP": {
        "unjudged documents at the end with over='returned'": BY_N,
        "cutoff beyond the depth with over='cutoff'": BY_K,
    },
    "F": {
        "cutoff beyond the depth": "P@k is divided by k, no matter what was retrieved",
    },
    "Rprec": {
        "perfect is 1 with multiple given": "fewer or more ranks than relevant documents",
    },
    "YAAP": {
        "perfect is 1": "it is a log odds: a perfect ranking has ln(1 + R)",
        "0 without results": "it is ln(1 / (1 + R)) there",
    },
    "AUC": {
        "unjudged documents at the end": "they count as nonrelevant: more pairs in order",
    },
    "FallOut": {
        "unjudged documents at the end": "they are read in vain, too",
        "0 without relevant documents": "there is all the more to be read in vain",
    },
    "WSS": {
        "unjudged documents at the end": "they are spared: the more there are, the more is saved",
        "0 without results": "a system that finds nothing saves nothing: it is x - 1",
        "0 without relevant documents": "there is nothing to find: it is x",
    },
    "SearchLength": {
        "unjudged documents at the end": "where there are too few relevant ones, they are read",
        "0 without relevant documents": "everything retrieved is read in vain",
    },
    "SetP": {
        "unjudged documents at the end": ENDLESS,
    },
    "SetF": {
        "unjudged documents at the end": ENDLESS,
    },
    "SetAP": {
        "unjudged documents at the end": ENDLESS,
    },
    "SetRelP": {
        "unjudged documents at the end": "they raise the number that could be relevant",
    },
    "Utility": {
        "perfect is 1": "it has no maximum",
        "unjudged documents at the end": "they are retrieved, too, and may cost",
        "0 without relevant documents": "what was retrieved nevertheless may cost",
        "0 without results with weights given": "what was missed may cost",
    },
    "NumQ": {
        "0 without relevant documents": "it counts the query anyway",
        "0 without results": "it counts the query anyway",
    },
    "NumRet": {
        "unjudged documents at the end": "they are retrieved, too",
        "0 without relevant documents": "it counts what was retrieved nevertheless",
    },
    "NumRel": {
        "0 without results": "it counts judgments, retrieved or not",
    },
    "NumNonRelRet": {
        "0 without relevant documents": "it counts those that are not relevant",
    },
    "RBP": {
        "0 without relevant documents with own gains": ZERO_GAINS,
    },
    "RBPResidual": {
        "range": "its weights are added up and rounded: it may end an ulp above 1",
        "unjudged documents at the end": "it counts them instead of what is beyond the end",
        "0 without relevant documents": "it counts what has no judgment",
        "0 without results": "nothing is known then: it is 1",
    },
    "EEL": {
        "unjudged documents at the end": "they are seen, too",
        "0 without relevant documents": "what is seen then should not be",
        "0 without results": "the relevant documents are not seen then",
    },
}


def exempt_reasons(measure: Measure) -> dict[str, str]:
    """Return {property that a measure need not have: the reason}, for any parameters."""
    reason_of_property = dict(EXEMPT.get(measure.name, {}))
    definition = measure.definition
    if definition.higher_is_better is not True or definition.aggregation in ("sum", "none"):
        reason_of_property["perfect is 1"] = "it is a count or a text, or not the higher the better"
    for reason in measure.imperfect:
        reason_of_property["perfect is 1"] = reason
    return reason_of_property


def find_exemptions(measure: Measure, property_name: str) -> list[str]:
    """Return the names of the exemptions of a property that apply to a measure's parameters."""
    defaults = measure.definition.defaults
    changed_parameters = {
        k: value for k, value in measure.parameters.items() if value != defaults[k]
    }
    has_own_gains = isinstance(measure.parameters.get("gain"), dict)
    possible_names = [
        property_name,
        *[f"{property_name} at k"] * (measure.cutoff is not None),
        *[f"{property_name} with own gains"] * has_own_gains,
        *(f"{property_name} with {parameter} given" for parameter in changed_parameters),
        *(
            f"{property_name} with {parameter}={value!r}"
            for parameter, value in changed_parameters.items()
        ),
    ]
    return [name for name in possible_names if name in exempt_reasons(measure)]
