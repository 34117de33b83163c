"""Output that nobody needs to read, hidden."""

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TextIO


@contextlib.contextmanager
def silent(*streams: int) -> Iterator[TextIO]:
    """Hide what is written to 1, the output, or 2, the errors, by native code too;
    gives nowhere.

    Example: `with silent(2): import tensorflow`.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    copies = {stream: os.dup(stream) for stream in streams}
    try:
        with open(os.devnull, "w") as nowhere:
            for stream in copies:
                os.dup2(nowhere.fileno(), stream)
            yield nowhere
    finally:
        for stream, former in copies.items():
            os.dup2(former, stream)
            os.close(former)
