"""`from cranfield import pytrec_eval`: the stand-in for pytrec_eval, see `cranfield.compat`."""

from cranfield.compat.pytrec_eval import *  # noqa: F403 - as that is to be found here
from cranfield.compat.pytrec_eval import __all__ as __all__
