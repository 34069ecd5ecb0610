"""`emds serve`: where it listens, by which server, in which environment."""

from __future__ import annotations

import os

import pytest

from orchestration.servers import serve


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
