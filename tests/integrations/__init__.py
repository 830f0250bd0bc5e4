"""Tests of the exporters for other tools."""
