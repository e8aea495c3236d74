"""Pictures: of systems that were compared, and of measures. Each gives the numbers in it, too."""

from cranfield.extensions.report.figures import *  # noqa: F403 - its names are found here
from cranfield.extensions.report.figures import __all__ as __all__
from cranfield.extensions.report.figures import __doc__ as __doc__  # noqa: A004 - for `help`
