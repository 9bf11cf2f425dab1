"""The memories that AriGraph is compared with, one module each, behind the agent's protocol."""
