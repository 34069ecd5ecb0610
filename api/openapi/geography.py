"""Define the schemas of geography: layer features and properties, the latest values, and OGC's documents."""

from __future__ import annotations

from typing import get_args

from api.openapi.members import TYPES, Member, Schema, choice, keyed, listed, or_null, record, text
from warehouse.figures.context import Band
from warehouse.market.clock import LAST_INSTANT
from warehouse.market.metrics import FORECASTS, SCALAR
from warehouse.market.zones import ZONES

_YEAR = or_null({"type": "number", "minimum": 1800, "maximum": 2100})
_REAL_INSTANT: Schema = {"type": "number", "minimum": 0, "maximum": LAST_INSTANT}
_REAL_PERCENTILE: Schema = TYPES["percentile"] | {"type": "number"}
"""Integers in the layer, real numbers in the items of OGC API Features (`api.geo.ogc`). The schema covers both."""
_BOX: Member = ("bbox?", "West, south, east, north in degrees.", listed("number", minItems=4, maxItems=4))
_LINKS: Member = ("links?", "Links (OGC API Features).", listed("OgcLink"))

# fmt: off
_PLACE: tuple[Member, ...] = (
    ("id", "Zone ID.", "zone"),
    "name", ("country", "ISO 3166 code of the country, the first of several.", "text"), "tz", "currency",
    ("label_lon", "Longitude of a point for the label.", "number"),
    ("label_lat", "Latitude of a point for the label.", "number"),
    ("note", "What the shape leaves out or joins.", "text?"),
)
_ZONE_PROPERTIES = record(
    *_PLACE,
    ("operator", "The grid operator.", "text"),
    ("source_code", "The zone's code at ENTSO-E (EIC), EIA or AEMO.", "text"),
    ("area_km2", "Area in square kilometres.", "number"),
    ("source", "Source of the boundary.", "text"),
    ("valid_from", "First day of this boundary; null if unknown.", "text?"),
    ("valid_to", "Last day of this boundary; null if it is current.", "text?"))
_LINE_PROPERTIES = record(
    ("id", "Interconnector ID: `link` in rows of a border.", "text"), "name",
    ("from", "Zone at one end.", "zone"),
    ("to", "Zone at the other end; null if it is outside the covered zones.", "zone?"),
    ("pair", "Both zones, `<from>_<to>`; null if the other end is outside the covered zones.", "text?"),
    ("from_zone", "Same as `from`, for programs in which `from` is a reserved word.", "zone"),
    ("to_zone", "Same as `to`.", "zone?"),
    ("neighbour", "Area at the other end, if it is outside the covered zones.", "text?"),
    ("type", "`HVDC`, `HVDC-B2B`, `AC` and the like.", "text"),
    ("capacity_mw", "Capacity in MW; null if unknown.", "number?"),
    ("capacity_from_to_mw", "Capacity from `from` to `to`, MW.", "number?"),
    ("capacity_to_from_mw", "Capacity from `to` to `from`, MW.", "number?"),
    ("commissioning_year", "Year of commissioning.", _YEAR),
    ("status", "`operating`, `retired` and the like.", "text"),
    ("geometry_quality", "`schematic` (across the border) or `approximate` (between converter points).", "text"),
    *((f"{code}_id", f"ID at {name}.", "text?") for code, name in (
        ("elexon", "Elexon"), ("aemo", "AEMO"), ("nyiso", "NYISO"), ("isone", "ISO-NE"), ("ercot", "ERCOT"))),
    ("elexon_name", "Name at Elexon.", "text?"),
    ("note", "Note.", "text?"),
    ("checked", "Day when these facts were last checked.", "text"))
_FLOW_PROPERTIES = record(
    ("id", "Interconnector ID: `link` in rows of a border.", "text"), "name",
    ("type", "`HVDC`, `HVDC-B2B`, `AC` and the like.", "text"),
    ("capacity_mw", "Capacity in MW; null if unknown.", "number?"),
    ("status", "`operating`, `retired` and the like.", "text"),
    ("from", "Origin of the flow: a zone ID, or the name of an area outside the covered zones.", "text"),
    ("to", "Destination of the flow: a zone ID, or the name of an area outside the covered zones.", "text"),
    ("mw", "Flow of this line, whole 100 MW, at least 0; null if it is not published.", "number?"),
    ("mw_ts", "Start of the interval of the flow, Unix seconds; null without one.", "instant?"),
    ("border_mw", "Flow of the whole border, for a line without its own value; otherwise null.", "number?"),
    ("source", "Code of the source of the flow; null without one.", "text?"),
    ("license", "Licence of the flow.", "text?"),
    ("attribution", "Attribution of the flow.", "text?"))
