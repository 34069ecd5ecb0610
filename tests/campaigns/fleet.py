"""Run compose's fleet as local processes with its command lines and environment, and kill and restart them.

This module restarts a part that ends, as `restart: unless-stopped` does; Dagster's retries restart a run. Runs are
containers of a simulated engine, which Dagster's Docker launcher calls.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.bench.servers import ROOT
from tests.stand_ins.buckets import CREDENTIALS
from tests.stand_ins.compose import FLEET, model
from tests.stand_ins.container_engine import Engine
from tests.stand_ins.ports import free_port
from tests.stand_ins.postgres import Postgres
from tests.stand_ins.processes import descendants

EMDS = (sys.executable, "-m", "orchestration.cli")
SERVICES: dict[str, Any] = model(FLEET)["services"]
CODE = "code"
DOWN_S = 2.0
"""The delay before a part is started again."""
REPLICAS = int(SERVICES["replica"]["deploy"]["replicas"])
_VERBS = """
import json, sys
from orchestration.cli import main
sys.exit(max(main(verb) for verb in json.loads(sys.argv[1])))
"""


@dataclass
class Server:
    """A process in a session of its own."""

    argv: Sequence[str]
    environ: Mapping[str, str]
    log: Path
    process: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.argv, cwd=ROOT, env=self.environ, stdout=log, stderr=log, start_new_session=True
            )

    def kill(self) -> None:
        """Send SIGKILL to the process and all its descendants in any session, as happens when its container is lost."""
        for process in (self.process.pid, *descendants(self.process.pid)):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self.process.wait(30)

    def restart(self) -> None:
        """Kill the process, and start it again after DOWN_S."""
        self.kill()
        time.sleep(DOWN_S)
        self.start()

    def stop(self) -> None:
        """Send SIGTERM, and SIGKILL to what is left after 40 seconds."""
        below = descendants(self.process.pid)
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(40)
        for process in (self.process.pid, *below):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self.process.wait(30)


class Parts:
    """The database, store, Dagster's servers and replicas, started so that each finds what it needs."""

    def __init__(self, folder: Path, now: str, since: str) -> None:
        """Take `now`, the fixed time of the publishers, and `since`, the first market day of partitions."""
        self.folder = folder
        self.postgres = Postgres()
        self.postgres.create("accounts")
        self.postgres.create("dagster")
        self.store_port = free_port()
        self.ports = {name: free_port() for name in (CODE, "webserver")} | {"daemon": 0}
        self.replica_ports = [free_port() for _ in range(REPLICAS)]
        self.address = f"s3://emds/fleet?endpoint=http://127.0.0.1:{self.store_port}"
        self.public = folder / "public"
        besides = {"EMDS_NOW": now, "EMDS_START_DATE": since, "AWS_REGION": CREDENTIALS["AWS_REGION"]}
        self.engine = Engine(folder, folder / "daemon", besides)
        self._common = self._environ(besides)
        store = (sys.executable, "-m", "tests.stand_ins.object_store", str(folder / "objects"), str(self.store_port))
        self.store = Server(store, dict(os.environ), folder / "store.log")
        self.replicas: list[Server] = []
        self.dagster: dict[str, Server] = {}
        """Dagster's servers by compose's names, code servers first."""

    @property
    def accounts_url(self) -> str:
        return self.postgres.address("accounts")

    def _environ(self, besides: Mapping[str, str]) -> dict[str, str]:
        """Return what compose gives its services, with this machine's addresses."""
        here = {
            "EMDS_HOME": self.address,
            "EMDS_DATABASE_URL": self.postgres.address("accounts"),
            "EMDS_DAGSTER_POSTGRES_URL": self.postgres.address("dagster").replace("+psycopg", ""),
            "EMDS_PUBLISH_TO": str(self.public),
            "DAGSTER_CODE_HOST": "127.0.0.1",
            "DAGSTER_CODE_PORT": str(self.ports[CODE]),
            "EMDS_BASE_URL": "http://localhost",
            "EMDS_TRUSTED_PROXIES": "127.0.0.0/8",
        }
        given = SERVICES["daemon"]["environment"]
        assert set(here) | {"EMDS_LOCAL_DIR", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} <= set(given)
        own = {name: value for name, value in os.environ.items() if not name.startswith(("EMDS_", "DAGSTER_"))}
        away = {"DOCKER_HOST": "tcp://127.0.0.1:1", "DAGSTER_HOME": "", "DAGSTER_DISABLE_TELEMETRY": "1"}
        return own | given | CREDENTIALS | here | besides | away | {"WEB_CONCURRENCY": "1"}

    def environ(self, name: str, **more: str) -> dict[str, str]:
        """Return the environment of one part, which has its own disk; only the daemon reaches the engine."""
        engine = {"DOCKER_HOST": self.engine.address} if name == "daemon" else {}
        return self._common | {"EMDS_LOCAL_DIR": str(self.folder / name)} | engine | more

    def emds(self, *verbs: Sequence[str], **more: str) -> None:
        """Run commands in turn in one process until they end. Raises RuntimeError if a command fails."""
        done = subprocess.run(
            [sys.executable, "-c", _VERBS, json.dumps(verbs)],
            cwd=ROOT,
            env=self.environ("fill", **more),
            capture_output=True,
            text=True,
            check=False,
            timeout=1200,
        )
        if done.returncode:
            raise RuntimeError(f"{verbs}: {done.stdout[-2000:]}{done.stderr[-4000:]}")

    def start_dagster(self, name: str) -> None:
        """Start one of Dagster's servers. Wait for the code server, which listens once it has loaded."""
        argv = (*EMDS, *self.here(SERVICES[name]["command"][1:]))
        self.dagster[name] = Server(argv, self.environ(name), self.folder / f"{name}.log")
        ends = time.monotonic() + 180
        while name == CODE and not self._listens():
            if time.monotonic() > ends or self.dagster[name].process.poll() is not None:
                raise RuntimeError(f"code server: {self.dagster[name].log.read_text()[-3000:]}")
            time.sleep(0.3)

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.ports[CODE])) == 0

    def health(self, service: str) -> subprocess.CompletedProcess[str]:
        """Run compose's health check of one of Dagster's servers as a process."""
        words = self.here(SERVICES[service]["healthcheck"]["test"][1:])
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        environ = self.environ(service) | {"PATH": path}
        return subprocess.run(words, cwd=ROOT, env=environ, capture_output=True, text=True, check=False, timeout=120)

    def here(self, words: Sequence[str]) -> list[str]:
        """Return the words of a compose command line with this machine's ports and folders."""
        port, ui = str(self.ports[CODE]), str(self.ports["webserver"])
        known = {"3030": port, "3000": ui, "0.0.0.0": "127.0.0.1"}
        local = str(self.folder / "daemon")
        return [known.get(word, word).replace("/data/", f"{local}/").replace(":3000/", f":{ui}/") for word in words]

    def start_replicas(self) -> None:
        for number, port in enumerate(self.replica_ports, 1):
            name = f"replica{number}"
            argv = (*EMDS, "serve", "--port", str(port))
            self.replicas.append(Server(argv, self.environ(name), self.folder / f"{name}.log"))

    def close(self) -> None:
        """End everything that was started."""
        for server in (*reversed(self.dagster.values()), *self.replicas):
            server.stop()
        self.engine.close()
        self.store.stop()
        self.postgres.close()
