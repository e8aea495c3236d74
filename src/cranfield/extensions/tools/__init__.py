"""Other tools' choices."""
