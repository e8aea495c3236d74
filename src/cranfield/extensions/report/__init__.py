"""The report, one page with everything that a comparison has; tables of papers; pictures.

Not here: results as tables of text (render), and how their numbers are computed (comparison).
"""
