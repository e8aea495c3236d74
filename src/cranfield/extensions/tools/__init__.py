"""Other tools: numbers as they compute them, and stand-ins for their commands and functions.

Not here: the formats of other tools' files (formats).
"""
