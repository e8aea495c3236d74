"""Adapters: objects of other packages' classes that compute with cranfield."""
