"""The wire rules of five provider APIs as pure validators over request bodies.

Each provider module has `RULES`, a tuple of small functions, and `check(body, ...)`, which returns the
refusals of all of them, first the one the provider would report. No HTTP, no clock, no framework: a
property test can judge thousands of bodies. The words of the refusals are data in `words.py`; servers that
use these rules are in `emulator`.
"""
