"""Conversations under stress: many turns at once, some of which fail, in one process and in several.

    python -m benchmarks.stress [--smoke]

Every check is exact: the turns that were answered are all there, whole, once, and in the order they were asked in; of
the others nothing is. PostgreSQL takes part where `KEDI_POSTGRES` names a server.
"""
