"""Seeds: comparison of systems that have several runs, trained with different seeds.

Not here: how many seeds an experiment needs (power).
"""
