"""Pages that are served: runs, games, play, vote, review."""
