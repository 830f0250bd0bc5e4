"""LoTbench: a game in which a model guesses the masked part of a funny response to a picture (paper, Sec. 5)."""
