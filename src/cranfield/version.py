"""The version, which results carry in their recipe."""

__version__ = "0.1.0"
