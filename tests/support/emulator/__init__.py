"""A provider on this machine: scripted answers, real wire rules, three dialects.

`ProviderEmulator` serves Anthropic Messages, OpenAI Chat and OpenAI Responses on 127.0.0.1, each as JSON and
as a stream. It proves that a client sends what a provider accepts as far as `wire` knows its rules; it does
not prove the provider.
"""

from .dialect import Event
from .faults import Gate
from .provider import ProviderEmulator, Received
from .script import Answer, Call, Native, Part, Step, Stop, Text, Thinking, answer

__all__ = [
    "Answer",
    "Call",
    "Event",
    "Gate",
    "Native",
    "Part",
    "ProviderEmulator",
    "Received",
    "Step",
    "Stop",
    "Text",
    "Thinking",
    "answer",
]
