"""The fleet's run: parts started, a warehouse filled, capacity measured, traffic beside kills, then all judged."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import count
from pathlib import Path

import psycopg

from api.access import key_listing
from api.access import sign_up as sign_ups
from api.access.database import Database
from api.access.sign_up import SignUp
from api.access.usage import UsageCounter
from assets.sources import sources
from tests.fleet.kills import Kill, Kills, answers
from tests.fleet.parts import Parts
from tests.fleet.pipeline import Away, Dagster, days_between
from tests.fleet.report import Report, charges
from tests.fleet.rows import difference
from tests.fleet.traffic import SERIES, Callers, Tally
from tests.stand_ins.web_server import web_server
from warehouse.market.clock import DAY, Window, instant, iso
from warehouse.store.bucket import Bucket
from warehouse.store.storage import Folder

OLD = "elexon"
"""The publisher whose past is brought in."""
LIVE = (("neso", "neso_every_15m"), ("elexon", "elexon_every_15m"))
"""The publishers that are asked for new days, and their jobs."""
QUOTA = 40
"""Of the keys that are used up."""
SPENT = 2
SHARE = 0.8
_REST_S = 2.0
"""Between two looks whether runs are under way: a question for each backfill, and one for the runs."""


@dataclass(frozen=True)
class Plan:
    """What a run is to do."""

    seconds: float
    """At least so long; longer until each kill was done."""
    days: int
    """So many past days are brought in meanwhile."""
    kills: Sequence[str]
    """Each once, and then in turn while there is time."""
    refreshes: int = 1000
    """At most so many runs over the newest days."""
    documents: bool = True
    """Documents follow new rows by Dagster's conditions, and free ones are files of nginx; else the API has them."""
    rate: float = 0.0
    """Calls a second; 0: four fifths of the capacity that is measured first."""
    measured_s: float = 8.0
    pause_s: float = 4.0
    """Between a part that is back and the next kill."""

    @property
    def longest_s(self) -> float:
        """So long it should take at most, with two minutes a kill: no key is to be used up before."""
        return max(self.seconds, len(self.kills) * (120.0 + self.pause_s))


Say = Callable[[str], object]


@dataclass
class Fleet:
    """A fleet that runs, and what is known of it."""

    parts: Parts
    url: str
    dagster: Dagster
    today: date
    tally: Tally = field(default_factory=Tally)
    keys: list[str] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def held(self) -> Window:
        """The days with which the warehouse begins, of which callers ask."""
        midnight = instant(f"{self.today}T00:00:00Z")
        return Window(midnight - 4 * DAY, midnight - 2 * DAY)

    def day(self, back: int) -> date:
        return self.today - timedelta(days=back)


@contextmanager
def running(folder: Path, plan: Plan, say: Say) -> Iterator[Fleet]:
    """Every part started, over a warehouse with three days of two publishers."""
    now = int(time.time()) // 60 * 60
    today = date.fromisoformat(iso(now)[:10])
    parts = Parts(folder, iso(now), str(today - timedelta(days=plan.days + 5)))
    try:
        span = ("--start", str(today - timedelta(days=5)), "--end", str(today - timedelta(days=3)))
        brought_in = [("backfill", "--source", source, *span) for source, _ in LIVE]
        files = [("publish", "--to", str(parts.public))] if plan.documents else []
        parts.emds(*brought_in, *files)
        say("a warehouse with three days")
        parts.start_replicas()
        parts.start_dagster()
        upstream = "; server ".join(f"127.0.0.1:{port}" for port in parts.replica_ports)
        logged = "$http_x_caller $status $upstream_addr"
        with web_server(upstream, parts.public, folder / "nginx", "simulated", logged) as url:
            fleet = Fleet(parts, url, Dagster(parts.ports["webserver"]), today)
            for port in parts.replica_ports:
                fleet.dagster.wait(lambda port=port: answers(f"http://127.0.0.1:{port}/readyz"), 120)
            fleet.dagster.ready(plan.documents)
            parts.start_daemon()
            say("every part answers")
            yield fleet
    finally:
        parts.close()


