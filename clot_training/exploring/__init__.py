"""Exploration: responses under weakly associated conditions, of which those are kept that win (Sec. 5.2.2)."""
