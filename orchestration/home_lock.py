"""The lock of `emds up`: one at a time runs over a home. Its file says the holder's process id."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from warehouse import layout
from warehouse.errors import StorageError, as_storage_error


@contextmanager
def held(local: Path) -> Iterator[None]:
    """Holds the lock of a home's local folder; a process that ends frees it, however it ends.

    Raises StorageError where another process holds it, or the folder cannot be written.
    """
    file = local / layout.UP_LOCK
    try:
        stream = file.open("a+")
    except OSError as error:
        raise as_storage_error(error) from None
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            stream.seek(0)
            holder = stream.read(20).strip()
            named = f", process {holder}" if holder.isdigit() else ""
            raise StorageError(f"emds up runs over {local} already{named}") from None
        except OSError as error:
            raise StorageError(f"{file} cannot be locked: {error.strerror}") from None
        # Removed by nobody: whoever waited on a removed file would hold a lock that the next one does not see.
        os.ftruncate(stream.fileno(), 0)
        stream.write(f"{os.getpid()}\n")
        stream.flush()
        yield
