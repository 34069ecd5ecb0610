"""Define the command line: verbs, their options, and their output."""

from __future__ import annotations

from orchestration.cli.verbs import PROGRAMS, emds, main

__all__ = ["PROGRAMS", "emds", "main"]
