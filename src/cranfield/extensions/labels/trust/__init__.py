"""Trust: how far the labels of a model go, by those of people: orders, numbers and agreement."""
