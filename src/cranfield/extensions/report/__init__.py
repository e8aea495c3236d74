"""The report: one page with everything that a comparison has.

Not here: results as tables of text (render), and how their numbers are computed (comparison).
"""
