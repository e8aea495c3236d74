"""A few labels of people beside many of a model: one estimate of both (prediction-powered)."""
