"""`kedi-compile demo`: a real Pydantic AI agent edits its history, offline, over a recorded exchange.

The exchange was recorded from a provider emulator that enforces the wire rules, not from the provider. So the demo
proves what is sent and that it is well-formed by those rules; it does not prove the provider's answers. The agent and
the Anthropic client are the real ones, `replay.py` stands where their network would be. `story.py` is the agent,
`performance.py` runs it and keeps what there is to see, `proof.py` compares, `show.py` draws.

`kedi-compile demo --dump FILE` lets another agent work whose requests are assembled and written down, over a recording
of its own: `desk.py` is what it works with, `desk_agent.py` runs it, `desk_proof.py` and `desk_show.py` do as above.

Needs the extra `kedi-compile[demo]`; importing this package alone needs nothing.
"""
