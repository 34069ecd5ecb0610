"""Test that README's first call returns what it shows, and that docs/api.md lists the service's paths."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from api.access.prices import PRICES
from api.endpoints.table import ENDPOINTS

ROOT = Path(__file__).resolve().parents[2]
README, PAGE = ((ROOT / name).read_text() for name in ("README.md", "docs/api.md"))
CLIENT = ROOT / "clients" / "python" / "README.md"


def rows() -> list[list[str]]:
    """Return the cells of the table of paths."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if "`/v1/" in line[:9]]


def test_every_path_is_listed_with_its_price() -> None:
    listed = {path: row for row in rows() for path in re.findall(r"`(/v1/[^`?]+)`", row[0])}
    shown = {
        endpoint.path: endpoint
        for endpoint in ENDPOINTS.values()
        if endpoint.path.startswith("/v1/")
        and not endpoint.id.startswith("ogc-")  # OGC API Features is one entry in a GIS program
        and "." not in endpoint.path.rpartition("/")[2]
    }
    assert listed.keys() == shown.keys()
    for path, endpoint in shown.items():
        price = PRICES[endpoint.id].price if endpoint.paid else "free"
        assert price in listed[path][2], path


@pytest.mark.slow
def test_the_lines_of_the_pages_run(market: Any, serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run README's first call, the calls of docs/changes.md and webhooks.md in a shell, and the client's code."""
    served = serve(market, EMDS_ALLOW_PRIVATE_WEBHOOKS="1").url

    def shell(lines: str, **environ: str) -> str:
        command = "set -e\n" + lines.replace("http://127.0.0.1:8000", served)
        environ = os.environ | {"EMDS": served} | environ
        return subprocess.run(["bash", "-c", command], env=environ, capture_output=True, text=True, check=True).stdout

    [block] = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    key, answer = shell(block + "echo; echo $KEY").splitlines()[::-1][:2]
    example = json.loads(re.search(r"```json\n(.*?)```", README, re.DOTALL)[1])  # type: ignore[index]
    assert list(example) == list(json.loads(answer))
    for page, found in (("changes", "next"), ("webhooks", "secret")):
        [block] = re.findall(r"```console\n(.*?)```", (ROOT / "docs" / f"{page}.md").read_text(), re.DOTALL)
        cursor = json.loads(shell('curl -s "$EMDS/v1/changes?since=now"'))["next"]
        for line in re.findall(r"^\$ ((?:.*\\\n)*.*)", block, re.MULTILINE):
            assert found in json.loads(shell(line.replace("5e0c2a91-1841", cursor), KEY=key)), line
    first, second = re.findall(r"```python\n(.*?)```", CLIENT.read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    monkeypatch.syspath_prepend(CLIENT.parent)
    dated = first.replace("2026-11-01", "2026-03-29").replace("2026-11-08", "2026-03-30")
    exec(dated.replace("https://emds.example", served).replace("emds_yourkey", key), names)
    assert len(names["frame"]) == 46, "clocks go forward"
    exec(second + "    break\n", names)
    assert len(names["update"].frame) > 46
    names["client"].close()
