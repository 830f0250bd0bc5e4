"""Checking what measures: judges on labelled rows and on fillings of a run, samples on a model without pictures."""
