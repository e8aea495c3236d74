"""Labels: what people should label, how far they agree, and their labels beside a model's.

Not here: judgments in general, which are read and matched in data.
"""
