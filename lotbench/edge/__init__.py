"""The edge: the only code that touches network or disk."""
