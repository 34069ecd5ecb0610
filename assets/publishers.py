"""The measured publishers as an asset: once a day, how late, how often revised and how whole each feed's rows were.

Dagster reads annotations at run time, so this file has no `from __future__ import annotations`.
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from assets.documents import publishers
from assets.feeds import OWNER
from assets.ingest.context import PipelineContext
from assets.partitions import asset_key
from assets.published import GROUP, PREFIX
from warehouse.market import clock
from warehouse.market.market import Source

MEASURED = dg.AssetKey([PREFIX, "publishers"])
_ROW, _LEFT, _WIDTH = 16, 190, 640


def publishers_asset(sources: Mapping[str, Source]) -> dg.AssetsDefinition:
    """`/v1/publishers`, downstream of every feed."""

    @dg.asset(
        key=MEASURED,
        group_name=GROUP,
        deps=[asset_key(f) for s in sources.values() for f in s.feeds],
        owners=[OWNER],
        kinds={"json"},
        pool="documents",
        description="By feed and month: how late rows came, how many were revised and how, holes, failures by kind.",
    )
    def measured(
        context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[PipelineContext]
    ) -> dg.MaterializeResult[None]:
        document = publishers.publish(
            warehouse.storage, warehouse.sources, warehouse.rights, warehouse.mode, clock.now()
        )
        newest = [entry for entry in document["publishers"] if entry["month"] == document["months"][-1]]
        return dg.MaterializeResult(
            metadata={
                "months": len(document["months"]),
                "feeds": len(newest),
                "lateness": dg.MetadataValue.md(plot(newest)),
                "newest month": dg.MetadataValue.md(table(newest)),
            }
        )

    return measured


def plot(entries: Sequence[Mapping[str, Any]]) -> str:
    """Lateness as a Markdown image: a bar a feed, from median to 95th percentile, in minutes; "" without any."""
    timed = [entry for entry in entries if entry["late_s"]["median"] is not None]
    if not timed:
        return ""
    worst = max(1, *(abs(entry["late_s"][name]) for entry in timed for name in ("median", "p95")))
    scale, zero = (_WIDTH - _LEFT) / (2 * worst), (_WIDTH + _LEFT) / 2
    bars = "".join(_bar(entry, place, scale, zero) for place, entry in enumerate(timed))
    height = _ROW * (len(timed) + 1)
    axis = f'<line x1="{zero:.0f}" y1="0" x2="{zero:.0f}" y2="{height - _ROW}" stroke="#999"/>'
    words = _labels(worst, height - 4)
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}">{axis}{bars}{words}</svg>'
    return f"![lateness by feed](data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()})"


def _labels(worst: float, y: int) -> str:
    """The axis in minutes: its left end, its middle, its right end."""
    places = ((_LEFT, "start", f"-{worst / 60:.0f} min"), ((_WIDTH + _LEFT) / 2, "middle", "0"))
    ends = (*places, (_WIDTH, "end", f"+{worst / 60:.0f} min"))
    return "".join(f'<text x="{x:.0f}" y="{y}" font-size="10" text-anchor="{at}">{text}</text>' for x, at, text in ends)


def _bar(entry: Mapping[str, Any], place: int, scale: float, zero: float) -> str:
    first, last = (zero + scale * entry["late_s"][name] for name in ("median", "p95"))
    top = place * _ROW
    name = f'<text x="0" y="{top + 12}" font-size="10">{entry["feed"]}</text>'
    bar = (
        f'<rect x="{first:.1f}" y="{top + 3}" width="{max(2.0, last - first):.1f}" height="{_ROW - 6}" fill="#2563eb"/>'
    )
    return name + bar


def table(entries: Sequence[Mapping[str, Any]]) -> str:
    """The month's figures as a Markdown table, a line a feed."""
    lines = [
        "| feed | rows | late, median s | p95 s | worst s | revised | missing | holes | failures |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for entry in entries:
        late, intervals = entry["late_s"], entry["intervals"] or {"missing": None, "holes": None}
        cells = (
            entry["feed"],
            entry["rows"],
            *(late[name] for name in ("median", "p95", "worst")),
            entry["revised"]["rows"],
            intervals["missing"],
            intervals["holes"],
            entry["failures"]["total"],
        )
        lines.append("| " + " | ".join("" if cell is None else str(cell) for cell in cells) + " |")
    return "\n".join(lines)
