"""Define the command line, `emds COMMAND`: each command with its options and the function that it runs.

The exit code is 0 on success, 1 if something failed and is listed, and 2 for wrong usage. A command imports what it
needs when it runs: `emds --help` loads neither Dagster nor the API, and `emds serve` starts without Dagster.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestration.cli.accounts import keys, webhooks
from orchestration.cli.options import (
    COUNT,
    PORT,
    add_address_options,
    add_day_options,
    add_feed_options,
    add_trial_options,
)
from warehouse.errors import MarketError, StorageError
from warehouse.version import __version__

if TYPE_CHECKING:
    from warehouse.market.feeds import Feed

PROGRAMS = ("dagster", "dagster-webserver", "dagster-daemon")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(__version__, prog_name="emds", message="%(prog)s %(version)s")
@click.pass_context
def emds(context: click.Context) -> None:
    """Run and maintain an Electricity Market Data Service."""
    context.call_on_close(sys.stdout.flush)  # without this, click exits with 1 if the reader of the output stops early


@emds.command()
@add_address_options
@click.option("--days", type=COUNT, default=35, show_default=True, help="Days of history for an empty warehouse.")
@click.option("--ui-port", type=PORT, default=3000, show_default=True, help="Port of Dagster's web UI.")
@click.option("--home", help="Warehouse: a folder or the URL of a bucket (default: EMDS_HOME, else data/MODE).")
@click.option(
    "--feeds", type=click.Choice(("simulated", "live")), help="Mode of an empty warehouse (default: EMDS_FEEDS)."
)
@click.option(
    "--recordings", type=click.Path(path_type=Path), help="Fill the warehouse from recorded responses instead."
)
def up(
    port: int, host: str, days: int, ui_port: int, home: str | None, feeds: str | None, recordings: Path | None
) -> int:
    """Fill the warehouse if empty, then run the API and Dagster.

    Press Ctrl-C to stop both.
    """
    mode = "recorded" if recordings else feeds
    os.environ.update({name: value for name, value in (("EMDS_HOME", home), ("EMDS_FEEDS", mode)) if value})
    from orchestration.servers import up

    return up.up(port, host, ui_port, days, recordings)


@emds.command()
@add_feed_options
def ingest(feeds: list[Feed]) -> int:
    """Fetch all days that publishers may still revise.

    Includes today, and tomorrow for feeds that publish ahead.
    """
    from orchestration.work import backfill, commands

    return commands.run(backfill.plan(feeds, None, None))


@emds.command()
@add_feed_options
@click.option("--days", type=COUNT, help="The last N days, today, and published data for tomorrow.")
@add_day_options
@click.option("--missing", is_flag=True, help="Skip complete days, for example to resume a stopped backfill.")
@click.option("--dry-run", is_flag=True, help="Print the number of requests and the expected time, then exit.")
def backfill(
    feeds: list[Feed], days: int | None, start: date | None, end: date | None, missing: bool, dry_run: bool
) -> int | None:
    """Fetch past market days.

    Fetching a day again does not change unchanged data.
    """
    if bool(days) == bool(start) or (days and end):
        raise click.UsageError("Give --days N, or --start D with or without --end D.")
    from orchestration.work import backfill, commands, gaps
    from orchestration.work.environment import open_context, open_unclaimed

    for line in backfill.too_early(feeds, start, end) if start else ():
        print(line)
    tasks = backfill.plan(feeds, start, end, days)
    if not tasks:
        raise click.UsageError(
            "There is nothing to fetch: these days are before the first day of each feed, or are not published yet."
        )
    if missing:
        tasks = gaps.without_whole_days(open_unclaimed() if dry_run else open_context(), tasks)
    if not dry_run:
        return commands.run(tasks, history=True)
    for line in backfill.estimate(tasks):
        print(line)
    return None


@emds.command()
@click.argument("folder", type=click.Path(path_type=Path))
def replay(folder: Path) -> int:
    """Ingest recorded responses from a folder.

    The folder must contain a MANIFEST.json.
    """
    if not (folder / "MANIFEST.json").is_file():
        raise click.UsageError(f"There is no MANIFEST.json in {folder}.")
    from orchestration.work import replay

    os.environ["EMDS_FEEDS"] = "recorded"
    return replay.replay(folder)


@emds.command()
@add_feed_options
@add_day_options
def rebuild(feeds: list[Feed], start: date | None, end: date | None) -> int:
    """Parse the raw archive again, without network access.

    Also reapplies source ranks and redistribution permissions to every month.
    """
    from orchestration.work import replay

    return replay.rebuild(feeds, start, end)


@emds.command()
@click.option("--to", metavar="URL", help="Folder or bucket, s3://... (default: EMDS_PUBLISH_TO).")
def publish(to: str | None) -> int:
    """Regenerate all documents.

    With --to, also write them as static files.
    """
    from orchestration.static_side import target
    from orchestration.work import commands

    if to is not None:
        try:
            target.parse(to)
        except StorageError as error:
            raise click.BadParameter(str(error), param_hint="--to") from None
    return commands.published(to)


@emds.command()
@add_trial_options
def probe(feeds: list[Feed], day: date | None) -> int:
    """Fetch a past day and today from each feed; write nothing."""
    from orchestration.work import probe

    return probe.probe(feeds, day)


@emds.command()
@add_trial_options
@click.argument("folder", type=click.Path(path_type=Path))
def record(feeds: list[Feed], day: date | None, folder: Path) -> int:
    """Probe the feeds and save the responses for `replay`."""
    from orchestration.work import probe
    from warehouse.store import layout

    if (folder / "MANIFEST.json").exists():
        raise click.UsageError(f"{folder} already contains recordings. Use a new folder.")
    if (folder / layout.MODE).exists():
        raise click.UsageError(f"{folder} contains a warehouse. Use a new folder.")
    return probe.probe(feeds, day, folder)


@emds.command()
@add_feed_options
@click.option("--days", type=COUNT, default=35, show_default=True, help="Number of days to check.")
def gaps(feeds: list[Feed], days: int) -> int:
    """List missing intervals.

    Run `backfill --missing` to fetch them.
    """
    from orchestration.work import gaps
    from orchestration.work.environment import open_unclaimed

    holes, unreadable = gaps.find(open_unclaimed(), feeds, days)
    for line in gaps.describe(holes):
        print(line)
    for line in unreadable:
        sys.stderr.write(f"emds: {line}\n")
    return 1 if holes or unreadable else 0


@emds.command()
@add_address_options
def serve(port: int, host: str) -> int:
    """Run only the API."""
    from orchestration.servers import serve

    return serve.serve(port, host)


@emds.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("program", type=click.Choice(PROGRAMS))
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def dagster(program: str, options: Sequence[str]) -> int:
    """Run a Dagster program against this warehouse.

    The web server runs behind a check of the origin of each request (SECURITY.md).
    """
    from orchestration.servers import dagster_home
    from orchestration.work.environment import PipelineSettings

    home = PipelineSettings.from_environ(os.environ).home
    # the program runs in the project's folder, but a relative home is relative to the current folder
    home.settle(os.environ)
    home.make_local()
    dagster_home.require_dagster_home(home.local)
    if program == "dagster-daemon":
        from orchestration.jobs import ended_runs

        ended_runs.end_runs("free")
    os.chdir(dagster_home.ROOT)
    path = str(Path(sys.executable).with_name(program))
    argv = [sys.executable, "-m", dagster_home.WEBSERVER] if program == "dagster-webserver" else [path]
    return os.execv(argv[0], [*argv, *options])  # noqa: S606


@emds.command()
@click.option("--days", type=COUNT, default=35, show_default=True, help="Number of days of history.")
@click.option(
    "--recordings", type=click.Path(path_type=Path), help="Fill the warehouse from recorded responses instead."
)
def fill(days: int, recordings: Path | None) -> None:
    """Fill an empty warehouse, then exit."""
    from orchestration.work import first_fill

    # The exit code is 0 even if a publisher failed, because in compose the servers wait for this command.
    first_fill.fill(days, recordings)


@emds.command()
def doctor() -> int:
    """Report settings, missing credentials and stale feeds."""
    from orchestration.cli import doctor

    return doctor.doctor()


@emds.command()
def verify() -> int:
    """Check every file in the warehouse and list damaged ones."""
    from orchestration.work import verify
    from orchestration.work.environment import opened

    storage = opened(os.environ)
    verify.require_release(storage)
    faults = verify.faults(storage)
    for fault in faults:
        print(fault)
    print(f"{len(faults)} broken")
    return 1 if faults else 0


@emds.command()
@click.argument("files", nargs=-1)
def repair(files: Sequence[str]) -> int:
    """Rebuild damaged files from the raw archive.

    FILES are names as `verify` lists them. Without FILES, compares the checksum of every file first.
    """
    from orchestration.work import verify

    if unknown := [file for file in files if not file.startswith((*verify.CHECKS, *verify.SINGLE))]:
        raise click.UsageError(f"no file of a warehouse: {unknown[0]}")
    return verify.repair(files)


@emds.command()
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
def copy(source: str, target: str) -> int:
    """Copy a warehouse to an empty folder or bucket.

    FROM and TO are folders or URLs of buckets. To resume an interrupted copy, run the command again.
    """
    from orchestration.work import copy

    return copy.main(source, target)


@emds.command()
def reconcile() -> int:
    """Compare every transfer to EMDS_PAY_TO with the payments ledger."""
    from orchestration.work import reconcile

    return reconcile.reconcile()


emds.add_command(keys)
emds.add_command(webhooks)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Results go to stdout, progress and failures to stderr."""
    try:
        return int(emds.main(argv, prog_name="emds", standalone_mode=False) or 0)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        sys.stderr.write("emds: stopped\n")
    except MarketError as error:
        sys.stderr.write(f"emds: {error}\n")
    return 1
