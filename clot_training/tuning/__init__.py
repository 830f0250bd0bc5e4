"""Tuning: the base model's weights, training examples, the trainer, stage 2, and publishing."""
