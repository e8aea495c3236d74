"""The real systems of the shared data: TREC Deep Learning 2019."""

SYSTEMS = [
    *("ada2", "ada2-rankvicuna", "bm25", "bm25-rankgpt35", "bm25-rankvicuna", "bm25rm3"),
    *("bm25rm3-rankvicuna", "repllama", "splade", "splade-rankvicuna", "tasb", "tasb-rankvicuna"),
]
