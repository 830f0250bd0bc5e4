"""Measurements with a table at the end; no test collects them."""
