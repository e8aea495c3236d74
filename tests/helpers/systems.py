"""Systems to compare: twelve of the shared data, and two small made-up runs."""

# TREC Deep Learning 2019
SYSTEMS = [
    *("ada2", "ada2-rankvicuna", "bm25", "bm25-rankgpt35", "bm25-rankvicuna", "bm25rm3"),
    *("bm25rm3-rankvicuna", "repllama", "splade", "splade-rankvicuna", "tasb", "tasb-rankvicuna"),
]

# Two systems, old and new, of which some queries have another value.
QRELS = {f"q{i}": {"a": 1, "b": i % 2} for i in range(12)}
RUNS = {
    "old": {query: ["x", "a", "b"] for query in QRELS},
    "new": {query: ["a", "x", "b"][: 1 + i % 3] for i, query in enumerate(QRELS)},
}
