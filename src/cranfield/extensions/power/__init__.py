"""How many queries, or seeds, an experiment needs; what a number of them can show."""
