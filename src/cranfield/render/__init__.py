"""How results are shown: tables, numbers in words, and the forms of output."""
