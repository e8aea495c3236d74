"""Labels: what people should label, the labels that they gave, and how far they agree."""
