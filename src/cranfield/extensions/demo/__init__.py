"""The demonstration collection on the command line."""
