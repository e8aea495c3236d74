"""Runs the command line for `python -m cranfield`."""

from cranfield.cli import main

main()
