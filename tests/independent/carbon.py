"""Recompute the carbon intensity estimates of a warehouse from its mix rows, and report differences.

    python tests/independent/carbon.py EMDS_HOME [MOST]

The script implements docs/carbon.md a second time with pandas and without code of this project. MOST limits the number
of estimates. The rows contain coal-derived gas and peat inside other fuels, so an estimate that includes them cannot be
recomputed from rows. The script skips zones with these fuels, which INSIDE lists. For such a zone, `of_response`
computes the estimates from a response of ENTSO-E (A75). The exit code is 0 if every estimate agrees to a hundredth of a
gram, otherwise 1.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd

GRAMS = {
    "coal": 946.0,
    "lignite": 1039.0,
    "gas": 412.0,
    "oil": 796.0,
    "waste": 600.0,
    "other": 400.0,
    **dict.fromkeys(("biomass", "geothermal", "nuclear", "hydro", "wind", "wind_onshore", "wind_offshore"), 0.0),
    **dict.fromkeys(("solar", "marine"), 0.0),
}
BOUNDS = {"waste": (0.0, 1320.0), "other": (0.0, 946.0)}
NARROW = {"BE", "NL", "ES", "SE-1", "SE-2", "SE-3", "SE-4"}
NOT_COUNTED = {"pumped_storage", "battery", "solar_rooftop"}
INSIDE: set[str] = set()
"""The zones whose publisher reports coal-derived gas or peat. No simulated zone is among them."""


def rows(home: Path, metric: str, zone: str) -> pd.DataFrame:
    """Return the served rows of `metric` in `zone`."""
    names = sorted((home / "series" / f"metric={metric}" / f"zone={zone}").glob("*.parquet"))
    return pd.concat([pd.read_parquet(name, partitioning=None) for name in names], ignore_index=True)


def factor(zone: str, fuel: str) -> tuple[float, float, float]:
    """Return the factor of `fuel` as value, low and high in g/kWh."""
    value = 300.0 if (zone, fuel) == ("GB", "other") else GRAMS[fuel]
    low, high = (200.0, 650.0) if fuel == "other" and zone in NARROW else BOUNDS.get(fuel, (value, value))
    return value, low, high


TYPES = {
    "biomass": ("B01",),
    "lignite": ("B02",),
    "gas": ("B03", "B04"),
    "coal": ("B05",),
    "oil": ("B06", "B07"),
    "other": ("B08", "B15", "B20"),
    "geothermal": ("B09",),
    "hydro": ("B11", "B12"),
    "marine": ("B13",),
    "nuclear": ("B14",),
    "solar": ("B16",),
    "waste": ("B17",),
    "wind_offshore": ("B18",),
    "wind_onshore": ("B19",),
}
"""The A75 codes of each fuel. Storage is not counted."""
OWN = {"B03": (1400.0, 420.0, 2460.0), "B08": (1060.0, 950.0, 1150.0)}
"""The factors of coal-derived gas (B03) and peat (B08), each as value, low and high in g/kWh."""


def of_response(body: bytes, zone: str) -> dict[int, tuple[float, float, float] | None]:
    """Return value, low and high in g/kWh by start of the interval, or None for a refused interval.

    Every series of the response must contain every interval.
    """
    powers: dict[int, dict[str, float]] = {}
    for part in ElementTree.fromstring(body).iterfind("{*}TimeSeries"):
        kind = str(part.findtext("{*}MktPSRType/{*}psrType"))
        if part.find("{*}outBiddingZone_Domain.mRID") is not None or kind in ("B10", "B25"):
            continue
        for period in part.iterfind("{*}Period"):
            start = datetime.fromisoformat(str(period.findtext("{*}timeInterval/{*}start"))).timestamp()
            step = 60 * int(str(period.findtext("{*}resolution")).strip("PTM"))
            for point in period.iterfind("{*}Point"):
                ts = int(start) + step * (int(str(point.findtext("{*}position"))) - 1)
                powers.setdefault(ts, {})[kind] = float(str(point.findtext("{*}quantity")))
    found: dict[int, tuple[float, float, float] | None] = {}
    for ts, by_kind in powers.items():
        sums = {fuel: sum(by_kind.get(kind, 0.0) for kind in kinds) for fuel, kinds in TYPES.items()}
        parts = [(factor(zone, fuel), max(0.0, mw)) for fuel, mw in sums.items()]
        for kind, own in OWN.items():
            fuel = "gas" if kind == "B03" else "other"
            among = min(max(0.0, by_kind.get(kind, 0.0)), max(0.0, sums[fuel]))
            parts += [(own, among), (factor(zone, fuel), -among)]
        total = sum(mw for _, mw in parts)
        value, low, high = (sum(of[place] * mw for of, mw in parts) / total for place in range(3))
        is_refused = max(0.0, sums["other"]) / total > 0.15 or high - low > max(80.0, 0.35 * value)
        found[ts] = None if is_refused else (value, low, high)
    return found


def differences(home: Path, most: int) -> Iterator[tuple[int, str]]:
    """Yield, for each estimate, the number of estimates so far and the difference, or "" if they are equal."""
    count = 0
    for zone in sorted(folder.name[5:] for folder in (home / "series" / "metric=carbon_estimate").iterdir()):
        mix = rows(home, "mix", zone)
        mix = mix[~mix["fuel"].astype(str).isin(NOT_COUNTED)]
        at = dict(iter(mix.groupby("ts")))
        estimates = rows(home, "carbon_estimate", zone) if zone not in INSIDE else mix[:0]
        columns = (estimates[name].tolist() for name in ("ts", "value", "low", "high"))
        for ts, *stated in zip(*columns, strict=True):
            if count >= most:
                return
            count += 1
            fuels, powers = at[ts]["fuel"].astype(str).tolist(), at[ts]["value"].clip(lower=0).tolist()
            total = sum(powers)
            found = [
                sum(factor(zone, fuel)[place] * mw for fuel, mw in zip(fuels, powers, strict=True)) / total
                for place in range(3)
            ]
            wrong = any(abs(one - other) > 0.0051 for one, other in zip(found, stated, strict=True))
            yield count, f"{zone} {ts}: {stated}, computed {found}" if wrong else ""


def main() -> int:
    """Print the differences and the number of compared estimates, and return the exit code."""
    home, most = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10**9
    count, wrong = 0, 0
    for number, text in differences(home, most):
        count, wrong = number, wrong + bool(text)
        if text:
            print(text)
    print(f"{count} estimates, {wrong} different")
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main())
