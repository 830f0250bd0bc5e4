"""Checks of judges on labelled rows, and people's labels on the answers and verdicts of a run."""
