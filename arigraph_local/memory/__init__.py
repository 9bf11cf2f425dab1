"""The AriGraph world model: semantic facts, episodes, and the search over both."""
