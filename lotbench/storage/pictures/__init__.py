"""Picture files: reading and encoding, duplicates, contact sheets."""
