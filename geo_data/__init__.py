"""Tables of zone boundaries, interconnectors and plants, their sources (README.md), and the code that rebuilds them.

The pipeline publishes the files of `shipped` as they are. All else here runs by hand and needs the extra `geo`.
"""

from __future__ import annotations

from pathlib import Path

TABLES = Path(__file__).parent / "tables"
"""The tables, as kept in the repository."""
