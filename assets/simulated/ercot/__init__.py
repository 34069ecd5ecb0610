"""Simulated ERCOT: dashboards, listings and their zips without a key, the public-reports API with one.

Bodies come from `dashboards`, `documents` and `prices`.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from assets.simulated.answer import Answer
from assets.simulated.ercot import dashboards, documents, prices
from assets.simulated.ercot.prices import REPORTS
from warehouse.market import Request

DASHBOARDS = "/api/1/services/read/dashboards/"
LISTING = "/misapp/servlets/IceDocListJsonWS"
DOWNLOAD = "/misdownload/servlets/mirDownload"
KEYED = {f"/api/public-reports/{report.emil}/{report.path}": report for report in REPORTS.values()}
ARCHIVES = {f"/api/public-reports/archive/{report.emil}": report for report in REPORTS.values()}
NEEDED = {"deliveryDateFrom", "deliveryDateTo", "settlementPoint"}
NO_DOCUMENTS = b'{"ListDocsByRptTypeRes":{"DocumentList":[]}}'


def answer(request: Request, now: int) -> Answer:
    """The page, listing, zip or rows under that address as they stand at `now`; 404 where there is nothing."""
    path, params = urlsplit(request.url).path, dict(request.params)
    if path == DOWNLOAD:
        number = params.get("doclookupId", "")
        return _found(documents.download(int(number), now) if number.isdecimal() else b"", "application/zip")
    if path == LISTING:
        report = REPORTS.get(params.get("reportTypeId", ""))
        return _found(documents.listing(report, now) if report else NO_DOCUMENTS)
    if path in ARCHIVES:
        number = params.get("download", "")
        if number.isdecimal():
            return _found(documents.download(int(number), now, archived=True), "application/zip")
        return _found(documents.archive(ARCHIVES[path], params, now))
    if path in KEYED:
        if not params.keys() >= NEEDED:
            return Answer(400, b'{"statusCode":400,"message":"Bad Request"}')
        return _found(prices.keyed(KEYED[path], params, now))
    return _found(dashboards.page(path.removeprefix(DASHBOARDS).removesuffix(".json"), now))


def _found(body: bytes, kind: str = "application/json") -> Answer:
    return Answer(200, body, (("content-type", kind),)) if body else Answer(404, b"")
