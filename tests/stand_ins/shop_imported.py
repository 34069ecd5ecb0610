"""Configure gunicorn to import the modules of the shop once, before it forks its workers."""

from __future__ import annotations

from tests.stand_ins import shop

__all__ = ["shop"]
