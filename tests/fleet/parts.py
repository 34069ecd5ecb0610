"""The parts of the fleet as processes of this machine, with the environment of compose's: started, killed, again.

A part that ends is started again by what would do so in compose: the store, the database and replicas by `restart:
unless-stopped`, which is this module; the daemon by `emds up`; a run by Dagster's retries.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.servers import ROOT, free_port
from tests.stand_ins.buckets import CREDENTIALS
from tests.stand_ins.postgres import Postgres

EMDS = (sys.executable, "-m", "orchestration.cli")
REPLICAS = 3
_VERBS = """
import json, sys
from orchestration.cli import main
sys.exit(max(main(verb) for verb in json.loads(sys.argv[1])))
"""
_FLEET = ROOT / "orchestration" / "deploy" / "fleet.env"


@dataclass
class Server:
    """A process in a session of its own."""

    name: str
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
        """SIGKILL to it and all that it has started, whatever session that is in: as where its container is lost."""
        for process in (self.process.pid, *descendants(self.process.pid)):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self.process.wait(30)

    def stop(self) -> None:
        """SIGTERM, and SIGKILL to what is left after a while."""
        below = descendants(self.process.pid)
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(40)
        for process in (self.process.pid, *below):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self.process.wait(30)


def descendants(process: int) -> list[int]:
    """Every process below one."""
    found: list[int] = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, task.read_text().split()):
                found += [child, *descendants(child)]
    return found


def named(process: int, words: str) -> int | None:
    """The first process below one whose command line holds these words."""
    for child in descendants(process):
        with suppress(OSError):
            if words in Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode():
                return child
    return None


class Parts:
    """Database, store, pipeline and replicas, in the order in which each finds what it needs."""

    def __init__(self, folder: Path, now: str, since: str) -> None:
        """`now`: the instant at which the publishers stand still; `since`: the first market day of partitions."""
        self.folder = folder
        self.postgres = Postgres()
        self.postgres.create("accounts")
        self.postgres.create("dagster")
        self.store_port, self.api_port, self.ui_port = free_port(), free_port(), free_port()
        self.replica_ports = [free_port() for _ in range(REPLICAS)]
        self.address = f"s3://emds/fleet?endpoint=http://127.0.0.1:{self.store_port}"
        self.public = folder / "public"
        self._common = self._environ(now, since)
        store = (sys.executable, "-m", "tests.stand_ins.object_store", str(folder / "objects"), str(self.store_port))
        self.store = Server("store", store, dict(os.environ), folder / "store.log")
        self.replicas: list[Server] = []
        self.pipeline: Server | None = None

    @property
    def accounts_url(self) -> str:
        return self.postgres.address("accounts")

    def _environ(self, now: str, since: str) -> dict[str, str]:
        """What compose hands on (fleet.env), with this machine's addresses; each name of that file is here."""
        here = {
            "EMDS_DATABASE_URL": self.postgres.address("accounts"),
            "EMDS_DAGSTER_POSTGRES_URL": self.postgres.address("dagster").replace("+psycopg", ""),
            "EMDS_PUBLISH_TO": str(self.public),
            "EMDS_BASE_URL": "http://localhost",
            "EMDS_TRUSTED_PROXIES": "127.0.0.0/8",
        }
        wanted = [line.split("=")[0] for line in _FLEET.read_text().splitlines() if line and line[0] != "#"]
        given = {name: here[name] for name in wanted if name != "EMDS_POSTGRES_PASSWORD"}
        own = {name: value for name, value in os.environ.items() if not name.startswith(("EMDS_", "DAGSTER_"))}
        place = {"EMDS_HOME": self.address, "EMDS_NOW": now, "EMDS_SINCE": since, "WEB_CONCURRENCY": "1"}
        return own | CREDENTIALS | given | place | {"DAGSTER_HOME": "", "DAGSTER_DISABLE_TELEMETRY": "1"}

    def environ(self, name: str, **more: str) -> dict[str, str]:
        """Of one part, whose disk is its own."""
        return self._common | {"EMDS_LOCAL": str(self.folder / name)} | more

    def emds(self, *verbs: Sequence[str], **more: str) -> None:
        """Verbs one after the other in one process, to their end. Raises RuntimeError where one fails."""
        done = subprocess.run(
            [sys.executable, "-c", _VERBS, json.dumps(verbs)],
            cwd=ROOT,
            env=self.environ("pipeline", **more),
            capture_output=True,
            text=True,
            check=False,
            timeout=1200,
        )
        if done.returncode:
            raise RuntimeError(f"{verbs}: {done.stdout[-2000:]}{done.stderr[-4000:]}")

    def start_pipeline(self) -> None:
        argv = (*EMDS, "up", "--port", str(self.api_port), "--ui-port", str(self.ui_port))
        self.pipeline = Server("pipeline", argv, self.environ("pipeline"), self.folder / "pipeline.log")

    def start_replicas(self) -> None:
        for number, port in enumerate(self.replica_ports, 1):
            name = f"replica{number}"
            argv = (*EMDS, "serve", "--port", str(port))
            self.replicas.append(Server(name, argv, self.environ(name), self.folder / f"{name}.log"))

    def daemon(self) -> int | None:
        """The process of Dagster's daemon."""
        assert self.pipeline is not None
        return named(self.pipeline.process.pid, "dagster-daemon run")

    def close(self) -> None:
        """Ends everything that was started."""
        for server in (self.pipeline, *self.replicas, self.store):
            if server is not None:
                server.stop()
        self.postgres.close()
