"""What people should label: documents, or queries, that runs retrieved."""
