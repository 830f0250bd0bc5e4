"""Benches: scripts that print figures; no test runs them."""
