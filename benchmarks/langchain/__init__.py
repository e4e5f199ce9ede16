"""LangChain: its messages, runs reduced to their hooks, what is configured, and the neighbours."""
