"""Build the components of published documents from the types with which the pipeline writes and the API reads them."""

from __future__ import annotations

from inspect import cleandoc
from typing import Any

import msgspec

from api.openapi.members import Member, Schema, record
from warehouse.documents.catalogue_entries import PublishedCatalogue
from warehouse.documents.present import Brief, GenerationMix, Latest, Snapshot


def extended(schema: Schema, *members: Member) -> Schema:
    """Return the schema of an object with additional fields."""
    more = record(*members)
    properties, required = ({**schema["properties"], **more["properties"]}, schema["required"] + more["required"])
    return {**schema, "properties": properties, "required": required}


def _component(schema: Schema) -> Schema:
    """Return msgspec's schema as OpenAPI shows it. A field with a default other than `UNSET` is always present."""
    properties: dict[str, Any] = {}
    required = [*schema["required"]]
    for name, of in schema["properties"].items():
        properties[name] = {word: value for word, value in of.items() if word != "default"}
        required += [name] if "default" in of else []
    description = cleandoc(schema["description"])
    return {"type": "object", "description": description, "properties": properties, "required": required}


def _components(*kinds: type[msgspec.Struct]) -> dict[str, Schema]:
    _, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    return {name: _component(schema) for name, schema in components.items()}


CATALOGUE = _components(PublishedCatalogue)
PRESENT = _components(Latest, GenerationMix, Snapshot, Brief)
