"""Serve `/embed/{zone}.svg` and `/badge/{zone}.svg`: a zone's newest value as an image for other websites."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from functools import partial

from api.documents import zone_figure
from api.documents.zone_figure import TITLES, ZoneFigure
from api.http import responses
from api.http.messages import HttpRequest, QueryValues, Response, View
from api.http.problems import Problem
from api.pages import html, zone_chart
from api.service import Service
from warehouse.market import clock
from warehouse.market.metrics import BY_PATH
from warehouse.market.zones import ZONES

MEDIA = "image/svg+xml"
CACHED = "public, max-age=300"
# The image has no scripts and loads nothing from other hosts. Any page may frame it.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors *"
_CREDIT_TOP = 162
_CREDIT_CHARACTERS = 94
"""The characters per line of small text in an image of 480 pixels."""
_CHARACTER_PX = 6.7
"""The mean width of a character in a badge."""
_MARGINS_PX = 12


def embed(figure: ZoneFigure) -> str:
    """Return an image of 480 pixels: the value, a chart of two days and the future hours, and the attribution."""
    chart = None if figure.value is None else zone_chart.draw(figure)
    top = _CREDIT_TOP if chart else 80
    credit = textwrap.wrap(figure.attribution, _CREDIT_CHARACTERS)
    return html.render(
        "embed.svg", figure=figure, chart=chart, credit=credit, top=top, height=top + 12 * len(credit) + 8
    )


def badge(figure: ZoneFigure) -> str:
    """Return a single-line image: the zone, the metric, and the value with its time."""
    label, text = f"{figure.zone} {figure.metric}", "not available"
    if figure.value is not None:
        text = f"{figure.quantity}, {figure.when}{', simulated' if figure.simulated else ''}"
    left, right = (round(_CHARACTER_PX * len(words)) + _MARGINS_PX for words in (label, text))
    return html.render("badge.svg", figure=figure, label=label, text=text, left=left, right=right)


def _image(
    service: Service,
    request: HttpRequest,
    _query: QueryValues,
    zone: str,
    metric: str = "price",
    *,
    draw: Callable[[ZoneFigure], str],
) -> Response:
    """Return a zone's image. Raises Problem 404 for a metric without images."""
    if BY_PATH[metric] not in TITLES:
        series = f" /v1/{metric}/{zone} returns the series." if BY_PATH[metric] in ZONES[zone].metrics else ""
        raise Problem("not-found", f"Images show {', '.join(TITLES)}.{series}")
    with service.gate.enter(request) as entry:
        figure = zone_figure.read(service.documents, zone, BY_PATH[metric])
        is_stale = figure.expected_by is not None and clock.now() > figure.expected_by
        headers = [("Cache-Control", CACHED), ("Vary", "Accept-Encoding"), ("Content-Security-Policy", POLICY)]
        headers += responses.marks(figure.simulated, is_stale)
        return entry.settle(responses.body(request, draw(figure).encode(), MEDIA, headers))


VIEWS: dict[str, View] = {
    f"{name}{of}": partial(_image, draw=draw)
    for name, draw in (("embed", embed), ("badge", badge))
    for of in ("", "-metric")
}
