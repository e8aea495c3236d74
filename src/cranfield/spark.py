"""`from cranfield import spark` evaluates DataFrames of Spark."""

from cranfield.extensions.scale.spark import *  # noqa: F403 - its names are found here
from cranfield.extensions.scale.spark import __all__ as __all__
from cranfield.extensions.scale.spark import __doc__ as __doc__  # noqa: A004 - for `help`
