"""The game step by step, for training and for other people's loops: the same graph, calls and traces as a run's."""
