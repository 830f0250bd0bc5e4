"""Every kind of model that can be asked: over HTTP, embedded, in process, recorded, a person."""
