"""Why a score is what it is: the measure itself, run on values that remember how they were made.

And which queries or documents make a mean or a difference. Nothing else belongs here: what other
orders would give, an extension adds (`Remark`).
"""
