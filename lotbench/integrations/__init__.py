"""Runs and games for other tools: the Hugging Face hub, inspect_ai, TRL; the rest of lotbench does not depend on them."""
