"""Safe history editing for Pydantic AI: add `PydanticAdapter` to an agent's capabilities.

`to_model_messages` makes a compiled turn a message history.

Needs the extra `kedi-compile[pydantic-ai]`.
"""

from importlib.util import find_spec

if find_spec("pydantic_ai") is None:  # pragma: no cover  # the wheel check installs the core alone
    msg = "kedi_pydantic_ai needs Pydantic AI; install it with: pip install 'kedi-compile[pydantic-ai]'"
    raise ImportError(msg)

from kedi_pydantic_ai.adapter import PydanticAdapter
from kedi_pydantic_ai.conversation import messages_of
from kedi_pydantic_ai.dialect import PydanticDialect
from kedi_pydantic_ai.turn import to_model_messages

__all__ = ["PydanticAdapter", "PydanticDialect", "messages_of", "to_model_messages"]
