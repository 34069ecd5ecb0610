"""The calls that the reference page shows: there for every operation, well-formed, and run over HTTP."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from api.endpoints.table import ENDPOINTS
from api.openapi import code_samples
from api.openapi.code_samples import example_path
from assets.documents.publish import publish

RUN = ("price", "price-zones", "zones", "brief", "catalogue", "llms")
BY_HTTP = """
import sys, datetime, duckdb
from fsspec.implementations.http import HTTPFileSystem
class ByHttp(HTTPFileSystem):  # DuckDB asks for it, fsspec's has none
    def modified(self, path):
        return datetime.datetime.fromtimestamp(0, datetime.UTC)
duckdb.register_filesystem(ByHttp())
assert duckdb.sql(sys.argv[1]).fetchall()
"""


def samples(name: str, server: str = "https://emds.example") -> dict[str, str]:
    endpoint = ENDPOINTS[name]
    return code_samples.in_each_language(endpoint, server + example_path(endpoint))


@pytest.mark.parametrize("name", ENDPOINTS)
def test_every_operation_is_shown_in_every_language_that_can_call_it(name: str) -> None:
    shown = samples(name)
    can = set(code_samples.LANGUAGES) - (set() if ENDPOINTS[name].method == "GET" else {"sql"})
    assert shown.keys() == can
    compile(shown["python"], name, "exec")
    assert all("https://emds.example/" in text and "{webhook}" not in text for text in shown.values())
    assert all(("sample=true" in text) == ENDPOINTS[name].paid for text in shown.values())


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="no Node.js")
def test_the_typescript_is_parsed(tmp_path: Path) -> None:
    blocks = (f"async function call{i}() {{\n{samples(name)['typescript']}\n}}" for i, name in enumerate(ENDPOINTS))
    (tmp_path / "all.mjs").write_text("\n".join(blocks))
    done = subprocess.run(
        ["node", "--check", "all.mjs"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_what_is_copied_runs(market: Any, serve: Any, tmp_path: Path) -> None:
    publish(market.storage, market.now)
    market.publish()
    server = serve(market).url
    for name in RUN:
        shown = samples(name, server)
        runs = {"curl": ["sh", "-c", shown["curl"] + " --fail -s"], "python": [sys.executable, "-c", shown["python"]]}
        if shutil.which("node"):
            runs["typescript"] = ["node", "--input-type=module", "-e", shown["typescript"]]
        runs["sql"] = [sys.executable, "-c", BY_HTTP, shown["sql"]]
        for language, command in runs.items():
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
            assert done.returncode == 0, f"{name} {language}: {shown[language]}\n{done.stderr}"
            assert language == "sql" or done.stdout.strip(), f"{name} {language}"
