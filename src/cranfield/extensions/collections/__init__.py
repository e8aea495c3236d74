"""Collections: comparison of systems over several collections, each of which counts the same.

Not here: how systems are compared on one collection (comparison).
"""
