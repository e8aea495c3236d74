"""cranfield as a provider for ir_measures, and so for tools that use it: PyTerrier's Experiment."""

from cranfield.extensions.tools.adapters.ir_measures import *  # noqa: F403 - its names are found here
from cranfield.extensions.tools.adapters.ir_measures import __all__ as __all__
from cranfield.extensions.tools.adapters.ir_measures import __doc__ as __doc__  # noqa: A004 - for `help`
