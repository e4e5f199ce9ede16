"""Where conversations and archived exchanges are kept: a protocol, process memory, and SQL databases.

A store keeps bytes and knows nothing of what they mean. `SQLConversationStore` needs the extra `kedi-compile[stores]`
and is imported from `kedi_compile.stores.sql`.
"""
