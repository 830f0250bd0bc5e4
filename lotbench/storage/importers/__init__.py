"""Data of others, turned into data sets."""
