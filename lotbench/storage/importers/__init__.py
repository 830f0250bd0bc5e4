"""Importers that turn published data into data sets."""
