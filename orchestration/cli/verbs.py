"""The command line: `emds VERB`, each verb with its options and what it runs.

Exit code 0: all done; 1: something failed and is listed; 2: wrong use. A verb imports what it needs when it runs:
`emds --help` loads neither Dagster nor the API, and `emds serve` starts without Dagster.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestration.cli.accounts import keys, webhooks
from warehouse.errors import MarketError, StorageError
from warehouse.version import __version__

if TYPE_CHECKING:
    from warehouse.market.feeds import Feed

PROGRAMS = ("dagster", "dagster-webserver", "dagster-daemon")
PORT, COUNT = click.IntRange(0, 65_535), click.IntRange(1, 36_600)
Verb = Callable[..., int | None]


def day(text: str) -> date:
    """Parse a market day."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(f"{text[:40]!r} is no day such as 2026-01-31") from None


def _choose(context: click.Context, _: click.Parameter, feeds: Sequence[str]) -> list[Feed]:
    from orchestration.work import backfill

    try:
        return backfill.chosen(context.params.pop("source"), feeds)
    except KeyError as error:
        raise click.UsageError(f"no source or feed {error.args[0]}") from None


def _which(verb: Verb) -> Verb:
    """Add the options that choose feeds, each of which may be repeated; the verb gets them as `feeds`."""
    by_feed = click.option(
        "--feed", "feeds", multiple=True, callback=_choose, help="Only this feed, such as aemo.dispatch."
    )
    return click.option("--source", multiple=True, is_eager=True, help="Only this source.")(by_feed(verb))


def _in_order(context: click.Context, _: click.Parameter, end: date | None) -> date | None:
    start = context.params["start"]
    if start and end and end < start:
        raise click.UsageError("--end lies before --start")
    return end


def _between(verb: Verb) -> Verb:
    """Add the options that choose a span of market days."""
    by_end = click.option("--end", type=day, metavar="D", callback=_in_order, help="Last market day.")
    return click.option("--start", type=day, metavar="D", is_eager=True, help="First market day.")(by_end(verb))


def _trial(verb: Verb) -> Verb:
    """Add the options of `probe` and `record`."""
    by_day = click.option("--day", type=day, metavar="D", help="The past market day (default: the newest whole one).")
    return _which(by_day(verb))


def _listens(verb: Verb) -> Verb:
    """Add the options that say where the API listens."""
    by_host = click.option(
        "--host", default="127.0.0.1", show_default=True, help="Where the API listens; a proxy belongs in front."
    )
    return click.option("--port", type=PORT, default=8000, show_default=True, help="The API's port.")(by_host(verb))


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(__version__, prog_name="emds", message="%(prog)s %(version)s")
@click.pass_context
def emds(context: click.Context) -> None:
    """Electricity Market Data Service."""
    context.call_on_close(sys.stdout.flush)  # click ends with 1 where nobody reads the output to its end


@emds.command()
@_listens
@click.option("--days", type=COUNT, default=35, show_default=True, help="Days of history for an empty warehouse.")
@click.option("--ui-port", type=PORT, default=3000, show_default=True, help="Dagster's port.")
@click.option("--home", help="The warehouse: a folder or a bucket's address (default: EMDS_HOME, else data/MODE).")
@click.option("--feeds", type=click.Choice(("simulated", "live")), help="The mode of an empty warehouse (EMDS_FEEDS).")
@click.option("--recordings", type=click.Path(path_type=Path), help="Fill it from recorded answers instead.")
def up(
    port: int, host: str, days: int, ui_port: int, home: str | None, feeds: str | None, recordings: Path | None
) -> int:
    """Run the API and Dagster until Ctrl-C; fill an empty warehouse first."""
    mode = "recorded" if recordings else feeds
    os.environ.update({name: value for name, value in (("EMDS_HOME", home), ("EMDS_FEEDS", mode)) if value})
    from orchestration.servers import up

    return up.up(port, host, ui_port, days, recordings)


@emds.command()
@_which
def ingest(feeds: list[Feed]) -> int:
    """Ask feeds for every day that they may still revise.

    Today's is among them, and tomorrow's of feeds that publish ahead.
    """
    from orchestration.work import backfill, commands

    return commands.run(backfill.plan(feeds, None, None))


