"""The release of the whole project: packages, OpenAPI, MCP, metrics and User-Agents read it here."""

from __future__ import annotations

__version__ = "1.0.0"
