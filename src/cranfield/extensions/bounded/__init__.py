"""A test of means that holds for any number of queries."""
