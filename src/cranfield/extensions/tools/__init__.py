"""Other tools: numbers as they compute them, and stand-ins for their commands and functions."""
