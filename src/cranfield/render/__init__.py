"""How results are shown: tables, numbers in words, and the forms of output.

Nothing of evaluation belongs here: which columns a table has, its owner says.
"""
