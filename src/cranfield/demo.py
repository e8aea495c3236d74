"""The demonstration collection: questions to Python's standard library, ranked by four systems."""

from cranfield.extensions.demo import *  # noqa: F403 - its names are found here
from cranfield.extensions.demo import __all__ as __all__
from cranfield.extensions.demo import __doc__ as __doc__  # noqa: A004 - for `help`
