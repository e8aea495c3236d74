"""The report: one page with everything that a comparison has."""
