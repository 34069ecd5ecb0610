"""Start S3 servers on loopback, each in a child process that ends with its parent.

moto's server is the reference for the warehouse's requests and takes 3 ms per request. Tests of the layers above use
the faster stand-in in `tests.stand_ins.object_store`, which responds as moto's server does.
"""

from __future__ import annotations

import http.client
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "a-secret-of-tests", "AWS_REGION": "us-east-1"}
"""Environment variables of the client. The servers accept any credentials."""

_ROOT = Path(__file__).resolve().parents[2]
_STAND_IN = """
import sys, threading
from pathlib import Path
from tests.stand_ins.object_store import bound
server = bound(Path(sys.argv[1]), 0)
print(server.server_port, flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
"""
_MOTO = """
import gc, io, logging, os, sys, threading
from datetime import datetime
from moto.core import serialize
from moto.moto_server.werkzeug_app import create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server
logging.disable(logging.CRITICAL)
WSGIRequestHandler.protocol_version = "HTTP/1.1"
WSGIRequestHandler.wbufsize = -1  # The buffer sends a response in a single write.
def parsed(stamp, any_stamp=serialize.parse_to_aware_datetime):  # dateutil would take half the time of a listing.
    return datetime.fromisoformat(stamp) if isinstance(stamp, str) and stamp[10:11] == "T" else any_stamp(stamp)
serialize.parse_to_aware_datetime = parsed
# moto's dispatcher by host would list all of moto's services from the disk in each request.
app = create_backend_app("s3")
one_by_one = threading.Lock()
def served(environ, start):  # moto checks a condition before it writes. A store does both atomically.
    if environ["REQUEST_METHOD"] in ("GET", "HEAD"):
        return app(environ, start)
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    with one_by_one:
        return app({**environ, "wsgi.input": io.BytesIO(body)}, start)
gc.collect()
gc.freeze()  # The garbage collector skips what has been loaded.
gc.set_threshold(10_000, 20, 50)
server = make_server("127.0.0.1", 0, served, threaded=True)
print(server.port, flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
"""


@contextmanager
def object_store() -> Iterator[str]:
    """Yield the URL of the stand-in, which accepts any bucket name."""
    with tempfile.TemporaryDirectory() as folder, _served(_STAND_IN, folder) as port:
        yield f"http://127.0.0.1:{port}"


@contextmanager
def moto(bucket: str = "emds") -> Iterator[str]:
    """Yield the URL of moto's server with the empty bucket `bucket`."""
    with _served(_MOTO) as port:
        make_bucket(port, bucket)
        yield f"http://127.0.0.1:{port}"


@contextmanager
def _served(program: str, *arguments: str) -> Iterator[int]:
    """Yield the port that `program` prints first. The program runs until its standard input closes."""
    child = subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        cwd=_ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **CREDENTIALS},
    )
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        assert select.select([child.stdout], [], [], 60)[0], "the S3 server did not start"
        yield int(child.stdout.readline())
    finally:
        child.stdin.close()
        child.stdout.close()
        child.kill()
        child.wait(30)


def make_bucket(port: int, bucket: str) -> None:
    """Create the empty bucket `bucket` on the server at `port`."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("PUT", f"/{bucket}")
    assert connection.getresponse().status == 200
    connection.close()
