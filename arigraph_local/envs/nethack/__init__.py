"""NetHack as a text game: skills that run many game steps, and observations in words."""
