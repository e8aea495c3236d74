"""What results are shown with: tables, numbers in words, and the ways out of a result."""
