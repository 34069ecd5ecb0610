"""Simulate ERCOT: dashboards, listings and their zips without a key, the public-reports API with a key.

`dashboards` and `reports` generate the bodies.
"""

from __future__ import annotations

from assets.simulated.answer import JSON, NOTHING, Answer, json_answer, typed
from assets.simulated.ercot import dashboards, reports
from assets.simulated.ercot.reports import REPORTS
from assets.sources.ercot import DASHBOARDS
from assets.sources.ercot.prices import ARCHIVE, DOWNLOAD, KEYED, LISTING
from warehouse.market.feeds import Request

KEYED_REPORTS = {f"{KEYED}/{report.product.path}": report for report in REPORTS}
ARCHIVES = {f"{ARCHIVE}/{report.product.path.partition('/')[0]}": report for report in REPORTS}
LISTED = {report.product.report: report for report in REPORTS}


def simulate_response(request: Request, now: int) -> Answer:
    """Return the page, listing, zip or rows at this URL as of `now`; 404 if there is none."""
    url, params = request.url, dict(request.params)
    if url in ARCHIVES and "download" not in params:
        return json_answer(reports.archive(ARCHIVES[url], params, now))
    if url == DOWNLOAD or url in ARCHIVES:
        number = params.get("doclookupId") or params["download"]
        body = reports.download(int(number), now, archived=url in ARCHIVES)
        return typed(body, "application/zip") if body else NOTHING
    if url == LISTING:
        return typed(reports.listing(LISTED[params["reportTypeId"]], now), JSON)
    if url in KEYED_REPORTS:
        return json_answer(reports.keyed(KEYED_REPORTS[url], params, now))
    page = dashboards.page(url.removeprefix(f"{DASHBOARDS}/").removesuffix(".json"), now)
    return json_answer(page) if page else NOTHING
