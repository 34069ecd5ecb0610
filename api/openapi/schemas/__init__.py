"""What answers look like, as JSON Schema (2020-12): the components of the OpenAPI document, every member defined."""

from __future__ import annotations

from api.openapi.schemas.market_data import MARKET_DATA
from api.openapi.schemas.service import SERVICE
from api.openapi.schemas.types import INSTANT, STATE, WORDS, Schema, ref

__all__ = ["INSTANT", "SCHEMAS", "STATE", "Schema", "ref"]

SCHEMAS: dict[str, Schema] = {**WORDS, **MARKET_DATA, **SERVICE}
"""By the name that OpenAPI's components give them. Fields that are not required stand only where they apply."""
