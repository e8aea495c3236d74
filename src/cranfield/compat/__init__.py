"""Public paths of the stand-ins for other tools, which `extensions.tools.compat` has; no code."""
