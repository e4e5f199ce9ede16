"""One refused request, as a value.

A refusal names the provider, the rule that was broken and the words the provider answers with. The
validators return refusals and never raise them; an HTTP server turns the first one into a response.
The words themselves live in `words.py`.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Refusal:
    """A rule that a request body breaks, with the answer the provider gives."""

    provider: str
    rule: str
    message: str
    status: int = 400
    code: str | None = None
