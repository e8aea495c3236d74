"""A stand-in for pytrec_eval: change the import, keep the code."""

from cranfield.extensions.tools.compat.pytrec_eval import *  # noqa: F403 - its names are found here
from cranfield.extensions.tools.compat.pytrec_eval import __all__ as __all__
from cranfield.extensions.tools.compat.pytrec_eval import __doc__ as __doc__  # noqa: A004 - for `help`
