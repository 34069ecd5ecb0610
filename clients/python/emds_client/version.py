"""The release, read here by the package, its wheel and the User-Agent."""

from __future__ import annotations

__version__ = "1.0.0"
