"""Seeds: comparison of systems that have several runs, trained with different seeds."""
