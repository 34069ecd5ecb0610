"""Test the calls on the reference page and in docs/api.md: present for each operation, well-formed, run over HTTP.

R, and DuckDB with its `httpfs` extension, start once and run every sample. Refused samples name their status.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
import requests

from api.endpoints.table import ENDPOINTS
from api.pages import reference
from tests.api.conftest import Rig, copy_everywhere, put_mix
from tests.api.gunicorn_server import serving

pytestmark = pytest.mark.timeout(300)
ROOT = Path(__file__).resolve().parents[2]
RUN = ("price", "price-zones", "zones", "brief", "catalogue", "llms")
DUCKDB = ROOT / ".venv/clients/duckdb==1.5.5/bin/python"
REFUSED = {
    "confirm": 404,  # a placeholder token
    "webhook": 404,  # so is the ID
    "unsubscribe": 404,
    "test-webhook": 404,
    "metrics": 401,  # needs the operator's token
}
LANGUAGES = {"r": "R", "sql": "SQL (DuckDB)"}
R = """
given <- jsonlite::fromJSON(commandArgs(TRUE)[1], simplifyVector = FALSE)
answers <- list()
for (sample in given) {
  Sys.setenv(EMDS_KEY = sample$key)
  answers[[sample$name]] <- tryCatch({
    sink(nullfile()); read <- eval(parse(text = sample$text), new.env()); sink()
    if (is.data.frame(read)) paste(nrow(read), "rows:", paste(names(read), collapse = " "))
    else paste("read", class(read)[1])
  }, error = function(e) { sink(); conditionMessage(e) })
}
cat(jsonlite::toJSON(answers, auto_unbox = TRUE))
"""
SQL = """
import json, pathlib, sys, duckdb, duckdb_extension_httpfs
[extension] = pathlib.Path(duckdb_extension_httpfs.__path__[0]).rglob("httpfs.duckdb_extension")
answers = {}
with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as connection:
    connection.execute("SET enable_progress_bar = false")  # a program without a file is taken for a person
    connection.execute(f"LOAD '{extension}'")  # an eighth of a second of CPU
    connection.execute("SET enable_external_file_cache = false")
    for sample in json.loads(pathlib.Path(sys.argv[1]).read_text()):
        try:
            found = connection.execute(sample["text"].replace("emds_...", sample["key"]))
            columns = " ".join(column[0] for column in found.description)
            answers[sample["name"]] = f"{len(found.fetchall())} rows: {columns}"
        except duckdb.Error as error:
            answers[sample["name"]] = str(error)
        for [secret] in connection.execute("SELECT name FROM duckdb_secrets()").fetchall():
            connection.execute(f'DROP SECRET "{secret}"')
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the URL of a service with everything published. Samples of one test do not affect those of another."""
    folder = tmp_path_factory.mktemp("served")
    copy_everywhere(tmp_path_factory, folder / "home")
    put_mix(rig := Rig(folder / "home"))
    with serving(folder) as start:
        yield start(rig).url


def key(address: str, name: str) -> str:
    """Return a separate key for a sample, because some samples revoke their key."""
    answer = requests.post(f"{address}/v1/keys/signup", json={"email": f"{name}@example.org"}, timeout=30)
    own: str = answer.json()["api_key"]
    return own


def page_line(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)\n```", (ROOT / "docs" / "api.md").read_text(), re.DOTALL)
    assert found
    return found[1]


def samples_of(name: str, server: str = "https://emds.example") -> dict[str, str]:
    endpoint = ENDPOINTS[name]
    return reference.in_each_language(endpoint, server)


def samples(address: str, language: str) -> Iterator[dict[str, str]]:
    """Yield every call that the page shows in a language, and the call of docs/api.md."""
    yield {"name": "docs/api.md", "text": page_line(language).replace("http://127.0.0.1:8000", address), "key": ""}
    for name, endpoint in ENDPOINTS.items():
        if text := samples_of(name, address).get(LANGUAGES[language]):
            own = key(address, name) if endpoint.keyed else "emds_none"
            yield {"name": name, "text": re.sub(r"/\d{4}-\d\d\.parquet", "/2026-03.parquet", text), "key": own}


def judge(answers: dict[str, str], language: str) -> None:
    """Check that each sample was read unless it must be refused, and that a series is a table of its columns."""
    refused = REFUSED | ({"metrics": 0} if language == "sql" else {})  # DuckDB has a word for 404, none for 401
    wrong = {
        name: text
        for name, text in answers.items()
        if (f"HTTP {refused[name]}" not in text if name in refused else not re.match(r"read |[1-9]\d* rows", text))
    }
    assert not wrong, wrong
    assert len(answers) == 1 + sum(language == "r" or endpoint.method == "GET" for endpoint in ENDPOINTS.values())
    for name in ("docs/api.md", "price"):
        assert re.match(r"\d+ rows: ts time value unit", answers[name]), answers[name]


@pytest.mark.parametrize("name", ENDPOINTS)
def test_every_operation_is_shown_in_every_language_that_can_call_it(name: str) -> None:
    calls = samples_of(name)
    assert calls.keys() == set(reference.LANGUAGES) - (set() if ENDPOINTS[name].method == "GET" else {"SQL (DuckDB)"})
    compile(calls["Python"], name, "exec")
    assert all("https://emds.example/" in text and "{webhook}" not in text for text in calls.values())
    assert all(("sample=true" in text) == ENDPOINTS[name].paid for text in calls.values())


@pytest.mark.slow
def test_what_is_copied_runs(address: str, tmp_path: Path) -> None:
    for name in RUN:
        calls = samples_of(name, address)
        runs = {"curl": ["sh", "-c", calls["curl"] + " --fail -s"], "python": [sys.executable, "-c", calls["Python"]]}
        if shutil.which("node"):
            runs["typescript"] = ["node", "--input-type=module", "-e", calls["TypeScript"]]
        for language, command in runs.items():
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
            assert done.returncode == 0, f"{name} {language}: {calls[language]}\n{done.stderr}"
            assert done.stdout.strip(), f"{name} {language}"
    frame = eval(page_line("python").replace("http://127.0.0.1:8000", address), {"pandas": pd})
    assert len(frame) == 48
    assert str(frame["time"].dtype).startswith("datetime64")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_every_line_of_r_runs(address: str, tmp_path: Path) -> None:
    there = subprocess.run(["Rscript", "-e", "library(httr2)"], capture_output=True, timeout=60, check=False)
    if there.returncode:
        pytest.skip("R's httr2 is not installed")
    (tmp_path / "samples.json").write_text(json.dumps(list(samples(address, "r"))))
    (tmp_path / "all.R").write_text(R)
    done = subprocess.run(
        ["Rscript", "all.R", "samples.json"],
        cwd=tmp_path, env={**os.environ, "TZ": "UTC"}, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    judge(json.loads(done.stdout), "r")


@pytest.mark.slow
@pytest.mark.skipif(not DUCKDB.exists(), reason="DuckDB with httpfs is not installed (.ci/system.sh)")
def test_every_line_of_sql_runs(address: str, tmp_path: Path) -> None:
    (tmp_path / "samples.json").write_text(json.dumps(list(samples(address, "sql"))))
    command = [str(DUCKDB), "-c", SQL, str(tmp_path / "samples.json")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    judge(json.loads(done.stdout), "sql")
