"""Collections: comparison of systems over several collections, each of which counts the same."""
