"""The door of the compiler: values of the types it knows, and no others.

Texts are looked at in `wording.py`; which inputs there are at all is in `inputs.py`. Source: Assembly specification,
Inputs to the compiler.
"""

from __future__ import annotations

from typing import TypeVar

from kedi_compile.errors import UnknownInputError

T = TypeVar("T")


def typed(value: object, kind: type[T], where: str) -> T:
    """Return the value, which is of `kind`.

    Raises:
        UnknownInputError: it is of another type; the message says `where`.
    """
    if not isinstance(value, kind):
        msg = f"{where} was given {type(value).__name__}; it takes {kind.__name__}, and nothing else"
        raise UnknownInputError(msg)
    return value
