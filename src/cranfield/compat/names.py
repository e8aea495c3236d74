"""trec_eval's measures: their names, in its order, and the measure that each name means here."""

from cranfield.extensions.tools.compat.names import *  # noqa: F403 - its names are found here
from cranfield.extensions.tools.compat.names import __all__ as __all__
from cranfield.extensions.tools.compat.names import __doc__ as __doc__  # noqa: A004 - for `help`
