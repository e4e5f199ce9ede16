"""Safe history editing for LangChain and LangGraph: wrap a chat model, or add a middleware to an agent.

`to_messages` makes a compiled turn the input of a model.

Needs the extra `kedi-compile[langchain]`.
"""

from importlib.util import find_spec

if find_spec("langchain") is None:  # pragma: no cover  # the wheel check installs the core alone
    msg = "kedi_langchain needs LangChain; install it with: pip install 'kedi-compile[langchain]'"
    raise ImportError(msg)

from kedi_langchain.adapter import LangChainAdapter
from kedi_langchain.conversation import messages_of
from kedi_langchain.dialect import LangChainDialect
from kedi_langchain.turn import to_messages

__all__ = ["LangChainAdapter", "LangChainDialect", "messages_of", "to_messages"]
