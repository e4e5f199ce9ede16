"""What tracing sees of a request: a span around its history processing."""
