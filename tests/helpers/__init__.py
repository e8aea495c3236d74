"""What several test files use: slow loops, test vectors, how a command is run."""
