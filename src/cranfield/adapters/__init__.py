"""Where other packages are plugged in: an object of theirs that cranfield computes.

Each module is named as the package that it needs, and imports it; nothing else imports these.
"""
