"""Boundaries, lines and plants: the project's own tables, their papers (README.md), and the code that rebuilds and checks them.

Nothing here runs at request time: `assets.documents.geo_layers` turns the tables into published artefacts, the API serves those.
"""

from __future__ import annotations

from pathlib import Path

TABLES = Path(__file__).parent / "tables"
"""The tables, as kept in the repository."""
