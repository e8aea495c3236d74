"""ScoringOptions: from judged rankings to scores, their bounds, and what `check` finds."""