@emds.command()
@_which
@click.option("--days", type=COUNT, help="The last N days, today, and what is published for tomorrow.")
@_between
@click.option("--missing", is_flag=True, help="Leave out days of which all is held, as after a backfill was stopped.")
@click.option("--dry-run", is_flag=True, help="Only print requests and expected time.")
def backfill(
    feeds: list[Feed], days: int | None, start: date | None, end: date | None, missing: bool, dry_run: bool
) -> int | None:
    """Ask for past market days. Asked again, they change nothing that is held already."""
    if bool(days) == bool(start) or (days and end):
        raise click.UsageError("give --days N, or --start D (and --end D)")
    from orchestration.work import backfill, commands, gaps
    from orchestration.work.environment import open_context, open_unclaimed

    for line in backfill.too_early(feeds, start, end) if start else ():
        print(line)
    tasks = backfill.plan(feeds, start, end, days)
    if not tasks:
        raise click.UsageError(
            "nothing to ask for: these days lie before each feed's first, or after its last published"
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
    """Ingest every recorded answer of a folder with a MANIFEST.json."""
    if not (folder / "MANIFEST.json").is_file():
        raise click.UsageError(f"no MANIFEST.json in {folder}")
    from orchestration.work import replay

    os.environ["EMDS_FEEDS"] = "recorded"
    return replay.replay(folder)


@emds.command()
@_which
@_between
def rebuild(feeds: list[Feed], start: date | None, end: date | None) -> int:
    """Parse the kept bytes again, without the network.

    Ranks and rights of every month are resolved again too.
    """
    from orchestration.work import replay

    return replay.rebuild(feeds, start, end)


@emds.command()
@click.option("--to", metavar="URL", help="A folder or a bucket, s3://... (default: EMDS_PUBLISH_TO).")
def publish(to: str | None) -> int:
    """Publish every document again.

    With --to also as files that any web server serves.
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
@_trial
def probe(feeds: list[Feed], day: date | None) -> int:
    """Ask each feed for a past day and today; write nothing."""
    from orchestration.work import probe

    return probe.probe(feeds, day)


@emds.command()
@_trial
@click.argument("folder", type=click.Path(path_type=Path))
def record(feeds: list[Feed], day: date | None, folder: Path) -> int:
    """Probe, and keep the answers in a folder that `replay` takes."""
    from orchestration.work import probe
    from warehouse.store import layout

    if (folder / "MANIFEST.json").exists():
        raise click.UsageError(f"{folder} already holds recordings: name a new folder")
    if (folder / layout.MODE).exists():
        raise click.UsageError(f"{folder} holds a warehouse: name a new folder")
    return probe.probe(feeds, day, folder)


@emds.command()
@_which
@click.option("--days", type=COUNT, default=35, show_default=True, help="How far back.")
def gaps(feeds: list[Feed], days: int) -> int:
    """List the intervals that are due and missing; `backfill --missing` asks for them."""
    from orchestration.work import gaps
    from orchestration.work.environment import open_unclaimed

    holes, unreadable = gaps.find(open_unclaimed(), feeds, days)
    for line in gaps.describe(holes):
        print(line)
    for line in unreadable:
        sys.stderr.write(f"emds: {line}\n")
    return 1 if holes or unreadable else 0


@emds.command()
@_listens
def serve(port: int, host: str) -> int:
    """Run the API alone."""
    from orchestration.servers import serve

    return serve.serve(port, host)


@emds.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("program", type=click.Choice(PROGRAMS))
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def dagster(program: str, options: Sequence[str]) -> int:
    """Run a program of Dagster's over this warehouse; the web server behind a check of who sends it commands."""
    from orchestration.servers import dagster_home
    from orchestration.work.environment import PipelineSettings

    home = PipelineSettings.from_environ(os.environ).home
    home.settle(os.environ)  # the program runs in the project's folder, but a relative home is relative to this one
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
@click.option("--days", type=COUNT, default=35, show_default=True, help="Days of history.")
@click.option("--recordings", type=click.Path(path_type=Path), help="Fill it from recorded answers instead.")
def fill(days: int, recordings: Path | None) -> None:
    """Fill an empty warehouse as `up` does, and end."""
    from orchestration.work import first_fill

    # What a publisher refused keeps no server from starting, which in compose waits for this.
    first_fill.fill(days, recordings)


@emds.command()
def doctor() -> int:
    """Print what is configured, what is missing and what is stale."""
    from orchestration.cli import doctor

    return doctor.doctor()


@emds.command()
def verify() -> int:
    """Read every file of the warehouse and list what is broken."""
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
def repair() -> int:
    """Make damaged files again from the kept bytes."""
    from orchestration.work import verify

    return verify.repair()


@emds.command()
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
def copy(source: str, target: str) -> int:
    """Copy a warehouse to an empty folder or bucket.

    FROM and TO are folders or buckets' addresses. A copy that was killed continues when it is run again.
    """
    from orchestration.work import copy
    from warehouse import settings

    return copy.main(source, target, settings.text(os.environ, "EMDS_LOCAL_DIR"))


@emds.command()
def reconcile() -> int:
    """Compare every transfer to EMDS_PAY_TO with the payments ledger."""
    from orchestration.work import reconcile

    return reconcile.reconcile()


emds.add_command(keys)
emds.add_command(webhooks)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return its exit code. Results go to stdout, progress and failures to stderr."""
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
