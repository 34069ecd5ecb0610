"""List what zones are called elsewhere: ENTSO-E's area codes (EIC), market codes, and German and French names."""

from __future__ import annotations

from collections.abc import Mapping

EIC: Mapping[str, str] = {
    "DE-LU": "10Y1001A1001A82H",
    "FR": "10YFR-RTE------C",
    "ES": "10YES-REE------0",
    "IT-NO": "10Y1001A1001A73I",
    "NL": "10YNL----------L",
    "BE": "10YBE----------2",
    "PL": "10YPL-AREA-----S",
    "SE-3": "10Y1001A1001A46L",
    "NO-2": "10YNO-2--------T",
    "DK-1": "10YDK-1--------W",
    "AT": "10YAT-APG------L",
    "CH": "10YCH-SWISSGRIDZ",
    "GB": "10YGB----------A",
}
"""The bidding zone's code (https://www.entsoe.eu/data/energy-identification-codes-eic/)."""

OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "GB": ("Royaume-Uni", "Grande-Bretagne", "Großbritannien", "Vereinigtes Königreich"),
    "DE-LU": ("Allemagne", "LU", "Luxembourg", "Luxemburg"),
    "FR": ("Frankreich",),
    "ES": ("Spanien", "Espagne", "España"),
    "IT-NO": ("Norditalien", "Italie du Nord"),
    "NL": ("Niederlande", "Pays-Bas", "Nederland"),
    "BE": ("Belgien", "Belgique", "België"),
    "PL": ("Polen", "Pologne", "Polska"),
    "AT": ("Österreich", "Oesterreich", "Autriche"),
    "CH": ("Schweiz", "Suisse", "Svizzera"),
    "AU-NSW": ("AU-NSW1",),
    "AU-QLD": ("AU-QLD1",),
    "AU-VIC": ("AU-VIC1",),
    "AU-SA": ("AU-SA1",),
    "AU-TAS": ("AU-TAS1",),
}
"""Further names of a zone, by its ID."""

OTHER_COUNTRY_NAMES: Mapping[str, tuple[str, ...]] = {
    "Italy": ("Italien", "Italie"),
    "Sweden": ("Schweden", "Suède", "Sverige"),
    "Norway": ("Norwegen", "Norvège", "Norge"),
    "Denmark": ("Dänemark", "Danemark", "Danmark"),
    "Australia": ("Australien", "Australie"),
    "United States": ("Vereinigte Staaten", "États-Unis"),
}
"""Further names of a country that this service covers only in part, by its English name."""

RESEMBLING = ("Belize", "England", "Iceland", "New Zealand")
"""Names of other places that differ from a zone's name by a letter or two."""


def names_elsewhere(zone: str) -> tuple[str, ...]:
    """Return the area code and the further names of a zone."""
    return (*((EIC[zone],) if zone in EIC else ()), *OTHER_NAMES.get(zone, ()))
