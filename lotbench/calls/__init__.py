"""The path of a model call: caller, budget, journal, store, prices, connection test; also embeddings and footprint."""
