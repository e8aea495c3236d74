"""Adapters: objects of other packages' classes that compute with cranfield.

Each module has the name of the package that it needs, and imports it; nothing else imports these.
"""
