"""Many requests at once on one llama.cpp context."""
