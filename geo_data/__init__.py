"""Provide tables of zone boundaries, interconnectors and plants with their sources (README.md), and rebuild them.

The pipeline publishes the files of `shipped` unchanged. Everything else here is run manually and needs the extra `geo`.
"""

from __future__ import annotations

from pathlib import Path

TABLES = Path(__file__).parent / "tables"
"""The tables in the repository."""
