"""An S3 server on loopback that keeps its objects in a folder, so that one that is killed comes back with them.

It keeps what emds uses of S3: conditional puts, ranges, metadata, listings, copies, deletions. Signatures are not
looked at, and no upload has parts. moto's (`tests.stand_ins.buckets`) is the judge of the code, and forgets all when it
ends.

    python -m tests.stand_ins.object_store FOLDER PORT
"""

from __future__ import annotations

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
_MOST_LISTED = 1000


@dataclass(frozen=True)
class Object:
    """A body with what S3 tells of it."""

    body: bytes
    etag: str
    at: float
    """Unix seconds of its put."""
    metadata: Mapping[str, str]


class Objects:
    """The objects of all buckets, a file each: a line of JSON, then the body."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.lock = threading.Lock()

    def _file(self, key: str) -> Path:
        return self._root / quote(key, safe="")

    def get(self, key: str) -> Object | None:
        try:
            stored = self._file(key).read_bytes()
        except FileNotFoundError:
            return None
        head, _, body = stored.partition(b"\n")
        return Object(body, **orjson.loads(head))

    def put(self, key: str, body: bytes, metadata: Mapping[str, str]) -> str:
        """Whole or not at all; its ETag."""
        etag, path = f'"{hashlib.md5(body, usedforsecurity=False).hexdigest()}"', self._file(key)
        head = orjson.dumps({"etag": etag, "at": time.time(), "metadata": dict(metadata)})
        scratch = path.with_name(f".{threading.get_ident()}")
        scratch.write_bytes(head + b"\n" + body)
        os.replace(scratch, path)
        return etag

    def delete(self, key: str) -> None:
        self._file(key).unlink(missing_ok=True)

    def keys(self, prefix: str, after: str) -> list[str]:
        names = (unquote(name) for name in os.listdir(self._root) if name[0] != ".")
        return sorted(key for key in names if key.startswith(prefix) and key > after)


class Handler(BaseHTTPRequestHandler):
    """One request of S3's, by path."""

    objects: Objects
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer leaves in one piece
    disable_nagle_algorithm = True

    @property
    def key(self) -> str:
        """Bucket and key."""
        return unquote(urlsplit(self.path).path).lstrip("/")

    def do_GET(self) -> None:
        if "/" not in self.key.rstrip("/"):
            return self._list()
        found = self.objects.get(self.key)
        if found is None:
            return self._refuse(404, "NoSuchKey")
        if self.headers.get("If-None-Match") == found.etag:
            return self._reply(304, {"ETag": found.etag})
        if self.headers.get("If-Match", found.etag) != found.etag:
            return self._refuse(412, "PreconditionFailed")
        told = {"ETag": found.etag, "Last-Modified": formatdate(found.at, usegmt=True)}
        told |= {f"{_META}{name}": value for name, value in found.metadata.items()}
        span = self.headers.get("Range", "").removeprefix("bytes=")
        if not span:
            return self._reply(200, told, found.body)
        first, last = (int(part) for part in span.split("-"))
        part = found.body[first : last + 1]
        told["Content-Range"] = f"bytes {first}-{first + len(part) - 1}/{len(found.body)}"
        return self._reply(206, told, part)

    do_HEAD = do_GET

    def do_PUT(self) -> None:
        body, source = self._body(), self.headers.get("x-amz-copy-source")
        metadata = {n[len(_META) :]: v for n, v in self.headers.items() if n.lower().startswith(_META)}
        with self.objects.lock:
            there = self.objects.get(self.key)
            wanted = self.headers.get("If-Match")
            if (self.headers.get("If-None-Match") == "*" and there) or (wanted and there and there.etag != wanted):
                return self._refuse(412, "PreconditionFailed")
            if wanted and not there:
                return self._refuse(404, "NoSuchKey")
            if source is None:
                return self._reply(200, {"ETag": self.objects.put(self.key, body, metadata)})
            copied = self.objects.get(unquote(source).lstrip("/"))
            if copied is None:
                return self._refuse(404, "NoSuchKey")
            etag = self.objects.put(self.key, copied.body, copied.metadata)
        told = f"<CopyObjectResult><ETag>{escape(etag)}</ETag></CopyObjectResult>"
        return self._reply(200, {"Content-Type": "application/xml"}, told.encode())

    def do_DELETE(self) -> None:
        with self.objects.lock:
            self.objects.delete(self.key)
        self._reply(204, {})

    def do_POST(self) -> None:
        """Several deletions."""
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
        keys = self.objects.keys(bucket + asked.get("prefix", ""), bucket + after if after else "")
        parts = []
        for key in keys[:_MOST_LISTED]:
            found = self.objects.get(key)
            if found is not None:
                parts.append(_entry(key.removeprefix(bucket), len(found.body), found.etag, found.at))
        more = len(keys) > _MOST_LISTED
        end = keys[_MOST_LISTED - 1].removeprefix(bucket) if more else ""
        next_one = f"<NextContinuationToken>{escape(end)}</NextContinuationToken>" if more else ""
        head = (
            f"<Name>{bucket[:-1]}</Name><KeyCount>{len(parts)}</KeyCount><IsTruncated>{str(more).lower()}</IsTruncated>"
        )
        told = f"<ListBucketResult>{head}{next_one}{''.join(parts)}</ListBucketResult>"
        self._reply(200, {"Content-Type": "application/xml"}, told.encode())

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _refuse(self, status: int, code: str) -> None:
        self._reply(status, {"Content-Type": "application/xml"}, f"<Error><Code>{code}</Code></Error>".encode())

    def _reply(self, status: int, headers: Mapping[str, str], body: bytes = b"") -> None:
        self.send_response(status)
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
    """Any number of clients, some of which hang up."""

    daemon_threads = True
    request_queue_size = 512

    def handle_error(self, *_: object) -> None:
        return


def main(folder: Path, port: int) -> None:
    """Serves until it is killed."""
    folder.mkdir(parents=True, exist_ok=True)
    Server(("127.0.0.1", port), type("Bound", (Handler,), {"objects": Objects(folder)})).serve_forever()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
