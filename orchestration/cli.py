"""The command line: `emds VERB`. Dagster is imported only in the verbs that need it.

Exit 0: all done; 1: something failed and is listed; 2: wrong use.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from warehouse.errors import MarketError

if TYPE_CHECKING:
    from orchestration.backfill import Task
    from warehouse.market import Feed


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one verb and returns its exit code. Results go to stdout, progress and failures to stderr."""
    args = _parser().parse_args(argv)
    try:
        code: int = args.verb(args)
    except MarketError as error:
        sys.stderr.write(f"emds: {error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("\nemds: stopped\n")
        return 1
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="emds", description="Electricity Market Data Service")
    verbs = parser.add_subparsers(required=True, metavar="VERB")

    def verb(name: str, does: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        added = verbs.add_parser(name, help=text, description=text)
        added.set_defaults(verb=does)
        return added

    _add_up(verb("up", _up, "fill an empty warehouse, then run the API and Dagster until Ctrl-C"))
    _which(verb("ingest", _ingest, "ask every feed for the days that it may still revise, today's and tomorrow's"))
    _add_backfill(verb("backfill", _backfill, "ask for past market days"))
    replay = verb("replay", _replay, "bring in every recorded answer of a folder with a MANIFEST.json")
    replay.add_argument("folder", type=Path)
    rebuild = _which(
        verb("rebuild", _rebuild, "parse the kept bytes again, without the network, and resolve ranks and rights anew")
    )
    _between(rebuild)
    publish = verb("publish", _publish, "publish every document anew; with --to as files that any web server serves")
    publish.add_argument("--to", metavar="URL", help="a folder or a bucket (s3://...) (EMDS_PUBLISH_TO)")
    _add_trial(verb("probe", _probe, "ask each feed for a past day and today, report, and write nothing"))
    record = _add_trial(verb("record", _record, "the same, keeping the answers in a folder that `replay` takes"))
    record.add_argument("folder", type=Path)
    gaps = _which(verb("gaps", _gaps, "list holes against the feeds' own calendars"))
    gaps.add_argument("--days", type=_count, default=35, help="how far back (35)")
    gaps.add_argument("--fill", action="store_true", help="ask for the days that have holes")
    serve = verb("serve", _serve, "run the API alone")
    serve.add_argument("--port", type=int, default=8000)
    _add_dagster(
        verb("dagster", _dagster, "become Dagster's code server, web server or daemon, each in a container of its own")
    )
    fill = verb("fill", _fill, "fill an empty warehouse as `up` does before its servers, and end")
    fill.add_argument("--days", type=_count, default=35, help="days of history (35)")
    verb("bucket", _bucket, "make the bucket of EMDS_HOME where its S3 server has none")
    verb("doctor", _doctor, "tell what is configured, what is missing and what is stale")
    verb("repair", _repair, "set damaged files aside and make them again from the kept bytes")
    _add_keys(verb("keys", _keys, "who holds keys and how much they are used; ends one, or sets its quota"))
    copy = verb("copy", _copy, "copy a warehouse to an empty folder or bucket, where it serves the same answers")
    copy.add_argument("source", metavar="FROM", help="a folder, or a bucket's address")
    copy.add_argument("target", metavar="TO", help="the same; a copy that was killed goes on")
    verb("reconcile", _reconcile, "compare every transfer to EMDS_PAY_TO with the payments ledger")
    _add_webhooks(
        verb("webhooks", _webhooks, "who is told what, and how deliveries go; delivers, ends or takes one up")
    )
    verb("upgrade", _upgrade, "bring a warehouse of an older release to this one")
    verb("verify", _verify, "read every file of the warehouse and tell what is broken")
    return parser


def _add_up(up: argparse.ArgumentParser) -> None:
    up.add_argument("--days", type=_count, default=35, help="days of history for an empty warehouse (35)")
    up.add_argument("--port", type=int, default=8000, help="the API's port (8000)")
    up.add_argument("--ui-port", type=int, default=3000, help="Dagster's port (3000)")
    up.add_argument(
        "--ui-host", default="127.0.0.1", help="where Dagster's UI listens, which knows no users (127.0.0.1)"
    )
    up.add_argument("--home", help="the warehouse: a folder or a bucket's address (EMDS_HOME, else ./data)")
    up.add_argument("--feeds", choices=("simulated", "live"), help="the mode of an empty warehouse (EMDS_FEEDS)")
    up.add_argument("--recordings", type=Path, metavar="FOLDER", help="fill it from recorded answers instead")


def _add_dagster(dagster: argparse.ArgumentParser) -> None:
    servers = dagster.add_subparsers(dest="server", required=True, metavar="SERVER")
    for name, port, text in (
        ("code", 3030, "serves what Dagster loads; whoever reaches it can start runs"),
        ("webserver", 3000, "Dagster's UI, which knows no users"),
        ("daemon", 0, "schedules, sensors and the queue; starts runs"),
    ):
        server = servers.add_parser(name, help=text, description=text)
        server.set_defaults(host="", port=port, code="")
        if port:
            server.add_argument("--port", type=int, help=f"where it listens ({port})")
            server.add_argument("--host", default="127.0.0.1", help="where it listens (127.0.0.1)")
        if name != "code":
            text = "the code server; of several, by IPv4 addresses and with commas, the first that is there"
            server.add_argument("--code", required=True, metavar="HOST:PORT", help=text)


def _add_keys(keys: argparse.ArgumentParser) -> None:
    actions = keys.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="the busiest keys, and those used least")
    listing.add_argument("--days", type=_count, default=30, help="over how many days (30)")
    listing.add_argument("--top", type=_count, default=10, help="how many of each (10)")
    for name, text in (("show", "one key"), ("revoke", "end a key at once"), ("quota", "set a key's answers a day")):
        action = actions.add_parser(name, help=text)
        action.add_argument("key", type=int, metavar="ID", help="as `emds keys list` shows it")
        if name == "quota":
            action.add_argument("answers", type=_quota, metavar="N", help="answers a UTC day, or `usual`")


