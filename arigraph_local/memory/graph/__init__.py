"""The graph itself: facts, intervals and episodes, kept in an embedded database."""
