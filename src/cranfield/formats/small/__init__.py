"""Small tables, read whole by one reader: saved scores, labels, nuggets, rates, lists of grades."""