def _add_webhooks(webhooks: argparse.ArgumentParser) -> None:
    actions = webhooks.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="every subscription")
    actions.add_parser("deliver", help="deliver what waits, now")
    for name, text in (
        ("show", "one subscription, without its secret"),
        ("disable", "deliver nothing more to it"),
        ("enable", "take deliveries up again"),
        ("remove", "end it"),
    ):
        actions.add_parser(name, help=text).add_argument("webhook", metavar="ID", help="as `emds webhooks list` says")


def _quota(text: str) -> int | None:
    if text == "usual":
        return None
    if not (text.isascii() and text.isdigit() and int(text) <= 10_000_000):
        raise argparse.ArgumentTypeError("a number from 0 to 10000000, or `usual`")
    return int(text)


def _add_backfill(backfill: argparse.ArgumentParser) -> None:
    _which(backfill)
    backfill.add_argument("--days", type=_count, help="the last N days")
    _between(backfill)
    backfill.add_argument("--dry-run", action="store_true", help="only tell requests and expected time")


def _add_trial(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    _which(parser)
    parser.add_argument(
        "--day", type=date.fromisoformat, metavar="D", help="the past market day (the newest whole one)"
    )
    parser.add_argument(
        "--requests", type=_requests, default=12, metavar="N", help="at most N a feed and day (12); 0: all of them"
    )
    return parser


def _between(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--start", type=date.fromisoformat, metavar="D", help="first market day")
    parser.add_argument("--end", type=date.fromisoformat, metavar="D", help="last market day")


def _which(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("--source", help="only this source")
    parser.add_argument("--feed", help="only this feed, as aemo.dispatch")
    return parser


def _count(text: str) -> int:
    value = int(text)
    if not 1 <= value <= 36600:
        raise argparse.ArgumentTypeError("1..36600")
    return value


def _requests(text: str) -> int:
    value = int(text)
    if not 0 <= value <= 20_000:
        raise argparse.ArgumentTypeError("0..20000")
    return value


def _up(args: argparse.Namespace) -> int:
    if args.home:
        os.environ["EMDS_HOME"] = args.home
    if args.feeds:
        os.environ["EMDS_FEEDS"] = args.feeds
    from orchestration import up

    return up.up(args.port, args.ui_port, args.ui_host, args.days, args.recordings)


def _ingest(args: argparse.Namespace) -> int:
    from orchestration import backfill

    return _work(backfill.plan(_feeds(args), None, None), again=False)


def _backfill(args: argparse.Namespace) -> int:
    from orchestration import backfill

    if bool(args.days) == bool(args.start) or (args.days and args.end):
        return _wrong("give --days N, or --start D (and --end D)")
    if args.end and args.end < args.start:
        return _wrong("--end lies before --start")
    for line in backfill.too_early(_feeds(args), args.start, args.end) if args.start else ():
        print(line)
    tasks = backfill.plan(_feeds(args), args.start, args.end, args.days)
    if args.dry_run:
        for feed, e in backfill.estimate(tasks).items():
            print(
                f"{feed:28} {e.days:6} days {e.requests:6} requests ({e.listings} listings) at least {e.seconds:8.0f} s"
            )
        return 0
    from orchestration import commands

    return commands.resumable(tasks)


def _rebuild(args: argparse.Namespace) -> int:
    from orchestration import commands, rebuild
    from orchestration.resources import open_context

    pipeline = open_context()
    tasks = rebuild.plan(pipeline, _feeds(args), args.start, args.end)
    code = _work(tasks, again=True) if tasks else 0
    changed, unreadable = rebuild.resolve_all(pipeline)
    code = commands.published() or code
    print(f"{len(tasks)} runs over kept bytes, {changed} month files resolved otherwise")
    return _listed(unreadable) or code


def _listed(failures: Sequence[str]) -> int:
    """Lists the files that could not be read; 1 where there are any."""
    for line in failures:
        sys.stderr.write(f"emds: {line}\n")
    return 1 if failures else 0


def _work(tasks: Sequence[Task], again: bool) -> int:
    """Runs the tasks, tells Dagster and publishes; 1 when a day failed."""
    from orchestration import commands

    return commands.run(tasks, again)


def _feeds(args: argparse.Namespace) -> list[Feed]:
    from orchestration import backfill

    try:
        return backfill.chosen(args.source, args.feed)
    except KeyError as error:
        raise SystemExit(_wrong(f"no source or feed {error}")) from None


def _replay(args: argparse.Namespace) -> int:
    if not (args.folder / "MANIFEST.json").is_file():
        return _wrong(f"no MANIFEST.json in {args.folder}")
    from orchestration import commands

    return commands.replayed(args.folder)


def _probe(args: argparse.Namespace) -> int:
    from orchestration import probe

    return probe.probe(_feeds(args), args.day, args.requests)


def _record(args: argparse.Namespace) -> int:
    if (args.folder / "MANIFEST.json").exists():
        return _wrong(f"{args.folder} already holds recordings: name a new folder")
    from orchestration import record

    return record.record(args.folder, _feeds(args), args.day, args.requests)


def _publish(args: argparse.Namespace) -> int:
    from orchestration import commands

    return commands.published(args.to)


def _gaps(args: argparse.Namespace) -> int:
    from orchestration import gaps
    from orchestration.resources import open_context

    pipeline = open_context()
    holes, unreadable = gaps.find(pipeline, _feeds(args), args.days)
    for line in gaps.describe(holes):
        print(line)
    if not args.fill:
        return _listed(unreadable) or (1 if holes else 0)
    code = _work(gaps.tasks(holes), again=False) if holes else 0
    left, unreadable = gaps.find(pipeline, _feeds(args), args.days)
    return _listed(unreadable) or code or (1 if left else 0)


def _serve(args: argparse.Namespace) -> int:
    from orchestration import serve

    return serve.serve(args.port)


def _dagster(args: argparse.Namespace) -> int:
    from orchestration import one_server

    return one_server.become(args.server, args.host, args.port, args.code)


def _fill(args: argparse.Namespace) -> int:
    from orchestration import fill

    fill.run(args.days, None)
    return 0


def _bucket(_: argparse.Namespace) -> int:
    from orchestration import make_bucket

    return make_bucket.main()


def _doctor(_: argparse.Namespace) -> int:
    from orchestration import doctor

    return doctor.doctor()


def _verify(_: argparse.Namespace) -> int:
    from orchestration import verify
    from orchestration.resources import opened

    broken = verify.broken(opened(os.environ))
    for line in broken:
        print(line)
    print(f"{len(broken)} broken")
    return 1 if broken else 0


def _repair(_: argparse.Namespace) -> int:
    from orchestration import repair

    return repair.main()


def _copy(args: argparse.Namespace) -> int:
    from orchestration import copy
    from warehouse import settings

    return copy.main(args.source, args.target, settings.text(os.environ, "EMDS_LOCAL"))


def _reconcile(_: argparse.Namespace) -> int:
    from orchestration import reconcile

    return reconcile.reconcile()


def _keys(args: argparse.Namespace) -> int:
    from orchestration import keys

    if args.action == "list":
        return keys.listed(args.days, args.top)
    if args.action == "show":
        return keys.shown(args.key)
    if args.action == "revoke":
        return keys.revoked(args.key)
    return keys.quota(args.key, args.answers)


def _webhooks(args: argparse.Namespace) -> int:
    from orchestration import webhooks

    if args.action in ("list", "deliver"):
        return webhooks.listed() if args.action == "list" else webhooks.delivered()
    verbs = {
        "show": webhooks.shown,
        "disable": webhooks.disabled,
        "enable": webhooks.enabled,
        "remove": webhooks.removed,
    }
    return verbs[args.action](args.webhook)


def _upgrade(_: argparse.Namespace) -> int:
    from orchestration import upgrade

    return upgrade.main()


def _wrong(text: str) -> int:
    sys.stderr.write(f"emds: {text}\n")
    return 2


if __name__ == "__main__":
    sys.exit(main())
