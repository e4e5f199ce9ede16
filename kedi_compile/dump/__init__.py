"""What every request says about itself: the dump's form, its redaction, and the file it is appended to.

The names here are what users import; the rest of the room is its own.
"""

from .file import DumpFile
from .reading import Reading, read_dumps
from .redaction import Redact
from .schema import RequestDump

__all__ = ["DumpFile", "Reading", "Redact", "RequestDump", "read_dumps"]
