"""Define the version, which the package, its wheel and the User-Agent read here."""

from __future__ import annotations

__version__ = "1.0.0"
