"""Bodies of objects in a folder of this machine, each under its key with its tag; bounded, for many processes.

Nothing here is needed: what cannot be written is not kept, what does not check is not used, and it may be emptied at
any time. Its folder is for its owner alone, since it holds what the bucket holds.
"""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
import struct
import time
import zlib
from contextlib import suppress
from pathlib import Path

_HEAD = struct.Struct("<4sIH")
_MARK = b"EMB1"
_USED_S = 60.0
"""The time of a body's last use is right to so many seconds."""
_SCRATCH = "scratch-"


class BodyCache:
    """At most about `limit_bytes`, the longest unused given up first."""

    def __init__(self, folder: Path, limit_bytes: int) -> None:
        self._folder = folder
        self._limit_bytes = limit_bytes
        self._written = 0
        self._refused = False

    @property
    def keeps(self) -> bool:
        """Whether anything is kept at all, as far as is known."""
        return self._limit_bytes > 0 and not self._refused

    def get(self, key: str, tag: dict[str, str]) -> bytes | None:
        """The bytes of a key under this tag; None where others, or none, lie here."""
        try:
            with open(self._path(key), "rb") as file:
                stored = file.read()
                if time.time() - os.fstat(file.fileno()).st_mtime > _USED_S:
                    os.utime(file.fileno())
            mark, check, size = _HEAD.unpack_from(stored)
        except (OSError, struct.error):
            return None
        start = _HEAD.size + size
        if mark != _MARK or stored[_HEAD.size : start] != _text(tag):
            return None
        body = stored[start:]
        return body if zlib.crc32(body) == check else None

    def part(self, key: str, tag: dict[str, str], start: int, length: int) -> bytes | None:
        """Some bytes of a key under this tag, unchecked; None where others, or none, lie here."""
        text = _text(tag)
        try:
            with open(self._path(key), "rb", buffering=0) as file:
                head = os.pread(file.fileno(), _HEAD.size + len(text), 0)
                mark, _, size = _HEAD.unpack_from(head)
                if mark != _MARK or size != len(text) or head[_HEAD.size :] != text:
                    return None
                if time.time() - os.fstat(file.fileno()).st_mtime > _USED_S:
                    os.utime(file.fileno())
                return os.pread(file.fileno(), length, len(head) + start)
        except (OSError, struct.error):
            return None

    def put(self, key: str, tag: dict[str, str], body: bytes) -> None:
        """Keeps bytes; does nothing where this machine refuses."""
        text = _text(tag)
        if self._limit_bytes <= 0 or len(body) > self._limit_bytes // 8:
            return
        path = self._path(key)
        scratch = f"{self._folder}/{_SCRATCH}{os.getpid()}-{secrets.token_hex(6)}"
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            with open(scratch, "xb") as file:
                file.write(_HEAD.pack(_MARK, zlib.crc32(body), len(text)) + text + body)
            os.replace(scratch, path)
        except OSError as error:
            _remove(scratch)  # half a body on a full disk
            self._say(error)
            return
        self._written += len(body)
        if self._written > self._limit_bytes // 8:
            self.sweep()

    def forget(self, key: str) -> None:
        """Removes the bytes of a key."""
        _remove(self._path(key))

    def sweep(self) -> int:
        """Removes what has been unused longest until seven eighths of the bound are left; returns how many went."""
        self._written = 0
        files = []
        for folder, _, names in os.walk(self._folder):
            for name in names:
                try:
                    status = os.stat(f"{folder}/{name}")
                except OSError:
                    continue
                if name.startswith(_SCRATCH) and time.time() - status.st_mtime < 3600:
                    continue
                files.append((status.st_mtime, status.st_size, f"{folder}/{name}"))
        total, removed = sum(size for _, size, _ in files), 0
        for _, size, path in sorted(files):
            if total <= self._limit_bytes * 7 // 8 and not os.path.basename(path).startswith(_SCRATCH):
                break
            try:
                os.unlink(path)
            except OSError:
                continue
            total, removed = total - size, removed + 1
        return removed

    def _path(self, key: str) -> str:
        name = hashlib.sha256(key.encode()).hexdigest()
        return f"{self._folder}/{name[:2]}/{name[2:]}"

    def _say(self, error: OSError) -> None:
        if not self._refused:
            self._refused = True
            logging.getLogger("emds.warehouse").warning("no copies are kept in %s: %s", self._folder, error.strerror)


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


def _text(tag: dict[str, str]) -> bytes:
    return "\n".join(f"{name}={tag[name]}" for name in sorted(tag)).encode()
