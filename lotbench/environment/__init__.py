"""The game step by step, for training and for other programs, with the graph, calls and traces of a run."""
