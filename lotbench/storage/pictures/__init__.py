"""Picture files: reading, encoding and metadata."""
