"""Metrics, intervals and tests on arrays, independent of any benchmark."""
