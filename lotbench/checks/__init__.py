"""What measures, measured: judges on labelled rows, labels from a run, samples tried on a model."""
