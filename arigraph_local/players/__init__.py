"""Who plays an episode: Ariadne, a person, and the ceilings and floors to compare them with."""
