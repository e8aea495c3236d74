"""trec_eval: its measures, with its names, order and printed form."""

from cranfield.extensions.tools.compat.trec_eval import *  # noqa: F403 - its names are found here
from cranfield.extensions.tools.compat.trec_eval import __all__ as __all__
from cranfield.extensions.tools.compat.trec_eval import __doc__ as __doc__  # noqa: A004 - for `help`
