"""Pydantic AI: its messages, a run reduced to its hooks, what is configured, and the neighbours."""
