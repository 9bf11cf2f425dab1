"""Model files: the catalogue, fetching, checking, reading GGUF headers."""
