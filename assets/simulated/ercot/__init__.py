"""Simulated ERCOT: dashboards, listings and their zips without a key, the public-reports API with one.

Bodies come from `dashboards` and `reports`.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from assets.simulated.answer import JSON, NOTHING, Answer, json_answer, typed
from assets.simulated.ercot import dashboards, reports
from assets.simulated.ercot.reports import REPORTS
from warehouse.market.market import Request

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
    if path in ARCHIVES and "download" not in params:
        return json_answer(reports.archive(ARCHIVES[path], params, now))
    if path == DOWNLOAD or path in ARCHIVES:
        number = params.get("doclookupId") or params.get("download", "")
        body = reports.download(int(number), now, archived=path in ARCHIVES) if number.isdecimal() else b""
        return typed(body, "application/zip") if body else NOTHING
    if path == LISTING:
        report = REPORTS.get(params.get("reportTypeId", ""))
        return typed(reports.listing(report, now) if report else NO_DOCUMENTS, JSON)
    if path in KEYED:
        if not params.keys() >= NEEDED:
            return json_answer({"statusCode": 400, "message": "Bad Request"}, 400)
        return json_answer(reports.keyed(KEYED[path], params, now))
    page = dashboards.page(path.removeprefix(DASHBOARDS).removesuffix(".json"), now)
    return json_answer(page) if page else NOTHING
