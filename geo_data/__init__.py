"""Tables of zone boundaries, interconnectors and plants, their sources (README.md), and the code that rebuilds them.

Nothing here runs at request time: `assets.documents.geo_layers` publishes the tables, and the API serves what it wrote.
"""

from __future__ import annotations

from pathlib import Path

TABLES = Path(__file__).parent / "tables"
"""The tables, as kept in the repository."""
