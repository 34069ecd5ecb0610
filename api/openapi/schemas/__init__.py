"""What answers look like, as JSON Schema (2020-12): the components of the OpenAPI document, every member defined."""

from __future__ import annotations

from api.openapi.schemas.brief import BRIEF
from api.openapi.schemas.definitions import described
from api.openapi.schemas.derived import DERIVED
from api.openapi.schemas.geography import GEOGRAPHY
from api.openapi.schemas.market_data import MARKET_DATA
from api.openapi.schemas.parts import INSTANT, STATE, WORDS, Schema, ref
from api.openapi.schemas.service import SERVICE

__all__ = ["INSTANT", "SCHEMAS", "STATE", "Schema", "ref"]

SCHEMAS: dict[str, Schema] = {
    name: described(name, schema)
    for name, schema in {**WORDS, **MARKET_DATA, **BRIEF, **DERIVED, **GEOGRAPHY, **SERVICE}.items()
}
"""By the name that OpenAPI's components give them. Fields that are not required stand only where they apply."""
