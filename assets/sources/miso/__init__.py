"""Define the feeds of MISO: ex-post prices, total load and net scheduled interchange, all on Eastern Standard Time."""

from __future__ import annotations

from datetime import date, time
from functools import partial

from assets.sources.miso.interchange import parse_nsi
from assets.sources.miso.load import parse_load, parse_load_daily
from assets.sources.miso.prices import HUB, parse_lmp_rt, parse_report
from assets.sources.miso.requests import TZ, ZONE, live, lmp_rt_daily_requests, lmp_rt_requests, report
from warehouse.market.feeds import Feed, Publication, Source
from warehouse.market.vocabulary import Forecast, Metric

OPENED = date(2025, 12, 12)
"""The day when public-api.misoenergy.org replaced api.misoenergy.org."""
RETAINED = date(2023, 1, 1)
"""The oldest daily report: the current and three calendar years are retained."""


SOURCE = Source(
    code="miso",
    name="Midcontinent ISO",
    homepage="https://www.misoenergy.org/",
    hosts=("public-api.misoenergy.org", "docs.misoenergy.org"),
    requests_per_minute=20,
    licence="MISO legal terms: no publishing, no derivative works",
    licence_url="https://www.misoenergy.org/legal/",
    attribution="Source: MISO",
    redistributable="no",
    withheld=True,
    zones=(ZONE,),
    tz=TZ,
    since=RETAINED,
    stamps="end",
    hub=HUB,
    feeds=(
        Feed(
            id="miso.lmp_rt",
            title=f"MISO real-time 5-minute ex-post LMP, {HUB}, the newest interval",
            metrics=(Metric.PRICE,),
            resolution="5m",
            since=OPENED,
            publication=Publication(lag_minutes=10, grace_minutes=30),
            requests=lmp_rt_requests,
            parse=parse_lmp_rt,
            every_minutes=5,
            revised_days=0,
            reach_days=1,
        ),
        Feed(
            id="miso.lmp_rt_daily",
            files=True,
            title=f"MISO real-time hourly ex-post LMP, {HUB}, preliminary and final files",
            metrics=(Metric.PRICE,),
            rank=2,
            resolution="1h",
            publication=Publication(daily_at=time(12), day_offset=1, grace_minutes=720),
            requests=lmp_rt_daily_requests,
            parse=parse_lmp_rt,
            every_minutes=720,
            revised_days=6,
            reach_days=1095,
        ),
        Feed(
            id="miso.lmp_da",
            files=True,
            title=f"MISO day-ahead hourly ex-post LMP, {HUB}",
            metrics=(Metric.PRICE_DAY_AHEAD,),
            resolution="1h",
            publication=Publication(daily_at=time(14), day_offset=-1, grace_minutes=180),
            requests=partial(report, "miso.lmp_da", "da_expost_lmp.csv"),
            parse=partial(parse_report, Metric.PRICE_DAY_AHEAD),
            every_minutes=120,
            revised_days=0,
            reach_days=1095,
        ),
        Feed(
            id="miso.load",
            title="MISO total load, five minutes, today",
            metrics=(Metric.DEMAND,),
            resolution="5m",
            stamps="start",
            since=OPENED,
            publication=Publication(lag_minutes=10, grace_minutes=30),
            requests=partial(live, "miso.load", "RealTimeTotalLoad"),
            parse=parse_load,
            every_minutes=5,
            reach_days=0,
        ),
        Feed(
            id="miso.load_daily",
            files=True,
            version="2",
            title="MISO actual load, hourly, and its forecast for five days, daily workbook",
            metrics=(Metric.DEMAND,),
            optional_metrics=(Forecast.DEMAND,),
            rank=2,
            resolution="1h",
            publication=Publication(daily_at=time(1), day_offset=1, grace_minutes=720),
            requests=partial(report, "miso.load_daily", "df_al.xls", lag=1),
            parse=parse_load_daily,
            every_minutes=360,
            revised_days=2,
            reach_days=1095,
        ),
        Feed(
            id="miso.nsi",
            version="3",
            title="MISO net scheduled interchange, five minutes, today",
            metrics=(Metric.INTERCHANGE,),
            resolution="5m",
            stamps="start",
            since=OPENED,
            publication=Publication(lag_minutes=10, grace_minutes=30),
            requests=partial(live, "miso.nsi", "Interchange/GetNsi/FiveMinute"),
            parse=parse_nsi,
            every_minutes=5,
            reach_days=0,
        ),
    ),
    notes=(
        "Prices are ex-post LMPs of INDIANA.HUB. Ex-ante prices differ and are not used.",
        "A fetch of today returns the newest five-minute price. A fetch that includes yesterday returns both days "
        "completely. The hourly price of the daily file applies only to hours without any five-minute price.",
        "MISO uses Eastern Standard Time all year: each of its days has 24 hours.",
        "Interchange is scheduled, not metered. MISO's own total differs from the sum over its neighbours.",
    ),
)
