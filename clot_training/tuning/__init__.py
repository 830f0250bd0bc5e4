"""Training: weights, examples, the trainer, refinement."""
