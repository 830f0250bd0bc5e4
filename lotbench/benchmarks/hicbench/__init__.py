"""HIC-Bench: ten answers to an open task, and how many of them are fruitful or faulty inventions."""
