"""Clients generated from the description compile and make calls.

By openapi-python-client, openapi-generator and openapi-typescript.
"""

from __future__ import annotations

import compileall
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import openapi_generator_cli
import pytest
import requests

from assets.documents import geo_layers
from assets.documents.publish import publish

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
NODE = Path(__file__).resolve().parents[1] / "node"
TYPES, COMPILER = NODE / "node_modules/.bin/openapi-typescript", NODE / "node_modules/.bin/tsc"
CALLS = """
import json, sys
from client import Client
from client.api.free import zones
from client.api.now import brief
from client.api.series import price
from client.models import BriefZone, PriceZone
with Client(base_url=sys.argv[1]) as client:
    listed = zones.sync(client=client)
    rows = price.sync(PriceZone.GB, client=client, sample=True, limit=3)
    sample = brief.sync(BriefZone.GB, client=client, sample=True)
    print(json.dumps({
        "zones": len(listed.zones), "values": [row.value for row in rows.data], "unit": rows.data[0].unit,
        "summary": sample.summary,
    }))
"""
GENERATED = """
import importlib, inspect, json, pkgutil, sys
import client
for module in pkgutil.walk_packages(client.__path__, "client."):
    importlib.import_module(module.name)
GIVEN = {"feature": "GB", "metric": "price", "kind": "not-found", "sample": True}
made = client.ApiClient(client.Configuration(host=sys.argv[1], retries=False))
listed, answered = client.FreeApi(made).zones(), []
rows = client.SeriesApi(made).price(zone="GB", sample=True, limit=3).actual_instance
summary = client.NowApi(made).brief(zone="GB", sample=True).summary
for group in (client.FreeApi, client.NowApi, client.SeriesApi, client.DiscoveryApi):
    for name, method in inspect.getmembers(group(made), inspect.ismethod):
        taken = inspect.signature(method).parameters
        if name.startswith("_") or name.endswith(("_with_http_info", "_without_preload_content")):
            continue
        GIVEN["zone"] = "DE-LU" if "capacity" in name else "GB"
        GIVEN["zones"] = [GIVEN["zone"], "FR"] if name.startswith(("price", "capacity")) else ["GB"]
        needed = [own for own, parameter in taken.items() if parameter.default is inspect.Parameter.empty]
        wanted = {own: GIVEN[own] for own in (*needed, *(["sample"] if "sample" in taken else []))} | (
            {"zones": GIVEN["zones"]} if group is client.SeriesApi and "zones" in taken else {})
        try:
            method(**wanted, _request_timeout=60)
            answered.append(name)
        except client.ApiException as error:
            assert error.status in (404, 503), (name, error)
print(json.dumps({
    "zones": len(listed.zones), "values": [row.value for row in rows.data], "unit": rows.data[0].unit,
    "summary": summary, "answered": answered,
}))
"""


FETCHED = """
import { Configuration, FreeApi, NowApi, SeriesApi, type Row } from "./made/index";
async function main() {
  const configuration = new Configuration({ basePath: process.argv[2] });
  const listed = await new FreeApi(configuration).zones();
  const rows = await new SeriesApi(configuration).price({ zone: "GB", sample: true, limit: 3 });
  const brief = await new NowApi(configuration).brief({ zone: "GB", sample: true });
  const data: Row[] = rows && "data" in rows ? rows.data : [];
  const values = data.map((row) => row.value);
  console.log(JSON.stringify({ zones: listed.zones.length, values, unit: data[0].unit, summary: brief.summary }));
}
main();
"""


@pytest.fixture
def served(market: Any, serve: Any, tmp_path: Path) -> Any:
    publish(market.storage, market.now)
    market.publish()
    running = serve(market)
    description = requests.get(f"{running.url}/openapi.json", timeout=30).json()
    (tmp_path / "openapi.json").write_text(json.dumps(description))
    return running


def check(served: Any, printed: str) -> None:
    """What a generated client read is what the service answers."""
    answer = json.loads(printed)
    rows = requests.get(f"{served.url}/v1/price/GB?sample=true&limit=3", timeout=30).json()["data"]
    assert answer["zones"] == 25
    assert answer["values"] == [row["value"] for row in rows]
    assert answer["unit"] == "GBP/MWh"
    assert answer["summary"].startswith("Great Britain")


