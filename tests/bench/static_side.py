"""The free side: nginx over the published folder, against the same server's bare static file and against the API.

    python -m tests.bench.static_side [SECONDS]

The bare file is a file of the same bytes in a folder of its own, in a server without any other rule. All are asked in
turn for several rounds and the medians compared. The last line is a month file of 5-minute prices, which lies there
under its hash; the API gives that by key alone (`tests.bench.long_answers`). Exit 0 with a message where nginx or wrk
is missing.
"""

from __future__ import annotations

import hashlib
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from api.settings import Settings
from orchestration.static_side.folder import FolderTarget
from orchestration.static_side.publication import OBJECTS, StaticObject
from orchestration.static_side.publish import publish_to
from tests.bench import wrk
from tests.bench.decade import warehouse
from tests.bench.servers import ours, running
from tests.stand_ins.ports import free_port
from tests.stand_ins.web_server import program, web_server
from warehouse import layout
from warehouse.storage import Folder

ROUNDS = 3
PATHS = ("/v1/zones", "/v1/geo/live", "/v1/geo/zones.geojson", "/openapi.json")
GZIP = ("Accept-Encoding: gzip",)
MOST_SLOWER = 1.2
_BARE = """worker_processes auto; daemon off; pid {scratch}/nginx.pid; error_log stderr;
events {{ worker_connections 4096; }}
http {{ sendfile on; tcp_nopush on; access_log off; keepalive_requests 10000; open_file_cache max=100;
client_body_temp_path {scratch}/b; proxy_temp_path {scratch}/p; fastcgi_temp_path {scratch}/f;
uwsgi_temp_path {scratch}/u; scgi_temp_path {scratch}/s;
server {{ listen 127.0.0.1:{port}; root {root}; default_type application/octet-stream; }} }}
"""


def measure(home: Path, seconds: int) -> list[str]:
    """Prints a line a path; returns what was missed."""
    missed: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        public, bare = place / "public", place / "bare"
        publish_to(FolderTarget(public), Folder(home), Settings(home=str(home)))
        bare.mkdir()
        port, bare_port = free_port(), free_port()
        command, environ = ours(home, port)
        conf = place / "bare.conf"
        conf.write_text(_BARE.format(scratch=place, port=bare_port, root=bare))
        (bare / "index.html").write_bytes(b"ready")
        nginx = [str(program()), "-e", "stderr", "-c", str(conf), "-p", folder, "-g", "user root;"]
        with (
            running(command, environ, f"http://127.0.0.1:{port}/healthz"),
            running(nginx, {}, f"http://127.0.0.1:{bare_port}/"),
            web_server(f"127.0.0.1:{port}", public, place / "nginx") as front,
        ):
            print(
                f"{'path':24} {'bytes':>8} {'bare file/s':>12} {'ours/s':>10} {'API/s':>8} {'slower':>7} {'p99 ms':>7}"
            )
            for path in PATHS:
                missed += _compare(
                    path, front, f"http://127.0.0.1:{port}", f"http://127.0.0.1:{bare_port}", bare, seconds
                )
            missed += _compare(_month(public), front, None, f"http://127.0.0.1:{bare_port}", bare, seconds)
    return missed


def _month(public: Path) -> str:
    """The path of a month file, put where `publish_to` puts those that may be passed on."""
    body = (warehouse(1) / layout.series("price", "AU-NSW", "2026-03")).read_bytes()
    key = f"{OBJECTS}{hashlib.sha256(body).hexdigest()}.parquet"
    FolderTarget(public).put(StaticObject(key, body, "application/vnd.apache.parquet"))
    return f"/{key}"


def _compare(path: str, front: str, api: str | None, bare_url: str, bare: Path, seconds: int) -> list[str]:
    """One path, asked for in gzip as browsers do; `api` does not have each."""
    import requests

    with requests.get(front + path, headers={"Accept-Encoding": "gzip"}, stream=True, timeout=30) as answer:
        body = answer.raw.read(decode_content=False)
    same = hashlib.sha256(path.encode()).hexdigest()  # a name of its own: nginx keeps a file's size for a minute
    (bare / same).write_bytes(body)
    asked = [(f"{bare_url}/{same}", ()), (front + path, GZIP), *([(api + path, GZIP)] if api else [])]
    rounds = [[wrk.run(url, headers, seconds=seconds) for url, headers in asked] for _ in range(ROUNDS)]
    plain, ours_, *of_api = (statistics.median(speed.rate for speed in each) for each in zip(*rounds, strict=True))
    slower = statistics.median(bare_file.rate / front_.rate for bare_file, front_, *_ in rounds)
    p99 = statistics.median(each[1].p99 for each in rounds)
    by_api = f"{of_api[0]:.0f}" if of_api else "-"
    print(f"{path[:24]:24} {len(body):8} {plain:12.0f} {ours_:10.0f} {by_api:>8} {slower:7.2f} {p99:7.2f}", flush=True)
    return [f"{path}: {slower:.2f} times slower than a bare file"] if slower > MOST_SLOWER else []


def main() -> int:
    """The exit code: 1 where a free document is slower than a bare file by more than MOST_SLOWER."""
    if program() is None or shutil.which("wrk") is None:
        print("nginx or wrk IS NOT INSTALLED: nothing was measured")
        return 0
    from tests.api.conftest import Rig, fill_everywhere

    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    with tempfile.TemporaryDirectory() as folder:
        rig = Rig(Path(folder) / "home")
        fill_everywhere(rig)
        missed = measure(rig.home, seconds)
    for line in missed:
        print(f"MISSED {line}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
