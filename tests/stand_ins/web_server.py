"""Run nginx in a child process with the configuration of this repository, on a free port of loopback."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.stand_ins.ports import free_port

TEMPLATE = Path(__file__).resolve().parents[2] / "orchestration" / "deploy" / "nginx.conf.template"
_NAME = "nginx"


def program() -> str | None:
    """Return the path of nginx, or None if it is not installed."""
    return shutil.which(_NAME, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


def configured(listen: str, api: str, public: Path, scratch: Path, data: str = "") -> str:
    """Return the configuration of this repository for these locations. Variables of nginx stay unchanged."""
    values = {
        "EMDS_LISTEN": listen,
        "EMDS_API": api,
        "EMDS_PUBLIC_FOLDER": str(public),
        "EMDS_NGINX_SCRATCH": str(scratch),
        "EMDS_DATA_HEADER": data,
    }
    text = TEMPLATE.read_text()
    for name, value in values.items():
        text = text.replace(f"${{{name}}}", value)
    assert "${EMDS" not in text
    return text


@contextmanager
def web_server(
    api: str, public: Path, scratch: Path, data: str = "", log: str = "", rate: tuple[int, int] = (100, 400)
) -> Iterator[str]:
    """Yield the URL of nginx. Raise RuntimeError if nginx does not start.

    `log` contains variables of nginx, which each call writes as a line of `scratch/calls.log`. `rate` contains the
    calls per second of one client and the additional burst. The default rate is that of the configuration.
    """
    found = program()
    if found is None:
        raise RuntimeError("nginx is not installed")
    port = free_port()
    scratch.mkdir(parents=True, exist_ok=True)
    conf = scratch / "nginx.conf"
    text = configured(f"127.0.0.1:{port}", api, public, scratch, data)
    own = ("rate=100r/s", "burst=400")
    assert all(each in text for each in own)
    for each, other in zip(own, (f"rate={rate[0]}r/s", f"burst={rate[1]}"), strict=True):
        text = text.replace(each, other)
    if log:
        text = text.replace("access_log off;", f"log_format calls '{log}';\n    access_log {scratch}/calls.log calls;")
    conf.write_text(text)
    # If root starts nginx, its workers run as `nobody`, which may not read a test's folder.
    user = ["-g", "user root;"] if os.geteuid() == 0 else []
    process = subprocess.Popen(
        [found, "-e", "stderr", "-c", str(conf), "-p", str(scratch), *user],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        _wait(process, port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.communicate(timeout=30)


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"nginx ended: {process.communicate()[1].decode()[-2000:]}")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise RuntimeError("nginx did not answer in a minute")