def run(folder: Path, plan: Plan, say: Say = lambda line: None) -> Report:
    """Runs a plan. Raises TimeoutError where a part does not come back."""
    with running(folder, plan, say) as fleet:
        _sign_up(fleet, 60)
        assets = _assets(OLD)
        days = days_between(fleet.day(plan.days + 5), fleet.day(6))
        fleet.dagster.backfill(assets, days)
        refreshing = threading.Thread(target=_refresh, args=(fleet, plan.refreshes))
        refreshing.start()
        try:
            capacity = _capacity(fleet, plan)
            rate = plan.rate or SHARE * capacity
            say(f"capacity {capacity:.0f} calls a second; asked now: {rate:.0f}")
            _sign_up(fleet, int(rate * plan.longest_s * 0.7 / 400))
            begun = time.monotonic()
            kills = _under_traffic(fleet, plan, rate, say)
            seconds = time.monotonic() - begun
        finally:
            fleet.ended.set()
            refreshing.join()
        again = _settle(fleet, assets, days, say)
        say("compared with a line that nobody disturbed")
        truth = _undisturbed(fleet, plan.days)
        return Report(
            seconds,
            capacity,
            rate,
            fleet.tally.calls,
            fleet.tally.errors(),
            kills,
            difference(Bucket(fleet.parts.address, folder / "judge", fresh_s=0.0), Folder(truth)),
            charges(fleet.tally, *_counts(fleet, folder), dict.fromkeys(range(SPENT), QUOTA), kills),
            fleet.dagster.outcomes(),
            again,
            len(days),
        )


def _sign_up(fleet: Fleet, more: int) -> None:
    """Gives the fleet so many keys more; the first of all have a small quota."""
    accounts = UsageCounter(Database.opened(fleet.parts.accounts_url))
    for number in range(len(fleet.keys), len(fleet.keys) + more):
        fleet.keys.append(
            sign_ups.sign_up(accounts.database, SignUp(f"caller{number}@example.org", "fleet"), 0, int(time.time())).key
        )
    with accounts.database.connect() as connection:
        ids = _ids(connection.exec_driver_sql("SELECT id, email FROM keys").all())
    for number in range(SPENT):
        key_listing.set_quota(accounts.database, ids[number], QUOTA)
    accounts.close()


def _ids(rows: Sequence[tuple[int, str]]) -> dict[int, int]:
    """The database's numbers of keys by ours."""
    return {int(email.removeprefix("caller").partition("@")[0]): key for key, email in rows}


def _refresh(fleet: Fleet, most: int) -> None:
    """Asks the publishers for their newest days, again and again, one run after the other."""
    number, run = 0, ""
    while number < most and not fleet.ended.wait(1):
        try:
            if run and run in [each["id"] for each in fleet.dagster.runs("QUEUED", "STARTING", "STARTED")]:
                continue
            _, job = LIVE[number % len(LIVE)]
            run = fleet.dagster.refresh(job, str(fleet.day(2)), str(fleet.day(0)))
            number += 1
        except Away:
            continue


def _callers(fleet: Fleet) -> Callers:
    return Callers(fleet.url, fleet.keys, range(SPENT), fleet.held, fleet.tally)


def _capacity(fleet: Fleet, plan: Plan) -> float:
    return _callers(fleet).capacity(plan.measured_s) if plan.measured_s else 0.0


def _under_traffic(fleet: Fleet, plan: Plan, rate: float, say: Say) -> list[Kill]:
    """Calls at a rate, while one part after the other is killed and comes back."""
    callers = _callers(fleet)
    traffic = threading.Thread(target=callers.paced, args=(rate,))
    kills = Kills(fleet.parts, fleet.dagster, lambda: _asks(fleet))
    ends = time.monotonic() + plan.seconds
    traffic.start()
    try:
        for number in count():
            time.sleep(plan.pause_s)
            if number >= len(plan.kills) and time.monotonic() > ends:
                break
            _kill(kills, plan.kills[number % len(plan.kills)], say)
    finally:
        callers.end()
        traffic.join()
    return kills.done


