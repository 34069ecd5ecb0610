"""What an HTTP benchmark measured, as a table in Markdown with what it was measured on."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.servers import ROOT
from tests.bench.wrk import Speed


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table; `against` says what `part` is a part or a multiple of."""

    name: str
    speed: Speed
    part: float | None = None
    against: str = ""
    least: float | None = None

    @property
    def missed(self) -> bool:
        return self.least is not None and self.part is not None and self.part < self.least


def table(figures: Sequence[Figure]) -> str:
    """The figures as Markdown, with what they were measured on."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False, cwd=ROOT
    ).stdout.strip()
    cores = f"{os.cpu_count()} cores of {_processor()}"
    lines = [
        f"Commit {commit}, Python {platform.python_version()}, {cores}.",
        "",
        "| question | requests/s | p50 ms | p99 ms | against | budget |",
        "|---|---|---|---|---|---|",
    ]
    for figure in figures:
        speed = figure.speed
        part = "" if figure.part is None else f"{figure.part:.2f} of {figure.against}"
        least = "" if figure.least is None else f"{figure.least:g}"
        lines.append(f"| {figure.name} | {speed.rate:.0f} | {speed.p50:.2f} | {speed.p99:.2f} | {part} | {least} |")
    return "\n".join(lines) + "\n"


def _processor() -> str:
    names = re.findall(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return names[0] if names else platform.machine()
