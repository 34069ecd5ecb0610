"""List what a newcomer adds to a copy of the source by docs/adding-a-source.md: metrics, a source, its twin, a zone.

Each addition replaces a text in one file.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EDITED = ("api", "assets", "orchestration", "warehouse")
"""Packages that are copied. All other paths are links."""
VOCABULARY, METRICS, ZONES = (f"warehouse/market/{name}.py" for name in ("vocabulary", "metrics", "zones"))
AREAS, OUTSIDE = "assets/sources/entsoe/areas.py", "assets/parsing/outside_areas.py"
TIES, TWIN, SOURCE = "assets/simulated/grid/ties.py", "assets/simulated/newco.py", "assets/sources/newco.py"


@dataclass(frozen=True)
class Edit:
    """An edit that replaces every `old` in a file with `new`. If `old` is empty, the file is new."""

    file: str
    old: str
    new: str

    def make(self, folder: Path) -> None:
        """Make the edit in the copy in `folder`."""
        path = folder / self.file
        text = path.read_text() if self.old else ""
        assert self.old in text, f"{self.file} has no {self.old!r}"
        path.write_text(text.replace(self.old, self.new) if self.old else self.new)


def _insert(file: str, before: str, text: str) -> Edit:
    return Edit(file, before, text + before)


def copy_of_source(folder: Path, *edits: Edit) -> Path:
    """Return a copy of the source in `folder`, with these edits."""
    for path in ROOT.iterdir():
        if path.name in EDITED:
            shutil.copytree(path, folder / path.name)
        elif path.suffix in (".md", ".toml") or path.name in ("docs", "geo_data", "tools"):
            (folder / path.name).symlink_to(path)
    for edit in edits:
        edit.make(folder)
    return folder


_SCALAR = """
    Metric.FREQUENCY: Definition(
        title="Frequency",
        definition="The frequency of the grid.",
        units="Hz",
        unit=lambda zone: "Hz",
        sign="Positive.",
        interval=MEAN,
        limits=lambda zone, unit, fuel: Limits(45.0, 65.0),
        level=None,
        agreement=None,
        frozen_hours=None,
        path=Path("frequency", "The frequency of the grid, Hz.", "Grid frequency", 50.01),
        brief=BriefWords("Frequency", decimals=2),
    ),"""
_BY_FUEL = """
    Metric.CURTAILMENT: Definition(
        title="Curtailment",
        definition="Output that the operator turned down, by fuel.",
        units="MW",
        unit=_mw,
        sign="Positive.",
        interval=MEAN,
        limits=lambda zone, unit, fuel: Limits(0.0, zone.peak_mw),
        level=None,
        agreement=None,
        frozen_hours=None,
        path=Path("curtailment", "Curtailed output by fuel, MW.", "Curtailed output by fuel", 120.0),
        brief=None,
        mix=CurrentMix("curtailed", "Curtailed output"),
        by_fuel=True,
    ),"""
WORDS = _insert(
    VOCABULARY, '    CAPACITY = "capacity"\n', '    FREQUENCY = "frequency"\n    CURTAILMENT = "curtailment"\n'
)
RECORDS = Edit(
    METRICS, "METRICS: dict[Metric, Definition] = {", "METRICS: dict[Metric, Definition] = {" + _SCALAR + _BY_FUEL
)
PUBLISHED = Edit(ZONES, "Metric.CARBON_INTENSITY}", "Metric.CARBON_INTENSITY, Metric.FREQUENCY, Metric.CURTAILMENT}")
METRIC_EDITS = (WORDS, RECORDS, PUBLISHED)

SOURCE_FILE = Edit(
    SOURCE,
    "",
    '''"""NewCo: frequency and curtailment of Great Britain as CSV, half-hourly."""

from datetime import date

from assets.parsing.body import text_of
from assets.parsing.stamps import utc_stamp
from warehouse.errors import NotPublished
from warehouse.market.feeds import Feed, Publication, Request, Source
from warehouse.market.vocabulary import Metric
from warehouse.rows.schema import Rows

HOST = "figures.newco.example"


def requests(days, now):
    return [Request("newco.grid", f"https://{HOST}/{day.day}.csv", days=(day.day,), ext="csv") for day in days]


def parse(body, request):
    rows = Rows()
    for line in text_of(body).splitlines():
        start, hertz, wind, solar = line.split(",")
        ts = utc_stamp(start)
        rows.add("GB", Metric.FREQUENCY, ts, float(hertz), "Hz", "30m")
        for fuel, megawatts in (("wind", wind), ("solar", solar)):
            rows.add("GB", Metric.CURTAILMENT, ts, float(megawatts), "MW", "30m", fuel=fuel)
    return rows


SOURCE = Source(
    code="newco",
    name="NewCo",
    homepage="https://newco.example",
    hosts=(HOST,),
    requests_per_minute=30,
    licence="CC BY 4.0",
    licence_url="https://newco.example/terms",
    attribution="NewCo",
    redistributable="yes",
    zones=("GB",),
    tz="UTC",
    since=date(2026, 1, 1),
    resolution="30m",
    feeds=(
        Feed(
            id="newco.grid",
            title="Frequency and curtailment",
            metrics=(Metric.FREQUENCY, Metric.CURTAILMENT),
            publication=Publication(lag_minutes=15, grace_minutes=60),
            requests=requests,
            parse=parse,
            every_minutes=30,
        ),
    ),
)
''',
)
TWIN_FILE = Edit(
    TWIN,
    "",
    '''"""Simulated NewCo."""

from assets.simulated.answer import Answer, typed
from warehouse.market.clock import MarketDay, iso


def simulate_response(request, now):
    day = MarketDay(request.days[0], "UTC")
    starts = range(day.start, min(day.end, now - 2700), 1800)
    return typed("\\n".join(f"{iso(ts)},{50 + ts % 7 / 100},{ts % 11},{ts % 13}" for ts in starts).encode(), "text/csv")
''',
)

ZONE_RECORD = Edit(
    ZONES,
    "_RECORDS = (\n",
    '_RECORDS = (\n    _eu("UA", "Ukraine", "Europe/Kyiv", 25_000, (49.0, 32.0)),\n',
)
NO_LONGER_OUTSIDE = Edit(OUTSIDE, '    "Ukraine": "10Y1001C--000182",\n', "")
ZONE_CODE = _insert(
    "warehouse/market/zone_names.py", '    "CH": "10YCH-SWISSGRIDZ",\n', '    "UA": "10Y1001C--000182",\n'
)
BY_ITS_ID = Edit(AREAS, '"Ukraine"', '"UA"')
ITS_BORDERS = _insert(AREAS, '    "CH": ("AT", "DE-LU"', '    "UA": ("PL",),\n')
ITS_TIE = Edit(TIES, '"Ukraine"', '"UA"')
ZONE_EDITS = (ZONE_RECORD, NO_LONGER_OUTSIDE, ZONE_CODE, BY_ITS_ID, ITS_BORDERS, ITS_TIE)
