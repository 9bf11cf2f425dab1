"""Text environments behind one protocol, and the builders of games."""
