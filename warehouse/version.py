"""Define the release of the whole project, which packages, OpenAPI, MCP, metrics and User-Agents read here."""

from __future__ import annotations

__version__ = "1.0.0"
