"""Runs: planning, playing, results, rescoring, comparison."""
