"""Draw small plots and tables of rows for asset metadata: an SVG line in Markdown and a table. Each is below 10 kB."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from warehouse.market.clock import iso
from warehouse.rows.schema import Rows, SeriesKey

WIDTH, HEIGHT, POINTS = 480, 80, 240


def sparkline(rows: Rows) -> str:
    """Return the longest series of the rows as a Markdown image with its period; empty if there are no rows."""
    drawn = [(key, readings) for key, readings in rows.readings.items() if readings.ts]
    if not drawn:
        return ""
    key, readings = max(drawn, key=lambda item: (item[0].counterparty is None, len(item[1].ts)))
    pairs = sorted(zip(readings.ts, readings.values, strict=True))
    step = max(1, len(pairs) // POINTS)
    svg = _svg([p[0] for p in pairs[::step]], [p[1] for p in pairs[::step]])
    picture = base64.b64encode(svg.encode()).decode()
    image = f"![{_title(key)}](data:image/svg+xml;base64,{picture})"
    return f"{_title(key)}, {iso(pairs[0][0])} to {iso(pairs[-1][0])}\n\n{image}"


def table(rows: Rows, count: int = 8) -> str:
    """Return the newest `count` rows as a Markdown table."""
    lines = ["| zone | metric | fuel | border | start (UTC) | value | unit | |", "|---|---|---|---|---|---|---|---|"]
    for row in sorted(rows, key=lambda r: -r.ts)[:count]:
        cells = (
            row.zone,
            row.metric,
            row.fuel or "",
            row.counterparty or "",
            iso(row.ts),
            f"{row.value:g}",
            row.unit,
            row.resolution,
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _title(key: SeriesKey) -> str:
    return " ".join(filter(None, (key.zone, key.metric, key.fuel, key.counterparty, f"({key.unit})")))


def _svg(ts: Sequence[int], values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    span, height = (ts[-1] - ts[0]) or 1, (high - low) or 1.0
    points = " ".join(
        f"{(t - ts[0]) / span * WIDTH:.1f},{HEIGHT - 4 - (v - low) / height * (HEIGHT - 8):.1f}"
        for t, v in zip(ts, values, strict=True)
    )
    line = f'<polyline points="{points}" fill="none" stroke="#2563eb" stroke-width="1.5"/>'
    words = f'<text x="2" y="10" font-size="9">{high:g}</text><text x="2" y="{HEIGHT - 2}" font-size="9">{low:g}</text>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">{line}{words}</svg>'
