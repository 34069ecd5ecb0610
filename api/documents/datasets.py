"""Describe the monthly files that `/v1/bulk` lists as a Frictionless Data Package and as a Croissant dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from api.documents.catalogue_reader import Catalogue
from api.openapi.members import SHARED
from warehouse.market.clock import iso
from warehouse.rows.schema import SCHEMA

PARQUET = "application/vnd.apache.parquet"
_FORMAT = "application/x-parquet"
_DESCRIPTIONS = {name: meaning for name, (meaning, _) in SHARED.items()} | {
    "counterparty": "The zone or area across the border; null for the net of the zone.",
    "link": "The tie; null for a border or a net.",
    "known_at": "When this service first had the value, Unix seconds UTC.",
    "superseded_at": "Null: a file holds what is served.",
    **dict.fromkeys(("published_at", "basis"), "Null: of forecasts alone."),
    "low": "The lower bound of an estimate, in `unit`; null for other metrics.",
    "high": "The upper bound of an estimate, in `unit`; null for other metrics.",
    "factors": "The id of the set of factors of an estimate; null for other metrics.",
}
"""The description of each column. A file of flows contains the net of its zone and the borders."""
_TYPES = {"string": ("string", "sc:Text"), "int64": ("integer", "sc:Integer"), "double": ("number", "sc:Float")}
"""The names of Arrow's types in Data Packages and Croissant."""
_NAME, _TITLE = "electricity-market-data", "Electricity market data"
_DESCRIPTION = "Prices, demand, interchange, generation and carbon intensity of electricity markets, by zone and month."


def data_package(files: Sequence[Mapping[str, Any]], as_of: int, catalogue: Catalogue, base_url: str) -> dict[str, Any]:
    """Return the Data Package (https://datapackage.org): a resource per file with its hash, schema and licences."""
    fields = [{"name": field.name, "type": _TYPES[str(field.type)][0]} for field in SCHEMA]
    schema = {"fields": fields, "missingValues": ["", "nan"]}  # pandas reads a null among integers as nan
    return {
        "name": _NAME,
        "title": _TITLE,
        "description": _DESCRIPTION,
        "homepage": f"{base_url}/docs/bulk",
        "created": iso(as_of),
        "resources": [_resource(file, schema, catalogue) for file in files],
    }


def _resource(file: Mapping[str, Any], schema: Mapping[str, Any], catalogue: Catalogue) -> dict[str, Any]:
    carriers = [catalogue.sources[code] for code in file["sources"]]
    # A licence is given by its URL, or by a name if it has no URL.
    words = [{"path": s.license_url} if s.license_url else {"name": "other-license-specified"} for s in carriers]
    return {
        "name": _id(file).lower(),
        "path": file["url"],
        "format": "parquet",
        "mediatype": PARQUET,
        "bytes": file["bytes"],
        "hash": f"sha256:{file['sha256']}",
        "licenses": [{**word, "title": source.license} for word, source in zip(words, carriers, strict=True)],
        "sources": [{"title": source.attribution, "path": source.homepage} for source in carriers],
        "schema": schema,
    }


def _id(file: Mapping[str, Any]) -> str:
    return f"{file['metric']}-{file['zone']}-{file['month']}"


def croissant(files: Sequence[Mapping[str, Any]], as_of: int, catalogue: Catalogue, base_url: str) -> dict[str, Any]:
    """Return the Croissant dataset (https://docs.mlcommons.org/croissant) with a record set per metric."""
    by_metric: dict[str, list[Mapping[str, Any]]] = {}
    for file in files:
        by_metric.setdefault(file["metric"], []).append(file)
    codes = sorted({code for file in files for code in file["sources"]})
    carriers = [catalogue.sources[code] for code in codes]
    objects = [
        {
            "@type": "cr:FileObject",
            "@id": _id(file),
            "name": f"{_id(file)}.parquet",
            "contentUrl": file["url"],
            "contentSize": f"{file['bytes']} B",
            "encodingFormat": _FORMAT,
            "sha256": file["sha256"],
        }
        for file in files
    ]
    sets = [
        {
            "@type": "cr:FileSet",
            "@id": f"{metric}-files",
            "name": f"{metric}-files",
            "containedIn": [{"@id": _id(file)} for file in own],
            "encodingFormat": _FORMAT,
            "includes": "*.parquet",
        }
        for metric, own in by_metric.items()
    ]
    records = [
        {"@type": "cr:RecordSet", "@id": metric, "name": metric, "field": [_field(metric, field) for field in SCHEMA]}
        for metric in by_metric
    ]
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": _NAME,
        "description": _DESCRIPTION,
        "url": f"{base_url}/docs/bulk",
        "version": f"1.0.{as_of}",
        "datePublished": iso(as_of),
        "isLiveDataset": True,
        "license": list(dict.fromkeys(source.license_url or source.license for source in carriers)),
        "creator": [{"@type": "sc:Organization", "name": s.name, "url": s.homepage} for s in carriers],
        "citeAs": "; ".join(dict.fromkeys(source.attribution for source in carriers)),
        "distribution": [*objects, *sets],
        "recordSet": records,
    }


def _field(metric: str, column: Any) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"{metric}/{column.name}",
        "name": column.name,
        "description": _DESCRIPTIONS[column.name],
        "dataType": _TYPES[str(column.type)][1],
        "source": {"fileSet": {"@id": f"{metric}-files"}, "extract": {"column": column.name}},
    }


_PREFIXES = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
}
_TERMS = (
    *("citeAs", "column", "equivalentProperty", "extract", "field", "fileProperty", "fileObject", "fileSet", "format"),
    *("includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet", "references", "regex"),
    *("repeated", "replace", "samplingRate", "separator", "source", "subField", "transform"),
)
_OTHERS = {
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
}
_CONTEXT = _PREFIXES | {term: f"cr:{term}" for term in _TERMS} | _OTHERS
"""The context in the specification of Croissant 1.0."""
