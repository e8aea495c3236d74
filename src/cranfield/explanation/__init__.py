"""Why a score is what it is: the measure itself, run on values that remember how they were made.

What is said of a score beyond its computation, such as other orders, is a `Remark` of an extension.
"""