_PLANT_PROPERTIES = record(
    ("id", "Plant ID.", "text"), "name",
    ("zone", "Zone of the plant.", "zone"),
    ("country", "ISO 3166 code of the country.", "text"),
    ("fuel", "Main fuel.", "plant fuel"),
    ("fuel_1_mw", "Capacity of the main fuel, MW.", "number"),
    *((f"fuel_{place}", "Another fuel.", "plant fuel?") for place in (2, 3)),
    *((f"fuel_{place}_mw", "Capacity of that fuel, MW.", "number?") for place in (2, 3)),
    ("capacity_mw", "Capacity of all fuels, MW.", "number"),
    ("capacity_basis", "Definition of the capacity: `net`, `nameplate`, `registered` or `connection`.", "text"),
    ("commissioning_year", "Year of the first unit.", _YEAR),
    ("status", "`operating`, `reserve`, `mothballed` or `commissioning`; null if unknown.", "text?"),
    ("owner", "Owner.", "text?"),
    ("source", "Source of the plant's data.", "text"),
    ("source_id", "ID at the source.", "text?"),
    ("eic", "Energy Identification Code.", "text?"),
    ("as_of", "Date of the source.", "text"))
_LIVE_PROPERTIES = record(
    *_PLACE,
    *(member for metric in SCALAR for member in (
        (f"{metric}", "Newest value, rounded; null without one.", "number?"),
        (f"{metric}_unit", "Unit of the value.", "text?"),
        (f"{metric}_ts", "Start of the interval, Unix seconds.", or_null(_REAL_INSTANT)),
        (f"{metric}_expected_by", "Time by which a newer value is due, Unix seconds.", or_null(_REAL_INSTANT)),
        (f"{metric}_percentile", "Percentile within the zone's past 30 days.", or_null(_REAL_PERCENTILE)),
        (f"{metric}_band", "Band of the percentile.", or_null(choice(*get_args(Band)))))),
    ("carbon_basis", "`published` if an operator publishes `carbon`, otherwise `estimate`.",
     or_null(choice("published", "estimate"))),
    ("updated", "Time when the document was built, Unix seconds.", _REAL_INSTANT),
    "attribution", "license")


def _feature(properties: Schema, geometry: tuple[str, ...]) -> Schema:
    """Return the schema of a feature. A single feature also contains the layer's terms and links."""
    return record(
        ("type", "GeoJSON type (RFC 7946).", text(const="Feature")), ("id", "Same as `properties.id`.", "text"), _BOX,
        ("geometry", "Geometry in WGS 84, longitude first.", record(
            ("type", "GeoJSON type (RFC 7946).", choice(*geometry)),
            ("coordinates", "Positions as [longitude, latitude], nested by the geometry's type.", listed({})))),
        ("properties", "Flat properties.", properties),
        ("attribution?", "Attribution of the layer; only for a single feature.", "text"),
        ("license?", "Licence of the layer; only for a single feature.", "text"),
        _LINKS)


def _layer(feature: str, *more: Member) -> Schema:
    """Return the schema of a layer as a collection. Pages have the additional fields of OGC API Features."""
    return record(
        ("type", "GeoJSON type (RFC 7946).", text(const="FeatureCollection")),
        ("name", "The layer.", "text"),
        "license", "attribution", _BOX, *more,
        ("features", "The features.", listed(feature)),
        "sample?",
        ("numberMatched?", "Features that match, on all pages.", "whole"),
        ("numberReturned?", "Features on this page.", "whole"),
        ("timeStamp?", "When the layer was published.", text(format="date-time")),
        _LINKS)


_HOURS = listed("integer?")
_STEPS: tuple[Member, ...] = (
    "start", "step", ("values", "Rounded means, one per step; null if there are too few rows.", _HOURS))
_MEANS = record(*_STEPS)
_PARTS = or_null(record(
    "unit", "start", "step",
    ("parts", "Values by fuel or border, one per step; null if there are too few rows.", keyed(_HOURS))))
