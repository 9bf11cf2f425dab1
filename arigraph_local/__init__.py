"""AriGraph world-model memory and the Ariadne agent on local models."""
