"""cranfield as a provider for ir_measures, and so for tools that use it: PyTerrier's Experiment."""

from cranfield.extensions.tools.adapters.ir_measures import *  # noqa: F403 - its names are found here
from cranfield.extensions.tools.adapters.ir_measures import __all__ as __all__
