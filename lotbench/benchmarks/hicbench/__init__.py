"""HIC-Bench: answers to open scientific tasks, judged as intelligent hallucinations, defective ones, or neither."""
