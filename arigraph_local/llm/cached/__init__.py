"""Replies given again to equal requests."""
