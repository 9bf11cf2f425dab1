"""Finding facts and episodes: embeddings, rankings, Algorithms 1 and 2."""
