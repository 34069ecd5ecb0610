"""Serve S3 on loopback and keep the objects in a folder, so that a restarted server still has its objects.

    python -m tests.stand_ins.object_store FOLDER PORT

The server supports the features of S3 that emds uses. These are conditional uploads, ranges, metadata, listings, copies
and deletions. It ignores signatures and does not support multipart uploads. It responds in a tenth of the time of
moto's server, which loses its objects when it ends. moto's server is the reference for the warehouse's requests and for
the responses of this server (`tests.stand_ins.buckets`).
"""

from __future__ import annotations

import bisect
import hashlib
import os
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, quote, unquote, urlsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import orjson

_META = "x-amz-meta-"
_KEPT = frozenset({"cache-control", "content-disposition", "content-encoding", "content-type"})
"""The headers of an upload that are returned in addition to its metadata."""
_MOST_LISTED = 1000


@dataclass(frozen=True)
class Object:
    """A body with its S3 properties."""

    body: bytes
    etag: str
    at: float
    """The time of the upload in Unix seconds."""
    headers: Mapping[str, str]
    """The metadata and the other headers of the upload."""


class Objects:
    """The objects of all buckets, in memory and in a file each. A file contains a line of JSON and the body."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.lock = threading.Lock()
        self._held = {unquote(name): _read(root / name) for name in os.listdir(root) if name[0] != "."}
        self._keys = sorted(self._held)

    def get(self, key: str) -> Object | None:
        return self._held.get(key)

    def put(self, key: str, body: bytes, headers: Mapping[str, str]) -> str:
        """Write the object completely or not at all, and return its ETag.

        The caller must hold the lock, as for `delete`.
        """
        made = Object(body, f'"{hashlib.md5(body, usedforsecurity=False).hexdigest()}"', time.time(), dict(headers))
        head = orjson.dumps({"etag": made.etag, "at": made.at, "headers": made.headers})
        path, scratch = self._file(key), self._root / ".put"
        scratch.write_bytes(head + b"\n" + body)
        os.replace(scratch, path)
        if key not in self._held:
            bisect.insort(self._keys, key)
        self._held[key] = made
        return made.etag

    def delete(self, key: str) -> None:
        if self._held.pop(key, None) is not None:
            del self._keys[bisect.bisect_left(self._keys, key)]
            self._file(key).unlink()

    def listed(self, prefix: str, after: str, most: int) -> list[tuple[str, Object]]:
        """Return the first `most` objects, by key, below `prefix` and after the key `after`.

        The caller must hold the lock.
        """
        first = bisect.bisect_right(self._keys, after) if after >= prefix else bisect.bisect_left(self._keys, prefix)
        keys = self._keys[first : first + most]
        return [(key, self._held[key]) for key in keys if key.startswith(prefix)]

    def _file(self, key: str) -> Path:
        return self._root / quote(key, safe="")


def _read(path: Path) -> Object:
    head, _, body = path.read_bytes().partition(b"\n")
    return Object(body, **orjson.loads(head))


class Handler(BaseHTTPRequestHandler):
    """The handler of one S3 request in path style."""

    objects: Objects
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # The buffer sends a response in a single write.
    disable_nagle_algorithm = True

    @property
    def key(self) -> str:
        """Return the bucket and the key."""
        return unquote(urlsplit(self.path).path).lstrip("/")

    def do_GET(self) -> None:
        if "/" not in self.key.rstrip("/"):
            return self._list() if self.command == "GET" else self._reply(200, {})
        found = self.objects.get(self.key)
        if found is None:
            return self._refuse(404, "NoSuchKey")
        if self.headers.get("If-None-Match") == found.etag:
            return self._reply(304, {"ETag": found.etag})
        if self.headers.get("If-Match", found.etag) != found.etag:
            return self._refuse(412, "PreconditionFailed")
        told = {"ETag": found.etag, "Last-Modified": formatdate(found.at, usegmt=True), **found.headers}
        span = self.headers.get("Range", "").removeprefix("bytes=")
        if not span:
            return self._reply(200, told, found.body)
        first, last = (int(part) for part in span.split("-"))
        part = found.body[first : last + 1]
        if not part:
            return self._refuse(416, "InvalidRange")
        told["Content-Range"] = f"bytes {first}-{first + len(part) - 1}/{len(found.body)}"
        return self._reply(206, told, part)

    do_HEAD = do_GET

    def do_PUT(self) -> None:
        body, source = self._body(), self.headers.get("x-amz-copy-source")
        kept = {n: v for n, v in self.headers.items() if n.lower() in _KEPT or n.lower().startswith(_META)}
        with self.objects.lock:
            there = self.objects.get(self.key)
            wanted = self.headers.get("If-Match")
            if (self.headers.get("If-None-Match") == "*" and there) or (wanted and there and there.etag != wanted):
                return self._refuse(412, "PreconditionFailed")
            if wanted and not there:
                return self._refuse(404, "NoSuchKey")
            if source is None:
                return self._reply(200, {"ETag": self.objects.put(self.key, body, kept)})
            copied = self.objects.get(unquote(source).lstrip("/"))
            if copied is None:
                return self._refuse(404, "NoSuchKey")
            if copied is there:
                return self._refuse(400, "InvalidRequest")
            etag = self.objects.put(self.key, copied.body, copied.headers)
        told = f"<CopyObjectResult><ETag>{escape(etag)}</ETag></CopyObjectResult>"
        return self._reply(200, {"Content-Type": "application/xml"}, told.encode())

    def do_DELETE(self) -> None:
        with self.objects.lock:
            self.objects.delete(self.key)
        self._reply(204, {})

    def do_POST(self) -> None:
        """Delete several objects."""
        bucket = self.key.rstrip("/")
        named = [e.text or "" for e in ElementTree.fromstring(self._body()).iter() if e.tag.rpartition("}")[2] == "Key"]
        with self.objects.lock:
            for key in named:
                self.objects.delete(f"{bucket}/{key}")
        told = "".join(f"<Deleted><Key>{escape(key)}</Key></Deleted>" for key in named)
        self._reply(200, {"Content-Type": "application/xml"}, f"<DeleteResult>{told}</DeleteResult>".encode())

    def _list(self) -> None:
        bucket = self.key.rstrip("/") + "/"
        asked = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        after = asked.get("continuation-token") or asked.get("start-after") or ""
        with self.objects.lock:
            found = self.objects.listed(
                bucket + asked.get("prefix", ""), bucket + after if after else "", _MOST_LISTED + 1
            )
        more, told = len(found) > _MOST_LISTED, found[:_MOST_LISTED]
        parts = [_entry(key.removeprefix(bucket), len(each.body), each.etag, each.at) for key, each in told]
        end = told[-1][0].removeprefix(bucket) if more else ""
        next_one = f"<NextContinuationToken>{escape(end)}</NextContinuationToken>" if more else ""
        head = (
            f"<Name>{bucket[:-1]}</Name><KeyCount>{len(parts)}</KeyCount><IsTruncated>{str(more).lower()}</IsTruncated>"
        )
        text = f"<ListBucketResult>{head}{next_one}{''.join(parts)}</ListBucketResult>"
        self._reply(200, {"Content-Type": "application/xml"}, text.encode())

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _refuse(self, status: int, code: str) -> None:
        self._reply(status, {"Content-Type": "application/xml"}, f"<Error><Code>{code}</Code></Error>".encode())

    def _reply(self, status: int, headers: Mapping[str, str], body: bytes = b"") -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status not in (204, 304):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return


def _entry(key: str, size: int, etag: str, at: float) -> str:
    stamp = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    named = f"<Key>{escape(key)}</Key><LastModified>{stamp}</LastModified><ETag>{escape(etag)}</ETag>"
    return f"<Contents>{named}<Size>{size}</Size></Contents>"


class Server(ThreadingHTTPServer):
    """A server for any number of clients, which may disconnect."""

    daemon_threads = True
    request_queue_size = 512

    def handle_error(self, *_: object) -> None:
        return


def bound(folder: Path, port: int) -> Server:
    """Return a server for the objects in `folder`. Port 0 selects a free port."""
    folder.mkdir(parents=True, exist_ok=True)
    return Server(("127.0.0.1", port), type("Bound", (Handler,), {"objects": Objects(folder)}))


if __name__ == "__main__":
    bound(Path(sys.argv[1]), int(sys.argv[2])).serve_forever()
