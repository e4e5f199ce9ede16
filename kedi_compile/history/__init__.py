"""Editing one request's history: groups, protection, callbacks, rules, and the flow that proves an edit."""
