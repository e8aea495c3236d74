"""What two runs, or two assessors, have in common."""
