"""A model that an OpenAI-compatible server runs."""
