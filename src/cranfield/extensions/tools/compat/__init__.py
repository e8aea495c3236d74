"""Stand-ins for other tools: trec_eval's command, and its Python binding pytrec_eval."""
