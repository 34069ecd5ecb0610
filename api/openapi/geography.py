"""Schemas of geography: features of each layer with their properties, the newest figures, OGC's documents."""

from __future__ import annotations

from typing import get_args

from api.openapi.members import TYPES, Member, Schema, choice, keyed, listed, or_null, record, text
from warehouse.figures.context import Band
from warehouse.market.clock import LAST_INSTANT
from warehouse.market.metrics import FORECASTS, SCALAR
from warehouse.market.zones import ZONES

_TEXT, _NUMBER, _ZONE = or_null("text"), or_null("number"), or_null("zone")
_YEAR = or_null({"type": "number", "minimum": 1800, "maximum": 2100})
_REAL_INSTANT: Schema = {"type": "number", "minimum": 0, "maximum": LAST_INSTANT}
_REAL_PERCENTILE: Schema = TYPES["percentile"] | {"type": "number"}
"""Whole in the layer, reals in the items of OGC API Features (`api.geo.ogc`): one schema describes both."""
_BOX: Member = ("bbox?", listed("number", minItems=4, maxItems=4), "West, south, east, north in degrees.")
_LINKS: Member = ("links?", listed("OgcLink"), "Links (OGC API Features).")

# fmt: off
_PLACE: tuple[Member, ...] = (
    ("id", "zone", "Zone id."),
    "name", ("country", "text", "ISO 3166 code of the country, the first of several."), "tz", "currency",
    ("label_lon", "number", "Longitude of a point for the label."),
    ("label_lat", "number", "Latitude of a point for the label."),
    ("note", _TEXT, "What the shape leaves out or joins."),
)
_ZONE_PROPERTIES = record(
    *_PLACE,
    ("operator", "text", "The grid operator."),
    ("source_code", "text", "The zone's code at ENTSO-E (EIC), EIA or AEMO."),
    ("area_km2", "number", "Area in square kilometres."),
    ("source", "text", "Where the boundary is from."),
    ("valid_from", _TEXT, "First day of this boundary; null where it is not known."),
    ("valid_to", _TEXT, "Last day of this boundary; null while it holds."))
_LINE_PROPERTIES = record(
    ("id", "text", "Tie id: `link` of the rows of a border."), "name",
    ("from", "zone", "Zone at one end."),
    ("to", _ZONE, "Zone at the other end; null where that is none of ours."),
    ("pair", _TEXT, "Both zones, `<from>_<to>`; null where the other end is none of ours."),
    ("from_zone", "zone", "As `from`, for programs in which that is a reserved word."),
    ("to_zone", _ZONE, "As `to`."),
    ("neighbour", _TEXT, "The area at the other end that is no zone of ours."),
    ("type", "text", "`HVDC`, `HVDC-B2B`, `AC` and the like."),
    ("capacity_mw", _NUMBER, "Capacity in MW; null where it is not known."),
    ("capacity_from_to_mw", _NUMBER, "Capacity from `from` to `to`, MW."),
    ("capacity_to_from_mw", _NUMBER, "Capacity from `to` to `from`, MW."),
    ("commissioning_year", _YEAR, "Year of commissioning."),
    ("status", "text", "`operating`, `retired` and the like."),
    ("geometry_quality", "text", "`schematic`: a straight line between its ends; else as surveyed."),
    *((f"{code}_id", _TEXT, f"Its id at {name}.") for code, name in (
        ("elexon", "Elexon"), ("aemo", "AEMO"), ("nyiso", "NYISO"), ("isone", "ISO-NE"), ("ercot", "ERCOT"))),
    ("elexon_name", _TEXT, "Its name at Elexon."),
    ("note", _TEXT, "What else is to be known."),
    ("checked", "text", "Day on which these facts were last checked."))
_PLANT_PROPERTIES = record(
    ("id", "text", "Plant id."), "name",
    ("zone", "zone", "The zone that it stands in."),
    ("country", "text", "ISO 3166 code of the country."),
    ("fuel", "fuel", "Main fuel."),
    ("fuel_1_mw", "number", "Capacity of the main fuel, MW."),
    *((f"fuel_{place}", or_null("fuel"), "A further fuel.") for place in (2, 3)),
    *((f"fuel_{place}_mw", _NUMBER, "Capacity of that fuel, MW.") for place in (2, 3)),
    ("capacity_mw", "number", "Capacity of all fuels, MW."),
    ("capacity_basis", "text", "`net`, `nameplate`, `ac` and the like: what the capacity counts."),
    ("commissioning_year", _YEAR, "Year of the first unit."),
    ("status", _TEXT, "`operating` and the like."),
    ("owner", _TEXT, "Owner."),
    ("source", "text", "Where the plant is from."),
    ("source_id", _TEXT, "Its id there."),
    ("eic", _TEXT, "Energy Identification Code."),
    ("as_of", "text", "Day of the source."))
_LIVE_PROPERTIES = record(
    *_PLACE,
    *(member for metric in SCALAR for member in (
        (f"{metric}", _NUMBER, "The newest value, rounded; null without one."),
        (f"{metric}_unit", _TEXT, "Its unit."),
        (f"{metric}_ts", or_null(_REAL_INSTANT), "Start of its interval, Unix seconds."),
        (f"{metric}_expected_by", or_null(_REAL_INSTANT), "Unix seconds by which a newer one is due."),
        (f"{metric}_percentile", or_null(_REAL_PERCENTILE), "Its rank among the zone's last 30 days."),
        (f"{metric}_band", or_null(choice(*get_args(Band))), "That rank in a word."))),
    ("updated", _REAL_INSTANT, "Unix seconds when the document was built."),
    "attribution", "license")


