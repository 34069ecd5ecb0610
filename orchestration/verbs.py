"""What each verb of the command line does with its arguments; each returns its exit code.

Each imports what it needs when it is called: a verb that needs no Dagster starts without.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orchestration.backfill import Task
    from warehouse.market import Feed

PROGRAMS = ("dagster", "dagster-webserver", "dagster-daemon")


def up(args: argparse.Namespace) -> int:
    if args.home:
        os.environ["EMDS_HOME"] = args.home
    if args.feeds:
        os.environ["EMDS_FEEDS"] = args.feeds
    from orchestration import up

    return up.up(args.port, args.host, args.ui_port, args.days, args.recordings)


def ingest(args: argparse.Namespace) -> int:
    from orchestration import backfill

    return _work(backfill.plan(_feeds(args), None, None), again=False)


def backfill(args: argparse.Namespace) -> int:
    from orchestration import backfill

    if bool(args.days) == bool(args.start) or (args.days and args.end):
        return _wrong("give --days N, or --start D (and --end D)")
    if args.end and args.end < args.start:
        return _wrong("--end lies before --start")
    for line in backfill.too_early(_feeds(args), args.start, args.end) if args.start else ():
        print(line)
    tasks = backfill.plan(_feeds(args), args.start, args.end, args.days)
    if not tasks:
        return _wrong("nothing to ask for: these days lie before each feed's first, or after its last published")
    if args.dry_run:
        for feed, e in backfill.estimate(tasks).items():
            print(
                f"{feed:28} {e.days:6} days {e.requests:6} requests ({e.listings} listings) at least {e.seconds:8.0f} s"
            )
        return 0
    from orchestration import commands

    return commands.resumable(tasks)


def rebuild(args: argparse.Namespace) -> int:
    if args.start and args.end and args.end < args.start:
        return _wrong("--end lies before --start")
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
        raise SystemExit(_wrong(f"no source or feed {error.args[0]}")) from None


def replay(args: argparse.Namespace) -> int:
    if not (args.folder / "MANIFEST.json").is_file():
        return _wrong(f"no MANIFEST.json in {args.folder}")
    from orchestration import commands

    return commands.replayed(args.folder)


def probe(args: argparse.Namespace) -> int:
    from orchestration import probe

    return probe.probe(_feeds(args), args.day, args.requests)


def record(args: argparse.Namespace) -> int:
    if (args.folder / "MANIFEST.json").exists():
        return _wrong(f"{args.folder} already holds recordings: name a new folder")
    from orchestration import record
    from warehouse import layout

    if any((args.folder / name).exists() for name in (layout.MODE, layout.SCHEMA)):
        return _wrong(f"{args.folder} holds a warehouse: name a new folder")

    return record.record(args.folder, _feeds(args), args.day, args.requests)


def publish(args: argparse.Namespace) -> int:
    from orchestration import commands

    return commands.published(args.to)


def gaps(args: argparse.Namespace) -> int:
    from orchestration import gaps
    from orchestration.resources import open_context, open_unclaimed

    pipeline = open_context() if args.fill else open_unclaimed()
    holes, unreadable = gaps.find(pipeline, _feeds(args), args.days)
    for line in gaps.describe(holes):
        print(line)
    if not args.fill:
        return _listed(unreadable) or (1 if holes else 0)
    code = _work(gaps.tasks(holes), again=False) if holes else 0
    left, unreadable = gaps.find(pipeline, _feeds(args), args.days)
    return _listed(unreadable) or code or (1 if left else 0)


def serve(args: argparse.Namespace) -> int:
    from orchestration import serve

    return serve.serve(args.port, args.host, args.server)


def dagster(args: argparse.Namespace) -> int:
    from orchestration import dagster_home
    from orchestration.settings import PipelineSettings

    home = PipelineSettings.from_environ(os.environ).home
    home.settle(os.environ)  # the program runs in the project's folder: a relative home is meant from here
    home.make_local()
    dagster_home.dagster_home(home.local)
    os.chdir(dagster_home.ROOT)
    program = Path(sys.executable).with_name(args.program)
    if args.program not in PROGRAMS or not program.exists():
        return _wrong(f"no program {args.program}: one of {', '.join(PROGRAMS)}")
    return os.execv(program, [str(program), *args.options])  # noqa: S606


def fill(args: argparse.Namespace) -> int:
    from orchestration import fill

    fill.run(args.days, None)
    return 0  # what a publisher refused keeps no server from starting, which in compose waits for this


def bucket(_: argparse.Namespace) -> int:
    from orchestration import make_bucket

    return make_bucket.main()


def doctor(_: argparse.Namespace) -> int:
    from orchestration import doctor

    return doctor.doctor()


def verify(_: argparse.Namespace) -> int:
    from orchestration import verify
    from orchestration.resources import opened

    broken = verify.broken(opened(os.environ))
    for line in broken:
        print(line)
    print(f"{len(broken)} broken")
    return 1 if broken else 0


def repair(_: argparse.Namespace) -> int:
    from orchestration import repair

    return repair.main()


def copy(args: argparse.Namespace) -> int:
    from orchestration import copy
    from warehouse import settings

    return copy.main(args.source, args.target, settings.text(os.environ, "EMDS_LOCAL"))


def reconcile(_: argparse.Namespace) -> int:
    from orchestration import reconcile

    return reconcile.reconcile()


def keys(args: argparse.Namespace) -> int:
    from orchestration import keys

    if args.action == "list":
        return keys.listed(args.days, args.top)
    if args.action == "show":
        return keys.shown(args.key)
    if args.action == "revoke":
        return keys.revoked(args.key)
    return keys.quota(args.key, args.answers)


def webhooks(args: argparse.Namespace) -> int:
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


def _wrong(text: str) -> int:
    sys.stderr.write(f"emds: {text}\n")
    return 2
