"""Labels: what people should label (pools), how far they agree (assessors), and what a few of
their labels say beside many of a model (human).

Not here: judgments in general, which are read and matched in data.
"""
