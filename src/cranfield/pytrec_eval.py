"""`from cranfield import pytrec_eval`: replaces pytrec_eval, see `cranfield.compat`."""

from cranfield.compat.pytrec_eval import *  # noqa: F403 - all of its names
from cranfield.compat.pytrec_eval import __all__ as __all__
