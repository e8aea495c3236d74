"""Systems compared over several collections, each of which counts the same."""
