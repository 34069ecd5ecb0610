"""`emds serve`: where it listens, by which server, in which environment."""

from __future__ import annotations

import os
import sys

import pytest

from orchestration.servers import serve
from warehouse.errors import StorageError


@pytest.fixture
def become(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], dict[str, str]]]:
    """What `serve` would become: command line and environment."""
    became: list[tuple[list[str], dict[str, str]]] = []
    monkeypatch.setattr(serve, "prepare", lambda: None)
    monkeypatch.setattr(serve, "require_free", lambda *_, **__: None)
    monkeypatch.setattr(os, "chdir", lambda _: None)
    monkeypatch.setattr(os, "execve", lambda _, argv, environ: became.append((argv, environ)))
    monkeypatch.delenv("EMDS_BASE_URL", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    return became


def test_it_listens_on_loopback_unless_a_host_says_otherwise(
    become: list[tuple[list[str], dict[str, str]]], capsys: pytest.CaptureFixture[str]
) -> None:
    serve.serve(8000)
    assert capsys.readouterr().err == ""
    serve.serve(8000, "0.0.0.0")
    assert "behind nginx or another proxy" in capsys.readouterr().err
    serve.serve(8000, "::1")
    binds = [argv[argv.index("--bind") + 1] for argv, _ in become]
    assert binds == ["127.0.0.1:8000", "0.0.0.0:8000", "[::1]:8000"]


def test_libraries_get_their_settings_and_the_owner_s_own_go_first(
    become: list[tuple[list[str], dict[str, str]]],
) -> None:
    serve.serve(8000)
    [(_, environ)] = become
    assert environ["EMDS_BASE_URL"] == "http://127.0.0.1:8000"
    assert environ.items() >= (serve.ENVIRONMENT | {"OMP_NUM_THREADS": "3"}).items()


def test_granian_is_an_extra(become: list[tuple[list[str], dict[str, str]]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "find_spec", lambda _: object())
    serve.serve(8000, server="granian")
    assert become[0][0] == [sys.executable, "-m", "api.granian_server", "127.0.0.1", "8000"]
    monkeypatch.setattr(serve, "find_spec", lambda _: None)
    with pytest.raises(StorageError, match=r"emds\[granian\]"):
        serve.serve(8000, server="granian")
