"""Passages, exits and routes, read from triplets."""
