"""What the lists of a run are like, beyond accuracy: `describe`, and its measures."""
