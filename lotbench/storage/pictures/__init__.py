"""Picture files: reading and encoding, duplicates, rendering of drawings, contact sheets."""
