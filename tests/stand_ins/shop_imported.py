"""gunicorn's settings for the shop: what it consists of is imported once, before its workers are forked."""

from __future__ import annotations

from tests.stand_ins import shop

__all__ = ["shop"]
