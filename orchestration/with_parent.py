"""Processes that end with the one that started them, however that ends: by SIGKILL or for want of memory too."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
from collections.abc import Callable
from multiprocessing import parent_process

_SET_PARENT_DEATH_SIGNAL = 1
_LIBC = ctypes.CDLL(None)


def end_worker() -> None:
    """In a process of multiprocessing's: lets it end when the process that started it does; it would go on alone."""
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()


def before_exec() -> Callable[[], None]:
    """What a child of this process is to call before it becomes a server: SIGTERM comes to it when this process ends.

    On Linux alone, elsewhere it does nothing. To be started from the main thread: Linux sends the signal when the
    thread ends that forked the child. What the server has started itself is left to the server, as by any SIGTERM.
    """
    parent, is_linux = os.getpid(), hasattr(_LIBC, "prctl")

    def tie() -> None:
        if is_linux:
            _LIBC.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGTERM)
            if os.getppid() != parent:  # it ended before
                os._exit(1)

    return tie
