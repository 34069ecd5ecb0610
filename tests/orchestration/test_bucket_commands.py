"""`emds rebuild`, `emds up` and `emds serve` over a bucket, as processes: the answers are those over the folder."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orchestration import cli
from tests.bench.servers import ROOT, running
from tests.orchestration.conftest import SIMULATED_AT
from tests.orchestration.test_up import get, signed_up, up
from tests.stand_ins.places import BucketPlace
from tests.stand_ins.ports import free_port
from warehouse.store import layout
from warehouse.store.storage import Folder

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::dagster.BetaWarning")]
WINDOW = "/v1/generation/GB?start=2026-11-18T00:00:00Z&end=2026-11-20T00:00:00Z"
FREE = ("/v1/zones", "/v1/status", "/v1/geo/live", "/v1/bulk")
KEYED = (WINDOW, "/v1/latest/GB", "/v1/brief/GB", "/v1/map/snapshot")
EMDS = (sys.executable, "-m", "orchestration.cli")


@contextmanager
def serve(environ: dict[str, str]) -> Iterator[str]:
    """`emds serve`; its address."""
    port = free_port()
    with running([*EMDS, "serve", "--port", str(port)], environ, f"http://127.0.0.1:{port}/readyz"):
        yield f"http://127.0.0.1:{port}"


def answers(base: str) -> dict[str, bytes]:
    """The body of each path."""
    key = signed_up(base)
    return {path: body(base + path, key if path in KEYED else "") for path in (*FREE, *KEYED)}


def body(url: str, key: str) -> bytes:
    """The body of one answer."""
    asked = urllib.request.Request(url, headers={"Authorization": f"Bearer {key}"} if key else {})
    with urllib.request.urlopen(asked, timeout=60) as answer:
        return bytes(answer.read())


@pytest.mark.timeout(600)
def test_rebuild_up_and_serve_over_a_bucket_answer_as_over_the_folder(
    backfilled: Callable[..., Folder], bucket_place: BucketPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, local = tmp_path / "folder", tmp_path / "stays"
    backfilled(folder, "neso.generation")
    monkeypatch.delenv("EMDS_DATABASE_URL", raising=False)
    own = {"EMDS_BASE_URL": "https://emds.example", "EMDS_SIGNUPS_PER_HOUR": "0", "WEB_CONCURRENCY": "1"}
    with serve(own | {"EMDS_HOME": str(folder), "EMDS_NOW": SIMULATED_AT}) as base:
        wanted = answers(base)
    assert cli.main(["copy", str(folder), bucket_place.address]) == 0
    bucket = own | {"EMDS_HOME": bucket_place.address, "EMDS_LOCAL": str(local)}
    bucket_place.open().delete(layout.series("generation", "GB", "2026-11"))

    rebuilt = subprocess.run(
        [*EMDS, "rebuild"],
        cwd=ROOT,
        env=os.environ | bucket | {"EMDS_NOW": SIMULATED_AT},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert rebuilt.returncode == 0, rebuilt.stderr
    with serve(bucket | {"EMDS_NOW": SIMULATED_AT}) as base:
        assert answers(base) == wanted
        key = signed_up(base, "another@example.org")
        assert body(base + WINDOW, key) == wanted[WINDOW]
    with up(bucket_place.address, log=tmp_path / "up.log", **bucket, EMDS_NOW="") as (output, base, _):
        assert "first start" not in output, "the warehouse was found"
        assert body(base + WINDOW, key) == wanted[WINDOW]
        assert get(f"{base}/v1/usage", key)["quota"]["used"] == 2, "accounts stay in EMDS_LOCAL"
    assert {path.name for path in local.iterdir()} >= {"accounts.sqlite", "dagster", "cache"}
    assert not {path.name for path in local.iterdir()} & {"raw", "series", "history", "published", "mode"}
