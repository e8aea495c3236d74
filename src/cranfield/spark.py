"""`from cranfield import spark` evaluates DataFrames of Spark, see `cranfield.engines.spark`."""

from cranfield.engines.spark import *  # noqa: F403 - its names are found here
from cranfield.engines.spark import __all__ as __all__
