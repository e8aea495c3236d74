"""Numbers only: rankings in flat columns, identifiers as words, arrays with their history."""
