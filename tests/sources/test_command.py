"""Test `python -m assets.sources`: it prints rows as CSV, and one line per error."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.sources.__main__ import main

MIX = b"""{"data":[{"from":"2026-08-01T00:00Z","to":"2026-08-01T00:30Z",
 "generationmix":[{"fuel":"gas","perc":66.6},{"fuel":"wind","perc":33.4}]}]}"""


@pytest.fixture
def body(tmp_path: Path) -> Path:
    (tmp_path / "mix.json").write_bytes(MIX)
    return tmp_path / "mix.json"


def test_rows_are_printed_in_full_and_in_order(body: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", "neso.generation", str(body), "--zone", "GB", "--day", "2026-08-01"]) == 0
    assert capsys.readouterr().out == (
        "metric,zone,fuel,counterparty,ts,value,unit,resolution,published_at,basis,low,high,factors\n"
        "generation,GB,gas,,1785542400,66.6,%,30m,,,,,\n"
        "generation,GB,wind,,1785542400,33.4,%,30m,,,,,\n"
    )


def test_with_the_instant_of_the_answer_rows_are_judged_as_a_run_judges_them(
    body: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["parse", "neso.generation", str(body), "--zone", "GB", "--day", "2026-08-01"]
    start = 1785542400
    assert main([*command, "--answered-at", str(start - 900)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3
    assert main([*command, "--answered-at", str(start - 901)]) == 0
    printed = capsys.readouterr()
    assert printed.out == "metric,zone,fuel,counterparty,ts,value,unit,resolution,published_at,basis,low,high,factors\n"
    assert "error time GB generation 1 " in printed.err