def test_a_generated_python_client_compiles_and_calls(served: Any, tmp_path: Path) -> None:
    (tmp_path / "config.yml").write_text(
        "package_name_override: client\nproject_name_override: generated\npost_hooks: []\n"
    )
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none"]
    paths = ["--path", str(tmp_path / "openapi.json"), "--config", str(tmp_path / "config.yml")]
    run = subprocess.run(
        [*command, *paths, "--output-path", str(tmp_path / "client")], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "will not be generated" not in run.stdout, run.stdout
    assert compileall.compile_dir(tmp_path / "client", quiet=1)
    called = subprocess.run(
        [sys.executable, "-c", CALLS, served.url], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert called.returncode == 0, called.stderr
    check(served, called.stdout)


def generate(folder: Path, language: str, *more: str) -> None:
    """What openapi-generator makes of the description, in `made`."""
    jar = Path(openapi_generator_cli.__file__).with_name("openapi-generator.jar")
    options = ["-i", "openapi.json", "-g", language, "-o", "made", *more]
    quiet = ["--global-property", "apiTests=false,modelTests=false,apiDocs=false,modelDocs=false"]
    command = ["java", "-XX:TieredStopAtLevel=1", "-jar", str(jar), "generate", *options, *quiet]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=240)
    assert made.returncode == 0, made.stdout + made.stderr


@pytest.mark.skipif(shutil.which("java") is None, reason="no Java")
@pytest.mark.skipif(not COMPILER.exists(), reason="npm packages of tests/node are not installed")
def test_the_typescript_of_openapi_generator_compiles_and_calls(served: Any, tmp_path: Path) -> None:
    generate(tmp_path, "typescript-fetch")
    (tmp_path / "call.ts").write_text("declare const process: { argv: string[] };" + FETCHED)
    options = {"strict": True, "target": "es2022", "module": "commonjs", "lib": ["es2023", "dom"], "types": []}
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "files": ["call.ts"]}))
    compiled = subprocess.run([COMPILER], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert compiled.returncode == 0, compiled.stdout
    called = subprocess.run(["node", "call.js", served.url], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert called.returncode == 0, called.stderr
    check(served, called.stdout)


@pytest.mark.skipif(shutil.which("java") is None, reason="no Java")
def test_the_client_of_openapi_generator_reads_every_answer(market: Any, served: Any, tmp_path: Path) -> None:
    """Its models check what they read: types, words of enumerations, members that must be there."""
    geo_layers.publish(market.storage, ("interconnectors", "plants"))
    generate(tmp_path, "python", "--package-name", "client")
    assert compileall.compile_dir(tmp_path / "made" / "client", quiet=1)
    called = subprocess.run(
        [sys.executable, "-c", GENERATED, served.url],
        cwd=tmp_path / "made", capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip
    assert called.returncode == 0, called.stderr
    check(served, called.stdout)
    assert len(json.loads(called.stdout)["answered"]) > 60


@pytest.mark.skipif(not (TYPES.exists() and COMPILER.exists()), reason="npm packages of tests/node are not installed")
def test_generated_typescript_types_fit_a_program_that_calls(served: Any, tmp_path: Path) -> None:
    shutil.copy(NODE / "typed_client.ts", tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "node_modules").symlink_to((NODE / "node_modules").resolve())
    subprocess.run([TYPES, "openapi.json", "-o", "schema.d.ts"], cwd=tmp_path, check=True, capture_output=True)
    options = {
        "strict": True,
        "target": "es2022",
        "module": "nodenext",
        "skipLibCheck": True,
        "lib": ["es2023", "dom"],
        "types": [],
    }
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "files": ["typed_client.ts"]}))
    compiled = subprocess.run([COMPILER], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert compiled.returncode == 0, compiled.stdout
    called = subprocess.run(
        ["node", "typed_client.js", served.url], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert called.returncode == 0, called.stderr
    check(served, called.stdout)
