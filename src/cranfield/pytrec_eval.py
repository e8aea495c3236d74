"""`from cranfield import pytrec_eval` takes the place of pytrec_eval."""

from cranfield.extensions.tools.compat.pytrec_eval import *  # noqa: F403 - its names are found here
from cranfield.extensions.tools.compat.pytrec_eval import __all__ as __all__
from cranfield.extensions.tools.compat.pytrec_eval import __doc__ as __doc__  # noqa: A004 - for `help`
