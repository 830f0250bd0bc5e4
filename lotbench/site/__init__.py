"""The web pages that lotbench serves: runs and their games, play, vote, review."""
