"""Adapters for other packages, under their public paths; code belongs to `extensions.tools`."""
