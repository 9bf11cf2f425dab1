"""From an observation to triplets: extraction, outdated facts, entities."""
