"""Systems of several runs, trained with other seeds."""
