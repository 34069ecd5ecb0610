"""An S3 server on loopback, in a child process: moto's, which keeps create-only and update-if-ETag puts apart."""

from __future__ import annotations

import http.client
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "a-secret-of-tests", "AWS_REGION": "us-east-1"}
"""To be put into the environment of whoever asks it; any are taken."""

_PROGRAM = """
import gc, logging, os, sys, threading
from datetime import datetime
from moto.core import serialize
from moto.moto_server.werkzeug_app import create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server
logging.disable(logging.CRITICAL)
WSGIRequestHandler.protocol_version = "HTTP/1.1"
WSGIRequestHandler.wbufsize = -1  # an answer leaves in one piece
def parsed(stamp, any_stamp=serialize.parse_to_aware_datetime):  # dateutil takes half the time of a listing
    return datetime.fromisoformat(stamp) if isinstance(stamp, str) and stamp[10:11] == "T" else any_stamp(stamp)
serialize.parse_to_aware_datetime = parsed
# Not moto's dispatcher by host: it lists all of moto's services from the disk in each request.
app = create_backend_app("s3")
gc.collect()
gc.freeze()  # what was loaded stays
gc.set_threshold(10_000, 20, 50)
server = make_server("127.0.0.1", 0, app, threaded=True)
print(server.port, flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
"""


@contextmanager
def s3_server(bucket: str = "emds") -> Iterator[str]:
    """Its address, with one empty bucket in it. It ends with the process that started it."""
    environ = {**os.environ, **CREDENTIALS}
    child = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environ,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        assert select.select([child.stdout], [], [], 60)[0], "the S3 server did not start"
        port = int(child.stdout.readline())
        make_bucket(port, bucket)
        yield f"http://127.0.0.1:{port}"
    finally:
        child.stdin.close()
        child.stdout.close()
        child.kill()
        child.wait(30)


def make_bucket(port: int, bucket: str) -> None:
    """Makes an empty bucket in a server."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("PUT", f"/{bucket}")
    assert connection.getresponse().status == 200
    connection.close()
