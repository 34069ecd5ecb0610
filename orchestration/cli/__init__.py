"""The command line: verbs, their options, and what they print."""

from __future__ import annotations

from orchestration.cli.verbs import PROGRAMS, emds, main

__all__ = ["PROGRAMS", "emds", "main"]
