"""Test that clients generated from the description compile and make calls.

The generators are openapi-python-client, openapi-generator and openapi-typescript.
"""

from __future__ import annotations

import compileall
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import openapi_generator_cli
import pytest
import requests

from tests.api.conftest import Rig, copy_everywhere
from tests.api.gunicorn_server import Served, serving

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
import importlib, json, pkgutil, sys
import client
for module in pkgutil.walk_packages(client.__path__, "client."):
    importlib.import_module(module.name)
made = client.ApiClient(client.Configuration(host=sys.argv[1], retries=False))
listed = client.FreeApi(made).zones()
rows = client.SeriesApi(made).price(zone="GB", sample=True, limit=3).actual_instance
summary = client.NowApi(made).brief(zone="GB", sample=True).summary
print(json.dumps({
    "zones": len(listed.zones), "values": [row.value for row in rows.data], "unit": rows.data[0].unit,
    "summary": summary,
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


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Yield a service with every document and layer, which the clients do not change."""
    folder = tmp_path_factory.mktemp("served")
    copy_everywhere(tmp_path_factory, folder / "home")
    with serving(folder) as start:
        yield start(Rig(folder / "home"))


@pytest.fixture(scope="module")
def described(served: Served) -> str:
    """Return the description as a client downloads it."""
    return requests.get(f"{served.url}/openapi.json", timeout=30).text


@pytest.fixture
def folder(tmp_path: Path, described: str) -> Path:
    """Return the folder in which a client is generated. It contains the description."""
    (tmp_path / "openapi.json").write_text(described)
    return tmp_path


def check(served: Served, printed: str) -> None:
    """Check that a generated client read what the service returns."""
    answer = json.loads(printed)
    rows = requests.get(f"{served.url}/v1/price/GB?sample=true&limit=3", timeout=30).json()["data"]
    assert answer["zones"] == 25
    assert answer["values"] == [row["value"] for row in rows]
    assert answer["unit"] == "GBP/MWh"
    assert answer["summary"].startswith("Great Britain")


def test_a_generated_python_client_compiles_and_calls(served: Served, folder: Path) -> None:
    (folder / "config.yml").write_text(
        "package_name_override: client\nproject_name_override: generated\npost_hooks: []\n"
    )
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none"]
    paths = ["--path", str(folder / "openapi.json"), "--config", str(folder / "config.yml")]
    run = subprocess.run(
        [*command, *paths, "--output-path", str(folder / "client")], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "will not be generated" not in run.stdout, run.stdout
    assert compileall.compile_dir(folder / "client", quiet=1)
    called = subprocess.run(
        [sys.executable, "-c", CALLS, served.url], cwd=folder, capture_output=True, text=True, check=False
    )
    assert called.returncode == 0, called.stderr
    check(served, called.stdout)


@pytest.fixture(scope="module")
def generated(described: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the output of openapi-generator by language. Java starts once for all languages."""
    if shutil.which("java") is None:
        pytest.skip("no Java")
    folder = tmp_path_factory.mktemp("generated")
    (folder / "openapi.json").write_text(described)
    quiet = dict.fromkeys(("apiTests", "modelTests", "apiDocs", "modelDocs"), "false")
    for language, more in {"python": {"packageName": "client"}, "typescript-fetch": {}}.items():
        wanted = {"inputSpec": "openapi.json", "generatorName": language, "outputDir": language, **more}
        (folder / f"{language}.json").write_text(json.dumps(wanted | {"globalProperties": quiet}))
    jar = Path(openapi_generator_cli.__file__).with_name("openapi-generator.jar")
    command = ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-jar", str(jar), "batch", "--threads", "1"]
    made = subprocess.run(
        [*command, "python.json", "typescript-fetch.json"],
        cwd=folder, capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip
    assert made.returncode == 0, made.stdout + made.stderr
    return folder


@pytest.mark.skipif(not COMPILER.exists(), reason="npm packages of tests/node are not installed")
def test_the_typescript_of_openapi_generator_compiles_and_calls(served: Served, generated: Path, folder: Path) -> None:
    shutil.copytree(generated / "typescript-fetch", folder / "made")
    (folder / "call.ts").write_text("declare const process: { argv: string[] };" + FETCHED)
    options = {"strict": True, "target": "es2022", "module": "commonjs", "lib": ["es2023", "dom"], "types": []}
    options["skipDefaultLibCheck"] = True  # TypeScript's own libraries
    (folder / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "files": ["call.ts"]}))
    compiled = subprocess.run([COMPILER], cwd=folder, capture_output=True, text=True, check=False)
    assert compiled.returncode == 0, compiled.stdout
    called = subprocess.run(["node", "call.js", served.url], cwd=folder, capture_output=True, text=True, check=False)
    assert called.returncode == 0, called.stderr
    check(served, called.stdout)


def test_the_client_of_openapi_generator_compiles_and_calls(served: Served, generated: Path) -> None:
    """Check the client whose models validate types, enumerations and required fields."""
    assert compileall.compile_dir(generated / "python" / "client", quiet=1)
    called = subprocess.run(
        [sys.executable, "-c", GENERATED, served.url],
        cwd=generated / "python", capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip
    assert called.returncode == 0, called.stderr
    check(served, called.stdout)


@pytest.mark.skipif(not (TYPES.exists() and COMPILER.exists()), reason="npm packages of tests/node are not installed")
def test_generated_typescript_types_fit_a_program_that_calls(served: Served, folder: Path) -> None:
    shutil.copy(NODE / "typed_client.ts", folder)
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "node_modules").symlink_to((NODE / "node_modules").resolve())
    subprocess.run([TYPES, "openapi.json", "-o", "schema.d.ts"], cwd=folder, check=True, capture_output=True)
    options = {
        "strict": True,
        "target": "es2022",
        "module": "nodenext",
        "skipLibCheck": True,
        "lib": ["es2023", "dom"],
        "types": [],
    }
    (folder / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "files": ["typed_client.ts"]}))
    compiled = subprocess.run([COMPILER], cwd=folder, capture_output=True, text=True, check=False)
    assert compiled.returncode == 0, compiled.stdout
    called = subprocess.run(
        ["node", "typed_client.js", served.url], cwd=folder, capture_output=True, text=True, check=False
    )
    assert called.returncode == 0, called.stderr
    check(served, called.stdout)