_POLYGONS = ("Polygon", "MultiPolygon")
GEOGRAPHY: dict[str, Schema] = {
    "ZoneFeature": _feature(_ZONE_PROPERTIES, _POLYGONS),
    "InterconnectorFeature": _feature(_LINE_PROPERTIES, ("LineString", "MultiLineString")),
    "PlantFeature": _feature(_PLANT_PROPERTIES, ("Point",)),
    "LiveFeature": _feature(_LIVE_PROPERTIES, _POLYGONS),
    "FlowFeature": _feature(_FLOW_PROPERTIES, ("LineString",)),
    "FlowLayer": _layer("FlowFeature", "generated", "valid_until", "rounded", "simulated"),
    "ZoneLayer": _layer("ZoneFeature"),
    "InterconnectorLayer": _layer("InterconnectorFeature"),
    "PlantLayer": _layer("PlantFeature"),
    "LiveLayer": _layer(
        "LiveFeature", "generated", "valid_until", "rounded", "simulated",
        ("flows", "Newest flows over borders and interconnectors.", listed(record(
            "zone", "link", "ts",
            ("counterparty", "The other side of the border: a zone ID, or the name of an outside area.", "text"),
            ("mw", "Net import over the border, whole 100 MW.", "integer"))))),
    "LiveHours": record(
        "generated", "valid_until", "rounded", "simulated", "step",
        ("zones", "Rounded hourly values by zone.", keyed(record(
            "start",
            *((f"{metric}_unit?", "Unit of the metric's values.", "text") for metric in SCALAR),
            *((f"{metric}?", "Rounded means, one per step; null if there are too few rows.", _HOURS)
              for metric in SCALAR),
            *((f"{metric}_percentile?", "Percentiles of these hours; null where the means are null.",
             listed("percentile?"))
              for metric in SCALAR),
            ("price_day_ahead?", "Day-ahead prices, if `price` is a real-time price.", _HOURS),
            ("price_day_ahead_percentile?", "Percentiles within the past 30 days of day-ahead prices.",
             listed("percentile?")),
            *((f"{metric}_forecast?", "The operator's forecast, separate from the means.", _HOURS)
              for metric in SCALAR if f"{metric}_forecast" in FORECASTS)), choice(*ZONES)))),
    "LiveZone": record(
        "zone", "generated", "valid_until", "rounded", "simulated",
        ("metrics", "Rounded history by metric.", keyed(record(
            "unit", ("hours", "Means of the last hours.", _MEANS), ("days", "Means of the last days.", _MEANS),
            ("day_ahead?", "Day-ahead prices of the last days and the next, if `hours` are real-time prices.", _MEANS),
            ("forecast", "The operator's forecast for up to two days ahead; null if there is none.",
             or_null(record(("published_at", "Time of the newest publication, Unix seconds.", "instant"), *_STEPS)))))),
        ("mix", "Generation by fuel over the last hours; null if the zone has no data.", _PARTS),
        ("borders", "Net import by border over the last hours; null without data.", _PARTS),
        ("wind_solar", "Forecast share of wind and solar in demand, hour by hour; null if it is unknown.",
         or_null(record("unit", *_STEPS))),
        "attribution", "license"),
    "OgcLink": record(
        ("href", "URL.", text(format="uri-reference")),
        ("rel", "Relation.", "text"), ("type", "Media type.", "text"), "title"),
    "OgcLanding": record(
        "title", ("description", "Description of the layers.", "text"),
        ("links", "Links to description, conformance and layers.", listed("OgcLink"))),
    "OgcConformance": record(("conformsTo", "Conformance classes, as URIs of the standard.", listed("text"))),
    "OgcCollection": record(
        ("id", "The layer.", "text"), "title",
        ("description", "Attribution. Show it wherever you show the layer.", "text"),
        ("itemType", "Type of the items.", text(const="feature")),
        ("crs", "Coordinate reference systems, as URIs.", listed("text")),
        ("extent", "Extent.", record(
            ("spatial", "Spatial extent.", record(
                ("bbox", "Bounding box of all features.", listed(listed("number", minItems=4, maxItems=4))),
                ("crs", "Coordinate reference system, as a URI.", "text"))))),
        ("links", "Items and licence.", listed("OgcLink"))),
    "OgcCollections": record(
        ("links", "This document.", listed("OgcLink")),
        ("collections", "The layers.", listed("OgcCollection"))),
}
# fmt: on
"""The schemas by component name. Files with a whole layer use `Document`."""