def _feature(properties: Schema, geometry: tuple[str, ...]) -> Schema:
    """A feature; alone it carries the layer's terms and links too."""
    return record(
        ("type", text(const="Feature"), "GeoJSON type (RFC 7946)."), ("id", "text", "As `properties.id`."), _BOX,
        ("geometry", record(
            ("type", choice(*geometry), "GeoJSON type (RFC 7946)."),
            ("coordinates", listed({}), "Positions as [longitude, latitude], nested by the geometry's type.")),
         "The shape; WGS 84, longitude first."),
        ("properties", properties, "Flat properties."),
        ("attribution?", "text", "The layer's attribution, of a feature asked for alone."),
        ("license?", "text", "The layer's licence, of a feature asked for alone."),
        _LINKS)


def _layer(feature: str, *more: Member) -> Schema:
    """A layer as a collection; by page with what OGC API Features adds."""
    return record(
        ("type", text(const="FeatureCollection"), "GeoJSON type (RFC 7946)."),
        ("name", "text", "The layer."),
        "license", "attribution", _BOX, *more,
        ("features", listed(feature), "The features."),
        "sample?",
        ("numberMatched?", "whole", "Features that match, on all pages."),
        ("numberReturned?", "whole", "Features on this page."),
        ("timeStamp?", text(format="date-time"), "When the layer was published."),
        _LINKS)


_HOURS = listed(or_null("integer"))
_FIRST: Member = ("start", "instant", "Start of the first value, Unix seconds.")
_MEANS = record(
    _FIRST, "step",
    ("values", _HOURS, "Rounded means, one a step; null where there are too few rows."))
_PARTS = or_null(record(
    "unit", _FIRST, "step",
    ("parts", keyed(_HOURS), "Values by fuel or border, one a step; null where there are too few rows.")))
_POLYGONS = ("Polygon", "MultiPolygon")
GEOGRAPHY: dict[str, Schema] = {
    "ZoneFeature": _feature(_ZONE_PROPERTIES, _POLYGONS),
    "InterconnectorFeature": _feature(_LINE_PROPERTIES, ("LineString", "MultiLineString")),
    "PlantFeature": _feature(_PLANT_PROPERTIES, ("Point",)),
    "LiveFeature": _feature(_LIVE_PROPERTIES, _POLYGONS),
    "ZoneLayer": _layer("ZoneFeature"),
    "InterconnectorLayer": _layer("InterconnectorFeature"),
    "PlantLayer": _layer("PlantFeature"),
    "LiveLayer": _layer(
        "LiveFeature", "generated", "valid_until", "rounded", "simulated",
        ("flows", listed(record(
            "zone",
            ("counterparty", "text",
             "The other side of the border: a zone id where it is one of ours, else the area's name."),
            "link",
            ("mw", "integer", "Net import over the border, whole 100 MW."),
            "ts")),
         "Newest flows over borders and ties.")),
    "LiveHours": record(
        "generated", "valid_until", "rounded", "simulated", "step",
        ("zones", keyed(record(
            _FIRST,
            *((f"{metric}?", _HOURS, "Rounded means, one a step; null where there are too few rows.")
              for metric in SCALAR),
            *((f"{metric}_percentile?", listed(or_null("percentile")), "Ranks of these hours; null as the means.")
              for metric in SCALAR),
            *((f"{metric}_forecast?", _HOURS, "The same of what its publisher expects; never joined with the means.")
              for metric in SCALAR if f"{metric}_forecast" in FORECASTS)), choice(*ZONES)),
         "Rounded hourly values by zone.")),
    "LiveZone": record(
        "zone", "generated", "valid_until", "rounded", "simulated",
        ("metrics", keyed(record(
            "unit", ("hours", _MEANS, "Means of the last hours."), ("days", _MEANS, "Means of the last days."),
            ("forecast", or_null(_MEANS), "What the zone's operator expects; null where it says nothing."))),
         "Rounded history by metric."),
        ("mix", _PARTS, "Generation by fuel over the last hours; null where the zone publishes none."),
        ("borders", _PARTS, "Net import by border over the last hours; null where there is none."),
        "attribution", "license"),
    "OgcLink": record(
        ("href", text(format="uri-reference"), "Address."),
        ("rel", "text", "Relation."), ("type", "text", "Media type."), "title"),
    "OgcLanding": record(
        "title", ("description", "text", "What the layers are."),
        ("links", listed("OgcLink"), "Where description, conformance and layers are.")),
    "OgcConformance": record(("conformsTo", listed("text"), "Conformance classes, as URIs of the standard.")),
    "OgcCollection": record(
        ("id", "text", "The layer."), "title",
        ("description", "text", "Attribution. Show it wherever you show the layer."),
        ("itemType", text(const="feature"), "What the items are."),
        ("crs", listed("text"), "Coordinate reference systems, as URIs."),
        ("extent", record(
            ("spatial", record(
                ("bbox", listed(listed("number", minItems=4, maxItems=4)), "The box round all features."),
                ("crs", "text", "Its coordinate reference system, as a URI.")), "In space.")),
         "How far it reaches."),
        ("links", listed("OgcLink"), "Items and licence.")),
    "OgcCollections": record(
        ("links", listed("OgcLink"), "This document."),
        ("collections", listed("OgcCollection"), "The layers.")),
}
# fmt: on
"""By the name that OpenAPI's components give them. `Document` stays for files that hold a whole layer."""
