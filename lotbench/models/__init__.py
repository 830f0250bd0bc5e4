"""The kinds of models that answer requests: API servers, the embedded model, Python objects, recordings, people."""
