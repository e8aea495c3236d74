"""Human labels: a few labels of people and many of a model make one estimate (prediction-powered).

Not here: which documents people should label, and collecting their labels (pools).
"""
