"""Worlds whose truth is known, put to the very functions that reports use: `python -m tests.bench.truth` (docs/appendix/truth.md)."""
