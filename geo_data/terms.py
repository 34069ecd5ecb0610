"""List what the pipeline needs to know of the layers: names, locations of their files, licences and attributions."""

from __future__ import annotations

from pathlib import Path

LAYERS = ("zones", "interconnectors", "plants")
_FILES = Path(__file__).parent / "shipped"
SHIPPED = {"spec": _FILES, "europe": _FILES / "europe"}
"""By set of zones, the layers' files, which `geo_data.layers` creates from the tables, and `sha256.json`.

All sets have the plants of `spec`.
"""

LICENCE = {
    "zones": "Public domain, NLOD 2.0 (Norway), MIT. See /docs.",
    "interconnectors": "Facts: no licence is claimed. See /docs.",
    "plants": "Public domain (US), CC BY 4.0, OGL v3.0 and DL-DE-BY-2.0 (Europe), MIT (Australia). See /docs.",
}

ATTRIBUTION = {
    "zones": "Boundaries: Natural Earth (public domain); U.S. Census Bureau; Norwegian NVE (NLOD 2.0) via entsoe-py "
    "(MIT). US market areas derived from U.S. EIA Form 861 and NREL ReEDS. No endorsement implied.",
    "interconnectors": "Interconnectors: public facts of the operators, collected by this service.",
    "plants": "Plants: U.S. Energy Information Administration, Form 860M (December 2025) and Form 860 (2022, 2023); "
    "powerplantmatching (PyPSA contributors), CC BY 4.0, changed; AEMO via OpenElectricity (MIT). Contains public "
    "sector information licensed under the Open Government Licence v3.0 (DESNZ: DUKES 5.11, REPD). Offshore wind "
    "farms: EMODnet Human Activities (CETMAR), CC BY 4.0, changed. European Commission, Joint Research Centre: "
    "JRC-PPDB-OPEN and JRC Hydro-power database, CC BY 4.0, changed. Bundesnetzagentur: Marktstammdatenregister "
    "(DL-DE-BY-2.0). No endorsement implied.",
}
"""Show it wherever you show the layer."""