def _kill(kills: Kills, part: str, say: Say) -> None:
    done = len(kills.done)
    kills.kill(part)
    say(f"{part}: back after {kills.done[-1].seconds:.1f} s" if len(kills.done) > done else f"{part}: none is there")


def _asks(fleet: Fleet) -> bool:
    """Whether a window is answered that no worker holds yet, to a key of its own."""
    start = fleet.held.start + int(time.time()) % DAY
    path = f"{fleet.url}/v1/{SERIES[0]}/GB?start={start}&end={start + 3600}"
    return answers(path, {"Authorization": f"Bearer {_own_key(fleet)}"})


def _own_key(fleet: Fleet) -> str:
    """Outside of the tally: an odd address, which is no caller's."""
    accounts = UsageCounter(Database.opened(fleet.parts.accounts_url))
    try:
        return sign_ups.sign_up(
            accounts.database, SignUp(f"judge{time.time_ns()}@example.org", "judge"), 0, int(time.time())
        ).key
    finally:
        accounts.close()


def _settle(fleet: Fleet, assets: list[list[str]], days: Sequence[str], say: Say) -> int:
    """Waits for what is under way; asks again for days that no run has done, as an operator would; how many."""
    dagster = fleet.dagster
    dagster.wait(dagster.at_rest, 900, _REST_S)
    newest = days_between(fleet.day(2), fleet.day(0))
    missing = 0
    for wanted, span in ((assets, days), *((_assets(source), newest) for source, _ in LIVE)):
        left = dagster.wait(lambda wanted=wanted, span=span: (dagster.missing(wanted, span),), 60)[0]
        if left:
            say(f"{len(left)} days of {wanted[0][0]} are asked for again")
            dagster.wait(lambda wanted=wanted, left=left: dagster.backfill(wanted, left), 60)
            missing += len(left)
    dagster.wait(dagster.at_rest, 900, _REST_S)
    return missing


def _assets(source: str) -> list[list[str]]:
    return [feed.split(".") for feed in _feeds(source)]


def _feeds(source: str) -> list[str]:
    """The feeds of a publisher that reach back: the others have no partition of a day that is over."""
    return [feed.id for feed in sources()[source].feeds if feed.reach_days is None]


def _undisturbed(fleet: Fleet, days: int) -> Path:
    """A folder with what one command brings in of the same days."""
    home = fleet.parts.folder / "truth"
    alone = dict.fromkeys(("EMDS_LOCAL", "EMDS_DATABASE_URL", "EMDS_PUBLISH_TO"), "")
    alone |= dict.fromkeys(("EMDS_DAGSTER_POSTGRES_URL", "EMDS_RUN_IMAGE"), "")
    verbs: list[tuple[str, ...]] = []
    for source, _ in LIVE:
        first = days + 5 if source == OLD else 5
        span = ("--start", str(fleet.day(first)), "--end", str(fleet.today))
        verbs.extend(("backfill", "--feed", feed, *span) for feed in _feeds(source))
    fleet.parts.emds(*verbs, EMDS_HOME=str(home), **alone)
    return home


def _counts(fleet: Fleet, folder: Path) -> tuple[dict[int, int], Counter[int]]:
    """Each key's counted calls, and the calls that nginx sent on to a second replica, by key."""
    with psycopg.connect(fleet.parts.accounts_url.replace("+psycopg", "")) as connection:
        found = connection.execute(
            "SELECT email, coalesce(sum(calls), 0) FROM keys LEFT JOIN usage ON usage.key_id = keys.id "
            "WHERE email LIKE 'caller%' GROUP BY email"
        ).fetchall()
    counts = {int(email.removeprefix("caller").partition("@")[0]): int(calls) for email, calls in found}
    passed_on: Counter[int] = Counter()
    for line in (folder / "nginx" / "calls.log").read_text().splitlines():
        told = re.match(r"(\d+) \d+ (.+)", line)
        if told:
            passed_on[int(told[1])] += told[2].count(",")
    return counts, passed_on
