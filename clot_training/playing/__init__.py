"""Training by playing: GRPO on whole games of lotbench, judged by whoever judges them."""
