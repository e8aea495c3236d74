"""An evaluator for sentence-transformers: scores a model, or its checkpoints during training."""

from cranfield.extensions.tools.adapters.sentence_transformers import *  # noqa: F403 - its names are found here
from cranfield.extensions.tools.adapters.sentence_transformers import __all__ as __all__
from cranfield.extensions.tools.adapters.sentence_transformers import __doc__ as __doc__  # noqa: A004 - for `help`
